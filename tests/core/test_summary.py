"""A summary is a function of its sub-window's counts, its number and the query: equal inputs give equal bytes."""

import numpy as np
import pytest
from fine_reference import FinePart
from hypothesis import given
from hypothesis import strategies as st
from reference import push_in_parts

from aomg import FewK, Operator, Query, StateError
from aomg.core.kernels.registers import HEAD_FINE, HEAD_LENGTH
from aomg.core.sliding import Sliding

QUERIES = {
    "default": Query(80, 20, thresholds=(50,)),
    "raw": Query(80, 20, digits=None, few_k=FewK(always=True)),
    "digits": Query(80, 20, digits=6),
    "paper": Query.paper(80, 20, few_k=FewK(high=0.5, fraction=0.3)),
    "free": Query(80, 20, guarantee=False, thresholds=(50,)),
}
every_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)


@every_query
@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 200), max_size=6))
def test_equal_sub_windows_have_equal_summaries_whatever_came_before(query, seed, cuts):
    random = np.random.default_rng(seed)
    values = random.lognormal(4, 1, 200)
    shuffled = [random.permutation(part) for part in values[100:].reshape(5, 20)]
    other = np.concatenate([random.normal(0, 1e6, 100), *shuffled])
    one, two = Operator(query), Operator(query)
    push_in_parts(one, values, cuts)
    two.push(other)
    assert one._state.summaries()[1:] == two._state.summaries()[1:]


def fine_words(record: np.ndarray) -> np.ndarray:
    return record.view(np.int64)[int(record.view(np.int64)[HEAD_FINE]) // 8 :]


def with_fine(record: np.ndarray, words: np.ndarray) -> bytes:
    """The record with another fine part, and the length to go with it."""
    start = int(record.view(np.int64)[HEAD_FINE])
    changed = np.concatenate([record[:start], words.view(np.uint8)])
    changed.view(np.int64)[HEAD_LENGTH] += changed.size - record.size
    return changed.tobytes()


def newest_record(query: Query) -> np.ndarray:
    operator = Operator(query)
    operator.push(np.random.default_rng(1).lognormal(4, 1, 80))
    return np.frombuffer(operator._state.summaries()[-1], np.uint8).copy()


with_a_fine_part = pytest.mark.parametrize("query", [q for q in QUERIES.values() if Sliding(q).has_fine])


@with_a_fine_part
def test_a_fine_part_can_be_read_back_and_nothing_else_can(query):
    record = newest_record(query)
    words = fine_words(record)
    assert np.array_equal(FinePart.read(query, Sliding(query).codec, words, 20).words(), words)
    Sliding(query).enter(with_fine(record, words))
    for wrong in (words[:-1], np.append(words, 0), words[1:], words[:0]):
        with pytest.raises(StateError):
            FinePart.read(query, Sliding(query).codec, wrong, 20)
        with pytest.raises(StateError):
            Sliding(query).enter(with_fine(record, wrong))


@with_a_fine_part
@given(data=st.data())
def test_a_damaged_fine_part_is_refused_as_strictly_as_it_always_was(query, data):
    record = newest_record(query)
    words = fine_words(record).copy()
    for _ in range(data.draw(st.integers(1, 2))):
        index = data.draw(st.integers(0, words.size - 1))
        words[index] = data.draw(
            st.sampled_from(
                [0, 1, -1, 19, 20, 21, 2**40, 2**62, -(2**63), 2**63 - 1, min(int(words[index]) + 1, 2**63 - 1)]
            )
        )
    try:
        FinePart.read(query, Sliding(query).codec, words, 20)
    except StateError:
        with pytest.raises(StateError, match="fine part"):
            Sliding(query).enter(with_fine(record, words))
    else:
        Sliding(query).enter(with_fine(record, words))
