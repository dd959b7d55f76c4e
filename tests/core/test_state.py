"""The state of an operator never contradicts itself, and `check` notices when it does."""

from datetime import timedelta

import numpy as np
import pytest
from arbitrary import counted_queries, cuts_of, streams, timed_queries
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg import Operator, Query
from aomg.core.kernels import registers as r
from aomg.core.kernels.paper.limbs import SUM_WORDS
from aomg.core.kernels.paper.registers import AT_SUM

START = np.datetime64("2026-03-01T00:00:00", "us")


@settings(deadline=None, max_examples=60)
@given(query=counted_queries(), values=streams(), cuts=cuts_of())
def test_the_state_is_sound_after_every_push(query, values, cuts):
    operator = Operator(query)
    operator.check()
    for part in np.split(values, sorted(min(cut, values.size) for cut in cuts)):
        operator.push(part)
        operator.check()
    loaded = Operator.load(query, operator.save())
    loaded.check()
    for each in (operator, loaded):
        each.finish()
        each.check()


@settings(deadline=None, max_examples=60)
@given(query=timed_queries(), values=streams(200), data=st.data())
def test_the_state_is_sound_after_every_push_and_every_watermark(query, values, data):
    operator = Operator(query)
    seconds = data.draw(st.lists(st.integers(0, 600), min_size=values.size, max_size=values.size))
    times = START + np.array(seconds, "timedelta64[s]")
    for part in np.array_split(np.arange(values.size), 4):
        operator.push(values[part], times[part])
        operator.check()
    operator.advance(START.item() + timedelta(seconds=data.draw(st.integers(0, 2000))))
    operator.check()
    operator.finish()
    operator.check()


def operator_with_live_summaries() -> Operator:
    operator = Operator(Query(3000, 1000, quantiles=(0.5, 0.99), thresholds=(700,)))
    operator.push(np.random.default_rng(1).lognormal(6.7, 1.0, 3500))
    operator.check()
    return operator


@pytest.mark.parametrize(
    ("register", "offset"),
    [
        (r.LIVE_COUNT, None),
        (r.LIVE_SUMMARIES, None),
        (r.LIVE_WITH_REALS, None),
        (r.FILLED, None),
        (r.ACTIVE, None),
        (r.NEWEST_NUMBER, None),
        (r.AT_TOTAL, 5),
        (r.AT_SUPER_TOTAL, 5),
        (r.AT_FINE, 500),
        (r.AT_THRESHOLD, 2),
    ],
)
def test_a_changed_word_is_noticed(register, offset):
    operator = operator_with_live_summaries()
    words = operator._state.words
    words[register if offset is None else int(words[register]) + offset] += 1
    with pytest.raises((AssertionError, IndexError)):
        operator.check()


def test_a_changed_count_is_noticed():
    operator = operator_with_live_summaries()
    operator._state.cells[1000] += 1
    with pytest.raises(AssertionError):
        operator.check()


def test_a_changed_total_of_fine_parts_is_noticed():
    operator = Operator(Query.paper(3000, 1000, quantiles=(0.5, 0.99)))
    operator.push(np.random.default_rng(1).lognormal(6.7, 1.0, 3500))
    operator.check()
    level = operator._sliding.level
    level[int(level[AT_SUM]) + SUM_WORDS + 3] += 1
    with pytest.raises(AssertionError):
        operator.check()


def test_a_changed_summary_is_noticed():
    operator = operator_with_live_summaries()
    state = operator._state
    state.ring.view(np.int64)[int(state.live_starts()[1]) // 8 + r.HEAD_COUNT] += 1
    with pytest.raises(AssertionError):
        operator.check()
