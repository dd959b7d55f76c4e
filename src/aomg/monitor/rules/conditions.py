"""Defines the syntax tree of a condition, and evaluates it on columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import Protocol

import numpy as np

from aomg.durations import UNITS
from aomg.monitor.rules.intervals import Flags, Interval, Truth, compare


class Columns(Protocol):
    """The columns that a condition reads: those of the joined rows of its queries."""

    def interval(self, query: str, name: str) -> Interval:
        """Return a quantity of every row."""

    def flag(self, query: str, name: str) -> Flags:
        """Return a flag of every row."""

    def present(self, query: str) -> Flags:
        """Return which rows this query has."""


@dataclass(frozen=True)
class Constant:
    """A number, exact until it is compared. A `written` one means the nearest double, as data do.

    unit is "duration", in microseconds, until the unit of the other side is known.
    """

    exact: Fraction
    unit: str | None
    text: str
    position: int
    written: bool = True

    def quantity(self, columns: Columns) -> Interval:
        """Return the number; a computed one that is not a double lies between two doubles."""
        nearest = float(self.exact)
        if self.written or Fraction(nearest) == self.exact:
            return Interval.exactly(nearest)
        neighbour = float(np.nextafter(nearest, np.inf if Fraction(nearest) < self.exact else -np.inf))
        low, high = np.asarray(min(nearest, neighbour)), np.asarray(max(nearest, neighbour))
        return Interval(low, np.asarray(nearest), high)

    def in_unit(self, unit: str) -> "Constant":
        """Return the duration as a number in this unit."""
        return Constant(self.exact / UNITS[unit], None, self.text, self.position, self.written)

    def parts(self) -> Iterator["Node"]:
        """It has none."""
        return iter(())


@dataclass(frozen=True)
class Column:
    """A quantity of the result rows: inbound.p99. unit is that of the query's values, None for counts and shares."""

    query: str
    name: str
    unit: str | None
    is_value: bool = True

    def __str__(self) -> str:
        return f"{self.query}.{self.name}"

    def quantity(self, columns: Columns) -> Interval:
        """Return the column."""
        return columns.interval(self.query, self.name)

    def parts(self) -> Iterator["Node"]:
        """It has none."""
        return iter(())


@dataclass(frozen=True)
class Arithmetic:
    """Two quantities, added, subtracted, multiplied or divided."""

    sign: str
    left: "Quantity"
    right: "Quantity"
    unit: str | None

    def quantity(self, columns: Columns) -> Interval:
        """Compute it, rounded outward."""
        left, right = self.left.quantity(columns), self.right.quantity(columns)
        if self.sign == "+":
            return left + right
        if self.sign == "-":
            return left - right
        return left * right if self.sign == "*" else left / right

    def parts(self) -> Iterator["Node"]:
        """Both sides."""
        return iter((self.left, self.right))


@dataclass(frozen=True)
class Comparison:
    """Two quantities, compared. Neither holds nor fails for rows that one of `queries` does not have."""

    sign: str
    left: "Quantity"
    right: "Quantity"
    queries: tuple[str, ...]

    def truth(self, columns: Columns) -> Truth:
        """Evaluate it."""
        truth = compare(self.sign, self.left.quantity(columns), self.right.quantity(columns))
        for query in self.queries:
            truth = truth.where(columns.present(query))
        return truth

    def parts(self) -> Iterator["Node"]:
        """Both sides."""
        return iter((self.left, self.right))


@dataclass(frozen=True)
class Flag:
    """A flag of the result rows: burst."""

    query: str
    name: str

    def __str__(self) -> str:
        return f"{self.query}.{self.name}"

    def truth(self, columns: Columns) -> Truth:
        """Return the column; it is exact."""
        flag = columns.flag(self.query, self.name)
        return Truth.of(flag, flag, flag).where(columns.present(self.query))

    def parts(self) -> Iterator["Node"]:
        """It has none."""
        return iter(())


@dataclass(frozen=True)
class Joint:
    """Several conditions of which all ("and") or any ("or") must hold."""

    word: str
    conditions: tuple["Condition", ...]

    def truth(self, columns: Columns) -> Truth:
        """Evaluate it."""
        return reduce(and_ if self.word == "and" else or_, (part.truth(columns) for part in self.conditions))

    def parts(self) -> Iterator["Node"]:
        """Return the conditions."""
        return iter(self.conditions)


@dataclass(frozen=True)
class Not:
    """A condition that must not hold."""

    condition: "Condition"

    def truth(self, columns: Columns) -> Truth:
        """Evaluate it."""
        return ~self.condition.truth(columns)

    def parts(self) -> Iterator["Node"]:
        """Return the condition."""
        return iter((self.condition,))


Quantity = Constant | Column | Arithmetic
Condition = Comparison | Flag | Joint | Not
Node = Quantity | Condition


def leaves(node: Node) -> Iterator[Column | Flag]:
    """Return the columns and flags that a condition reads, from left to right."""
    if isinstance(node, (Column, Flag)):
        yield node
    for part in node.parts():
        yield from leaves(part)
