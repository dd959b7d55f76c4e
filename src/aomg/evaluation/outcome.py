"""The outcome of an experiment: tables, plots, findings, and whether the paper's claims hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Cell = str | float | int | None
NOT_MEASURED = "not measured at this scale"


@dataclass(frozen=True)
class TableColumn:
    """A column of a table. `digits` is the number of decimals; None shows numbers as they are (integers: 1,234)."""

    name: str
    digits: int | None = None
    unit: str = ""

    @property
    def heading(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def text(self, cell: Cell) -> str:
        """Return a cell as text."""
        if cell is None:
            return ""
        if isinstance(cell, str):
            return cell
        if cell != cell:
            return "-"
        if self.digits is None:
            return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.4g}"
        return f"{cell:,.{self.digits}f}"


@dataclass(frozen=True)
class Table:
    """Rows under named columns. The name of a column with the paper's numbers contains "paper"."""

    title: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError if a row does not match the columns."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {self.title!r} has {len(row)} cells for {len(self.columns)} columns")


@dataclass(frozen=True)
class Series:
    """A series of points. `labels` are tooltips; `dashed` distinguishes a series (the paper's)."""

    name: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    labels: Sequence[str] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """A plot of some series."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: Literal["lines", "points", "bars"] = "lines"
    log_x: bool = False
    log_y: bool = False
    caption: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, our measurement, and whether the claim holds; `reason` if it does not.

    `holds` is None if this scale does not measure it.
    """

    name: str
    paper: str
    measured: str
    holds: bool | None
    reason: str = ""

    @property
    def fails(self) -> bool:
        """Whether it was measured and does not hold."""
        return self.holds is False

    @property
    def verdict(self) -> str:
        """The state of the claim in words."""
        return NOT_MEASURED if self.holds is None else "holds" if self.holds else "does not hold"


def tally(claims: Sequence[Claim]) -> str:
    """Describe how many claims hold.

    >>> tally([Claim("a", "", "", True), Claim("b", "", "", False), Claim("c", "", "", None)])
    '1 of 3 hold, 1 is not measured at this scale'
    """
    holding, open_ = (sum(claim.holds is state for claim in claims) for state in (True, None))
    left = f", {open_} {'is' if open_ == 1 else 'are'} {NOT_MEASURED}" if open_ else ""
    return f"{holding} of {len(claims)} hold{left}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one experiment. Findings are sentences, for example about differences from the paper."""

    tables: Sequence[Table]
    plots: Sequence[Plot] = ()
    findings: Sequence[str] = ()
    claims: Sequence[Claim] = field(default_factory=tuple)
