"""The keys of a query by number: arrays of windows hold numbers, people read labels."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aomg.monitor.sinks.result_rows import labels_key

Labels = tuple[str | None, ...]

_KEY_BYTES = 350
_LABEL_BYTES = 80
_DIGITS = re.compile(r"[0-9]+")


class _Column(NamedTuple):
    """One label of all keys: each text once, and which of them a key has; the last of them is that of no value."""

    texts: list[str]
    folded: pa.Array
    codes: NDArray[np.int32]


class Keys:
    """The keys of one query, numbered from 0. Never changes, so that it can be read while another thread adds keys.

    A number belongs to the snapshot that these keys came with: when many keys have gone, those that remain get new
    numbers in later snapshots. Keep labels, not numbers, from one snapshot to the next.
    """

    def __init__(self, names: Sequence[str], labels: list[Labels], numbers: Mapping[str, int], count: int) -> None:
        self.names = tuple(names)
        self._labels, self._numbers, self._count = labels, numbers, count
        self._columns: list[_Column] | None = None
        self._order: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self._count

    def labels(self, number: int) -> dict[str, str | None]:
        """Name and value of each label of a key; None where the key is null."""
        if not 0 <= number < self._count:
            raise IndexError(f"there is no key {number}; there are {self._count}")
        values = self._labels[number]
        padded = values + (None,) * (len(self.names) - len(values))
        return dict(zip(self.names, padded, strict=False))

    def number(self, labels: Mapping[str, str | None]) -> int | None:
        """The number of the key with these labels, or None. An empty text stands for no value, if no key has it.

        Costs microseconds.
        """
        if set(labels) - set(self.names):
            return None
        values = [labels.get(name) for name in self.names]
        for asked in (values, [value or None for value in values]):
            number = self._numbers.get(_key_text(asked))
            if number is not None and number < self._count:
                return number
        return None

    def matching(self, search: str = "", where: Mapping[str, str] | None = None) -> NDArray[np.bool_]:
        """Which keys have the text in one of their labels, whatever its case, and all the values that `where` names.

        An empty value in `where` asks for labels that are empty or have no value. Costs a millisecond at 10,000 keys.
        """
        found = np.ones(self._count, np.bool_)
        for name, value in (where or {}).items():
            if name not in self.names:
                return np.zeros(self._count, np.bool_)
            column = self._all_columns()[self.names.index(name)]
            fits = np.array([text == value for text in column.texts] + [value == ""], np.bool_)
            found &= fits[column.codes]
        if search:
            folded, anywhere = search.casefold(), np.zeros(self._count, np.bool_)
            for column in self._all_columns():
                has = pc.match_substring(column.folded, folded).to_numpy(zero_copy_only=False)
                anywhere |= np.append(has.astype(np.bool_), False)[column.codes]
            found &= anywhere
        return found

    def order(self) -> NDArray[np.int64]:
        """The place of each key in the natural order of labels: "2" before "10", no value first.

        Costs some 20 ms at 10,000 keys, once.
        """
        if self._order is None:
            ranks = [_ranks(column.texts)[column.codes] for column in self._all_columns()]
            order = np.lexsort([np.arange(self._count), *reversed(ranks)])
            places = np.empty(self._count, np.int64)
            places[order] = np.arange(self._count)
            self._order = places
        return self._order

    def _all_columns(self) -> list[_Column]:
        if self._columns is None:
            self._columns = [self._column(at) for at in range(len(self.names))]
        return self._columns

    def _column(self, at: int) -> _Column:
        labels = self._labels[: self._count]
        coded = pa.array([key[at] if at < len(key) else None for key in labels], pa.string()).dictionary_encode()
        texts = coded.dictionary.to_pylist()
        codes = pc.fill_null(coded.indices, len(texts)).to_numpy()
        return _Column(texts, pa.array([text.casefold() for text in texts], pa.string()), codes)


class KeyNumbers:
    """Gives numbers to keys, in the order in which they come. Used by one thread; its `keys` by any."""

    def __init__(self) -> None:
        self._labels: list[Labels] = []
        self._numbers: dict[str, int] = {}
        self._keys: Keys | None = None
        self.sizes: NDArray[np.int64] = np.empty(0, np.int64)
        """About how many bytes each key takes here."""

    def __len__(self) -> int:
        return len(self._labels)

    def of(self, labels: pa.ListArray) -> NDArray[np.int32]:
        """The number of each row's key. Costs array operations, and Python's time only for keys that are new."""
        coded = labels_key(labels).dictionary_encode()
        texts = coded.dictionary.to_pylist()
        numbers = np.fromiter((self._numbers.get(text, -1) for text in texts), np.int32, len(texts))
        codes = coded.indices.to_numpy()
        new = np.flatnonzero(numbers < 0)
        if new.size:
            first = np.empty(len(texts), np.int64)
            first[codes[::-1]] = np.arange(len(codes))[::-1]
            values = labels.take(pa.array(first[new])).to_pylist()
            numbers[new] = np.arange(len(self), len(self) + new.size)
            sizes = []
            for text, key in zip((texts[at] for at in new), values, strict=True):
                self._labels.append(tuple(key or ()))
                self._numbers[text] = len(self._labels) - 1
                sizes.append(_KEY_BYTES + 2 * len(text) + _LABEL_BYTES * len(key or ()))
            self.sizes = np.concatenate([self.sizes, np.array(sizes, np.int64)])
        found: NDArray[np.int32] = numbers[codes]
        return found

    def keys(self, names: Sequence[str]) -> Keys:
        """All keys up to now; the same object as before, if nothing came."""
        width = max(map(len, self._labels), default=0) if self._keys is None else len(self._keys.names)
        width = max([width, *(len(key) for key in self._labels[len(self._keys or ()) :])])
        called = (*names, *(f"label{at + 1}" for at in range(len(names), width)))
        if self._keys is None or len(self._keys) != len(self) or self._keys.names != called:
            self._keys = Keys(called, self._labels, self._numbers, len(self))
        return self._keys

    def only(self, kept: NDArray[np.bool_]) -> "KeyNumbers":
        """The same with some of the keys, numbered anew in their order. Keys that were handed out stay as they are."""
        fewer = KeyNumbers()
        places = np.cumsum(kept) - 1
        fewer._labels = [self._labels[at] for at in np.flatnonzero(kept)]
        fewer._numbers = {text: int(places[at]) for text, at in self._numbers.items() if kept[at]}
        fewer.sizes = self.sizes[kept]
        return fewer


def _key_text(values: Sequence[str | None]) -> str:
    """What `labels_key` writes for one list of labels, without the cost of arrays."""
    return "".join(
        "\x03\x02"
        if value is None
        else value.replace("\x01", "\x01a").replace("\x02", "\x01b").replace("\x03", "\x01c") + "\x02"
        for value in values
    )


def _ranks(texts: list[str]) -> NDArray[np.int64]:
    """The place of each text in natural order; that of no value, -1, stands at the end."""
    natural = [(_DIGITS.sub(_by_length, text.casefold()), text) for text in texts]
    ranks = np.full(len(texts) + 1, -1, np.int64)
    ranks[sorted(range(len(texts)), key=natural.__getitem__)] = np.arange(len(texts))
    return ranks


def _by_length(found: re.Match[str]) -> str:
    digits = found[0].lstrip("0")
    return f"{len(digits):04d}{digits}"
