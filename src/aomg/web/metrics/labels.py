"""How labels of keys are written for Prometheus: names that it takes, values that break no line.

Whatever telemetry is called, the text that is made of it can be read again: names are ASCII and none of ours, and
quotes, backslashes and line ends in values are escaped.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

OURS = frozenset(
    ("query", "quantile", "threshold", "unit", "le", "instance", "job", "target", "group", "alertname", "alertgroup")
)
"""Names with a meaning of their own. A label of a key that is called so is written with `key_` before it."""

_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_]")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # Prometheus takes a zero byte for the end; half a character is no UTF-8


def label_names(names: Iterable[str]) -> dict[str, str]:
    """What each label is called in metrics: the same for the same names in any order, and different for different ones.

    >>> label_names(["podset", "job", "rack-no", "rack.no"])
    {'podset': 'podset', 'job': 'key_job', 'rack-no': 'rack_no', 'rack.no': 'rack_no_2'}
    """
    asked = dict.fromkeys(names)
    given = {name: name for name in asked if _plain(name) == name}
    taken = set(given)
    for name in sorted(set(asked) - taken):
        plain, number = _plain(name), 1
        unique = plain
        while unique in taken:
            number += 1
            unique = f"{plain}_{number}"
        given[name] = unique
        taken.add(unique)
    return {name: given[name] for name in asked}


def label_values(labels: Mapping[str, str | None], names: Mapping[str, str]) -> dict[str, str]:
    """The labels under the names of `label_names`. Those without a value are left out: to Prometheus both are equal."""
    return {names[name]: clean(value) for name, value in labels.items() if value}


@lru_cache(maxsize=100_000)
def label_text(name: str, value: str) -> str:
    r"""One label as it stands in the text.

    >>> print(label_text("host", 'a"b\\c'))
    host="a\"b\\c"
    """
    escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return f'{name}="{escaped}"'


def clean(value: str) -> str:
    """The text without what Prometheus cannot read at all."""
    return _NO_TEXT.sub("\ufffd", value)


def _plain(name: str) -> str:
    plain = _NOT_ALLOWED.sub("_", name)
    if not plain or plain[0].isdigit():
        plain = f"_{plain}"
    # two underscores at the beginning belong to Prometheus, and a number may be added at the end
    return f"key_{plain}" if plain in OURS or plain.startswith("__") or plain == "_" else plain
