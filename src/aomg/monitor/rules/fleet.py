"""Fleet rules: an alert when at least a share of a fleet's members violate a condition.

Members are the keys of the rule's queries. The labels `of` name the fleet, the others the member. A fleet certainly
violates when the members that certainly violate reach the share. A member that had a row before and has none now is
silent: it is left out, or counts as violating or healthy, as the rule says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from aomg.monitor.alert import FleetReport
from aomg.monitor.config import values
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.config.schema import key
from aomg.monitor.config.values import duration, listed, one_of, text
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.alert import AlertConfig, KeyVerdict, Rule
from aomg.monitor.rules.intervals import CERTAIN, POSSIBLE, Flags
from aomg.monitor.rules.joins import Joined
from aomg.monitor.rules.rows import Labels
from aomg.monitor.rules.templates import FIELDS, FLEET_FIELDS
from aomg.monitor.rules.verdicts import Evidence

MOST_NAMED = 20
SHARE = "share"


@dataclass(frozen=True, kw_only=True)
class FleetConfig(AlertConfig):
    """A fleet rule as configured. `remember` is in microseconds; None for one window's size."""

    kind = "fleet"
    marker = "share"
    template_fields = (*FIELDS, *FLEET_FIELDS)

    share: float = key(values.share, help="at least this share of the members: `10%` or `0.1`")
    of: tuple[str, ...] = key(
        listed(text), (), help="labels that name the fleet; the others name its members. `[]`: all keys are one fleet"
    )
    silent: str = key(
        one_of("ignore", "violating", "healthy"),
        "ignore",
        help="or `violating`, `healthy`: [members that stopped sending](#silent-members)",
    )
    remember: int | None = key(duration, None, help="how long a silent member counts")

    def check(self) -> None:
        """Refuse a label that is named twice."""
        if len(set(self.of)) < len(self.of):
            raise ConfigError(f"{self.group}.{self.name}.of names a label twice; remove one", self.lines.get("of"))

    def build(self, queries: Mapping[str, QueryConfig]) -> "FleetRule":
        """Return the rule, checked against the queries. Raises ConfigError."""
        if not 0 < self.share <= 1:
            raise ConfigError("share must be more than 0% and at most 100%, such as 10%")
        rule = super().build(queries)
        for name in self.of:
            if name not in rule.key_names:
                known = ", ".join(rule.key_names) or "none"
                raise ConfigError(f"of names {name!r}, which is not a label; the labels are {known}")
        if set(self.of) == set(rule.key_names):
            raise ConfigError("of names all labels, so every fleet has one member; remove those that name the members")
        parts = {part.name: getattr(rule, part.name) for part in fields(Rule)}
        return FleetRule(
            **{**parts, "units": {SHARE: "%"}},
            share=Fraction(Decimal(repr(self.share))),
            of=tuple(dict.fromkeys(self.of)),
            silent=self.silent,
            remember=self.remember if self.remember is not None else rule.size,
        )

    def alert_labels(self, key_names: tuple[str, ...]) -> tuple[str, ...]:
        """The labels that name the fleet."""
        return self.of

    def check_quantity(self, place: str) -> None:
        """Refuse it: a fleet has a share, and no quantity of a single key."""
        raise ConfigError(f"a fleet has no single quantity{place}; it has ${', $'.join(FLEET_FIELDS)} and $value")


@dataclass(frozen=True, kw_only=True)
class FleetRule(Rule):
    """A rule that evaluates fleets by the share of members that violate. `remember` is in microseconds."""

    share: Fraction
    of: tuple[str, ...]
    silent: str
    remember: int

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels that name the fleet."""
        return self.of

    @property
    def remembers(self) -> bool:
        """Whether it needs to know which members had rows before."""
        return self.silent != "ignore"

    def judge(self, end: int, joined: Joined, last_seen: Mapping[Labels, int]) -> "FleetVerdict":
        """Evaluate all fleets at a window end."""
        return FleetVerdict(self, end, joined, last_seen)


class FleetVerdict:
    """A fleet rule at one window end. Costs array operations, and a step for each member."""

    def __init__(self, rule: FleetRule, end: int, joined: Joined, last_seen: Mapping[Labels, int]) -> None:
        self._rule = rule
        self._members, self._counts, holds = _with_rows(KeyVerdict(rule, joined))
        self.last_seen: Mapping[Labels, int] = {}
        self._silent = 0
        if rule.remembers:
            present = dict.fromkeys(self._members, end)
            silent = [m for m, last in last_seen.items() if m not in present and end - last <= rule.remember]
            self.last_seen = {**{member: last_seen[member] for member in silent}, **present}
            self._silent = len(silent)
            violates = np.full((3, len(silent)), rule.silent == "violating")
            self._members += silent
            self._counts = np.concatenate([self._counts, np.zeros(len(silent), dtype=np.int64)])
            holds = np.concatenate([holds, violates], axis=1)
        self._violates = holds
        places = [rule.key_names.index(name) for name in rule.of]
        fleets = dict.fromkeys(tuple(member[place] for place in places) for member in self._members)
        self._rows = {fleet: row for row, fleet in enumerate(fleets)}
        self.labels: list[Labels] = list(fleets)
        self._fleet_of: NDArray[np.intp] = np.fromiter(
            (self._rows[tuple(member[place] for place in places)] for member in self._members),
            np.intp,
            len(self._members),
        )
        self._totals = np.bincount(self._fleet_of, minlength=len(fleets))
        self._violating = np.stack(
            [np.bincount(self._fleet_of[truth], minlength=len(fleets)) for truth in self._violates]
        )
        needed = np.array([ceil(rule.share * int(total)) for total in self._totals], dtype=np.int64)
        self.holds: Flags = self._violating >= needed
        self.has_data: Flags = np.ones(len(fleets), dtype=np.bool_)

    def row_of(self, labels: Labels) -> int | None:
        """Return the row of a fleet."""
        return self._rows.get(labels)

    def evidence(self, row: int) -> Evidence:
        """Name the members that violate: certainly or possibly, as the rule's `when` says."""
        rule = self._rule
        in_fleet = self._fleet_of == row
        truth = CERTAIN if rule.when == "certain" else POSSIBLE
        violators = np.flatnonzero(in_fleet & self._violates[truth])
        total = int(self._totals[row])
        low, value, high = (float(part) / total for part in self._violating[:, row])
        names = sorted(self._member_name(self._members[member]) for member in violators)
        first_silent = len(self._members) - self._silent
        report = FleetReport(
            violating=len(violators),
            total=total,
            members=tuple(names[:MOST_NAMED]),
            silent=int(in_fleet[first_silent:].sum()),
            suspect=self._suspect(self.labels[row]) if rule.share == 1 and len(violators) == total else None,
        )
        return Evidence({SHARE: (low, value, high)}, {}, int(self._counts[in_fleet].sum()), report)

    def _member_name(self, member: Labels) -> str:
        """A member by its own labels: the value alone, or several with their names."""
        own = [(n, "-" if v is None else v) for n, v in zip(self._rule.key_names, member, strict=True)]
        own = [(name, value) for name, value in own if name not in self._rule.of]
        return own[0][1] if len(own) == 1 else ", ".join(f"{name}={value}" for name, value in own)

    def _suspect(self, fleet: Labels) -> str | None:
        """Name the likely cause when every member is slow: what they have in common."""
        if not fleet:
            return None
        name = ", ".join(f"{n} {'-' if v is None else v}" for n, v in zip(self._rule.of, fleet, strict=True))
        return f"the switch of {name}, or whatever else all its members share"


def _with_rows(members: KeyVerdict) -> tuple[list[Labels], NDArray[np.int64], Flags]:
    """The members with enough events, the number of their events, and whether they violate."""
    rows = np.flatnonzero(members.has_data)
    labels = list(members.labels) if rows.size == len(members.labels) else [members.labels[row] for row in rows]
    return labels, members.counts[rows], members.holds[:, rows]
