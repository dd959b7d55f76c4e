"""Small histories for the tests of what is answered from them: made of plain rows, so that a test can look at these."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import strategies as st

from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.web.memory.history import History
from aomg.web.memory.windows import QueryHistory

MINUTE = 60_000_000
NOON = 1_794_830_400_000_000  # 2026-11-16T12:00:00Z


@dataclass(frozen=True)
class Row:
    """A key at one window end. Ends are minutes after noon; an estimate is value, low, high."""

    key: tuple[str | None, ...]
    end: int
    estimates: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    count: int = 100
    burst: bool = False

    @property
    def time(self) -> int:
        return NOON + self.end * MINUTE

    def value(self, name: str) -> float | None:
        """None where there is no finite one."""
        value = self.estimates.get(name, (math.nan,))[0]
        return value if math.isfinite(value) else None

    def width(self, name: str) -> float | None:
        value, low, high = self.estimates.get(name, (math.nan, math.nan, math.nan))
        if not math.isfinite(value):
            return None
        if high == low:
            return 0.0
        return (high - low) / abs(value) if value and math.isfinite((high - low) / value) else None


def around(value: float, below: float = 0.0, above: float = 0.0) -> tuple[float, float, float]:
    return value, value - below, value + above


def history(rows: Iterable[Row], names: Sequence[str] = ("podset",)) -> QueryHistory:
    """As the live page has it after it read the rows."""
    answer = [
        {
            "query": "inbound",
            "labels": list(row.key),
            "label_names": list(names),
            "start": row.time - 5 * MINUTE,
            "end": row.time,
            "count": row.count,
            "min": 0.5,
            "max": 1e6,
            "sub_windows": 5,
            "burst": row.burst,
            "estimates": [
                {"name": name, "value": value, "low": low, "high": high, "method": "band" if value else "certified"}
                for name, (value, low, high) in row.estimates.items()
            ],
            "batch": row.end,
        }
        for row in rows
    ]
    stored = History()
    stored.add(pa.Table.from_pylist(answer, SCHEMA))
    return stored.snapshot()["inbound"]


# quarters are told without rounding; so few of them are often equal
NUMBERS = [
    around(index / 4, below, above) for index in (0, 1, 2, 7, 8, 40) for below, above in ((0, 0), (1, 0), (1, 2))
]
UNKNOWN = [around(math.nan), around(math.inf), (2.0, math.nan, 3.0), (2.0, -math.inf, 3.0)]


@st.composite
def many_rows(draw: st.DrawFn, ends: int = 1, keys: int = 12) -> list[Row]:
    """Rows of keys that are numbers, or none, at some of the minutes up to `ends`; each key and end at most once."""
    places = [(key, end) for key in (None, *map(str, range(keys))) for end in range(1, ends + 1)]
    # few draws for each row, or there would be few rows
    fewest = draw(st.sampled_from([1, len(places) // 8 + 1, len(places) // 3 + 1]))
    chosen = draw(st.lists(st.sampled_from(places), unique=True, min_size=min(fewest, 30), max_size=60))
    estimate = st.sampled_from([*NUMBERS, *UNKNOWN, *UNKNOWN])
    return [
        Row((key,), end, {name: draw(estimate) for name in ("p50", "p99", "p99_9")}, len(str(key)), draw(st.booleans()))
        for key, end in chosen
    ]


def natural(row: Row) -> tuple[int, ...]:
    """Where a key stands among those that are numbers: one without value first."""
    return tuple(-1 if label is None else int(label) for label in row.key)
