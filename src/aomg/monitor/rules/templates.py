"""Fills templates: `podset {{ $labels.podset }} is slow: p99 {{ inbound.p99 }}`. No code is executed.

===========================  ======================================================================================
$alert, $group               the rule and its group
$transition, $certainty      firing, resolved ...; certain, possible, no, no data
$labels.NAME                 a label of the key or of the rule
$value                       the first quantity of the condition; of a fleet the violating share
$count                       events in the window
$start, $end, $started       of the window; since when the condition has held
$violating, $total           of a fleet: how many members violate, of how many
$members, $suspect           of a fleet: the first violating members; what all members have in common
p99, inbound.p99             any quantity of the rule's queries: 4.31 ms (4.28..4.35)
inbound.p99.low              its parts: .low, .value, .high
===========================  ======================================================================================
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from aomg.monitor.alert import Alert
from aomg.monitor.errors import ConfigError
from aomg.numbers import number_texts, unit_of
from aomg.times import time_text

LONGEST_TEXT = 4_000
FIELDS = ("alert", "group", "transition", "certainty", "value", "count", "start", "end", "started")
FLEET_FIELDS = ("violating", "total", "members", "suspect")
NO_DATA = "no data"
_NAME = re.compile(r"\$labels\.[^\s{}|]+|\$[a-z]+|[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_DIGITS = 3  # as on the page
_PARTS = ("low", "value", "high")

Bounds = tuple[float, float, float]


@dataclass(frozen=True)
class Template:
    """A text in pieces: literals, and names of values at odd indexes."""

    pieces: tuple[str, ...]

    def render(self, values: Mapping[str, str]) -> str:
        """Fill in the values; "no data" where there is none."""
        pieces = list(self.pieces)
        pieces[1::2] = [values.get(name, NO_DATA) for name in self.pieces[1::2]]
        return "".join(pieces)


def parse(text: str, check: Callable[[str], str] = lambda name: name) -> Template:
    """Parse a text. `check` is called with each name and returns the one to use, or raises ConfigError.

    >>> parse("{{ $alert }} of {{ $labels.podset }}").render({"$alert": "Slow", "$labels.podset": "17"})
    'Slow of 17'
    """
    if len(text) > LONGEST_TEXT:
        raise ConfigError(f"the text has {len(text):,} characters; the limit is {LONGEST_TEXT:,}")
    pieces, position = [], 0
    while (start := text.find("{{", position)) >= 0:
        end = text.find("}}", start)
        if end < 0:
            raise ConfigError(f"{{{{ at character {start + 1} of {_short(text)} has no }}}}")
        name = text[start + 2 : end].strip()
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{{{{ {name} }}}} at character {start + 1} of {_short(text)} is not a value; "
                f"write {{{{ $labels.NAME }}}}, {{{{ $value }}}} or a quantity such as {{{{ p99 }}}}"
            )
        pieces += [text[position:start], check(name)]
        position = end + 2
    return Template((*pieces, text[position:]))


def split_part(name: str) -> tuple[str, str]:
    """Split `inbound.p99.low` into the quantity and its part: ("inbound.p99", ".low").

    >>> split_part("inbound.p99.low"), split_part("p99")
    (('inbound.p99', '.low'), ('p99', ''))
    """
    first, dot, last = name.rpartition(".")
    return (first, dot + last) if dot and last in _PARTS else (name, "")


def values_of(
    alert: Alert, extra: Mapping[str, Bounds] | None = None, units: Mapping[str, str] | None = None
) -> "Values":
    """Return the values of an alert by name; `extra` are quantities that the alert does not have."""
    return Values(alert, extra or {}, units or alert.units)


class Values(Mapping[str, str]):
    """The values of an alert for templates. Each is formatted once, when it is first used."""

    def __init__(self, alert: Alert, extra: Mapping[str, Bounds], units: Mapping[str, str]) -> None:
        self._alert = alert
        self._quantities = {**alert.quantities, **extra}
        self._units = units
        self._texts: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name.startswith("$labels."):
            label = self._alert.labels[name.removeprefix("$labels.")]
            return "-" if label is None else label
        if name == "$value":
            name = next(iter(self._alert.quantities), name)
        if name.startswith("$"):
            return self._field(name)
        if name not in self._texts:
            quantity, _ = split_part(name)
            self._texts |= quantity_values(quantity, self._quantities[quantity], self._units.get(quantity))
        return self._texts[name]

    def _field(self, name: str) -> str:
        alert, field = self._alert, name[1:]
        if field in ("start", "end", "started"):
            return time_text(getattr(alert, field))
        if field in ("group", "transition", "certainty"):
            return str(getattr(alert, field))
        if field == "alert":
            return alert.rule
        if field == "count" and alert.count is not None:
            return str(alert.count)
        if field in FLEET_FIELDS and (fleet := alert.fleet) is not None:
            if field == "members":
                more = fleet.violating - len(fleet.members)
                return ", ".join(fleet.members) + (f" and {more} more" if more else "")
            return str(getattr(fleet, field) or ("-" if field == "suspect" else 0))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        fields = (*FIELDS, *(FLEET_FIELDS if self._alert.fleet is not None else ()))
        names = [f"${name}" for name in fields] + [f"$labels.{name}" for name in self._alert.labels]
        names += [name + part for name in self._quantities for part in ("", *(f".{part}" for part in _PARTS))]
        missing = {"$count"} if self._alert.count is None else set()
        missing |= {"$value"} if not self._alert.quantities else set()
        return (name for name in names if name not in missing)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def quantity_values(name: str, bounds: Bounds, unit: str | None) -> dict[str, str]:
    """A quantity and its parts as texts, rounded as in `aomg.numbers`. unit is us, ms, s, % or None.

    >>> quantity_values("p99", (4280.0, 4310.0, 4350.0), "us")["p99"]
    '4.31 ms (4.28..4.35)'
    """
    suffix, scale = unit_of(bounds[1], bounds[0], bounds[2], unit)
    texts = number_texts(bounds[1], bounds[0], bounds[2], digits=_DIGITS, scale=scale, grouped=False, missing="unknown")
    suffix = f" {suffix}" if suffix else ""
    low, value, high = (text if text == "unknown" else text + suffix for text in (texts.low, texts.value, texts.high))
    whole = value if low == value == high else f"{value} ({texts.interval})"
    return {name: whole, f"{name}.low": low, f"{name}.value": value, f"{name}.high": high}


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
