"""Rules on fleets: an alert when at least a share of the members violates a condition.

Members are the keys of the rule's queries; the labels `of` name the fleet, the others the member. A fleet certainly
violates when the members that certainly do reach the share on their own. Members that were seen before and have no
row now are silent: they are left out, or count as violating or healthy, as the rule says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from aomg.monitor.alert import FleetReport
from aomg.monitor.config.model import RuleConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.alert import PlainVerdict, Rule
from aomg.monitor.rules.intervals import CERTAIN, POSSIBLE, Flags
from aomg.monitor.rules.joins import Joined
from aomg.monitor.rules.rows import Labels
from aomg.monitor.rules.verdicts import Evidence

MOST_NAMED = 20
SHARE = "share"


@dataclass(frozen=True, kw_only=True)
class FleetRule(Rule):
    """A rule that judges fleets by the share of their members that violate. `remember` is in microseconds."""

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
        """Whether it needs to know which members it has seen."""
        return self.silent != "ignore"

    def judge(self, end: int, joined: Joined, seen: Mapping[Labels, int]) -> "FleetVerdict":
        """Judge all fleets at a window end."""
        return FleetVerdict(self, end, joined, seen)


class FleetVerdict:
    """What a fleet rule says of one window end. Costs array operations, and a step for each member."""

    def __init__(self, rule: FleetRule, end: int, joined: Joined, seen: Mapping[Labels, int]) -> None:
        self._rule = rule
        members = PlainVerdict(rule, joined)
        self._members, self._counts, holds = _with_rows(members)
        self.seen: Mapping[Labels, int] = {}
        self._silent = 0
        if rule.remembers:
            present = dict.fromkeys(self._members, end)
            silent = [m for m, last in seen.items() if m not in present and end - last <= rule.remember]
            self.seen = {**{member: seen[member] for member in silent}, **present}
            self._silent = len(silent)
            quiet = np.full((3, len(silent)), rule.silent == "violating")
            self._members += silent
            self._counts = np.concatenate([self._counts, np.zeros(len(silent), dtype=np.int64)])
            holds = np.concatenate([holds, quiet], axis=1)
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
        self.judged: Flags = np.ones(len(fleets), dtype=np.bool_)

    def row_of(self, labels: Labels) -> int | None:
        """Return the row of a fleet."""
        return self._rows.get(labels)

    def evidence(self, row: int) -> Evidence:
        """Name who violates: certainly or possibly, as the rule asks."""
        rule = self._rule
        ours = self._fleet_of == row
        asked = CERTAIN if rule.when == "certain" else POSSIBLE
        who = np.flatnonzero(ours & self._violates[asked])
        total = int(self._totals[row])
        low, value, high = (float(part) / total for part in self._violating[:, row])
        names = sorted(self._named(self._members[member]) for member in who)
        first_silent = len(self._members) - self._silent
        report = FleetReport(
            violating=len(who),
            total=total,
            members=tuple(names[:MOST_NAMED]),
            silent=int(ours[first_silent:].sum()),
            suspect=self._suspect(self.labels[row]) if rule.share == 1 and len(who) == total else None,
        )
        return Evidence({SHARE: (low, value, high)}, {}, int(self._counts[ours].sum()), report)

    def _named(self, member: Labels) -> str:
        """A member by its own labels: the value alone, or several with their names."""
        own = [(n, "-" if v is None else v) for n, v in zip(self._rule.key_names, member, strict=True)]
        own = [(name, value) for name, value in own if name not in self._rule.of]
        return own[0][1] if len(own) == 1 else ", ".join(f"{name}={value}" for name, value in own)

    def _suspect(self, fleet: Labels) -> str | None:
        """What is at fault when every member is slow: what they have in common."""
        if not fleet:
            return None
        told = ", ".join(f"{n} {'-' if v is None else v}" for n, v in zip(self._rule.of, fleet, strict=True))
        return f"the switch of {told}, or whatever else all its members share"


def fleet_of(rule: RuleConfig, plain: Rule) -> FleetRule:
    """Make a fleet rule of a plain one. Raises ConfigError where the fleet or its share cannot be."""
    if rule.share is None or not 0 < rule.share <= 1:
        raise ConfigError("share must be more than 0% and at most 100%, such as 10%")
    for name in rule.of:
        if name not in plain.key_names:
            raise ConfigError(f"of names {name!r}, which is no label; there are {', '.join(plain.key_names) or 'none'}")
    if set(rule.of) == set(plain.key_names):
        raise ConfigError("of names all labels, so that a fleet is one member; leave out those that name the members")
    taken = {part.name: getattr(plain, part.name) for part in fields(Rule)}
    return FleetRule(
        **{**taken, "units": {SHARE: "%"}},
        share=Fraction(Decimal(repr(rule.share))),
        of=tuple(dict.fromkeys(rule.of)),
        silent=rule.silent,
        remember=rule.remember if rule.remember is not None else plain.size,
    )


def _with_rows(members: PlainVerdict) -> tuple[list[Labels], NDArray[np.int64], Flags]:
    """The members that have events enough to be judged, their events, and whether they violate."""
    there = np.flatnonzero(members.judged)
    labels = list(members.labels) if there.size == len(members.labels) else [members.labels[row] for row in there]
    return labels, members.counts[there], members.holds[:, there]
