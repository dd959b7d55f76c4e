"""Top-k merging at small periods: how much of each sub-window's tail is enough, and how sampling differs."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg import FewK, Query
from aomg.core.paper.few_k import rank_from_top, sample_positions, tail_sizes
from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import Windows, exact_answers, measure
from aomg.evaluation.measure.contenders import default_aomg, paper_aomg
from aomg.evaluation.measure.differences import Pair, differences
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import Values, ValueSource, of_stream
from aomg.evaluation.outcome import Cell, Claim, Outcome, Plot, Series, Table, TableColumn

SIZE = 131_072
SUB_WINDOWS = (16, 32, 64, 128)
QUANTILE = "0.999"
FRACTIONS = (0.1, 0.5)
OFFSETS = ("paper", "rotate")
SAMPLED = 0.5
AIM = 5.0
PAPER = {0.1: (5.54, 2.43, 1.67, 1.30), 0.5: (0.68, 0.40, 0.36, 0.35)}
PAPER_SPACE = {0.1: (209, 419, 838, 1_677), 0.5: (1_049, 2_097, 4_194, 8_389)}
PAPER_SAMPLED = (2.23, 4.60, 8.33, 13.36)


def sample_sizes(windows: Windows, quantile: str, fraction: float) -> tuple[int, int, int]:
    """Return the rank from the top in a window, the depth of each tail, and the number of stored values."""
    need = rank_from_top(Decimal(quantile), windows.size)
    depth = min(need, windows.period)
    return need, depth, min(math.ceil(Fraction(str(fraction)) * need), depth)


def interval_sampled(
    values: Values, windows: Windows, quantile: str, fraction: float, offset: str
) -> npt.NDArray[np.float64]:
    """Return sample-k estimates of every evaluated window, as the operator computes them in a burst."""
    need, depth, sample_count = sample_sizes(windows, quantile, fraction)
    whole, parts = windows.events // windows.period, windows.size // windows.period
    rows = values[: whole * windows.period].reshape(whole, windows.period)
    cut = windows.period - depth
    tails = np.sort(np.partition(rows, cut, axis=1)[:, cut:], axis=1)[:, ::-1]
    samples = np.stack([tails[row, sample_positions(depth, sample_count, row, offset) - 1] for row in range(whole)])
    place = parts * sample_count - -(-need * sample_count // depth)
    ends = windows.ends // windows.period
    return np.array([np.partition(samples[end - parts : end], place, axis=None)[place] for end in ends], np.float64)


def sampling_errors(
    source: ValueSource, windows: Windows, quantile: str, fraction: float, offset: str
) -> dict[str, Any]:
    """Return mean and worst value error and bias of sample-k merging, in percent, and the entries of a window."""
    truth = exact_answers(source, windows, (quantile,))[:, 0]
    off = 100 * (interval_sampled(source.values(windows.events), windows, quantile, fraction, offset) - truth)
    relative = off[truth != 0] / np.abs(truth[truth != 0])
    sample_count = sample_sizes(windows, quantile, fraction)[2] * (windows.size // windows.period)
    if relative.size == 0:
        return {"value_error": None, "worst_value_error": None, "bias": None, "entries": sample_count}
    return {
        "value_error": float(np.abs(relative).mean()),
        "worst_value_error": float(np.abs(relative).max()),
        "bias": float(relative.mean()),
        "entries": sample_count,
    }


def gathered(source: ValueSource, windows: Windows) -> dict[str, float]:
    """Return how many of a window's values above the quantile are in one sub-window at most: mean and maximum.

    Top-k merging is exact if each sub-window stores that many.
    """
    truth = exact_answers(source, windows, (QUANTILE,))[:, 0]
    values = source.values(windows.events)
    most = []
    for end, answer in zip(windows.ends, truth, strict=True):
        above = values[end - windows.size : end].reshape(-1, windows.period) >= answer
        most.append(int(above.sum(axis=1).max()))
    return {"mean": float(np.mean(most)), "most": float(np.max(most))}


def _size(source: ValueSource) -> int:
    return source.window(SIZE, SIZE // SUB_WINDOWS[-1])[0]


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    source = own or of_stream("pingmesh")
    events, size = source.most(scale.events), _size(source)
    contenders = {"mean": paper_aomg(), "default": default_aomg()}
    contenders |= {f"top-{fraction}": paper_aomg(FewK(fraction=fraction)) for fraction in FRACTIONS}
    pieces = []
    for parts in SUB_WINDOWS:
        windows = Windows(size, size // parts, events)
        for name, contender in contenders.items():
            run = partial(measure, contender, source, windows, (QUANTILE,))
            pieces.append(Piece(f"{name}-{parts}", run, events / 1e6))
        pieces.append(Piece(f"gathered-{parts}", partial(gathered, source, windows), 0.1 * events / 1e6))
        for offset in OFFSETS:
            sampled = partial(sampling_errors, source, windows, QUANTILE, SAMPLED, offset)
            pieces.append(Piece(f"sampled-{offset}-{parts}", sampled, 0.1 * events / 1e6))
    return pieces


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    source = own or of_stream("pingmesh")
    size = _size(source)
    periods = [size // parts for parts in SUB_WINDOWS]
    rows = [["the mean alone", "here", *_pairs(_errors(measurements, "mean"), [0] * len(periods))]]
    for fraction in FRACTIONS:
        entries = [_entries(size, parts, fraction) for parts in SUB_WINDOWS]
        rows.append([f"top-k, fraction {fraction}", "here", *_pairs(_errors(measurements, f"top-{fraction}"), entries)])
        if own is None:
            rows.append([f"top-k, fraction {fraction}", "paper", *_pairs(PAPER[fraction], PAPER_SPACE[fraction])])
    for offset in OFFSETS:
        samplings = [measurements[f"sampled-{offset}-{parts}"] for parts in SUB_WINDOWS]
        title = f"interval sampling, fraction {SAMPLED}, offset {offset}"
        rows.append(
            [
                title,
                "here",
                *_pairs([part["value_error"] for part in samplings], [part["entries"] for part in samplings]),
            ]
        )
        if own is None and offset == "paper":
            rows.append([title, "paper", *_pairs(PAPER_SAMPLED, [None] * len(periods))])
    rows.append(["AOMG (default)", "here", *_pairs(_errors(measurements, "default"), [0] * len(periods))])
    columns = [TableColumn("method"), TableColumn("")]
    for period in periods:
        columns += [TableColumn(f"{period:,}", 2, "%"), TableColumn(f"{period:,} entries")]
    table = Table(
        f"Value error of Q{QUANTILE} on {source.title}, window {size:,}, and the entries that a window stores for it",
        columns,
        rows,
        "Entries are stored values; the paper's are computed, fraction times 131.072 times sub-windows.",
    )
    tables = [table, _space(measurements, source, size, periods)]
    findings = _findings(measurements, size, own is None)
    return Outcome(
        tables, [_plot(measurements, periods, own is None)], findings, _claims(measurements) if own is None else ()
    )


def _errors(measurements: Measurements, name: str) -> list[float | None]:
    return [measurements[f"{name}-{parts}"]["value_error"][0] for parts in SUB_WINDOWS]


def _pairs(errors: Any, spaces: Any) -> list[Cell]:
    return [cell for pair in zip(errors, spaces, strict=True) for cell in pair]


def _entries(size: int, parts: int, fraction: float) -> int:
    """Return the number of values that the operator stores for top-k in a full window."""
    query = Query.paper(size, size // parts, (QUANTILE,), FewK(fraction=fraction))
    return tail_sizes(query, Decimal(QUANTILE), query.period).top * parts


def _space(measurements: Measurements, source: ValueSource, size: int, periods: list[int]) -> Table:
    columns = [TableColumn("method"), *(TableColumn(f"{period:,}") for period in periods)]
    rows: list[list[Cell]] = []
    for name in ("mean", *(f"top-{fraction}" for fraction in FRACTIONS), "default"):
        parts = [measurements[f"{name}-{parts}"]["variables_by_part"] for parts in SUB_WINDOWS]
        title = {"mean": "the mean alone", "default": "AOMG (default)"}.get(name, name.replace("top-", "top-k, "))
        rows.append([f"{title}: all variables", *(sum(part.values()) for part in parts)])
        if name.startswith("top-"):
            rows.append([f"{title}: of these in tails", *(part["tails"] for part in parts)])
            rows.append([f"{title}: of these in merged lists", *(part["merged lists"] for part in parts)])
    note = "Counted in the running operator. Tails hold the samples of sample-k too; a (value, count) pair is two."
    return Table(f"Variables in memory on {source.title}, window {size:,}", columns, rows, note)


def _plot(measurements: Measurements, periods: list[int], beside_paper: bool) -> Plot:
    series = [Series("the mean alone", periods, _errors(measurements, "mean"))]
    for fraction in FRACTIONS:
        series.append(Series(f"top-k, {fraction}", periods, _errors(measurements, f"top-{fraction}")))
        if beside_paper:
            series.append(Series(f"top-k, {fraction} (paper)", periods, PAPER[fraction], dashed=True))
    for offset in OFFSETS:
        sampled = [measurements[f"sampled-{offset}-{parts}"]["value_error"] for parts in SUB_WINDOWS]
        series.append(Series(f"sampling, {SAMPLED}, offset {offset}", periods, sampled))
    if beside_paper:
        series.append(Series(f"sampling, {SAMPLED} (paper)", periods, PAPER_SAMPLED, dashed=True))
    return Plot(f"Value error of Q{QUANTILE} by period", "period", "value error (%)", series, log_x=True)


def _findings(measurements: Measurements, size: int, beside_paper: bool) -> list[str]:
    mean = _errors(measurements, "mean")
    findings = [f"The mean alone errs by {_span(mean)} % at Q{QUANTILE}."]
    for fraction in FRACTIONS:
        beside = f" (the paper: {_span(PAPER[fraction])} %)" if beside_paper else ""
        findings.append(
            f"Top-k merging at fraction {fraction} errs by {_span(_errors(measurements, f'top-{fraction}'))} %{beside}."
        )
    for offset in OFFSETS:
        samplings = [measurements[f"sampled-{offset}-{parts}"] for parts in SUB_WINDOWS]
        errors, biases = [part["value_error"] for part in samplings], [part["bias"] for part in samplings]
        description = (
            "at the end of every interval, as in the paper,"
            if offset == "paper"
            else "whose start moves with the sub-window"
        )
        findings.append(
            f"Interval sampling {description} errs by {_span(errors)} % at the same space as top-k's {SAMPLED}, "
            f"with a bias of {_span(biases)} %."
        )
    if beside_paper:
        findings += _differences(measurements, size)
    need, parts = rank_from_top(Decimal(QUANTILE), size), SUB_WINDOWS[0]
    full = measurements[f"gathered-{parts}"]
    findings.append(
        f"Of the {need} values that decide a window, its fullest of {parts} sub-windows holds {full['mean']:.0f} on "
        f"average and {full['most']:.0f} at most; an even share is {need / parts:.0f}, and fraction {FRACTIONS[0]} "
        f"keeps {_entries(size, parts, FRACTIONS[0]) // parts}."
    )
    methods: Counter[str] = Counter()
    for fraction in FRACTIONS:
        for parts in SUB_WINDOWS:
            methods += Counter(measurements[f"top-{fraction}-{parts}"]["methods"][0])
    others = ", ".join(f"{count:,} by {name}" for name, count in methods.items() if name != "top-k")
    if others:
        findings.append(
            f"Not all windows of these fractions were answered by top-k: {others} (sample-k where a burst was seen), "
            f"of {methods.total():,}."
        )
    last = SUB_WINDOWS[-1]
    lists, default = (measurements[f"{name}-{last}"]["variables"] for name in (f"top-{FRACTIONS[0]}", "default"))
    findings.append(
        f"AOMG (default) has errors of {_span(_errors(measurements, 'default'))} % and stores {default:,} variables in "
        f"{last} sub-windows; paper mode with top-k at fraction {FRACTIONS[0]} stores {lists:,}."
    )
    return findings


def _differences(measurements: Measurements, size: int) -> list[str]:
    pairs = [
        Pair(f"fraction {fraction} at {size // parts:,}", ours, paper)
        for fraction in FRACTIONS
        for parts, ours, paper in zip(
            SUB_WINDOWS, _errors(measurements, f"top-{fraction}"), PAPER[fraction], strict=True
        )
        if ours is not None
    ]
    why = "The largest values of our stream are spread evenly over its sub-windows, so a part of each tail is enough."
    return differences("Top-k merging", pairs, why=why)


def _span(errors: Any) -> str:
    """Describe the smallest and the largest."""
    known = [error for error in errors if error is not None]
    if not known:
        return "no"
    low, high = f"{min(known):.2f}", f"{max(known):.2f}"
    return low if low == high else f"{low} to {high}"


def _claims(measurements: Measurements) -> list[Claim]:
    few, half = (max(error or 0 for error in _errors(measurements, f"top-{fraction}")) for fraction in FRACTIONS)
    sampled = [measurements[f"sampled-paper-{parts}"]["value_error"] for parts in SUB_WINDOWS]
    grows = all(later > earlier for earlier, later in pairwise(sampled))
    most = max(PAPER[0.1])
    return [
        Claim(
            "topk: Q0.999 at fraction 0.1",
            f"around or below {AIM:g} % (1.30 to {most} %)",
            f"{_span(_errors(measurements, 'top-0.1'))} %",
            few <= most,
            ""
            if few <= most
            else "the tail of our stream is generated, and is distributed differently over sub-windows",
        ),
        Claim(
            "topk: Q0.999 at fraction 0.5",
            "0.35 to 0.68 %",
            f"{_span(_errors(measurements, 'top-0.5'))} %",
            half <= max(PAPER[0.5]),
            "" if half <= max(PAPER[0.5]) else "the tail of our stream is generated",
        ),
        Claim(
            "topk: interval sampling at fraction 0.5 explodes with small periods",
            "2.23, 4.60, 8.33, 13.36 %",
            f"{', '.join(f'{error:.2f}' for error in sampled)} %",
            grows,
            "" if grows else "the error does not grow at every step",
        ),
    ]


EXPERIMENT = Experiment(
    "topk",
    "Top-k merging at small periods",
    "How much of each sub-window's tail must be stored for the 0.999-quantile?",
    "Section 6.3, Table 3",
    _pieces,
    _outcome,
)
