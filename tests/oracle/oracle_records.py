"""What is recorded of a run, and how a later run is compared with it.

A record has a digest of everything, four hexadecimal digits for each row and for each column, and the last row in
full: enough to see what differs, in little space. Numbers are compared by their shortest decimal text, which names one
double only, so a difference of one bit is seen. Numbers that go through the machine's mathematical library (Theorem
1's bounds) or through somebody else's sketch are compared to nine digits.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from aomg import Results

RECORDED = Path(__file__).with_name("recorded")
MOST_ROWS = 300  # that have digits of their own
AGAIN = "if it is intended, say so in CHANGELOG.md and run: python tests/oracle/record.py"

Row = Mapping[str, str]
Record = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a run gave: rows of named texts, and totals of the whole run."""

    rows: Sequence[Row]
    totals: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> Record:
        names = list(self.rows[0]) if self.rows else []
        assert all(list(row) == names for row in self.rows), "all rows have the same columns"
        lines = ["\t".join(row.values()) for row in self.rows]
        return {
            "rows": len(self.rows),
            "digest": digest("\n".join(lines)),
            "each": "".join(digest(line, 2) for line in lines[:MOST_ROWS]),
            "columns": "".join(digest("\n".join(row[name] for row in self.rows), 2) for name in names),
            "last": dict(self.rows[-1]) if self.rows else {},
            "totals": dict(self.totals),
        }


def digest(content: str | bytes, size: int = 16) -> str:
    return hashlib.blake2b(content.encode() if isinstance(content, str) else content, digest_size=size).hexdigest()


def text_of(value: Any, digits: int | None = None) -> str:
    """A text that is different for different values. Floats: the shortest that names this double, or some digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value if digits is None else float(f"{value:.{digits - 1}e}"))
    return digest(value) if isinstance(value, bytes) else str(value)


# -- rows of local results ---------------------------------------------------------------------------------------------


def result_rows(results: Results, digits: int | None = None) -> list[Row]:
    """The results of an operator, through their public names only."""
    return [_result_row(results, index, digits) for index in range(len(results))]


def _result_row(results: Results, index: int, digits: int | None) -> Row:
    result, query = results[index], results.query
    row = {
        "start": str(result.start),
        "end": str(result.end),
        "count": str(result.count),
        "min": text_of(result.minimum),
        "max": text_of(result.maximum),
        "sub_windows": str(result.sub_windows),
        "burst": text_of(result.burst),
        "burst_score": text_of(result.burst_score),
    }
    for quantile in query.quantiles:
        estimate = result[quantile]
        for part in ("value", "low", "high"):
            row[f"{quantile}.{part}"] = text_of(getattr(estimate, part), digits)
        row[f"{quantile}.method"] = estimate.method
        if query.guarantee is None:
            row[f"{quantile}.bound"] = text_of(estimate.bound, 9)
            row[f"{quantile}.bound_corrected"] = text_of(estimate.bound_corrected, 9)
    for threshold in query.thresholds:
        share = result.below(threshold)
        for part in ("value", "low", "high"):
            row[f"below {threshold}.{part}"] = text_of(getattr(share, part))
    return row


# -- rows of tables ----------------------------------------------------------------------------------------------------


def table_rows(table: pa.Table, without: Sequence[str] = ()) -> list[Row]:
    """The rows of an Arrow table in an order that depends on them alone."""
    columns: dict[str, list[str]] = {}
    for name in table.column_names:
        if name not in without:
            columns |= _texts(name, table[name].combine_chunks())
    return sorted((dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)), key=_order)


def _order(row: Row) -> tuple[str, ...]:
    return tuple(row.values())


def _texts(name: str, column: pa.Array) -> dict[str, list[str]]:
    if pa.types.is_struct(column.type):
        parts: dict[str, list[str]] = {}
        for index, field_ in enumerate(column.type):
            parts |= _texts(f"{name}.{field_.name}", column.flatten()[index])
        return parts
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    digits = 9 if name.endswith((".bound", ".bound_corrected")) else None
    return {name: [_nested(value, digits) for value in column.to_pylist()]}


def _nested(value: Any, digits: int | None = None) -> str:
    """A text of a value that may be a list or have parts."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_nested(part, digits)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_nested(part, digits) for part in value) + "]"
    return text_of(value, digits)


def object_rows(objects: Sequence[Mapping[str, Any]]) -> list[Row]:
    """JSON objects as rows, in the order in which they came; all columns that any of them has."""
    names = sorted({name for properties in objects for name in properties})
    return [{name: _nested(properties.get(name)) for name in names} for properties in objects]


# -- files -------------------------------------------------------------------------------------------------------------


def write(name: str, outcomes: Mapping[str, Outcome]) -> None:
    """One line a case, so that a change can be read in a diff."""
    RECORDED.mkdir(exist_ok=True)
    lines = [f"{json.dumps(case)}: {json.dumps(outcome.record())}" for case, outcome in outcomes.items()]
    (RECORDED / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read(name: str) -> dict[str, Record]:
    records: dict[str, Record] = json.loads((RECORDED / f"{name}.json").read_text())
    return records


def compare(outcome: Outcome, recorded: Record) -> None:
    """Fail with what differs: how many rows, in which columns, the first such row, the last row then and now."""
    now = outcome.record()
    if now == recorded:
        return
    lines = [f"{now['rows']} rows, {recorded['rows']} were recorded; {AGAIN}"]
    lines += [
        f"  total {name}: {now['totals'].get(name)}, recorded {recorded['totals'].get(name)}"
        for name in {**recorded["totals"], **now["totals"]}
        if now["totals"].get(name) != recorded["totals"].get(name)
    ]
    names, before = list(now["last"]), list(recorded["last"])
    if names != before:
        lines.append(f"  columns {names}, recorded {before}")
    else:
        fours = zip(names, _fours(now["columns"]), _fours(recorded["columns"]), strict=True)
        lines.append(f"  columns that differ: {', '.join(name for name, mine, then in fours if mine != then)}")
    both = zip(_fours(now["each"]), _fours(recorded["each"]), strict=False)
    first = next((row for row, (mine, then) in enumerate(both) if mine != then), None)
    if first is not None:
        lines.append(f"  the first row that differs is row {first}: {dict(outcome.rows[first])}")
    lines += [
        f"  of the last row {name}: {now['last'][name]}, recorded {recorded['last'][name]}"
        for name in names
        if name in recorded["last"] and now["last"][name] != recorded["last"][name]
    ]
    raise AssertionError("\n".join(lines))


def _fours(text: str) -> list[str]:
    return [text[start : start + 4] for start in range(0, len(text), 4)]
