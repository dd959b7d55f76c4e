"""What is asked: a window, its quantiles, and how much may be forgotten. Checked once, then frozen.

A query's fingerprint is the same in every process and changes with everything that changes an answer or a state,
so it guards saved states and checkpoints.
"""

import hashlib
import re
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import numpy as np

from aomg.durations import duration_text, microseconds
from aomg.errors import DurationError, QueryError

MOST_SUB_WINDOWS = 1 << 22
MOST_ELEMENTS = 1 << 31
FINEST_GUARANTEE = 0.005  # the envelope counts at three digits

_VERSION = 1
_TEXT = re.compile(
    rf"aomg {_VERSION}; (?P<unit>elements|microseconds) (?P<size>\d+)/(?P<period>\d+); "
    r"quantiles (?P<quantiles>[\d.,E+-]+); thresholds (?P<thresholds>[^;]*); digits (?P<digits>\d|None); "
    r"guarantee (?P<guarantee>[^;]+); "
    r"few_k (?P<few_k>[^;]+); lateness (?P<lateness>\d+); partial (?P<partial>[01]); paper (?P<paper>[01])"
)


def _is_whole(number: Any) -> bool:
    """Whether this counts elements: timedelta64 is an integer to NumPy, and a bool to Python."""
    return isinstance(number, (int, np.integer)) and not isinstance(number, (bool, np.timedelta64))


def duration_argument(given: Any, name: str) -> int:
    """Return the microseconds of a duration that was given as the argument `name`."""
    try:
        return microseconds(given)
    except DurationError as error:
        raise QueryError(f"{name}: {error}") from None


def readable(text: str) -> str:
    """Return the stored text of a query, or a part of it, with its durations as people write them.

    >>> readable("aomg 1; microseconds 3600000000/60000000; quantiles 0.5; lateness 10000000; partial 1")
    'aomg 1; size 1h, period 1m; quantiles 0.5; lateness 10s; partial 1'
    """
    window = re.sub(
        r"\bmicroseconds (\d+)/(\d+)",
        lambda found: f"size {duration_text(int(found[1]))}, period {duration_text(int(found[2]))}",
        text,
    )
    return re.sub(r"\blateness (\d+)", lambda found: f"lateness {duration_text(int(found[1]))}", window)


def decimal_of(quantile: Any) -> Decimal:
    """The exact decimal that was written: 0.999 is 999/1000, not the double nearest to it."""
    try:
        if isinstance(quantile, Decimal):
            exact = quantile
        elif isinstance(quantile, str):
            exact = Decimal(quantile)
        elif isinstance(quantile, (int, float, np.integer, np.floating)) and not isinstance(quantile, bool):
            exact = Decimal(str(quantile.item() if isinstance(quantile, np.generic) else quantile))
        else:
            raise QueryError(f"a quantile must be a number or its decimal text, not {quantile!r}")
    except InvalidOperation:
        raise QueryError(f"{quantile!r} is no decimal number") from None
    if not exact.is_finite():
        raise QueryError(f"a quantile must be a number in (0, 1], not {quantile!r}")
    return exact.normalize()


@dataclass(frozen=True)
class FewK:
    """Few-k merging: how much of each sub-window's tail is kept, and when it answers.

    fraction
        Share of the exact need N(1-phi) that each sub-window keeps for a high quantile, in (0, 1].
    budget
        Instead of a fraction: the entries that a whole window may keep for each high quantile (the paper's B);
        a sub-window gets B P / N of them, top-k first, the rest for sample-k.
    high
        Quantiles from here on are high: they have tails, and bursts are watched at their depth.
    threshold
        Top-k answers where P(1-phi) is below this (statistical inefficiency).
    burst
        Effect size, in (0, 1), above which a sub-window's tail counts as larger than the one before.
    offset
        Where interval sampling starts: "rotate" moves with the sub-window's number and is unbiased, "paper" takes
        every i-th value and is biased low.
    always
        Keep the lists even where the band answers. Without a guarantee they are always kept.
    """

    fraction: float = 0.5
    budget: int | None = None
    high: float = 0.99
    threshold: float = 10
    burst: float = 0.5
    offset: Literal["rotate", "paper"] = "rotate"
    always: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        for name in ("fraction", "high", "threshold", "burst"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise QueryError(f"few_k.{name}={number!r} must be a number")
            object.__setattr__(self, name, float(number))
        if not 0 < self.fraction <= 1:
            raise QueryError(f"few_k.fraction={self.fraction!r} must lie in (0, 1]")
        if self.budget is not None and not (_is_whole(self.budget) and self.budget >= 1):
            raise QueryError(f"few_k.budget={self.budget!r} must be a whole number of entries, or None")
        if self.budget is not None:
            object.__setattr__(self, "budget", int(self.budget))
        if not 0 < self.high <= 1:
            raise QueryError(f"few_k.high={self.high!r} must be a quantile in (0, 1]")
        if not self.threshold >= 0:
            raise QueryError(f"few_k.threshold={self.threshold!r} must not be negative")
        if not 0 < self.burst < 1:
            raise QueryError(f"few_k.burst={self.burst!r} must lie in (0, 1)")
        if self.offset not in ("rotate", "paper"):
            raise QueryError(f"few_k.offset={self.offset!r} must be 'rotate' or 'paper'")

    def __repr__(self) -> str:
        """Return the call that makes these settings."""
        return _call("FewK", {one.name: getattr(self, one.name) for one in fields(self)})


@dataclass(frozen=True)
class Query:
    """A sliding (or, with size == period, tumbling) window and what to tell of it.

    size, period
        Both whole numbers of elements, or both durations ("1 hour", "5m", timedelta; see `aomg.durations`), which
        become whole microseconds. The size is a multiple of the period; a sub-window is one period long.
    quantiles
        In (0, 1], each once, in any order; the phi-quantile is the ceil(phi n)-th smallest value.
    thresholds
        Values of which `Result.below` tells the share of events at or below them.
    digits
        Significant decimal digits that are kept, 1 to 6, or None for raw values.
    guarantee
        No estimate is further than this, relatively, from the exact quantile. None means
        max(0.02, 2 * 10^(1 - digits)); False keeps no envelope and guarantees no error.
    few_k
        Few-k merging, or None.
    lateness
        How long beyond its end a sub-window in event time stays open.
    partial
        Answer from the first sub-window on; False waits until all of the window's are non-empty.
    """

    size: Any
    period: Any
    quantiles: Any = (0.5, 0.9, 0.99, 0.999)
    thresholds: Any = ()
    digits: int | None = 3
    guarantee: Any = None
    few_k: FewK | None = field(default_factory=FewK)
    lateness: Any = "10 seconds"
    partial: bool = True
    as_paper: bool = False

    def __post_init__(self) -> None:
        """Check everything once and keep it in one form."""
        put = object.__setattr__
        put(self, "_given", {f.name: getattr(self, f.name) for f in fields(self) if f.init})
        for name in ("size", "period"):
            number = getattr(self, name)
            if isinstance(number, (float, np.floating)) and float(number).is_integer():
                whole = int(number)
                raise QueryError(
                    f"{name}={number!r} has no unit; write {whole} for elements, or a duration such as '{whole}s'"
                )
        counted = _is_whole(self.period)
        if counted != _is_whole(self.size):
            raise QueryError(
                f"size={self.size!r} and period={self.period!r} must both count elements or both be durations"
            )
        put(self, "counted", counted)
        for name in ("size", "period"):
            length = int(getattr(self, name)) if counted else duration_argument(getattr(self, name), name)
            if length < 1:
                raise QueryError(f"{name}={self._length(length)!r} must be positive")
            put(self, name, length)
        if self.size % self.period:
            below = self.size // self.period * self.period
            nearest = dict.fromkeys((below or self.period, below + self.period))
            raise QueryError(
                f"size={self._length(self.size)!r} is not a multiple of period={self._length(self.period)!r}; "
                f"make it {' or '.join(repr(self._length(length)) for length in nearest)}"
            )
        if counted and self.period >= MOST_ELEMENTS:
            raise QueryError(f"period={self.period} is too large: a sub-window holds fewer than 2^31 elements")
        if self.size // self.period > MOST_SUB_WINDOWS:
            raise QueryError(f"a window of {self.size // self.period} periods is too long; at most {MOST_SUB_WINDOWS}")
        put(self, "lateness", duration_argument(self.lateness, "lateness"))
        if self.lateness < 0:
            raise QueryError("lateness must not be negative; '0 seconds' waits for nothing")
        put(self, "quantiles", _checked_quantiles(self.quantiles))
        put(self, "thresholds", _checked_thresholds(self.thresholds))
        if self.digits is not None and not (_is_whole(self.digits) and 1 <= self.digits <= 6):
            raise QueryError(f"digits={self.digits!r} must be 1 to 6, or None for raw values")
        put(self, "guarantee", self._checked_guarantee())
        if self.few_k is not None and not isinstance(self.few_k, FewK):
            raise QueryError(f"few_k must be aomg.FewK(...) or None, not {self.few_k!r}")
        put(self, "partial", bool(self.partial))

    @classmethod
    def paper(
        cls, size: Any, period: Any, quantiles: Any = (0.5, 0.9, 0.99, 0.999), few_k: FewK | None = None
    ) -> "Query":
        """Return the query as the paper ran it: raw values, plain mean, no envelope, full windows only."""
        return cls(
            size,
            period,
            quantiles=quantiles,
            digits=None,
            guarantee=False,
            few_k=few_k,
            partial=False,
            as_paper=True,
        )

    counted: bool = field(init=False, default=True, repr=False)

    def _checked_guarantee(self) -> float | None:
        finest = 0.5 * 10.0 ** (1 - self.digits) if self.digits is not None else FINEST_GUARANTEE
        finest = max(finest, FINEST_GUARANTEE)
        if self.guarantee is False:
            return None
        if self.guarantee is None:
            return 0.02 if self.digits is None else max(0.02, 2 * 10.0 ** (1 - self.digits))
        try:
            asked = float(self.guarantee)
        except (TypeError, ValueError):
            raise QueryError(f"guarantee={self.guarantee!r} must be a relative error, None or False") from None
        if self.guarantee is True or not finest <= asked < float("inf"):
            raise QueryError(
                f"guarantee={self.guarantee!r} is not possible with digits={self.digits}; the finest is {finest:g}"
            )
        return asked

    def replace(self, **changes: Any) -> "Query":
        """Return the same query but for these arguments (dataclasses.replace would hand over the checked forms)."""
        return Query(**{**self._given, **changes})  # type: ignore[attr-defined]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make this query, durations as people write them: `Query(**arguments)` equals it."""
        return {
            "size": self._length(self.size),
            "period": self._length(self.period),
            "quantiles": tuple(map(float, self.quantiles)),
            "thresholds": self.thresholds,
            "digits": None if self.digits is None else int(self.digits),
            "guarantee": False if self.guarantee is None else self.guarantee,
            "few_k": self.few_k,
            "lateness": duration_text(self.lateness),
            "partial": self.partial,
            "as_paper": self.as_paper,
        }

    def __repr__(self) -> str:
        """Return the call that makes this query."""
        return _call("Query", self.arguments())

    def _length(self, length: int) -> int | str:
        return length if self.counted else duration_text(length)

    @property
    def sub_windows(self) -> int:
        """How many sub-windows a window has."""
        return int(self.size // self.period)

    @property
    def high(self) -> tuple[Decimal, ...]:
        """The high quantiles: those with tails, at whose depth bursts are watched."""
        from_here = decimal_of((self.few_k or FewK()).high)
        return tuple(q for q in self.quantiles if from_here <= q < 1)

    @property
    def keeps_lists(self) -> bool:
        """Whether sub-windows keep few-k lists: always without a guarantee, else on request."""
        return self.few_k is not None and (self.guarantee is None or self.few_k.always)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits, equal for equal queries in every process and version of Python."""
        return hashlib.blake2b(self.text().encode(), digest_size=16).hexdigest()

    def text(self) -> str:
        """One line that says all of the query, in a fixed order."""
        few_k = "none"
        if self.few_k is not None:
            k = self.few_k
            few_k = f"{k.fraction!r}/{k.budget!r}/{k.high!r}/{k.threshold!r}/{k.burst!r}/{k.offset}/{int(k.always)}"
        return (
            f"aomg {_VERSION}; {'elements' if self.counted else 'microseconds'} {self.size}/{self.period}; "
            f"quantiles {','.join(map(str, self.quantiles))}; thresholds {','.join(map(repr, self.thresholds))}; "
            f"digits {self.digits}; guarantee {self.guarantee!r}; few_k {few_k}; lateness {self.lateness}; "
            f"partial {int(self.partial)}; paper {int(self.as_paper)}"
        )

    @classmethod
    def parse(cls, text: str) -> "Query":
        """Return the query that `text()` said. Refuses the text of another version."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise QueryError(f"this is not the text of a query of version {_VERSION}: {text!r}")
        said = match.groupdict()
        unit = "" if said["unit"] == "elements" else " us"
        few_k = None
        if said["few_k"] != "none":
            fraction, budget, high, threshold, burst, offset, always = said["few_k"].split("/")
            few_k = FewK(
                float(fraction),
                None if budget == "None" else int(budget),
                float(high),
                float(threshold),
                float(burst),
                "paper" if offset == "paper" else "rotate",
                always == "1",
            )
        return cls(
            said["size"] + unit if unit else int(said["size"]),
            said["period"] + unit if unit else int(said["period"]),
            quantiles=said["quantiles"].split(","),
            thresholds=[float(limit) for limit in said["thresholds"].split(",") if limit],
            digits=None if said["digits"] == "None" else int(said["digits"]),
            guarantee=False if said["guarantee"] == "None" else float(said["guarantee"]),
            few_k=few_k,
            lateness=said["lateness"] + " us",
            partial=said["partial"] == "1",
            as_paper=said["paper"] == "1",
        )


def _call(name: str, arguments: dict[str, Any]) -> str:
    """Return the text of a call; Python has no literal for infinity."""
    texts = {key: "float('inf')" if value == np.inf else repr(value) for key, value in arguments.items()}
    return f"{name}({', '.join(f'{key}={text}' for key, text in texts.items())})"


def _listed(given: Any, name: str) -> tuple[Any, ...]:
    """Several, or one alone."""
    if isinstance(given, (int, float, str, Decimal, np.generic)):
        return (given,)
    try:
        return tuple(given)
    except TypeError:
        raise QueryError(f"{name}={given!r} must be a number or several") from None


def _checked_quantiles(given: Any) -> tuple[Decimal, ...]:
    quantiles = tuple(decimal_of(q) for q in _listed(given, "quantiles"))
    if not quantiles:
        raise QueryError("quantiles is empty; ask for one at least, such as 0.99")
    for q in quantiles:
        if not 0 < q <= 1:
            raise QueryError(f"quantile {q} must lie in (0, 1]; 99 % is 0.99")
        if isinstance(exponent := q.as_tuple().exponent, int) and exponent < -9:
            raise QueryError(f"quantile {q} has more than nine decimals; round it")
    if len(set(quantiles)) < len(quantiles):
        twice = next(q for q in quantiles if quantiles.count(q) > 1)
        raise QueryError(f"quantile {twice} is given twice")
    return quantiles


def _checked_thresholds(given: Any) -> tuple[float, ...]:
    given = _listed(given, "thresholds")
    try:
        thresholds = tuple(float(t) for t in given)
    except (TypeError, ValueError, OverflowError):
        raise QueryError(f"thresholds={given!r} must be numbers") from None
    if not all(np.isfinite(thresholds)):
        raise QueryError(f"thresholds={given!r} must be finite")
    if len(set(thresholds)) < len(thresholds):
        raise QueryError(f"thresholds={given!r} names one twice")
    return thresholds
