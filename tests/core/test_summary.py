"""A summary is a function of its sub-window's counts, its number and the query: equal inputs give equal bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import push_in_parts

from aomg import FewK, Operator, Query, StateError
from aomg.core.kernels.registers import HEAD_FINE
from aomg.core.summary import FinePart

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
    assert one._sliding.records()[1:] == two._sliding.records()[1:]


@pytest.mark.parametrize("name", ["raw", "digits", "paper", "free"])
def test_a_fine_part_can_be_read_back_and_nothing_else_can(name):
    query = QUERIES[name]
    operator = Operator(query)
    operator.push(np.random.default_rng(1).lognormal(4, 1, 80))
    record = np.frombuffer(operator._sliding.records()[-1], np.int64)
    words, codec = record[record[HEAD_FINE] // 8 :], operator._sliding.codec
    assert np.array_equal(FinePart.read(query, codec, words, 20).words(), words)
    for wrong in (words[:-1], np.append(words, 0), words[1:], words[:0]):
        with pytest.raises(StateError):
            FinePart.read(query, codec, wrong, 20)
