"""Which numbers are taken as they are, and the errors for those that a double would round.

Values are counted as 64-bit integers or as doubles. `low <= exact <= high` is a promise about the numbers that were
given, so a number that is neither is refused, everywhere with these texts:

- a decimal is taken as its nearest double if the shortest text of that is the decimal itself: always, up to 15 digits;
- an integer is from -2^63 to 2^63 - 1, and one beside floats is one that a double can hold.
"""

from decimal import Decimal
from typing import Any, NamedTuple

from aomg.errors import InputError

MOST_DIGITS = 15  # of a decimal that every double can hold
LONGEST = 1 << 63
_PLACES = 3  # after the point, in the cast that an error suggests


class Casts(NamedTuple):
    """Code of a library that casts numbers, for the error; with {name} and, in `decimal`, {places}."""

    decimal: str
    integer: str
    real: str


def check_decimal_type(subject: str, name: str, precision: int, scale: int, casts: Casts) -> None:
    """Raise InputError if decimals of this type have more digits than a double can hold.

    `subject` says what has which type, and `name` is what the casts are applied to.

    >>> check_decimal_type("values are decimal128(15, 3)", "values", 15, 3, Casts("", "", ""))
    """
    if precision <= MOST_DIGITS:
        return
    whole, places = scale <= 0, min(scale, _PLACES)
    raise InputError(
        f"{subject}, which a double would round: it holds decimals of up to {MOST_DIGITS} digits; "
        f"cast to {'integers' if whole else f'at most {MOST_DIGITS} digits'}: "
        f"{(casts.integer if whole else casts.decimal).format(name=name, places=places)}, "
        f"or to doubles, if rounding does not matter: {casts.real.format(name=name)}"
    )


def double_of(entry: Decimal, name: str) -> float:
    """Return the nearest double of a decimal; raise InputError if it is not written as that decimal.

    >>> double_of(Decimal("0.350"), "values"), double_of(Decimal("NaN"), "values")
    (0.35, nan)
    """
    if not entry.is_finite():
        return float(str(entry).lower().replace("snan", "nan"))
    nearest = float(entry)
    if Decimal(repr(nearest)) != entry:
        raise InputError(
            f"{name} has Decimal('{entry}'), which a double would round: it holds decimals of up to {MOST_DIGITS} "
            f"digits; round to the digits that you need: [round(entry, {_PLACES}) for entry in {name}], or convert to "
            f"doubles, if rounding does not matter: [float(entry) for entry in {name}]"
        )
    return nearest


def large_integer_error(entry: Any, name: str, cast: str | None = None) -> InputError:
    """Return the error for an integer that has more than 64 bits, or 64 without a sign.

    `cast` is code that converts what has this name to doubles; by default, that for an array.
    """
    cast = cast or f"numpy.asarray({name}, 'float64')"
    return InputError(
        f"{name} has {entry}, but integers must be from -2^63 to 2^63 - 1; convert to doubles, if rounding does not "
        f"matter: {cast}"
    )


def rounded_integer_error(entry: Any, name: str) -> InputError:
    """Return the error for an integer beyond 2^53 among floats."""
    return InputError(
        f"{name} has floats and {entry}, an integer beyond 2^53 that a double would round; give integers only, with "
        f"None and not NaN for a missing one, or convert {name} to doubles, if rounding does not matter: "
        f"numpy.asarray({name}, 'float64')"
    )
