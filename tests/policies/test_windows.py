"""Every policy answers for the windows of AOMG's operator, and is asked and refused in the same way."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import AomgError, FinishedError, InputError, Operator, Query, QueryError
from aomg.policies import make, names


@given(
    size=st.integers(0, 500),
    period=st.integers(1, 50),
    windows=st.integers(1, 5),
    partial=st.booleans(),
    paper=st.booleans(),
    cuts=st.lists(st.integers(0, 500), max_size=3),
)
def test_windows_counts_and_extremes_are_the_operators(size, period, windows, partial, paper, cuts):
    query = Query.paper(period * windows, period) if paper else Query(period * windows, period, partial=partial)
    content = np.random.default_rng(size).normal(100, 30, size)
    ours, theirs = Operator(query), make("exact-sorted", query)
    parts = np.split(content, sorted(cuts))
    one = [result for part in parts for result in ours.push(part)] + list(ours.finish())
    other = [result for part in parts for result in theirs.push(part)] + list(theirs.finish())
    fields = [
        [(r.start, r.end, r.count, r.minimum, r.maximum, r.sub_windows) for r in results] for results in (one, other)
    ]
    assert fields[0] == fields[1]
    assert theirs.refused == 0
    assert not any(result.burst for result in other)


def test_what_is_not_finite_is_refused_and_counted():
    policy = make("exact", Query(4, 2, quantiles=(0.5,)))
    results = policy.push([1.0, math.nan, 2.0, math.inf, None, 3.0])
    assert [result.count for result in results] == [2]
    assert (policy.refused, policy.open) == (3, 1)


def test_a_finished_stream_takes_no_more():
    policy = make("exact", Query(4, 2))
    policy.push([1, 2, 3])
    assert [result.count for result in policy.finish()] == [3]
    with pytest.raises(FinishedError, match="already finished"):
        policy.finish()
    with pytest.raises(FinishedError, match="create a new policy"):
        policy.push([4])


def test_every_policy_has_a_name_and_a_promise_in_one_line():
    fields = names()
    assert {"exact", "exact-sorted", "cmqs", "am", "random", "moment", "histogram", "kll", "ddsketch"} <= set(fields)
    assert all(promise and "\n" not in promise and len(promise) < 120 for promise in fields.values())


def test_the_page_of_policies_has_each_with_its_promise():
    page = (Path(__file__).parents[2] / "docs/policies.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*\| (.*) \|$", page, re.MULTILINE))
    assert rows == names()


def test_unknown_policies_and_parameters_are_refused_with_those_that_there_are():
    with pytest.raises(InputError, match=r"no policy 'quick'; there are exact, exact-sorted, cmqs"):
        make("quick", Query(4, 2))
    with pytest.raises(InputError, match=r"exact has no parameter 'epsilon'; it has none"):
        make("exact", Query(4, 2), epsilon=0.1)
    with pytest.raises(InputError, match=r"random has no parameter 'sed'; it has epsilon, seed"):
        make("random", Query(4, 2), sed=1)


def test_queries_that_only_aomg_answers_are_refused():
    with pytest.raises(QueryError, match="counted in events"):
        make("exact", Query("1 hour", "1 minute"))
    with pytest.raises(QueryError, match="remove the thresholds"):
        make("exact", Query(4, 2, thresholds=(1,)))
    with pytest.raises(AomgError, match=r"needs an aomg\.Query"):
        make("exact", "1 hour")
