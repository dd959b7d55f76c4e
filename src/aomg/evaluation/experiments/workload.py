"""The paper's three insights on any stream, and a verdict: does the method suit it, and with which settings.

The verdict follows the same rule for every stream. The aim is the paper's: a mean value error of 5 % at each of the
quantiles 0.5, 0.9, 0.99 and 0.999.

* least method: at each period, the first of these that meets the aim: the mean of sub-window quantiles, the mean with
  few-k merging (fraction 0.5), the envelope, which is guaranteed. The method suits the stream if one of the first two
  is enough at N / 8.
* redundant: a sub-window's (value, count) pairs at the chosen digits take less space than its values.
* self-similar: at 0.5 and 0.9 and at every tested period, sub-window quantiles spread at most twice as far as those of
  the same window shuffled. Spreads below 0.1 % of the value are negligible and count as 0.1 %.
* heavy tail: a rank error of 0.1 % at 0.999 moves the value by more than the aim.
* digits: the fewest of 3 to 6 that distinguish all values, or leave 20 distinct ones in the middle 90 %; otherwise raw.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aomg import FewK
from aomg.core.codes import DigitsCodec
from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure, ranks
from aomg.evaluation.measure.contenders import default_aomg
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import Values, ValueSource, of_stream
from aomg.evaluation.outcome import Cell, Claim, Outcome, Plot, Series, Table, TableColumn

SIZE = 131_072
STREAMS = ("pingmesh", "search", "taxi", "normal", "uniform", "host_resources", "drift", "bursts")
SUB_WINDOWS = (2, 4, 8, 16, 32, 64, 128)
TESTED = (8, 32, 128)  # sub-windows: periods 16K, 4K and 1K
AIM, SPREAD, MATTERS, DISTINCT = 5.0, 2.0, 0.001, 20
METHODS = ("mean", "few-k", "envelope")
HOUR = 10_000_000
_MOST_WINDOWS, _SHUFFLES, _EVALUATED = 12, 3, 64


def _sources(own: ValueSource | None) -> list[ValueSource]:
    return [own] if own is not None else [*map(of_stream, STREAMS), of_stream("ar1", psi=0.8)]


def _size(source: ValueSource) -> int:
    return source.window(SIZE, SIZE // SUB_WINDOWS[-1])[0]


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    pieces = []
    for source in _sources(own):
        events = source.most(scale.events)
        pieces.append(Piece(source.name, partial(_studied, source, _size(source), events), 6 * events / 1e6))
    if own is None:
        pieces.append(Piece("hour", partial(_hour, min(HOUR, 25 * scale.events)), 1))
    return pieces


def _studied(source: ValueSource, size: int, events: int) -> dict[str, Any]:
    features = profile(source, size, events)
    return {"profile": features, "errors": errors(source, size, events, features["digits"])}


def profile(source: ValueSource, size: int, events: int) -> dict[str, Any]:
    """Return the properties behind the insights, as means over up to twelve disjoint windows."""
    values = source.values(events)
    starts = np.unique(np.linspace(0, events // size - 1, _MOST_WINDOWS).astype(int)) * size
    windows = [values[start : start + size] for start in starts]
    ordered = [np.sort(window) for window in windows]
    places = np.array(ranks(QUANTILES, size)) - 1
    move = max(size // 1000, 1)
    quantiles = np.array([window[places] for window in ordered], np.float64)
    middle = np.array([(window[places[0] + move] - window[places[0]]) for window in ordered], np.float64)
    tail = np.array([(window[places[-1]] - window[places[-1] - move]) for window in ordered], np.float64)
    digits = _digits(ordered)
    parts = SUB_WINDOWS[2]
    return {
        "windows": len(windows),
        "quantiles": quantiles.mean(axis=0).tolist(),
        "largest": float(max(window[-1] for window in ordered)),
        "distinct": float(np.mean([_distinct(window, None) for window in windows])),
        "distinct_3": float(np.mean([_distinct(window, 3) for window in windows])),
        "sub_distinct": float(np.mean([_distinct(part, None) for w in windows for part in np.split(w, parts)])),
        "sub_distinct_3": float(np.mean([_distinct(part, 3) for w in windows for part in np.split(w, parts)])),
        "sub_distinct_chosen": float(
            np.mean([_distinct(part, digits) for w in windows for part in np.split(w, parts)])
        ),
        "digits": digits,
        "middle_gap": _relative(middle, quantiles[:, 0]),
        "tail_gap": _relative(tail, quantiles[:, -1]),
        "gathered": float(np.mean([_gathered(w, parts, q) for w, q in zip(windows, quantiles[:, -1], strict=True)])),
        "spread": {str(parts): _spread(windows, parts, quantiles) for parts in SUB_WINDOWS},
    }


def _distinct(values: Values, digits: int | None) -> float:
    """Return the share of distinct values, at some digits or raw."""
    codes = values if digits is None else DigitsCodec(digits).codes(values)
    return float(np.unique(codes).size / values.size)


def _digits(ordered: list[Values]) -> int | None:
    """Return the fewest digits that distinguish the values of every window well enough; None for raw."""
    for digits in (3, 4, 5, 6):
        enough = True
        for window in ordered:
            middle = window[window.size // 20 : window.size - window.size // 20]
            codes = DigitsCodec(digits).codes(np.ascontiguousarray(middle))
            distinct = np.unique(codes).size
            enough = enough and (distinct >= DISTINCT or distinct == np.unique(middle).size)
        if enough:
            return digits
    return None


def _relative(moves: Any, values: Any) -> float | None:
    """Return the mean of differences relative to values that are not zero, in percent."""
    there = values != 0
    return float(np.mean(100 * moves[there] / np.abs(values[there]))) if there.any() else None


def _gathered(window: Values, parts: int, value: float) -> float:
    """Return the largest share of the values above the last quantile that is in one sub-window; 1 is the paper's E1."""
    above = np.array([np.count_nonzero(part >= value) for part in np.split(window, parts)])
    return float(above.max() / above.sum())


def _spread(windows: list[Values], parts: int, quantiles: Any) -> dict[str, Any]:
    """Return the coefficients of variation of sub-window quantiles, in order and shuffled, and their ratio."""
    random = np.random.default_rng(1)
    in_order, shuffled = [], []
    for window, exact in zip(windows, quantiles, strict=True):
        scale = np.where(exact != 0, np.abs(exact), np.nan)
        in_order.append(_variances(window, parts) / scale**2)
        shuffled += [_variances(random.permutation(window), parts) / scale**2 for _ in range(_SHUFFLES)]
    actual, reference = (np.sqrt(np.mean(variances, axis=0)) for variances in (in_order, shuffled))
    ratio = np.maximum(actual, MATTERS) / np.maximum(reference, MATTERS)
    return {"found": _known(100 * actual), "shuffled": _known(100 * reference), "ratio": _known(ratio)}


def _variances(window: Values, parts: int) -> Any:
    rows = window.reshape(parts, -1)
    places = [rank - 1 for rank in ranks(QUANTILES, rows.shape[1])]
    return np.partition(rows, places, axis=1)[:, places].astype(np.float64).var(axis=0, ddof=1)


def _known(numbers: Any) -> list[float | None]:
    return [float(number) if np.isfinite(number) else None for number in numbers]


def errors(source: ValueSource, size: int, events: int, digits: int | None) -> dict[str, Any]:
    """Return mean and worst value errors of each method at each tested period, with the settings of the verdict."""
    contenders = {
        "mean": default_aomg(digits=digits, few_k=None, guarantee=False),
        "few-k": default_aomg(digits=digits, few_k=FewK(), guarantee=False),
        "envelope": default_aomg(digits=digits),
    }
    by_period: dict[str, Any] = {}
    for parts in TESTED:
        period = size // parts
        windows = Windows(size, period, events, max(((events - size) // period + 1) // _EVALUATED, 1))
        by_period[str(parts)] = {}
        for method, contender in contenders.items():
            measurement = measure(contender, source, windows)
            by_period[str(parts)][method] = {
                "mean": measurement["value_error"],
                "worst": measurement["worst_value_error"],
            }
    return by_period


def _hour(events: int) -> dict[str, float]:
    """Return the properties of an hour of Pingmesh that the paper prints."""
    values = of_stream("pingmesh").take(events, 0)
    return {
        "events": events,
        "distinct": 100 * np.unique(values).size / events,
        "small": 100 * float(np.mean(values < 1_250)),
        "largest": float(values.max()),
    }


@dataclass(frozen=True)
class StreamVerdict:
    """The verdict on a stream."""

    least: dict[int, str]
    """The least method that meets the aim, by the number of sub-windows."""
    redundant: bool
    self_similar: bool
    heavy_tail: bool
    digits: int | None

    @property
    def suits(self) -> str:
        """Whether the method suits the stream."""
        method = self.least[TESTED[0]]
        words = {
            "mean": "yes, the mean alone",
            "few-k": "yes, with few-k merging",
            "envelope": "only with the envelope",
        }
        return words[method] + ("" if self.self_similar or method == METHODS[-1] else ", though sub-windows differ")

    @property
    def settings(self) -> str:
        """The query arguments of the least method that meets the aim."""
        few_k = {
            "mean": "few_k=None, guarantee=False",
            "few-k": "few_k=FewK(0.5), guarantee=False",
            "envelope": "guarantee=0.02",
        }
        return f"digits={self.digits}, {few_k[self.least[TESTED[0]]]}"

    def smallest(self, size: int) -> int:
        """Return the smallest tested period down to which the least method at N / 8 is enough."""
        first = METHODS.index(self.least[TESTED[0]])
        good = TESTED[0]
        for parts in TESTED:
            if METHODS.index(self.least[parts]) > first:
                break
            good = parts
        return size // good


def verdict(features: dict[str, Any], errors: dict[str, Any]) -> StreamVerdict:
    """Apply the rule of this module to measurements."""
    least = {}
    for parts in TESTED:
        by_method = errors[str(parts)]
        met = [m for m in METHODS[:-1] if all(error is None or error <= AIM for error in by_method[m]["mean"])]
        least[parts] = met[0] if met else METHODS[-1]
    spreads = [features["spread"][str(parts)]["ratio"][q] for parts in TESTED for q in (0, 1)]
    return StreamVerdict(
        least,
        2 * features["sub_distinct_chosen"] < 1,
        all(spread is None or spread <= SPREAD for spread in spreads),
        features["tail_gap"] is not None and features["tail_gap"] > AIM,
        features["digits"],
    )


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    sources = _sources(own)
    profiles = {source.title: measurements[source.name]["profile"] for source in sources}
    measured = {source.title: measurements[source.name]["errors"] for source in sources}
    sizes = {source.title: _size(source) for source in sources}
    verdicts = {title: verdict(profiles[title], measured[title]) for title in profiles}
    tables = [
        _verdict_table(verdicts, measured, sizes),
        _insights(profiles, sizes),
        _spread_table(profiles, sizes),
        _error_table(measured, sizes),
    ]
    plots = []
    for q in (0, len(QUANTILES) - 1):
        series = [
            Series(
                title,
                [sizes[title] // p for p in SUB_WINDOWS],
                [features["spread"][str(p)]["ratio"][q] for p in SUB_WINDOWS],
            )
            for title, features in profiles.items()
        ]
        title = f"Spread of sub-windows' Q{QUANTILES[q]}, relative to the same values shuffled"
        plots.append(Plot(title, "period", "in order / shuffled", series, log_x=True, log_y=True))
    findings = [_sentence(title, verdicts[title], profiles[title], measured[title], sizes[title]) for title in profiles]
    return Outcome(tables, plots, findings, _claims(measurements["hour"]) if own is None else ())


def _verdict_table(verdicts: dict[str, StreamVerdict], measured: dict[str, Any], sizes: dict[str, int]) -> Table:
    columns = [TableColumn("stream"), TableColumn("redundant"), TableColumn("self-similar"), TableColumn("heavy tail")]
    columns += [TableColumn(f"least at N/{parts}") for parts in TESTED]
    columns += [
        TableColumn("suits"),
        TableColumn("least settings"),
        TableColumn("down to a period of"),
        TableColumn("envelope, worst", 2, "%"),
    ]
    rows: list[list[Cell]] = []
    for title, stream_verdict in verdicts.items():
        worst = max(_most(measured[title][str(parts)]["envelope"]["worst"]) for parts in TESTED)
        flags = [
            "yes" if flag else "no"
            for flag in (stream_verdict.redundant, stream_verdict.self_similar, stream_verdict.heavy_tail)
        ]
        least = [stream_verdict.least[parts] for parts in TESTED]
        rows.append(
            [
                title,
                *flags,
                *least,
                stream_verdict.suits,
                stream_verdict.settings,
                stream_verdict.smallest(sizes[title]),
                worst,
            ]
        )
    note = (
        f"Least: the first of mean, few-k and envelope whose mean value error is within {AIM:g} % at every quantile. "
        "The last column is the worst window of AOMG with its guarantee, which holds on every stream."
    )
    return Table(f"Verdict, window N = {_size_of(sizes)}", columns, rows, note)


def _size_of(sizes: dict[str, int]) -> str:
    """Return the window, the same for all streams."""
    return f"{next(iter(sizes.values())):,}"


def _insights(profiles: dict[str, Any], sizes: dict[str, int]) -> Table:
    columns = [
        TableColumn("stream"),
        TableColumn("windows"),
        TableColumn("distinct", 2, "%"),
        TableColumn("at 3 digits", 2, "%"),
    ]
    columns += [TableColumn("sub-window: distinct", 2, "%"), TableColumn("sub-window: at 3 digits", 2, "%")]
    columns += [
        TableColumn("Q0.9 / Q0.5", 2),
        TableColumn("Q0.999 / Q0.5", 2),
        TableColumn("Q0.5 + 0.1 % of ranks", 2, "%"),
    ]
    columns += [TableColumn("Q0.999 - 0.1 % of ranks", 2, "%"), TableColumn("tail in one sub-window", 0, "%")]
    rows: list[list[Cell]] = []
    for title, features in profiles.items():
        shares = [100 * features[key] for key in ("distinct", "distinct_3", "sub_distinct", "sub_distinct_3")]
        median = features["quantiles"][0]
        ratios = [features["quantiles"][q] / median if median else None for q in (1, 3)]
        gaps = [features["middle_gap"], features["tail_gap"], 100 * features["gathered"]]
        rows.append([title, features["windows"], *shares, *ratios, *gaps])
    note = "A sub-window is an eighth of the window; an even tail has 12.5 % in each, but for chance."
    return Table(f"Redundancy and the weight of the tail, windows of {_size_of(sizes)}", columns, rows, note)


def _spread_table(profiles: dict[str, Any], sizes: dict[str, int]) -> Table:
    columns = [
        TableColumn("stream"),
        TableColumn("quantile"),
        TableColumn("spread at N/8", 3, "%"),
        TableColumn("shuffled", 3, "%"),
    ]
    columns += [TableColumn(f"ratio at N/{parts}", 2) for parts in SUB_WINDOWS[::-1]]
    rows: list[list[Cell]] = []
    for title, features in profiles.items():
        for q, quantile in enumerate(QUANTILES):
            eighth = features["spread"][str(TESTED[0])]
            ratios = [features["spread"][str(parts)]["ratio"][q] for parts in SUB_WINDOWS[::-1]]
            rows.append([title, f"Q{quantile}", eighth["found"][q], eighth["shuffled"][q], *ratios])
    note = "Standard deviation of sub-window quantiles relative to the window's, in order and with its values shuffled."
    title = f"Self-similarity: sub-window quantiles across time scales, window N = {_size_of(sizes)}"
    return Table(title, columns, rows, note)


def _error_table(measured: dict[str, Any], sizes: dict[str, int]) -> Table:
    columns = [TableColumn("stream"), TableColumn("period"), TableColumn("method")]
    columns += [TableColumn(f"Q{quantile}", 2, "%") for quantile in QUANTILES] + [TableColumn("worst", 2, "%")]
    rows: list[list[Cell]] = []
    for title, by_period in measured.items():
        for parts in TESTED:
            for method in METHODS:
                part = by_period[str(parts)][method]
                rows.append([title, sizes[title] // parts, method, *part["mean"], _most(part["worst"])])
    return Table(f"Value errors of each method, windows of {_size_of(sizes)}", columns, rows)


def _sentence(
    title: str, stream_verdict: StreamVerdict, profile: dict[str, Any], measured: dict[str, Any], size: int
) -> str:
    """Return the verdict with its reasons."""
    share, digits = (
        100 * profile["sub_distinct_chosen"],
        f"{stream_verdict.digits} digits" if stream_verdict.digits else "full resolution",
    )
    reasons = [
        f"{share:.1f} % of a sub-window's values are distinct at {digits}"
        + ("" if stream_verdict.redundant else ", too many for counting to save space"),
        "sub-windows are similar"
        if stream_verdict.self_similar
        else f"it is not self-similar ({_furthest(profile, size)})",
    ]
    if profile["tail_gap"] is not None:
        reasons.append(f"a rank error of 0.1 % moves Q{QUANTILES[-1]} by {profile['tail_gap']:.1f} %")
    if profile["gathered"] > 0.5:
        reasons.append(f"{100 * profile['gathered']:.0f} % of the values from there up are in one sub-window")
    mean = measured[str(TESTED[0])]["mean"]
    reasons.append(
        f"the mean of sub-windows of {size // TESTED[0]:,} has errors of up to {_most(mean['mean']):.2f} %, "
        f"in the worst window by {_most(mean['worst']):.2f} %"
    )
    settings = (
        f"{stream_verdict.settings}, for windows of {size:,} a period of {stream_verdict.smallest(size):,} or more"
    )
    return f"{title}: {stream_verdict.suits}; {'; '.join(reasons)}. Least settings: {settings}."


def _furthest(profile: dict[str, Any], size: int) -> str:
    """Describe where sub-window quantiles spread most."""
    spreads = [(profile["spread"][str(parts)]["ratio"][q] or 0, q, parts) for parts in TESTED for q in (0, 1)]
    ratio, q, parts = max(spreads)
    return f"Q{QUANTILES[q]} of sub-windows of {size // parts:,} spreads {ratio:.1f} times as far as shuffled"


def _most(errors: list[float | None]) -> float:
    return max((error for error in errors if error is not None), default=0.0)


def _claims(hour: dict[str, float]) -> list[Claim]:
    drawn = "the stream is generated to fit these numbers, so this checks the stream"
    return [
        Claim(
            "workload: distinct values of an hour of Pingmesh",
            "0.08 %",
            f"{hour['distinct']:.2f} % of {hour['events']:,.0f}",
            hour["distinct"] <= 0.1,
            ""
            if hour["distinct"] <= 0.1
            else "the share falls with the number of values, which the paper does not state",
        ),
        Claim(
            "workload: Pingmesh below 1.25 ms", "more than 90 %", f"{hour['small']:.1f} %", hour["small"] > 90, drawn
        ),
        Claim(
            "workload: largest Pingmesh value",
            "up to 75 ms",
            f"{hour['largest'] / 1000:.1f} ms",
            70_000 <= hour["largest"] <= 75_000,
            drawn,
        ),
    ]


EXPERIMENT = Experiment(
    "workload",
    "The three insights on any stream, and a verdict",
    "Are values redundant, sub-windows similar and tails heavy, and does the method suit the stream?",
    "Introduction and section 2",
    _pieces,
    _outcome,
)
