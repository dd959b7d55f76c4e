"""Load many forged states of a keyed operator: `python forged_keys.py QUERY SEED ROUNDS`.

Ends with 0 if each was refused by a StateError or gave an operator that takes events and answers. Says before each
round what it is about to try, so that a crash can be repeated.
"""

import contextlib
import faulthandler
import functools
import json
import struct
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from forged import HEAD, INTERESTING, signed

from aomg import AomgError, FewK, KeyedOperator, Query, StateError
from aomg.tables.rows import pack, unpack

QUERIES = {
    "default": Query("6 s", "2 s", thresholds=(100,), lateness="1 s"),
    "digits": Query("6 s", "2 s", digits=5, lateness="1 s"),
    "few-k": Query("6 s", "2 s", few_k=FewK(always=True), lateness="1 s"),
    "counted": Query(60, 20),
    "paper": Query.paper(60, 20, few_k=FewK(high=0.9)),
}
WEIGHTED = ("default", "digits")
FORGED_TEXTS = [None, True, 1.5, "", "v", "\ud800", [], ["k", "k"], ["p99"], [1], {}, {"came": 1}]


def events(query: Query, first: int, size: int) -> pa.Table:
    """Events of four keys, ten a second."""
    numbers = first + np.arange(size)
    random = np.random.default_rng(first)
    values, keys = random.lognormal(4, 1, size), [f"k{i % 4}" for i in range(size)]
    times = pa.array(numbers // 4) if query.counted else pa.array(numbers * 100_000, pa.timestamp("us"))
    return pa.table({"k": keys, "t": times, "v": values, "w": random.integers(0, 5, size)})


@functools.cache
def saved(name: str) -> bytes:
    query = QUERIES[name]
    weight = "w" if name in WEIGHTED else None
    operator = KeyedOperator(query, value="v", time="t", by="k", weight=weight, threads=1)
    operator.push(events(query, 0, 170 if query.counted else 130))
    return operator.save()


def parts_of(data: bytes) -> list[bytes]:
    content, parts = data[HEAD:], []
    while content:
        (length,) = struct.unpack_from("<q", content)
        parts.append(content[8 : 8 + length])
        content = content[8 + length :]
    return parts


def joined(data: bytes, parts: list[bytes]) -> bytes:
    return signed(data, b"".join(struct.pack("<q", len(part)) + part for part in parts))


def with_forged_headers(data: bytes) -> Iterator[bytes]:
    """Every field and every account, one at a time, missing or set to something else."""
    header, *tables = parts_of(data)
    fields = json.loads(header)
    for name in [*fields, "another"]:
        yield joined(data, [json.dumps({key: fields[key] for key in fields if key != name}).encode(), *tables])
        for value in (*INTERESTING, *FORGED_TEXTS):
            yield joined(data, [json.dumps({**fields, name: value}).encode(), *tables])
    for name in fields["accounts"]:
        for value in (*INTERESTING, None, True):
            accounts = {**fields["accounts"], name: value}
            yield joined(data, [json.dumps({**fields, "accounts": accounts}).encode(), *tables])
    for header in (b"", b"{}", b"[" * 100_000, b"\xff", b"null"):
        yield joined(data, [header, *tables])


def with_forged_tables(data: bytes) -> Iterator[bytes]:
    """Tables that are missing, are more, have other columns, rows twice, and other numbers in each column."""
    header, *tables = parts_of(data)
    for parts in ([], tables[:1], [*tables, tables[0]], tables[::-1], [b"", b""]):
        yield joined(data, [header, *parts])
    for which in range(2):
        table = unpack(tables[which])
        changes = [table.append_column("more", table["number"]), pa.concat_tables([table, table]), table.slice(1)]
        changes += [table.drop_columns([name]) for name in table.column_names]
        for name in ("number", "kind", "flag", "seen"):
            position, kind = table.column_names.index(name), table[name].type
            for value in INTERESTING:
                with contextlib.suppress(pa.ArrowInvalid, OverflowError):
                    forged = pa.concat_arrays([pa.array([value], kind), table[name].combine_chunks()[1:]])
                    changes.append(table.set_column(position, name, forged))
            changes.append(table.set_column(position, name, pa.nulls(table.num_rows, kind)))
        keys = table["by0"]
        for forged in (pa.array([keys[0].as_py()] * table.num_rows), keys.dictionary_encode()):
            changes.append(table.set_column(0, "by0", forged))
        for rows in ([b""] * table.num_rows, [b"\xff" * 40] * table.num_rows, [b"\0" * 64] * table.num_rows):
            changes.append(table.set_column(table.num_columns - 1, "bytes", pa.array(rows, pa.large_binary())))
        for change in changes:
            parts = list(tables)
            parts[which] = pack(change)
            yield joined(data, [header, *parts])


def with_damaged_rows(data: bytes, random: np.random.Generator, rounds: int) -> Iterator[bytes]:
    """A byte of one summary or one tally changed, or the end of it cut off."""
    header, *tables = parts_of(data)
    for _ in range(rounds):
        which = int(random.integers(0, 2))
        table = unpack(tables[which])
        rows = table["bytes"].to_pylist()
        row = int(random.integers(0, len(rows)))
        content = bytearray(rows[row])
        if random.random() < 0.2:
            del content[int(random.integers(0, len(content))) :]
        else:
            content[int(random.integers(0, len(content)))] = int(random.choice([0, 1, 2, 127, 128, 254, 255]))
        rows[row] = bytes(content)
        parts = list(tables)
        parts[which] = pack(table.set_column(table.num_columns - 1, "bytes", pa.array(rows, pa.large_binary())))
        yield joined(data, [header, *parts])


def with_damaged_bytes(data: bytes, random: np.random.Generator, rounds: int) -> Iterator[bytes]:
    """Any byte changed: of a length, of the header, of what Arrow says about a table, of its rows."""
    for _ in range(rounds):
        content = bytearray(data[HEAD:])
        content[int(random.integers(0, len(content)))] ^= int(random.integers(1, 256))
        yield signed(data, bytes(content))


def use(operator: KeyedOperator) -> None:
    """Whatever it answers, it must answer."""
    query = operator.query
    operator.push(events(query, 170 if query.counted else 130, 90))
    if not query.counted:
        operator.advance(np.datetime64(60, "s"))
    operator.finish()
    assert operator.accounts.reconcile
    KeyedOperator.load(query, operator.save(), threads=1)


def main(name: str, seed: int, rounds: int) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    query, data = QUERIES[name], saved(name)
    use(KeyedOperator.load(query, data, threads=1))
    random = np.random.default_rng(seed)
    states = [
        *with_forged_headers(data),
        *with_forged_tables(data),
        *with_damaged_rows(data, random, rounds),
        *with_damaged_bytes(data, random, rounds),
    ]
    for number, state in enumerate(states):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(60, exit=True)  # some compile
        try:
            operator = KeyedOperator.load(query, state, threads=1)
        except StateError:
            continue
        with contextlib.suppress(AomgError):  # its columns may have another name now, or it may have finished
            use(operator)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
