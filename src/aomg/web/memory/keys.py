"""Numbers the keys of a query: windows hold numbers, people read labels."""

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
    """One label of all keys: its distinct texts, and each key's index among them; missing values have the last one."""

    texts: list[str]
    folded: pa.Array
    codes: NDArray[np.int32]


class Keys:
    """The keys of one query, numbered from 0. Immutable: safe to read while another thread adds keys.

    A number is valid for its snapshot only: after many keys are dropped, the others get new numbers. Use labels, not
    numbers, across snapshots.
    """

    def __init__(self, names: Sequence[str], labels: list[Labels], numbers: Mapping[str, int], count: int) -> None:
        self.names = tuple(names)
        self._labels, self._numbers, self._count = labels, numbers, count
        self._columns: list[_Column] | None = None
        self._order: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self._count

    def labels(self, number: int) -> dict[str, str | None]:
        """Return name and value of each label of a key; None for a missing value."""
        if not 0 <= number < self._count:
            raise IndexError(f"there is no key {number}; there are {self._count}")
        values = self._labels[number]
        padded = values + (None,) * (len(self.names) - len(values))
        return dict(zip(self.names, padded, strict=False))

    def number(self, labels: Mapping[str, str | None]) -> int | None:
        """Return the number of the key with these labels, or None.

        An empty text also matches a missing value, if no key has the empty text.

        Costs microseconds.
        """
        if set(labels) - set(self.names):
            return None
        values = [labels.get(name) for name in self.names]
        for candidate in (values, [value or None for value in values]):
            number = self._numbers.get(_key_text(candidate))
            if number is not None and number < self._count:
                return number
        return None

    def matching(self, search: str = "", where: Mapping[str, str] | None = None) -> NDArray[np.bool_]:
        """Return which keys have a text in one of their labels, ignoring case, and the label values of `where`.

        An empty value in `where` matches labels that are empty or missing. Costs a millisecond at 10,000 keys.
        """
        matches = np.ones(self._count, np.bool_)
        for name, value in (where or {}).items():
            if name not in self.names:
                return np.zeros(self._count, np.bool_)
            column = self._all_columns()[self.names.index(name)]
            fits = np.array([text == value for text in column.texts] + [value == ""], np.bool_)
            matches &= fits[column.codes]
        if search:
            folded, anywhere = search.casefold(), np.zeros(self._count, np.bool_)
            for column in self._all_columns():
                contains = pc.match_substring(column.folded, folded).to_numpy(zero_copy_only=False)
                anywhere |= np.append(contains.astype(np.bool_), False)[column.codes]
            matches &= anywhere
        return matches

    def order(self) -> NDArray[np.int64]:
        """Return the rank of each key in the natural order of labels: "2" before "10", missing values first.

        Costs about 20 ms at 10,000 keys, once.
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
            self._columns = [self._column(index) for index in range(len(self.names))]
        return self._columns

    def _column(self, index: int) -> _Column:
        labels = self._labels[: self._count]
        coded = pa.array([key[index] if index < len(key) else None for key in labels], pa.string()).dictionary_encode()
        texts = coded.dictionary.to_pylist()
        codes = pc.fill_null(coded.indices, len(texts)).to_numpy()
        return _Column(texts, pa.array([text.casefold() for text in texts], pa.string()), codes)


class KeyNumbers:
    """Assigns numbers to keys in their order of arrival. Used by one thread; its `keys` by any."""

    def __init__(self) -> None:
        self._labels: list[Labels] = []
        self._numbers: dict[str, int] = {}
        self._keys: Keys | None = None
        self.sizes: NDArray[np.int64] = np.empty(0, np.int64)
        """Approximate bytes of each key."""

    def __len__(self) -> int:
        return len(self._labels)

    def of(self, labels: pa.ListArray) -> NDArray[np.int32]:
        """Return the number of each row's key. Runs Python code only for new keys."""
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
            for text, key in zip((texts[index] for index in new), values, strict=True):
                self._labels.append(tuple(key or ()))
                self._numbers[text] = len(self._labels) - 1
                sizes.append(_KEY_BYTES + 2 * len(text) + _LABEL_BYTES * len(key or ()))
            self.sizes = np.concatenate([self.sizes, np.array(sizes, np.int64)])
        key_numbers: NDArray[np.int32] = numbers[codes]
        return key_numbers

    def keys(self, names: Sequence[str]) -> Keys:
        """Return all keys up to now; the same object as before, if there are no new ones."""
        width = max(map(len, self._labels), default=0) if self._keys is None else len(self._keys.names)
        width = max([width, *(len(key) for key in self._labels[len(self._keys or ()) :])])
        label_names = (*names, *(f"label{index + 1}" for index in range(len(names), width)))
        if self._keys is None or len(self._keys) != len(self) or self._keys.names != label_names:
            self._keys = Keys(label_names, self._labels, self._numbers, len(self))
        return self._keys

    def only(self, is_live: NDArray[np.bool_]) -> "KeyNumbers":
        """Return a copy with some of the keys, renumbered in their order. Existing `Keys` stay valid."""
        fewer = KeyNumbers()
        places = np.cumsum(is_live) - 1
        fewer._labels = [self._labels[number] for number in np.flatnonzero(is_live)]
        fewer._numbers = {text: int(places[number]) for text, number in self._numbers.items() if is_live[number]}
        fewer.sizes = self.sizes[is_live]
        return fewer


def _key_text(values: Sequence[str | None]) -> str:
    """Return what `labels_key` returns for one list of labels, without the cost of arrays."""
    return "".join(
        "\x03\x02"
        if value is None
        else value.replace("\x01", "\x01a").replace("\x02", "\x01b").replace("\x03", "\x01c") + "\x02"
        for value in values
    )


def _ranks(texts: list[str]) -> NDArray[np.int64]:
    """Return the rank of each text in natural order, then -1 for a missing value."""
    natural = [(_DIGITS.sub(_by_length, text.casefold()), text) for text in texts]
    ranks = np.full(len(texts) + 1, -1, np.int64)
    ranks[sorted(range(len(texts)), key=natural.__getitem__)] = np.arange(len(texts))
    return ranks


def _by_length(match: re.Match[str]) -> str:
    digits = match[0].lstrip("0")
    return f"{len(digits):04d}{digits}"
