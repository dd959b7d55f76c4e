"""Defines a query: a window, its quantiles and the guarantee. Validated once, then immutable.

A query's fingerprint is the same in every process and changes with everything that changes a result or a state, so it
protects saved states and checkpoints.
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
MOST_EVENTS = 1 << 31
FINEST_GUARANTEE = 0.005  # the envelope counts values at three digits

_VERSION = 1
_TEXT = re.compile(
    rf"aomg {_VERSION}; (?P<unit>elements|microseconds) (?P<size>\d+)/(?P<period>\d+); "
    r"quantiles (?P<quantiles>[\d.,E+-]+); thresholds (?P<thresholds>[^;]*); digits (?P<digits>\d|None); "
    r"guarantee (?P<guarantee>[^;]+); "
    r"few_k (?P<few_k>[^;]+); lateness (?P<lateness>\d+); partial (?P<partial>[01]); paper (?P<paper>[01])"
)


def _is_whole(number: Any) -> bool:
    """Whether this is a whole number. NumPy's timedelta64 and Python's bool are integers too, but not here."""
    return isinstance(number, (int, np.integer)) and not isinstance(number, (bool, np.timedelta64))


def duration_argument(duration: Any, name: str) -> int:
    """Return the microseconds of a duration; an error names the argument `name`."""
    try:
        return microseconds(duration)
    except DurationError as error:
        raise QueryError(f"{name}: {error}") from None


def readable(text: str) -> str:
    """Return the stored text of a query, or a part of it, with its durations in the usual notation.

    >>> readable("aomg 1; microseconds 3600000000/60000000; quantiles 0.5; lateness 10000000; partial 1")
    'aomg 1; size 1h, period 1m; quantiles 0.5; lateness 10s; partial 1'
    """
    window = re.sub(
        r"\bmicroseconds (\d+)/(\d+)",
        lambda match: f"size {duration_text(int(match[1]))}, period {duration_text(int(match[2]))}",
        text,
    )
    return re.sub(r"\blateness (\d+)", lambda match: f"lateness {duration_text(int(match[1]))}", window)


def decimal_of(quantile: Any) -> Decimal:
    """Return the quantile as an exact decimal: 0.999 is 999/1000, not the double nearest to it."""
    try:
        if isinstance(quantile, Decimal):
            exact = quantile
        elif isinstance(quantile, str):
            exact = Decimal(quantile)
        elif isinstance(quantile, (int, float, np.integer, np.floating)) and not isinstance(quantile, bool):
            exact = Decimal(str(quantile.item() if isinstance(quantile, np.generic) else quantile))
        else:
            raise QueryError(f"a quantile must be a number such as 0.99, or its text, not {quantile!r}")
    except InvalidOperation:
        raise QueryError(f"quantile {quantile!r} is not a decimal number; write 0.99 or '0.99'") from None
    if not exact.is_finite():
        raise QueryError(f"a quantile must be above 0 and at most 1, not {quantile!r}; write 0.99 for 99 %")
    return exact.normalize()


@dataclass(frozen=True)
class FewK:
    """Few-k merging: how many of its largest values each sub-window keeps, and when they give the estimate.

    N and P are the sizes of the window and the sub-window in events, phi is the quantile.

    fraction
        Share of the N(1-phi) largest values that each sub-window keeps, above 0 and at most 1; 1 is enough for an exact
        quantile.
    budget
        Instead of a fraction: how many values a whole window may keep for each high quantile (the paper's B). A
        sub-window gets B P / N of them, for top-k first and the rest for sample-k.
    high
        Quantiles from here on are high: sub-windows keep values for them, and bursts are detected at their depth.
    threshold
        Top-k gives the estimate where P(1-phi) is below this (the paper's statistical inefficiency).
    burst
        Effect size, between 0 and 1, above which a sub-window's tail counts as larger than the one before. Tails of
        fewer than about 43 values have no effect size: their largest values are counted.
    offset
        Where interval sampling starts: "rotate" depends on the sub-window's number and is unbiased, "paper" takes
        every i-th value and is biased low.
    always
        Keep the values even where the band gives the estimate. Without a guarantee they are always kept.
    """

    fraction: float = 0.5
    budget: int | None = None
    high: float = 0.99
    threshold: float = 10
    burst: float = 0.5
    offset: Literal["rotate", "paper"] = "rotate"
    always: bool = False

    def __post_init__(self) -> None:
        """Refuse invalid settings."""
        for name in ("fraction", "high", "threshold", "burst"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise QueryError(f"few_k.{name}={number!r} must be a number")
            object.__setattr__(self, name, float(number))
        if not 0 < self.fraction <= 1:
            raise QueryError(f"few_k.fraction={self.fraction!r} must be above 0 and at most 1")
        if self.budget is not None and not (_is_whole(self.budget) and self.budget >= 1):
            raise QueryError(f"few_k.budget={self.budget!r} must be a whole number of values, 1 or more, or None")
        if self.budget is not None:
            object.__setattr__(self, "budget", int(self.budget))
        if not 0 < self.high <= 1:
            raise QueryError(f"few_k.high={self.high!r} must be a quantile, above 0 and at most 1")
        if not self.threshold >= 0:
            raise QueryError(f"few_k.threshold={self.threshold!r} must not be negative")
        if not 0 < self.burst < 1:
            raise QueryError(f"few_k.burst={self.burst!r} must be above 0 and below 1")
        if self.offset not in ("rotate", "paper"):
            raise QueryError(f"few_k.offset={self.offset!r} must be 'rotate' or 'paper'")

    def __repr__(self) -> str:
        """Return the call that makes these settings, with the arguments that differ from the defaults."""
        settings = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        defaults = {setting.name: setting.default for setting in fields(self)}
        return _call("FewK", (), {name: value for name, value in settings.items() if value != defaults[name]})


@dataclass(frozen=True)
class Query:
    """A sliding window (tumbling, if size == period) and the quantiles to compute for it.

    size, period
        The length of the window, and how often there is a result. Both are numbers of events, or both are durations
        ("1 hour", "5m", timedelta; see `aomg.durations`). The size is a multiple of the period. A sub-window is one
        period long.
    quantiles
        Numbers above 0 and at most 1, each once, in any order. The quantile phi of n values is the ceil(phi n)-th
        smallest.
    thresholds
        Values for `Result.below`, which returns the share of events at or below a threshold.
    digits
        Significant decimal digits to keep of each value, 1 to 6, or None for raw values.
    guarantee
        The largest relative error of an estimate: 0.02 is 2 %. None, the default, is
        max(0.02, 2 * 10^(1 - digits)). False gives no guarantee and saves its memory.
    few_k
        Few-k merging, or None.
    lateness
        How long after its end a sub-window in event time stays open for events that arrive out of order.
    partial
        Whether there are results from the first sub-window on; False waits until every sub-window of the window has
        events.
    as_paper
        Compute as in the paper; set by `Query.paper`.
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
        """Validate the arguments and store each in one form."""
        put = object.__setattr__
        put(self, "_original", {f.name: getattr(self, f.name) for f in fields(self) if f.init})
        for name in ("size", "period"):
            number = getattr(self, name)
            if isinstance(number, (float, np.floating)) and float(number).is_integer():
                whole = int(number)
                raise QueryError(
                    f"{name}={number!r} has no unit; write {whole} for a number of events, or '{whole}s' for seconds"
                )
        counted = _is_whole(self.period)
        if counted != _is_whole(self.size):
            raise QueryError(
                f"size={self.size!r} and period={self.period!r} must both be numbers of events or both be durations"
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
        if counted and self.period >= MOST_EVENTS:
            raise QueryError(f"period={self.period} is too large; it must be below 2^31 events")
        if self.size // self.period > MOST_SUB_WINDOWS:
            raise QueryError(
                f"a window of {self.size // self.period:,} periods is too long; the most is {MOST_SUB_WINDOWS:,}"
            )
        put(self, "lateness", duration_argument(self.lateness, "lateness"))
        if self.lateness < 0:
            raise QueryError("lateness must not be negative; '0 seconds' does not wait for late events")
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
        """Return a query as in the paper: raw values, plain means, no guarantee, full windows only."""
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
            guarantee = float(self.guarantee)
        except (TypeError, ValueError):
            raise QueryError(
                f"guarantee={self.guarantee!r} must be a relative error such as 0.02, None or False"
            ) from None
        if self.guarantee is True or not finest <= guarantee < float("inf"):
            raise QueryError(
                f"guarantee={self.guarantee!r} is not possible with digits={self.digits}; the smallest is {finest:g}"
            )
        return guarantee

    def replace(self, **changes: Any) -> "Query":
        """Return the query with these arguments changed: query.replace(size="24 hours")."""
        return Query(**{**self._original, **changes})  # type: ignore[attr-defined]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of this query, with durations as text: `Query(**query.arguments())` equals it."""
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
        """Return the call that makes this query, with the arguments that differ from the defaults.

        >>> Query("1 hour", "60 seconds", quantiles=(0.5, 0.99))
        Query('1h', '1m', quantiles=(0.5, 0.99))
        """
        arguments = self.arguments()
        window = (arguments.pop("size"), arguments.pop("period"))
        if self == Query.paper(*window, self.quantiles, self.few_k):
            call, defaults = "Query.paper", Query.paper(*window).arguments()
        else:
            call, defaults = "Query", Query(*window).arguments()
            defaults["guarantee"] = Query(*window, digits=self.digits).guarantee
        return _call(call, window, {name: value for name, value in arguments.items() if value != defaults[name]})

    def _length(self, length: int) -> int | str:
        return length if self.counted else duration_text(length)

    @property
    def sub_windows(self) -> int:
        """How many sub-windows a window has."""
        return int(self.size // self.period)

    @property
    def high(self) -> tuple[Decimal, ...]:
        """The high quantiles: sub-windows keep tails for them, and bursts are detected at their depth."""
        lowest = decimal_of((self.few_k or FewK()).high)
        return tuple(q for q in self.quantiles if lowest <= q < 1)

    @property
    def keeps_lists(self) -> bool:
        """Whether sub-windows keep few-k lists: always without a guarantee, otherwise if `few_k.always`."""
        return self.few_k is not None and (self.guarantee is None or self.few_k.always)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits, equal for equal queries in every process and version of Python."""
        return hashlib.blake2b(self.text().encode(), digest_size=16).hexdigest()

    def text(self) -> str:
        """The whole query in one line, in a fixed order; `Query.parse` reads it."""
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
        """Return the query of a `text()`. Refuses the text of another version."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise QueryError(f"not the text of a query (version {_VERSION}): {text!r}")
        parts = match.groupdict()
        unit = "" if parts["unit"] == "elements" else " us"
        few_k = None
        if parts["few_k"] != "none":
            fraction, budget, high, threshold, burst, offset, always = parts["few_k"].split("/")
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
            parts["size"] + unit if unit else int(parts["size"]),
            parts["period"] + unit if unit else int(parts["period"]),
            quantiles=parts["quantiles"].split(","),
            thresholds=[float(limit) for limit in parts["thresholds"].split(",") if limit],
            digits=None if parts["digits"] == "None" else int(parts["digits"]),
            guarantee=False if parts["guarantee"] == "None" else float(parts["guarantee"]),
            few_k=few_k,
            lateness=parts["lateness"] + " us",
            partial=parts["partial"] == "1",
            as_paper=parts["paper"] == "1",
        )


def _call(name: str, first: tuple[Any, ...], arguments: dict[str, Any]) -> str:
    """Return the text of a call: `first` by position, the rest by name. Python has no literal for infinity."""
    texts = {key: "float('inf')" if value == np.inf else repr(value) for key, value in arguments.items()}
    return f"{name}({', '.join([*map(repr, first), *(f'{key}={text}' for key, text in texts.items())])})"


def listed(values: Any, name: str) -> tuple[Any, ...]:
    """A tuple of several values, or of one alone."""
    if isinstance(values, (int, float, str, Decimal, np.generic)):
        return (values,)
    try:
        return tuple(values)
    except TypeError:
        raise QueryError(f"{name}={values!r} must be a number or a list of numbers") from None


def _checked_quantiles(values: Any) -> tuple[Decimal, ...]:
    quantiles = tuple(decimal_of(q) for q in listed(values, "quantiles"))
    if not quantiles:
        raise QueryError("quantiles is empty; give at least one, such as 0.99")
    for q in quantiles:
        if not 0 < q <= 1:
            raise QueryError(f"quantile {q} must be above 0 and at most 1; write 0.99 for 99 %")
        if isinstance(exponent := q.as_tuple().exponent, int) and exponent < -9:
            raise QueryError(f"quantile {q} has more than nine decimals; round it")
    if len(set(quantiles)) < len(quantiles):
        twice = next(q for q in quantiles if quantiles.count(q) > 1)
        raise QueryError(f"quantile {twice} is given twice")
    return quantiles


def _checked_thresholds(values: Any) -> tuple[float, ...]:
    values = listed(values, "thresholds")
    try:
        thresholds = tuple(float(t) for t in values)
    except (TypeError, ValueError, OverflowError):
        raise QueryError(f"thresholds={values!r} must be numbers") from None
    if not all(np.isfinite(thresholds)):
        raise QueryError(f"thresholds={values!r} must be finite")
    if len(set(thresholds)) < len(thresholds):
        raise QueryError(f"thresholds={values!r} contains a number twice")
    return thresholds
