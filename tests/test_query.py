"""Which queries are valid, how they are written, and how they differ."""

import dataclasses
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import AomgError, FewK, Query, QueryError


def test_the_defaults_are_those_of_the_contract():
    query = Query(131_072, 16_384)
    assert query.quantiles == tuple(map(Decimal, ("0.5", "0.9", "0.99", "0.999")))
    assert (query.thresholds, query.digits, query.guarantee, query.few_k) == ((), 3, 0.02, FewK())
    assert (query.lateness, query.partial, query.counted, query.sub_windows) == (10_000_000, True, True, 8)


@pytest.mark.parametrize(
    ("digits", "guarantee"), [(1, 2.0), (2, 0.2), (3, 0.02), (4, 0.02), (5, 0.02), (6, 0.02), (None, 0.02)]
)
def test_the_default_guarantee_follows_from_the_digits(digits, guarantee):
    assert Query(2, 1, digits=digits).guarantee == guarantee


@pytest.mark.parametrize(("digits", "finest"), [(1, 0.5), (2, 0.05), (3, 0.005), (6, 0.005), (None, 0.005)])
def test_a_guarantee_smaller_than_possible_is_refused_with_the_smallest(digits, finest):
    assert Query(2, 1, digits=digits, guarantee=finest).guarantee == finest
    with pytest.raises(QueryError, match=f"smallest is {finest:g}"):
        Query(2, 1, digits=digits, guarantee=finest * 0.99)


def test_a_query_may_have_no_guarantee():
    assert Query(2, 1, guarantee=False).guarantee is None


def test_the_paper_runs_raw_values_plain_means_and_full_windows():
    query = Query.paper(2, 1)
    assert (query.digits, query.guarantee, query.few_k, query.partial) == (None, None, None, False)
    assert query != Query(2, 1, digits=None, guarantee=False, few_k=None, partial=False)


def test_a_quantile_is_the_decimal_that_was_written():
    forms = [0.999, "0.999", Decimal("0.999"), Decimal("0.99900"), np.float64(0.999)]
    assert len({Query(2, 1, quantiles=(form,)) for form in forms}) == 1
    assert Query(2, 1, quantiles=0.999) == Query(2, 1, quantiles="0.999") == Query(2, 1, quantiles=[0.999])
    assert Query(2, 1, quantiles=1).quantiles == (Decimal(1),)


@pytest.mark.parametrize(
    ("written", "microseconds"),
    [
        ("1 hour", 3_600_000_000),
        ("60 minutes", 3_600_000_000),
        ("1h", 3_600_000_000),
        ("90 s", 90_000_000),
        ("1.5 seconds", 1_500_000),
        ("250ms", 250_000),
        ("7 us", 7),
        ("2 Days", 172_800_000_000),
        ("1 week", 604_800_000_000),
        (timedelta(minutes=1), 60_000_000),
        (np.timedelta64(3, "s"), 3_000_000),
        (np.timedelta64(3_000_000_000, "ns"), 3_000_000),
    ],
)
def test_durations_may_be_written_in_many_ways(written, microseconds):
    query = Query(written, written)
    assert (query.size, query.period, query.counted) == (microseconds, microseconds, False)


def test_equal_queries_are_equal_however_they_are_written():
    one = Query("1 hour", "1 minute", lateness="10 s", thresholds=[4000])
    other = Query(timedelta(hours=1), np.timedelta64(60, "s"), lateness=timedelta(seconds=10), thresholds=(4000.0,))
    assert one == other and hash(one) == hash(other) and one.fingerprint == other.fingerprint


DIFFERENT = [
    Query(4, 2),
    Query(4, 1),
    Query(8, 2),
    Query("4 us", "2 us"),
    Query(4, 2, quantiles=(0.5,)),
    Query(4, 2, quantiles=(0.9, 0.5, 0.99, 0.999)),
    Query(4, 2, thresholds=(1,)),
    Query(4, 2, digits=2),
    Query(4, 2, digits=None),
    Query(4, 2, guarantee=0.03),
    Query(4, 2, guarantee=False),
    Query(4, 2, few_k=None),
    Query(4, 2, few_k=FewK(fraction=0.4)),
    Query(4, 2, few_k=FewK(budget=10)),
    Query(4, 2, few_k=FewK(high=0.9)),
    Query(4, 2, few_k=FewK(threshold=9)),
    Query(4, 2, few_k=FewK(burst=0.4)),
    Query(4, 2, few_k=FewK(offset="paper")),
    Query(4, 2, few_k=FewK(always=True)),
    Query(4, 2, lateness="1 s"),
    Query(4, 2, partial=False),
    Query.paper(4, 2),
]


def test_whatever_changes_a_result_changes_the_fingerprint():
    assert len({query.fingerprint for query in DIFFERENT}) == len(DIFFERENT)


def test_different_queries_are_not_equal():
    for i, one in enumerate(DIFFERENT):
        for other in DIFFERENT[i + 1 :]:
            assert one != other


def test_a_fingerprint_is_the_same_in_another_process():
    code = "import aomg; print(aomg.Query('1 hour', '1 minute', thresholds=(4000,)).fingerprint)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    query = Query("1 hour", "1 minute", thresholds=(4000,))
    assert done.stdout.strip() == query.fingerprint
    assert len(query.fingerprint) == 32 and int(query.fingerprint, 16) >= 0


def test_the_text_of_a_query_is_complete_and_in_a_fixed_order():
    assert Query(4, 2, thresholds=(1,)).text() == (
        "aomg 1; elements 4/2; quantiles 0.5,0.9,0.99,0.999; thresholds 1.0; digits 3; guarantee 0.02; "
        "few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0"
    )


RECORDED = [  # written before durations had one grammar: saved states and stored summaries have them
    (
        Query(131_072, 16_384),
        "1b6cbda1b15f31a59b6d9faa943fa2b6",
        "aomg 1; elements 131072/16384; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 3; guarantee 0.02; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query(4, 2, thresholds=(1, 2.5, -3e300)),
        "4a632eb100af7515e693a102ed66a77e",
        "aomg 1; elements 4/2; quantiles 0.5,0.9,0.99,0.999; thresholds 1.0,2.5,-3e+300; "
        "digits 3; guarantee 0.02; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query("1 hour", "1 minute"),
        "391c04095a3a1cf716c3ea9a16e3715a",
        "aomg 1; microseconds 3600000000/60000000; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 3; guarantee 0.02; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query("1h", "60 min", lateness="0 s"),
        "861f6d38f881bc5aef6801293748306a",
        "aomg 1; microseconds 3600000000/3600000000; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 3; guarantee 0.02; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 0; partial 1; paper 0",
    ),
    (
        Query("2 Days", "12 HOURS", lateness="1.5 seconds"),
        "9d4c91cd1f910108f6ed2958c192a459",
        "aomg 1; microseconds 172800000000/43200000000; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 3; guarantee 0.02; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 1500000; partial 1; paper 0",
    ),
    (
        Query("1 week", "1 D", quantiles=(1, "0.000000001", 0.5)),
        "b0db0ba09883fd08e922b51e38913746",
        "aomg 1; microseconds 604800000000/86400000000; quantiles 1,1E-9,0.5; thresholds ; "
        "digits 3; guarantee 0.02; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query("10 s", "250 ms", digits=None, guarantee=0.05),
        "0a9411619364cb7aaa2f55896709efeb",
        "aomg 1; microseconds 10000000/250000; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits None; guarantee 0.05; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query("4 us", "2 us", digits=1),
        "13ac92c46e385da2f505d6c85298317c",
        "aomg 1; microseconds 4/2; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 1; guarantee 2.0; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query("10000 weeks", "100 weeks", guarantee=False),
        "7495171a7fd6e8117ebabf830cba836e",
        "aomg 1; microseconds 6048000000000000/60480000000000; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 3; guarantee None; few_k 0.5/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query(timedelta(hours=1), np.timedelta64(90, "s"), few_k=None, partial=False),
        "a8439ef049fc34ae55fbcc10de262e10",
        "aomg 1; microseconds 3600000000/90000000; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 3; guarantee 0.02; few_k none; lateness 10000000; partial 0; paper 0",
    ),
    (
        Query("400 days", "86400 s", few_k=FewK(0.25, 40, 0.9, 3, 0.75, "paper", True)),
        "53301383d072552e2a2f970f5833bc1b",
        "aomg 1; microseconds 34560000000000/86400000000; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits 3; guarantee 0.02; few_k 0.25/40/0.9/3.0/0.75/paper/1; lateness 10000000; partial 1; paper 0",
    ),
    (
        Query.paper("1 minute", "1 second", quantiles=0.999),
        "913feb5bcb916d3af99a2b7a188e4d59",
        "aomg 1; microseconds 60000000/1000000; quantiles 0.999; thresholds ; "
        "digits None; guarantee None; few_k none; lateness 10000000; partial 0; paper 1",
    ),
    (
        Query.paper(1000, 100, few_k=FewK(fraction=0.1)),
        "d3cbb4cdb157b009257b5aedae94063f",
        "aomg 1; elements 1000/100; quantiles 0.5,0.9,0.99,0.999; thresholds ; "
        "digits None; guarantee None; few_k 0.1/None/0.99/10.0/0.5/rotate/0; lateness 10000000; partial 0; paper 1",
    ),
]


@pytest.mark.parametrize(("query", "fingerprint", "text"), RECORDED)
def test_earlier_fingerprints_and_stored_texts_stay_valid(query, fingerprint, text):
    assert (query.fingerprint, query.text()) == (fingerprint, text)
    assert Query.parse(text) == query


@pytest.mark.parametrize(
    "query", [*DIFFERENT, *(query for query, _, _ in RECORDED), Query(4, 2, few_k=FewK(threshold=float("inf")))]
)
def test_the_repr_of_a_query_makes_it_again(query):
    again = eval(repr(query), {"Query": Query, "FewK": FewK})
    assert again == query and again.fingerprint == query.fingerprint
    assert Query(**query.arguments()) == query


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (Query("1 hour", "1 minute", quantiles=(0.5, 0.99)), "Query('1h', '1m', quantiles=(0.5, 0.99))"),
        (Query(131_072, 16_384), "Query(131072, 16384)"),
        (Query(np.int64(4), 2, thresholds=4000, partial=False), "Query(4, 2, thresholds=(4000.0,), partial=False)"),
        (
            Query("90 minutes", timedelta(minutes=5), lateness="1500 ms", few_k=None, guarantee=False),
            "Query('1h30m', '5m', guarantee=False, few_k=None, lateness='1s500ms')",
        ),
        (
            Query(4, 2, few_k=FewK(fraction=0.4, offset="paper")),
            "Query(4, 2, few_k=FewK(fraction=0.4, offset='paper'))",
        ),
        (Query.paper(4, 2, quantiles=0.9), "Query.paper(4, 2, quantiles=(0.9,))"),
        (Query.paper("1m", "1s", few_k=FewK()), "Query.paper('1m', '1s', few_k=FewK())"),
    ],
)
def test_the_text_of_a_query_has_what_differs_from_the_defaults(query, text):
    assert repr(query) == str(query) == f"{query}" == text


@pytest.mark.parametrize("digits", [1, 2, 3, 6, None])
def test_the_text_of_a_query_has_no_guarantee_that_follows_from_the_digits(digits):
    assert "guarantee" not in repr(Query(4, 2, digits=digits))
    assert "guarantee=2.5" in repr(Query(4, 2, digits=digits, guarantee=2.5))


def test_the_text_of_a_query_in_paper_mode_is_complete():
    changed = Query.paper(4, 2).replace(thresholds=(5,), lateness="1 s")
    assert repr(changed) == (
        "Query(4, 2, thresholds=(5.0,), digits=None, guarantee=False, few_k=None, lateness='1s', partial=False, "
        "as_paper=True)"
    )


@given(
    period=st.integers(1, 10**14),  # sizes of up to 32,000 years; the longest is 70,000
    times=st.integers(1, 10_000),
    counted=st.booleans(),
    lateness=st.integers(0, 10**15),
    quantiles=st.lists(st.decimals("0.000000001", 1, places=9), min_size=1, max_size=4, unique=True),
    others=st.fixed_dictionaries(
        {},
        optional={
            "thresholds": st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=2, unique=True),
            "digits": st.none() | st.integers(1, 6),
            "guarantee": st.sampled_from([None, False, 0.5, 2.0, 2.5]),
            "few_k": st.none() | st.builds(FewK, st.floats(0.1, 1), st.none() | st.integers(1, 9), st.floats(0.1, 1)),
            "partial": st.booleans(),
            "as_paper": st.booleans(),
        },
    ),
)
def test_the_repr_of_any_query_makes_it_again(period, times, counted, lateness, quantiles, others):
    period = period % (1 << 30) + 1 if counted else timedelta(microseconds=period)
    query = Query(period * times, period, quantiles=quantiles, lateness=timedelta(microseconds=lateness), **others)
    again = eval(repr(query), {"Query": Query, "FewK": FewK})
    assert again == query and again.fingerprint == query.fingerprint


def test_numbers_of_numpy_do_not_change_the_text_of_a_query():
    query = Query(np.int64(4), np.int64(2), digits=np.int64(3), few_k=FewK(budget=np.int64(5)))
    assert (query.text(), repr(query)) == (
        Query(4, 2, few_k=FewK(budget=5)).text(),
        repr(Query(4, 2, few_k=FewK(budget=5))),
    )


def test_a_query_is_frozen():
    query = Query(4, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.size = 8
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.few_k.fraction = 1


def test_high_quantiles_are_those_from_the_limit_on_but_the_maximum():
    query = Query(4, 2, quantiles=(1, 0.999, 0.5, 0.99), few_k=FewK(high=0.99))
    assert query.high == (Decimal("0.999"), Decimal("0.99"))


BAD = [
    ({"size": 10, "period": 3}, "multiple of period.* 9 or 12"),
    ({"size": 2, "period": 3}, "multiple of period=3; make it 3$"),
    ({"size": 0, "period": 1}, "positive"),
    ({"size": -4, "period": -2}, "positive"),
    ({"size": 4.0, "period": 2.0}, "no unit"),
    ({"size": True, "period": True}, "duration"),
    ({"size": "1 hour", "period": 60}, "both"),
    ({"size": 60, "period": "1 minute"}, "both"),
    ({"size": "1 fortnight", "period": "1 s"}, "unit"),
    ({"size": "hour", "period": "1 s"}, "unit"),
    ({"size": "1 h", "period": "7m"}, "size='1h' is not a multiple of period='7m'; make it '56m' or '1h3m'"),
    ({"size": "0 s", "period": "0 s"}, "size='0s' must be positive"),
    ({"size": timedelta(seconds=-5), "period": "1 s"}, "size='-5s' must be positive"),
    ({"size": "-5 s", "period": "-5 s"}, "unit"),
    ({"size": "0.1 us", "period": "0.1 us"}, "unit"),
    ({"size": None, "period": None}, "duration"),
    ({"size": np.timedelta64("NaT"), "period": "1 s"}, "NaT"),
    ({"size": 1 << 40, "period": 1 << 40}, "too large"),
    ({"size": 1 << 40, "period": 1}, "too long"),
    ({"quantiles": ()}, "empty"),
    ({"quantiles": None}, "quantile"),
    ({"quantiles": (0,)}, "0.99"),
    ({"quantiles": (1.5,)}, "0.99"),
    ({"quantiles": (99,)}, "0.99"),
    ({"quantiles": (-0.5,)}, "0.99"),
    ({"quantiles": (float("nan"),)}, "quantile"),
    ({"quantiles": ("NaN",)}, "quantile"),
    ({"quantiles": ("sNaN",)}, "sNaN|quantile"),
    ({"quantiles": ("inf",)}, "quantile"),
    ({"quantiles": ("median",)}, "median"),
    ({"quantiles": (None,)}, "number"),
    ({"quantiles": (True,)}, "number"),
    ({"quantiles": (0.5, "0.50")}, "twice"),
    ({"quantiles": (0.1 + 0.2,)}, "round"),
    ({"thresholds": ("x",)}, "numbers"),
    ({"thresholds": None}, "threshold"),
    ({"thresholds": (float("nan"),)}, "finite"),
    ({"thresholds": (10**400,)}, "numbers"),
    ({"thresholds": (1, 1.0)}, "twice"),
    ({"digits": 0}, "1 to 6"),
    ({"digits": 7}, "1 to 6"),
    ({"digits": 3.0}, "1 to 6"),
    ({"digits": True}, "1 to 6"),
    ({"digits": "3"}, "1 to 6"),
    ({"guarantee": True}, "smallest"),
    ({"guarantee": 0}, "smallest"),
    ({"guarantee": -0.1}, "smallest"),
    ({"guarantee": float("nan")}, "smallest"),
    ({"guarantee": float("inf")}, "smallest"),
    ({"guarantee": "tight"}, "relative"),
    ({"few_k": 0.5}, "FewK"),
    ({"few_k": True}, "FewK"),
    ({"lateness": 10}, "lateness"),
    ({"lateness": "soon"}, "lateness"),
    ({"lateness": timedelta(seconds=-1)}, "lateness"),
]


@pytest.mark.parametrize(("wrong", "hint"), BAD, ids=str)
def test_a_query_that_cannot_be_answered_is_refused_with_a_hint(wrong, hint):
    with pytest.raises(QueryError, match=hint):
        Query(**{"size": 4, "period": 2, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"fraction": 0},
        {"fraction": 1.1},
        {"fraction": float("nan")},
        {"fraction": "half"},
        {"budget": 0},
        {"budget": 2.5},
        {"high": 0},
        {"high": 2},
        {"high": None},
        {"threshold": -1},
        {"threshold": float("nan")},
        {"threshold": "ten"},
        {"burst": 0},
        {"burst": 1},
        {"burst": None},
        {"offset": "random"},
        {"offset": None},
    ],
    ids=str,
)
def test_invalid_few_k_settings_are_refused(wrong):
    with pytest.raises(QueryError, match=next(iter(wrong))):
        FewK(**wrong)


def test_errors_of_a_query_are_value_errors_of_this_package():
    with pytest.raises(ValueError):
        Query(10, 3)
    with pytest.raises(AomgError):
        Query(10, 3)


@pytest.mark.parametrize("size", [1e6, np.float64(1000)])
def test_the_error_for_a_float_says_how_to_write_events_or_seconds(size):
    with pytest.raises(QueryError, match=rf"write {int(size)} for a number of events, or '{int(size)}s' for seconds"):
        Query(size=size, period=1000)
