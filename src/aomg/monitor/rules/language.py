"""Parses conditions: `inbound.p99 > 4ms and outbound.p99 > 4ms`, `p99_9 > 10 * p50`, `not burst`.

The grammar is small and fixed; no code is executed. Every mistake is reported before the start: unknown names,
quantiles that are not computed, durations compared with a quantity without a unit. At most 1,000 characters, 50 levels.

=============  ==========================================================================
condition      parts joined by `or`; those by `and`; each `not` ..., `( condition )`,
               a comparison (> >= < <= == !=) of two quantities, or `burst`
quantity       terms joined by + and -; those by * and /; each a name, a number, a
               duration (us, ms, s, m, h), a percentage, - ..., or `( quantity )`
=============  ==========================================================================
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from aomg.monitor.config.model import QueryConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import (
    Arithmetic,
    Column,
    Columns,
    Comparison,
    Condition,
    Constant,
    Flag,
    Joint,
    Node,
    Not,
    Quantity,
    leaves,
)
from aomg.monitor.rules.intervals import Truth
from aomg.monitor.rules.names import own_query, resolve
from aomg.monitor.rules.tokens import WORDS, Token, tokens
from aomg.monitor.rules.units import alike, multiplied

DEEPEST = 50
_COMPARISONS = (">", ">=", "<", "<=", "==", "!=")


@dataclass(frozen=True)
class Expression:
    """A parsed condition. `reads` is every quantity and flag in it, once, from left to right."""

    text: str
    condition: Condition
    reads: tuple[Column | Flag, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries it reads, each once."""
        return tuple(dict.fromkeys(leaf.query for leaf in self.reads))

    def truth(self, columns: Columns) -> Truth:
        """Evaluate it for every row: a few array operations for each operator."""
        return self.condition.truth(columns)


def parse(text: str, queries: Mapping[str, QueryConfig], own: str | None = None) -> Expression:
    """Parse a condition. Names without a prefix belong to the query `own`, or to the only one.

    Raises ConfigError with the position and what to write instead.
    """
    reader = _Reader(text, queries, own_query(own, queries))
    node = reader.condition()
    if reader.token.kind != "end":
        raise ConfigError(f"{reader.here()} is unexpected; join conditions with and, or")
    condition = _truth(node, 1)
    return Expression(text.strip(), condition, tuple(dict.fromkeys(leaves(condition))))


def constant(text: str, unit: str | None) -> float:
    """Parse a limit such as 200ms, 0.9 or 90%, as a number in `unit`. Raises ConfigError for anything else.

    >>> constant("200ms", "us"), constant("90%", None)
    (200000.0, 0.9)
    """
    parts = tokens(text)
    if len(parts) != 2 or parts[0].kind not in ("number", "duration"):
        raise ConfigError(f"{text!r} is not a limit; write a number or a duration, such as 200ms")
    if parts[0].kind == "number":
        return float(parts[0].value)
    if unit is None:
        raise ConfigError(f"{text!r} is a duration, but the query has no unit; add unit: us, ms or s to the query")
    return float(Constant(parts[0].value, "duration", text, 1).in_unit(unit).exact)


class _Reader:
    """A recursive-descent parser: reads the tokens once, from left to right."""

    def __init__(self, text: str, queries: Mapping[str, QueryConfig], own: str | None) -> None:
        self.tokens = tokens(text)
        self.queries = queries
        self.own = own
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def here(self) -> str:
        """The current token, for an error."""
        return (
            self.token.text if self.token.kind == "end" else f"{self.token.text!r} at character {self.token.position}"
        )

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these."""
        token = self.token
        if token.kind in ("name", "sign") and token.text in texts:
            self.index += 1
            return token
        return None

    def deeper(self, part: Callable[[], Node]) -> Node:
        """Parse a part one level deeper."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ConfigError(
                f"{self.here()} is more than {DEEPEST} levels deep; split the condition into several rules"
            )
        node = part()
        self.depth -= 1
        return node

    def condition(self) -> Node:
        return self._joint("or", lambda: self._joint("and", self._negation))

    def _joint(self, word: str, part: Callable[[], Node]) -> Node:
        start = self.token.position
        node = part()
        if self.token.text != word or self.token.kind != "name":
            return node
        parts = [_truth(node, start)]
        while self.accept(word):
            start = self.token.position
            parts.append(_truth(part(), start))
        return Joint(word, tuple(parts))

    def _negation(self) -> Node:
        if self.accept("not"):
            start = self.token.position
            return Not(_truth(self.deeper(self._negation), start))
        return self._comparison()

    def _comparison(self) -> Node:
        start = self.token.position
        left = self._sum()
        sign = self.accept(*_COMPARISONS)
        if sign is None:
            return left
        after = self.token.position
        right = _quantity(self._sum(), after)
        if self.token.text in _COMPARISONS:
            raise ConfigError(f"{self.here()} is a second comparison; write a < b and b < c")
        left, right, _ = alike(_quantity(left, start), right, sign)
        queries = dict.fromkeys(leaf.query for side in (left, right) for leaf in leaves(side))
        if not queries:
            raise ConfigError(f"{sign.text!r} at character {sign.position} compares two constants; use a quantity")
        return Comparison(sign.text, left, right, tuple(queries))

    def _sum(self) -> Node:
        start = self.token.position
        node = self._product()
        while sign := self.accept("+", "-"):
            after = self.token.position
            left, right, unit = alike(_quantity(node, start), _quantity(self._product(), after), sign)
            node = _arithmetic(sign, left, right, unit)
        return node

    def _product(self) -> Node:
        start = self.token.position
        node = self._sign()
        while sign := self.accept("*", "/"):
            after = self.token.position
            left, right, unit = multiplied(_quantity(node, start), _quantity(self._sign(), after), sign)
            node = _arithmetic(sign, left, right, unit)
        return node

    def _sign(self) -> Node:
        sign = self.accept("-")
        if sign is None:
            return self._primary()
        after = self.token.position
        node = _quantity(self.deeper(self._sign), after)
        if isinstance(node, Constant):
            return Constant(-node.exact, node.unit, f"-{node.text}", sign.position, node.written)
        return Arithmetic("*", Constant(Fraction(-1), None, "-1", sign.position), node, node.unit)

    def _primary(self) -> Node:
        token = self.token
        if self.accept("("):
            node = self.deeper(self.condition)
            if self.accept(")") is None:
                raise ConfigError(f") is missing before {self.here()}; the ( is at character {token.position}")
            return node
        if token.kind in ("number", "duration"):
            self.index += 1
            return Constant(token.value, "duration" if token.kind == "duration" else None, token.text, token.position)
        if token.kind == "name" and token.text not in WORDS:
            self.index += 1
            if token.text.lower() in WORDS:
                raise ConfigError(f"{token.text!r} at character {token.position}: write {token.text.lower()}")
            return resolve(token.text, self.queries, self.own, f" at character {token.position}")
        raise ConfigError(f"a quantity such as p99 or 4ms is missing before {self.here()}")


def _arithmetic(sign: Token, left: Quantity, right: Quantity, unit: str | None) -> Quantity:
    """Combine two quantities; constants are computed now, exactly."""
    if not isinstance(left, Constant) or not isinstance(right, Constant):
        return Arithmetic(sign.text, left, right, unit)
    a, b = left.exact, right.exact
    exact = a + b if sign.text == "+" else a - b if sign.text == "-" else a * b if sign.text == "*" else a / b
    text = f"{left.text} {sign.text} {right.text}"
    return Constant(exact, unit, text, left.position, written=False)


def _truth(node: Node, position: int) -> Condition:
    if isinstance(node, (Constant, Column, Arithmetic)):
        raise ConfigError(f"the quantity at character {position} is not a condition; compare it, such as p99 > 4ms")
    return node


def _quantity(node: Node, position: int) -> Quantity:
    if isinstance(node, (Constant, Column, Arithmetic)):
        return node
    raise ConfigError(f"the condition at character {position} is true or false; only quantities can be compared")
