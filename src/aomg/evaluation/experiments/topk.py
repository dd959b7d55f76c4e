"""Top-k merging at small periods: how much of each sub-window's tail is enough, and why sampling is not the same."""

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
from aomg.evaluation.experiment import Experiment, Found, Piece
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
    """The rank that a window asks for, how deep each tail reaches, and how many of it are kept."""
    need = rank_from_top(Decimal(quantile), windows.size)
    depth = min(need, windows.period)
    return need, depth, min(math.ceil(Fraction(str(fraction)) * need), depth)


def interval_sampled(
    values: Values, windows: Windows, quantile: str, fraction: float, offset: str
) -> npt.NDArray[np.float64]:
    """Sample-k merging for every evaluated window, burst or not, as the operator does it in a burst."""
    need, depth, kept = sample_sizes(windows, quantile, fraction)
    whole, parts = windows.events // windows.period, windows.size // windows.period
    rows = values[: whole * windows.period].reshape(whole, windows.period)
    cut = windows.period - depth
    tails = np.sort(np.partition(rows, cut, axis=1)[:, cut:], axis=1)[:, ::-1]
    samples = np.stack([tails[row, sample_positions(depth, kept, row, offset) - 1] for row in range(whole)])
    place = parts * kept - -(-need * kept // depth)
    ends = windows.ends // windows.period
    return np.array([np.partition(samples[end - parts : end], place, axis=None)[place] for end in ends], np.float64)


def sampling_errors(
    source: ValueSource, windows: Windows, quantile: str, fraction: float, offset: str
) -> dict[str, Any]:
    """Mean and worst value error and bias of sample-k merging, in percent, and the entries that a window keeps."""
    truth = exact_answers(source, windows, (quantile,))[:, 0]
    off = 100 * (interval_sampled(source.values(windows.events), windows, quantile, fraction, offset) - truth)
    relative = off[truth != 0] / np.abs(truth[truth != 0])
    kept = sample_sizes(windows, quantile, fraction)[2] * (windows.size // windows.period)
    if relative.size == 0:
        return {"value_error": None, "worst_value_error": None, "bias": None, "entries": kept}
    return {
        "value_error": float(np.abs(relative).mean()),
        "worst_value_error": float(np.abs(relative).max()),
        "bias": float(relative.mean()),
        "entries": kept,
    }


def gathered(source: ValueSource, windows: Windows) -> dict[str, float]:
    """How many of a window's largest values, down to the quantile, its fullest sub-window holds: mean and most.

    Top-k merging is exact where each sub-window keeps as many.
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


def _outcome(found: Found, scale: Scale, own: ValueSource | None) -> Outcome:
    source = own or of_stream("pingmesh")
    size = _size(source)
    periods = [size // parts for parts in SUB_WINDOWS]
    rows = [["the mean alone", "here", *_pairs(_errors(found, "mean"), [0] * len(periods))]]
    for fraction in FRACTIONS:
        kept = [_entries(size, parts, fraction) for parts in SUB_WINDOWS]
        rows.append([f"top-k, fraction {fraction}", "here", *_pairs(_errors(found, f"top-{fraction}"), kept)])
        if own is None:
            rows.append([f"top-k, fraction {fraction}", "paper", *_pairs(PAPER[fraction], PAPER_SPACE[fraction])])
    for offset in OFFSETS:
        at = [found[f"sampled-{offset}-{parts}"] for parts in SUB_WINDOWS]
        title = f"interval sampling, fraction {SAMPLED}, offset {offset}"
        rows.append([title, "here", *_pairs([part["value_error"] for part in at], [part["entries"] for part in at])])
        if own is None and offset == "paper":
            rows.append([title, "paper", *_pairs(PAPER_SAMPLED, [None] * len(periods))])
    rows.append(["AOMG (default)", "here", *_pairs(_errors(found, "default"), [0] * len(periods))])
    columns = [TableColumn("method"), TableColumn("")]
    for period in periods:
        columns += [TableColumn(f"{period:,}", 2, "%"), TableColumn(f"{period:,} entries")]
    table = Table(
        f"Value error of Q{QUANTILE} on {source.title}, window {size:,}, and the entries that a window keeps for it",
        columns,
        rows,
        "Entries are kept values; the paper's are computed, fraction times 131.072 times sub-windows.",
    )
    tables = [table, _space(found, source, size, periods)]
    findings = _findings(found, size, own is None)
    return Outcome(tables, [_plot(found, periods, own is None)], findings, _claims(found) if own is None else ())


def _errors(found: Found, name: str) -> list[float | None]:
    return [found[f"{name}-{parts}"]["value_error"][0] for parts in SUB_WINDOWS]


def _pairs(errors: Any, spaces: Any) -> list[Cell]:
    return [cell for pair in zip(errors, spaces, strict=True) for cell in pair]


def _entries(size: int, parts: int, fraction: float) -> int:
    """What the operator keeps for top-k in a full window."""
    query = Query.paper(size, size // parts, (QUANTILE,), FewK(fraction=fraction))
    return tail_sizes(query, Decimal(QUANTILE), query.period).top * parts


def _space(found: Found, source: ValueSource, size: int, periods: list[int]) -> Table:
    columns = [TableColumn("method"), *(TableColumn(f"{period:,}") for period in periods)]
    rows: list[list[Cell]] = []
    for name in ("mean", *(f"top-{fraction}" for fraction in FRACTIONS), "default"):
        parts = [found[f"{name}-{parts}"]["variables_by_part"] for parts in SUB_WINDOWS]
        title = {"mean": "the mean alone", "default": "AOMG (default)"}.get(name, name.replace("top-", "top-k, "))
        rows.append([f"{title}: all variables", *(sum(part.values()) for part in parts)])
        if name.startswith("top-"):
            rows.append([f"{title}: of these in tails", *(part["tails"] for part in parts)])
            rows.append([f"{title}: of these in merged lists", *(part["merged lists"] for part in parts)])
    note = "Counted in the running operator. Tails hold the samples of sample-k too; a (value, count) pair is two."
    return Table(f"Variables in memory on {source.title}, window {size:,}", columns, rows, note)


def _plot(found: Found, periods: list[int], beside_paper: bool) -> Plot:
    series = [Series("the mean alone", periods, _errors(found, "mean"))]
    for fraction in FRACTIONS:
        series.append(Series(f"top-k, {fraction}", periods, _errors(found, f"top-{fraction}")))
        if beside_paper:
            series.append(Series(f"top-k, {fraction} (paper)", periods, PAPER[fraction], dashed=True))
    for offset in OFFSETS:
        sampled = [found[f"sampled-{offset}-{parts}"]["value_error"] for parts in SUB_WINDOWS]
        series.append(Series(f"sampling, {SAMPLED}, offset {offset}", periods, sampled))
    if beside_paper:
        series.append(Series(f"sampling, {SAMPLED} (paper)", periods, PAPER_SAMPLED, dashed=True))
    return Plot(f"Value error of Q{QUANTILE} by period", "period", "value error (%)", series, log_x=True)


def _findings(found: Found, size: int, beside_paper: bool) -> list[str]:
    mean = _errors(found, "mean")
    findings = [f"The mean alone errs by {_span(mean)} % at Q{QUANTILE}."]
    for fraction in FRACTIONS:
        beside = f" (the paper: {_span(PAPER[fraction])} %)" if beside_paper else ""
        findings.append(
            f"Top-k merging at fraction {fraction} errs by {_span(_errors(found, f'top-{fraction}'))} %{beside}."
        )
    for offset in OFFSETS:
        at = [found[f"sampled-{offset}-{parts}"] for parts in SUB_WINDOWS]
        errors, biases = [part["value_error"] for part in at], [part["bias"] for part in at]
        how = (
            "that ends every interval, as in the paper,"
            if offset == "paper"
            else "whose start moves with the sub-window"
        )
        findings.append(
            f"Interval sampling {how} errs by {_span(errors)} % at the same space as top-k's {SAMPLED}, "
            f"with a bias of {_span(biases)} %."
        )
    if beside_paper:
        findings += _differences(found, size)
    need, parts = rank_from_top(Decimal(QUANTILE), size), SUB_WINDOWS[0]
    full = found[f"gathered-{parts}"]
    findings.append(
        f"Of the {need} values that decide a window, its fullest of {parts} sub-windows holds {full['mean']:.0f} on "
        f"average and {full['most']:.0f} at most; an even share is {need / parts:.0f}, and fraction {FRACTIONS[0]} "
        f"keeps {_entries(size, parts, FRACTIONS[0]) // parts}."
    )
    methods: Counter[str] = Counter()
    for fraction in FRACTIONS:
        for parts in SUB_WINDOWS:
            methods += Counter(found[f"top-{fraction}-{parts}"]["methods"][0])
    others = ", ".join(f"{count:,} by {name}" for name, count in methods.items() if name != "top-k")
    if others:
        findings.append(
            f"Not all windows of these fractions were answered by top-k: {others} (sample-k where a burst was seen), "
            f"of {methods.total():,}."
        )
    last = SUB_WINDOWS[-1]
    lists, default = (found[f"{name}-{last}"]["variables"] for name in (f"top-{FRACTIONS[0]}", "default"))
    findings.append(
        f"AOMG as it comes errs by {_span(_errors(found, 'default'))} %, and keeps {default:,} variables in {last} "
        f"sub-windows; paper mode with top-k at fraction {FRACTIONS[0]} keeps {lists:,}."
    )
    return findings


def _differences(found: Found, size: int) -> list[str]:
    pairs = [
        Pair(f"fraction {fraction} at {size // parts:,}", ours, paper)
        for fraction in FRACTIONS
        for parts, ours, paper in zip(SUB_WINDOWS, _errors(found, f"top-{fraction}"), PAPER[fraction], strict=True)
        if ours is not None
    ]
    why = "The largest values of the stream here are spread evenly over its sub-windows, so a part of each is enough."
    return differences("Top-k merging", pairs, why=why)


def _span(errors: Any) -> str:
    """The smallest and the largest."""
    known = [error for error in errors if error is not None]
    if not known:
        return "no"
    low, high = f"{min(known):.2f}", f"{max(known):.2f}"
    return low if low == high else f"{low} to {high}"


def _claims(found: Found) -> list[Claim]:
    few, half = (max(error or 0 for error in _errors(found, f"top-{fraction}")) for fraction in FRACTIONS)
    sampled = [found[f"sampled-paper-{parts}"]["value_error"] for parts in SUB_WINDOWS]
    grows = all(later > earlier for earlier, later in pairwise(sampled))
    most = max(PAPER[0.1])
    return [
        Claim(
            "topk: Q0.999 at fraction 0.1",
            f"around or below {AIM:g} % (1.30 to {most} %)",
            f"{_span(_errors(found, 'top-0.1'))} %",
            few <= most,
            "" if few <= most else "the tail of the stream here is drawn, and is spread otherwise over sub-windows",
        ),
        Claim(
            "topk: Q0.999 at fraction 0.5",
            "0.35 to 0.68 %",
            f"{_span(_errors(found, 'top-0.5'))} %",
            half <= max(PAPER[0.5]),
            "" if half <= max(PAPER[0.5]) else "the tail of the stream here is drawn",
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
    "How much of each sub-window's tail must be kept for the 0.999-quantile?",
    "Section 6.3, Table 3",
    _pieces,
    _outcome,
)
