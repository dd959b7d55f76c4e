"""The rank of a quantile is exact for every count; small counts are kept, and give the same."""

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from aomg import Query
from aomg.core.kernels.ranks import PHI_REACH, PHI_WIDTH, open_rank, rank_of
from aomg.core.kernels.registers import AT_PHI, BAND_EXTRA, BAND_Z
from aomg.core.layout import new_words

counts = st.one_of(st.integers(1, 200), st.integers(1, 2**24), st.integers(1, 2**40))


@given(digits=st.integers(1, 6), part=st.floats(0, 1), count=counts)
@example(digits=3, part=0.999, count=2**21 - 1)
@example(digits=3, part=0.999, count=2**23)
def test_a_rank_is_the_share_of_the_count_rounded_up(digits, part, count):
    phi = Fraction(round(part * 10**digits), 10**digits)
    rank = min(max(math.ceil(phi * count), 1), count)
    assert rank_of(phi.numerator, phi.denominator, count) == rank


@given(sequence=st.lists(st.integers(1, 70), min_size=1, max_size=30))
def test_ranks_and_reaches_are_the_same_when_counts_come_back(sequence):
    query = Query(200, 100, quantiles=(0.5, 0.99, 0.999))
    words = new_words(query)
    for count in sequence:
        for place, quantile in enumerate(query.quantiles):
            phi, exact = int(words[AT_PHI]) + PHI_WIDTH * place, Fraction(Decimal(str(quantile)))
            assert open_rank(words, phi, count) == math.ceil(exact * count)
            share = exact.numerator / exact.denominator
            spread = math.sqrt(count * share * (1.0 - share))
            assert words[phi + PHI_REACH] == int(words[BAND_Z] * spread) + words[BAND_EXTRA]
