"""Writes labels of keys for Prometheus: valid names, escaped values.

Any label of the telemetry gives a valid line: names become ASCII and never clash with reserved ones; quotes,
backslashes and line breaks in values are escaped.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

OURS = frozenset(
    ("query", "quantile", "threshold", "unit", "le", "instance", "job", "target", "group", "alertname", "alertgroup")
)
"""Reserved names. A label of a key with such a name gets the prefix `key_`."""

_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_]")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # Prometheus ends texts at a zero byte; lone surrogates are not UTF-8


def label_names(names: Iterable[str]) -> dict[str, str]:
    """Return the name of each label in metrics: distinct for distinct names, whatever their order.

    >>> label_names(["podset", "job", "rack-no", "rack.no"])
    {'podset': 'podset', 'job': 'key_job', 'rack-no': 'rack_no', 'rack.no': 'rack_no_2'}
    """
    wanted = dict.fromkeys(names)
    written = {name: name for name in wanted if _plain(name) == name}
    used = set(written)
    for name in sorted(set(wanted) - used):
        plain, number = _plain(name), 1
        unique = plain
        while unique in used:
            number += 1
            unique = f"{plain}_{number}"
        written[name] = unique
        used.add(unique)
    return {name: written[name] for name in wanted}


def label_values(labels: Mapping[str, str | None], names: Mapping[str, str]) -> dict[str, str]:
    """Return the labels under the names of `label_names`, without empty ones: Prometheus treats both alike."""
    return {names[name]: clean(value) for name, value in labels.items() if value}


@lru_cache(maxsize=100_000)
def label_text(name: str, value: str) -> str:
    r"""Return one label as text.

    >>> print(label_text("host", 'a"b\\c'))
    host="a\"b\\c"
    """
    escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return f'{name}="{escaped}"'


def clean(value: str) -> str:
    """Return the text with characters replaced that Prometheus cannot read."""
    return _NO_TEXT.sub("\ufffd", value)


def _plain(name: str) -> str:
    plain = _NOT_ALLOWED.sub("_", name)
    if not plain or plain[0].isdigit():
        plain = f"_{plain}"
    # two underscores at the beginning belong to Prometheus, and a number may be added at the end
    return f"key_{plain}" if plain in OURS or plain.startswith("__") or plain == "_" else plain
