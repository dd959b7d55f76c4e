"""Names of the columns of estimates, and how to read them: p99_9 is the quantile 0.999."""

import re
from decimal import Decimal

_QUANTILE = re.compile(r"p([0-9]{1,3})(?:_([0-9]{1,7}))?")
_THRESHOLD = re.compile(r"below_(minus_)?([0-9]+)(?:_([0-9]+))?")


def quantile_name(quantile: Decimal) -> str:
    """Return the name of a quantile's column.

    >>> [quantile_name(Decimal(text)) for text in ("0.5", "0.999", "0.005", "1")]
    ['p50', 'p99_9', 'p0_5', 'p100']
    """
    return "p" + _text(quantile * 100)


def threshold_name(threshold: float) -> str:
    """Return the name of the column of a threshold's share.

    >>> threshold_name(500.0), threshold_name(0.25), threshold_name(-5.0)
    ('below_500', 'below_0_25', 'below_minus_5')
    """
    return "below_" + _text(Decimal(repr(threshold)))


def quantile_of(name: str) -> Decimal | None:
    """Return the quantile of a column name, even one above 1; None for other names.

    >>> quantile_of("p99_9"), quantile_of("p999"), quantile_of("below_500")
    (Decimal('0.999'), Decimal('9.99'), None)
    """
    match = _QUANTILE.fullmatch(name)
    return (Decimal(f"{match[1]}.{match[2] or 0}") / 100).normalize() if match else None


def threshold_of(name: str) -> Decimal | None:
    """Return the threshold of a column name; None for other names.

    >>> threshold_of("below_0_25"), threshold_of("below_minus_5"), threshold_of("p99")
    (Decimal('0.25'), Decimal('-5'), None)
    """
    match = _THRESHOLD.fullmatch(name)
    return Decimal(f"{'-' if match[1] else ''}{match[2]}{'.' + match[3] if match[3] else ''}") if match else None


def estimate_title(name: str) -> str:
    """Return the title of a column name, in the usual notation.

    >>> estimate_title("p99_9"), estimate_title("below_0_25"), estimate_title("below_minus_5"), estimate_title("max")
    ('p99.9', 'below 0.25', 'below -5', 'max')
    """
    if (threshold := threshold_of(name)) is not None:
        return f"below {threshold:f}"
    return name.replace("_", ".") if quantile_of(name) is not None else name


def _text(number: Decimal) -> str:
    """Return a decimal as part of a name."""
    plain = format(number.normalize(), "f")
    return plain.replace("-", "minus_").replace(".", "_")
