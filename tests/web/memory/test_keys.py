import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.web.memory.keys import KeyNumbers, Keys

TEXTS = pa.list_(pa.string())
label = st.one_of(
    st.none(), st.sampled_from(["", "1", "2", "10", "pod-9", "POD-10", "a\x02", "\x01b", "ß", "É"]), st.text()
)
keys_of_two = st.lists(st.tuples(label, label), max_size=12)


def numbered(*rounds: list, names=("src", "dst")) -> tuple[KeyNumbers, Keys, list]:
    """Keys that came in rounds, and what numbers they got."""
    numbers = KeyNumbers()
    given_out = [numbers.of(pa.array([list(key) for key in part], TEXTS)).tolist() for part in rounds]
    return numbers, numbers.keys(names), given_out


@given(first=keys_of_two, second=keys_of_two)
def test_a_key_keeps_its_number_and_a_number_tells_its_labels(first, second):
    _, keys, (a, b) = numbered(first, second)
    assert len(keys) == len({*first, *second})
    for key, number in zip([*first, *second], [*a, *b], strict=True):
        labels = dict(zip(("src", "dst"), key, strict=True))
        assert keys.labels(number) == labels and keys.number(labels) == number


def test_unknown_keys_have_no_number():
    _, keys, _ = numbered([("1", "2")])
    assert keys.number({"src": "1", "dst": "3"}) is None
    assert keys.number({"src": "1"}) is None
    assert keys.number({"src": "1", "dst": "2", "more": "3"}) is None
    with pytest.raises(IndexError, match="there is no key 1; there are 1"):
        keys.labels(1)
    with pytest.raises(IndexError):
        keys.labels(-1)


def test_an_empty_text_finds_the_key_without_a_value_unless_one_has_an_empty_text():
    _, keys, _ = numbered([(None, "2")])
    assert keys.number({"src": "", "dst": "2"}) == 0
    _, keys, _ = numbered([(None, "2"), ("", "2")])
    assert keys.number({"src": "", "dst": "2"}) == 1
    assert keys.matching(where={"src": ""}).tolist() == [True, True]


@given(keys=keys_of_two, search=st.one_of(label, st.text(max_size=2)), where=st.one_of(st.none(), label))
def test_search_and_filter_find_what_looking_at_each_key_finds(keys, search, where):
    _, result, _ = numbered(keys)
    search = search or ""
    requested = {} if where is None else {"src": where}
    mask = result.matching(search, requested)
    for number in range(len(result)):
        src, dst = result.labels(number).values()
        fits = where is None or (src or "") == where if where == "" or src is not None else where is None
        contains = (
            any(search.casefold() in (text or "").casefold() for text in (src, dst) if text is not None) or not search
        )
        assert mask[number] == (fits and contains)


def test_a_label_that_keys_do_not_have_matches_none():
    _, keys, _ = numbered([("1", "2")])
    assert not keys.matching(where={"rack": "1"}).any()


def natural(text: str | None) -> list:
    """Written as people would: numbers as numbers."""
    if text is None:
        return []
    parts = re.split(r"([0-9]+)", text.casefold())
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part]


@given(numbers=st.lists(st.tuples(st.sampled_from(["pod-", "rack", ""]), st.integers(0, 10**12)), unique=True))
def test_order_is_natural(numbers):
    _, keys, _ = numbered([(f"{name}{number}",) for name, number in numbers], names=("pod",))
    ranks = keys.order()
    assert sorted(ranks.tolist()) == list(range(len(numbers)))
    by_rank = [keys.labels(index)["pod"] for index in np.argsort(ranks)]
    assert by_rank == sorted(by_rank, key=natural)


def test_order_goes_by_the_first_label_first_and_no_value_comes_before_all():
    _, keys, _ = numbered([("2", "1"), ("10", "1"), ("2", None), (None, "5"), ("2", "")])
    assert keys.order().tolist() == [3, 4, 1, 0, 2]


def test_keys_that_were_handed_out_never_change():
    numbers, before, _ = numbered([("1", "1")])
    numbers.of(pa.array([["2", "2"]], TEXTS))
    after = numbers.keys(("src", "dst"))
    assert len(before) == 1 and before.number({"src": "2", "dst": "2"}) is None and before.matching().shape == (1,)
    assert len(after) == 2 and after.number({"src": "2", "dst": "2"}) == 1
    assert numbers.keys(("src", "dst")) is after
    fewer = numbers.only(np.array([False, True]))
    assert fewer.keys(("src", "dst")).labels(0) == {"src": "2", "dst": "2"}
    assert fewer.of(pa.array([["1", "1"], ["2", "2"]], TEXTS)).tolist() == [1, 0]
    assert after.number({"src": "1", "dst": "1"}) == 0


def test_labels_without_names_get_some():
    numbers = KeyNumbers()
    numbers.of(pa.array([["1"], ["2", "3"]], TEXTS))
    keys = numbers.keys(("podset",))
    assert keys.names == ("podset", "label2")
    assert keys.labels(0) == {"podset": "1", "label2": None} and keys.labels(1) == {"podset": "2", "label2": "3"}
