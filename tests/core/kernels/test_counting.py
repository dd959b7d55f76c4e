"""The counting loops count every value under its code, whichever loop takes it, and note all that they touched."""

from collections import Counter

import numpy as np
import pytest
from decimal_codes import DecimalCodes
from hypothesis import given
from hypothesis import strategies as st

from aomg import Query
from aomg.core.kernels.codes import FIRST_BITS, LAST_BITS, TABLE_REACH
from aomg.core.kernels.counting import FACTORS, LEAST, MOST, SHIFTS
from aomg.core.kernels.steps import count_open
from aomg.core.state import OperatorState

INT64 = np.iinfo(np.int64)
DECIMAL = DecimalCodes(3, 0.02)
FIRST, LAST = np.array([FIRST_BITS, LAST_BITS]).view(np.float64).tolist()
Random = np.random.Generator

INTEGERS = {
    "zero": lambda random, n: np.zeros(n, np.int64),
    "small": lambda random, n: random.integers(0, 2_000, n),
    "about the reach of small integers": lambda random, n: random.integers(TABLE_REACH - 9, TABLE_REACH + 9, n),
    "half of them small": lambda random, n: random.lognormal(np.log(TABLE_REACH), 0.3, n).astype(np.int64),
    "large": lambda random, n: random.lognormal(20, 3, n).astype(np.int64),
    "beyond 2^53": lambda random, n: random.integers(2**53 - 9, INT64.max, n, endpoint=True),
    "at edges": lambda random, n: (
        random.integers(1, 1000, n) * 10 ** random.integers(0, 16, n) + random.integers(-1, 2)
    ),
    "negative": lambda random, n: -random.integers(0, 10**9, n),
    "the ends of 64 bits": lambda random, n: random.choice([INT64.min, INT64.max], n),
}
DOUBLES = {
    "zero": lambda random, n: random.choice([0.0, -0.0], n),
    "about one": lambda random, n: random.lognormal(0, 1, n),
    "small": lambda random, n: random.lognormal(-12, 2, n),
    "large": lambda random, n: random.lognormal(20, 3, n),
    "up to the reach of small integers": lambda random, n: random.integers(TABLE_REACH - 9, TABLE_REACH + 1, n) + 0.0,
    "about 100": lambda random, n: np.nextafter(random.integers(98, 110, n) + 0.0, random.choice([0, np.inf], n)),
    "at the ends of the table": lambda random, n: np.nextafter(
        random.choice([FIRST, LAST], n), random.choice([0, np.inf], n)
    ),
    "beyond the table": lambda random, n: random.choice([3e-13, 4.56e-12, 1.9e19, 7e20], n),
    "at edges": lambda random, n: random.choice(DECIMAL.edges[1000:], n),
    "negative": lambda random, n: -random.lognormal(3, 4, n),
    "of either sign": lambda random, n: random.normal(0, 100, n),
}


def runs_of(kinds: dict) -> st.SearchStrategy[np.ndarray]:
    """Streams of several runs, each of one kind; long ones change the loop that takes them."""
    run = st.tuples(st.sampled_from(sorted(kinds)), st.sampled_from([1, 2, 3, 4, 5, 17, 200, 700]))

    def values(drawn: tuple[list[tuple[str, int]], int]) -> np.ndarray:
        random = np.random.default_rng(drawn[1])
        return np.concatenate([kinds[kind](random, size) for kind, size in drawn[0]])

    return st.tuples(st.lists(run, min_size=1, max_size=5), st.integers(0, 2**32)).map(values)


def counted(values: np.ndarray) -> tuple[OperatorState, dict[int, int]]:
    """Count values in one chunk; return the state, and the counts that a close would find."""
    state = OperatorState(Query(1, 1, guarantee=0.02))
    count_open(state.words, state.cells, state.table, values.view(np.int64), None, values.dtype == np.float64)
    codes, numbers = state.open_pairs()
    return state, dict(zip(codes.tolist(), numbers.tolist(), strict=True))


@given(values=runs_of(INTEGERS))
def test_integers_are_counted_under_the_codes_of_their_decimals(values):
    state, counts = counted(values)
    assert counts == Counter(DECIMAL.of_integer(value) for value in values.tolist())
    assert state.open_events == values.size
    least, most = int(values.min()), int(values.max())
    assert state.open_minimum <= least and state.open_maximum >= most
    if abs(least) <= 2**53 and abs(most) <= 2**53:
        assert (state.open_minimum, state.open_maximum) == (least, most)


@given(values=runs_of(DOUBLES))
def test_doubles_are_counted_under_the_codes_of_their_decimals(values):
    state, counts = counted(values)
    codes = np.where(values == 0, DECIMAL.of_integer(0), DECIMAL.of_doubles(np.where(values == 0, 1.0, values)))
    assert counts == Counter(codes.tolist())
    assert state.open_events == values.size
    assert (state.open_minimum, state.open_maximum) == (values.min(), values.max())


@given(values=runs_of(DOUBLES), data=st.data())
def test_values_that_are_not_finite_are_refused_and_not_counted(values, data):
    refused = data.draw(st.lists(st.integers(0, values.size - 1), max_size=9, unique=True))
    spoiled = values.copy()
    spoiled[refused] = data.draw(st.sampled_from([np.nan, -np.nan, np.inf, -np.inf]))
    state, counts = counted(spoiled)
    assert counts == counted(np.delete(values, refused))[1]
    assert state.refused == len(refused)
    assert state.open_events == values.size - len(refused)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_a_chunk_is_counted_as_its_values_one_by_one(kind):
    random = np.random.default_rng(3)
    values = (random.lognormal(11.8, 1, 2_000) * random.choice([-1, 1, 1, 1, 1, 1, 1], 2_000)).astype(kind)
    _, counts = counted(values)
    single = OperatorState(Query(1, 1, guarantee=0.02))
    for value in values:
        count_open(single.words, single.cells, single.table, np.array([value]).view(np.int64), None, kind is np.float64)
    assert single.open_pairs()[0].tolist() == list(counts) and single.open_pairs()[1].tolist() == list(counts.values())
    assert sum(counts.values()) == values.size


@pytest.mark.parametrize("power", range(1, len(FACTORS)))
def test_multiplication_divides_every_integer_below_2_to_63_by_a_power_of_ten(power):
    factor, shift, divisor = int(FACTORS[power]), int(SHIFTS[power]), 10**power
    assert 0 < factor * divisor - 2 ** (64 + shift) <= 2 ** (shift + 1)  # the theorem's condition, for 63 bits
    multiples = [lead * divisor for lead in (100, 101, 999, 1000, TABLE_REACH - 1, (2**63 - 1) // divisor)]
    for u in [int(LEAST[power]), int(MOST[power]), *multiples, *(value - 1 for value in multiples)]:
        assert u >= 2**63 or (u * factor >> 64) >> shift == u // divisor
        assert not LEAST[power] <= u <= MOST[power] or 100 <= u // divisor < TABLE_REACH
