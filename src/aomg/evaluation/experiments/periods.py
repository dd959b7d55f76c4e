"""The effect of the period on the mean: errors without few-k merging, for 2 to 128 sub-windows per window."""

from functools import partial

from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import default_aomg, paper_aomg
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.outcome import Cell, Claim, Outcome, Plot, Series, Table, TableColumn

SIZE = 131_072
SUB_WINDOWS = (2, 4, 8, 16, 32, 64, 128)
AIM = 5.0  # percent, adequate for the paper's monitor
PAPER_TAIL = 18.93
_MEAN, _DEFAULT = "mean", "default"


def _size(source: ValueSource) -> int:
    return source.window(SIZE, SIZE // SUB_WINDOWS[-1])[0]


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    source = own or of_stream("pingmesh")
    events, size = source.most(scale.events), _size(source)
    pieces = []
    for parts in SUB_WINDOWS:
        windows = Windows(size, size // parts, events)
        for name, contender in ((_MEAN, paper_aomg()), (_DEFAULT, default_aomg())):
            pieces.append(Piece(f"{name}-{parts}", partial(measure, contender, source, windows), events / 1e6))
    return pieces


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    source = own or of_stream("pingmesh")
    size = _size(source)
    columns = [TableColumn("period"), TableColumn("windows")]
    columns += [TableColumn(f"Q{quantile}", 3, "%") for quantile in QUANTILES]
    columns += [TableColumn(f"Q{QUANTILES[-1]} worst", 2, "%"), TableColumn(f"Q{QUANTILES[-1]} bias", 2, "%")]
    tables = []
    for name, title in ((_MEAN, "The mean of the sub-windows' quantiles, raw values"), (_DEFAULT, "AOMG (default)")):
        rows: list[list[Cell]] = []
        for parts in SUB_WINDOWS:
            measurement = measurements[f"{name}-{parts}"]
            rows.append(
                [
                    size // parts,
                    measurement["windows"],
                    *measurement["value_error"],
                    measurement["worst_value_error"][-1],
                    measurement["bias"][-1],
                ]
            )
        tables.append(Table(f"{title}: value errors on {source.title}, window {size:,}", columns, rows))
    periods = [size // parts for parts in SUB_WINDOWS]
    means = [
        [measurements[f"{_MEAN}-{parts}"]["value_error"][q] for parts in SUB_WINDOWS] for q in range(len(QUANTILES))
    ]
    series = [Series(f"Q{quantile}", periods, means[q]) for q, quantile in enumerate(QUANTILES)]
    last = [measurements[f"{_DEFAULT}-{parts}"]["value_error"][-1] for parts in SUB_WINDOWS]
    series.append(Series(f"Q{QUANTILES[-1]}, AOMG (default)", periods, last, dashed=True))
    plot = Plot("Value error of the mean by period", "period", "value error (%)", series, log_x=True, log_y=True)
    findings = _findings(measurements, size, means, last)
    if own is None:
        findings.append(
            f"The paper prints up to {PAPER_TAIL} % for Q{QUANTILES[-1]}, here it is {_most(means[-1]):.2f} %: the "
            "stream's tail from 0.99 on is our choice, and fits only the few numbers that the paper prints."
        )
    return Outcome(tables, [plot], findings, _claims(means) if own is None else ())


def _findings(
    measurements: Measurements, size: int, means: list[list[float | None]], last: list[float | None]
) -> list[str]:
    tail = means[-1]
    late = [size // parts for parts, error in zip(SUB_WINDOWS, tail, strict=True) if (error or 0) > AIM]
    findings = [
        f"The errors of the mean alone are at most {_most(means[0]):.2f} % at Q{QUANTILES[0]}, {_most(means[1]):.2f} % "
        f"at Q{QUANTILES[1]} and {_most(tail):.2f} % at Q{QUANTILES[-1]}.",
        f"Q{QUANTILES[-1]} misses the aim of {AIM:g} % at a period of {', '.join(f'{period:,}' for period in late)}."
        if late
        else f"Q{QUANTILES[-1]} keeps the aim of {AIM:g} % at every period.",
        f"With its envelope and band, AOMG has an error of at most {_most(last):.2f} % at Q{QUANTILES[-1]}, at any "
        "period.",
    ]
    worst = [_most(measurements[f"{_MEAN}-{parts}"]["worst_value_error"]) for parts in SUB_WINDOWS]
    findings.append(f"The worst single window of the mean has an error of {max(worst):.1f} %.")
    return findings


def _claims(means: list[list[float | None]]) -> list[Claim]:
    low, tail = max(_most(means[0]), _most(means[1])), _most(means[-1])
    return [
        Claim("periods: Q0.5 and Q0.9 at any period", "below 1 %", f"at most {low:.2f} %", low < 1),
        Claim(
            "periods: Q0.999 without few-k merging",
            f"up to {PAPER_TAIL} %, above the aim of {AIM:g} %",
            f"up to {tail:.2f} %",
            tail > AIM,
            "" if tail > AIM else "the tail of our stream is generated, and its mean stays within the aim",
        ),
    ]


def _most(errors: list[float | None]) -> float:
    """Return the largest error; windows whose exact quantile is zero have none."""
    return max((error for error in errors if error is not None), default=0.0)


EXPERIMENT = Experiment(
    "periods",
    "Errors without few-k merging, by period",
    "How small can a sub-window be before the mean of the quantiles becomes inaccurate?",
    "Section 6.3, figure of average relative errors",
    _pieces,
    _outcome,
)
