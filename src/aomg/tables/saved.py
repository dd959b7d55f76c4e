"""Saves the state of many keys as bytes and loads it: with version, checksum and the query's fingerprint; no pickle.

==============  =================================================================
magic           "AOMK", version (2 bytes), flags (2 bytes, zero)
fingerprint     16 bytes of the query's
checksum        16 bytes: BLAKE2b of all that follows
header          its length (8 bytes), then JSON: columns, times, counts
tables          each one's length (8 bytes) and bytes: content tables with the
                by columns of their keys (aomg.tables.rows), in Arrow's format
==============  =================================================================
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields

import numpy as np
import pyarrow as pa

from aomg.core.arrivals import NEVER
from aomg.core.keyed import LIVE, TALLY
from aomg.core.sliding import Sliding
from aomg.core.snapshot import ByteReader, times_are_sound
from aomg.core.soundness import check_summaries, check_tallies
from aomg.errors import InputError, StateError
from aomg.query import Query
from aomg.tables.accounts import Accounts
from aomg.tables.keys import KeyIndex, key_ids, plain_type
from aomg.tables.rows import binary_buffers, by_columns, pack, unpack_checked

MAGIC, VERSION = b"AOMK", 1
_HEAD = struct.Struct("<4sHH16s16s")
_LENGTH = struct.Struct("<q")
_FURTHEST = 1 << 61
_FLAGS = (-1, 0, 1)  # of a live summary


@dataclass(frozen=True)
class SavedHeader:
    """What a saved KeyedOperator has besides its tables.

    time_type
        The type of times in results: null if no push had times yet.
    """

    value: str
    time: str
    by: tuple[str, ...]
    weight: str | None
    latest: int
    watermark: int
    closed_to: int
    finished: bool
    accounts: Accounts
    time_type: pa.DataType

    def text(self) -> bytes:
        """The header as JSON."""
        parts = {name: getattr(self, name) for name in _HEADER if name != "accounts"}
        parts["accounts"] = asdict(self.accounts)
        if pa.types.is_timestamp(self.time_type):
            parts["zone"] = self.time_type.tz
        return json.dumps(parts).encode()

    @classmethod
    def of(cls, query: Query, text: bytes) -> "SavedHeader":
        """Read what `text` wrote. Raises StateError if a part is missing, of another type or out of range."""
        with _damage("header"):
            parts = json.loads(text)
            _demand(isinstance(parts, dict) and set(parts) in ({*_HEADER}, {*_HEADER, "zone"}), "header")
            by, weight, counts = parts["by"], parts["weight"], parts["accounts"]
            _demand(isinstance(by, list) and isinstance(counts, dict), "header")
            texts = [parts["value"], parts["time"], *by, *([] if weight is None else [weight])]
            _demand(all(isinstance(text, str) for text in texts) and isinstance(parts["finished"], bool), "header")
            accounts = Accounts(**counts)
            numbers = [counts[field.name] for field in fields(Accounts)]
            _demand(all(type(number) is int and 0 <= number < _FURTHEST for number in numbers), "counts")
            _demand(accounts.reconcile, "counts")
            latest, watermark, closed_to = times = [parts[name] for name in ("latest", "watermark", "closed_to")]
            _demand(all(type(time) is int for time in times), "times")
            if watermark == NEVER and closed_to == NEVER // query.period:  # a push without a usable event wrote this
                closed_to = NEVER
            _demand(times_are_sound(query, parts["finished"], latest, watermark, closed_to), "times")
            time_type = pa.int64() if query.counted else pa.null()
            if "zone" in parts and not query.counted:
                time_type = pa.timestamp("us", parts["zone"])
            names = (parts["value"], parts["time"], tuple(by), weight)
            return cls(*names, latest, watermark, closed_to, parts["finished"], accounts, time_type)


_HEADER = [field.name for field in fields(SavedHeader) if field.name != "time_type"]


@contextmanager
def _damage(part: str) -> Iterator[None]:
    """Raise StateError for whatever Python and Arrow say about damaged bytes."""
    try:
        yield
    except StateError:
        raise
    except (pa.ArrowException, ValueError, TypeError, LookupError, OSError, OverflowError, MemoryError) as error:
        raise _damaged(part) from error
    except (InputError, RecursionError, NotImplementedError) as error:
        raise _damaged(part) from error


def _demand(sound: bool, part: str) -> None:
    if not sound:
        raise _damaged(part)


def _damaged(part: str) -> StateError:
    return StateError(f"the saved state is damaged ({part}); save again, or replay the events")


def with_keys(table: pa.Table, keys: KeyIndex) -> pa.Table:
    """A content table with by columns, from one whose key is an id."""
    ids, rest = table["by0"], table.drop_columns(["by0"])
    for i, column in enumerate(keys.values):
        rest = rest.add_column(i, f"by{i}", column.take(ids.combine_chunks()))
    return rest


def with_ids(table: pa.Table, keys: KeyIndex) -> pa.Table:
    """A content table whose key is an id, from one with by columns; new keys get an id."""
    columns = by_columns(table)
    rest = table.drop_columns([f"by{i}" for i in range(len(columns))])
    ids, values = key_ids(columns, table.num_rows)
    return rest.add_column(0, "by0", pa.array(keys.ids_of(values)[ids] if table.num_rows else ids))


def pack_keys(query: Query, header: SavedHeader, tables: Sequence[pa.Table]) -> bytes:
    """Write a header and tables: those of live summaries and of open tallies, or none."""
    parts = [header.text(), *map(pack, tables)]
    content = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    return _HEAD.pack(MAGIC, VERSION, 0, bytes.fromhex(query.fingerprint), _checksum(content)) + content


def unpack_keys(query: Query, data: bytes) -> tuple[SavedHeader, list[pa.Table]]:
    """Read what `pack_keys` wrote. Raises StateError for damaged or foreign bytes.

    Every length, type, time and account is checked; `rows_with_ids` checks the rows.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise StateError(f"a saved state must be bytes, not {type(data).__name__}")
    data = bytes(data)
    if len(data) < _HEAD.size or data[:4] != MAGIC:
        raise StateError("this is not the saved state of a KeyedOperator; pass what save() returned")
    _, version, flags, fingerprint, checksum = _HEAD.unpack_from(data)
    if version != VERSION or flags:
        raise StateError(f"the state has version {version}, this package reads version {VERSION}; replay the events")
    if fingerprint.hex() != query.fingerprint:
        raise StateError("the state was saved by another query; load it with the query that it was saved with")
    content = data[_HEAD.size :]
    if _checksum(content) != checksum:
        raise StateError("the saved state is damaged; save again, or replay the events")
    reader = ByteReader(content)
    header, parts = SavedHeader.of(query, reader.bytes(reader.number_of(1))), []
    while not reader.done:
        parts.append(reader.bytes(reader.number_of(1)))
    _demand(len(parts) in (0, 2), "tables")
    with _damage("tables"):
        tables = [unpack_checked(part, len(header.by)) for part in parts]
    for name, *columns in zip(header.by, *map(by_columns, tables), strict=False):
        with _damage("keys"):
            _demand(all(plain_type(name, column.type) == columns[0].type for column in columns), "keys")
    _demand(bool(tables) or not (header.accounts.used or header.accounts.open), "tables")
    return header, tables


def rows_with_ids(
    header: SavedHeader, tables: Sequence[pa.Table], keys: KeyIndex, sliding: Sliding, live_span: int
) -> list[pa.Table]:
    """The live summaries and the open tallies of a saved state with ids as keys. Raises StateError if one is damaged.

    live_span
        How many of the newest sub-window numbers can be live.
    """
    with _damage("keys"):
        live, opened = (with_ids(table, keys) for table in tables)
    for table, kind in ((live, LIVE), (opened, TALLY)):
        _demand(bool(np.all(np.asarray(table["kind"]) == kind)), "rows")
    _demand(bool(np.isin(np.asarray(live["flag"]), _FLAGS).all()) and not np.asarray(live["seen"]).any(), "rows")
    _check_numbers(header, live, opened, sliding.query, live_span)
    events = np.asarray(opened["seen"])
    check_summaries(sliding, np.asarray(live["number"]), *binary_buffers(live["bytes"]))
    check_tallies(sliding, events, *binary_buffers(opened["bytes"]))
    _demand(header.finished or sum(events.tolist()) == header.accounts.open, "counts")
    return [live, opened]


def _check_numbers(header: SavedHeader, live: pa.Table, opened: pa.Table, query: Query, live_span: int) -> None:
    """The numbers of sub-windows: live ones have closed and are needed, each once a key, and open ones have not."""
    (live_keys, live_numbers), (open_keys, open_numbers) = (
        (np.asarray(table["by0"]), np.asarray(table["number"])) for table in (live, opened)
    )
    reach = _FURTHEST // query.period
    for numbers in (live_numbers, open_numbers):
        _demand(not numbers.size or (-reach - 1 <= numbers.min() and numbers.max() <= reach), "sub-windows")
    order = np.lexsort((live_numbers, live_keys))
    keys, numbers = live_keys[order], live_numbers[order]
    _demand(not np.any((keys[1:] == keys[:-1]) & (numbers[1:] == numbers[:-1])), "sub-windows")
    size = int(max(live_keys.max(initial=-1), open_keys.max(initial=-1))) + 1
    closed_to = np.full(size, header.closed_to, np.int64)
    if query.counted:
        np.maximum.at(closed_to, live_keys, live_numbers + 1)
    _demand(bool(np.all(live_numbers < closed_to[live_keys])), "sub-windows")
    _demand(bool(np.all(live_numbers >= closed_to[live_keys] - live_span)), "sub-windows")
    _demand(bool(np.all(open_numbers >= closed_to[open_keys])), "sub-windows")
    if not query.counted and open_numbers.size:
        _demand(int(open_numbers.max()) <= header.latest // query.period, "sub-windows")


def _checksum(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
