"""Adapters to sketch libraries: each keeps its library's promise on sliding windows, and forgets what has left."""

import importlib
import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import counted_windows, exact_quantile, plain

from aomg import Query
from aomg.errors import InputError, SettingsError
from aomg.policies import make, names
from aomg.policies.datadog_ddsketch import DDSketch
from aomg.policies.hdr_histogram import HdrHistogram
from aomg.streams import pingmesh

LIBRARIES = {
    "kll": "datasketches",
    "req": "datasketches",
    "quantiles-sketch": "datasketches",
    "t-digest": "datasketches",
    "fastdigest": "fastdigest",
    "ddsketch": "ddsketch",
    "hdr-histogram": "hdrh",
}
MERGED = ("kll", "req", "quantiles-sketch", "t-digest", "fastdigest")
DETERMINISTIC = ("t-digest", "fastdigest", "ddsketch", "hdr-histogram")
INTERPOLATING = ("t-digest", "fastdigest")
TIES = "with heavy ties"
QUANTILES = ("0.1", "0.5", "0.9", "0.99", "0.999")
# twice what each library states for 99 of 100 sketches, or, for t-digests, what they are known for
WORST_RANK_ERROR = {"kll": 0.027, "req": 0.05, "quantiles-sketch": 0.029, "t-digest": 0.02, "fastdigest": 0.01}
N, P = 8_192, 1_024


def rank_error(window, value, quantile):
    ordered, n = np.sort(window), len(window)
    rank = max(int(np.ceil(float(quantile) * n - 1e-9)), 1)
    below, up_to = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
    return max(0, below + 1 - rank, rank - max(up_to, below)) / n


def organ_pipe(values):
    ordered = np.sort(values)
    return np.concatenate([ordered[::2], ordered[1::2][::-1]])


ORDERS = {
    "as it comes": lambda values: values,
    "ascending": np.sort,
    "descending": lambda values: np.sort(values)[::-1].copy(),
    "sawtooth": lambda values: np.sort(values).reshape(-1, 512).T.ravel(),
    "organ pipe": organ_pipe,
    TIES: lambda values: values // 200 * 200,
}


# between two values that tie, a t-digest answers what does not occur: tested by value below
@pytest.mark.parametrize("name, order", [(n, o) for n in MERGED for o in ORDERS if o != TIES or n not in INTERPOLATING])
def test_rank_errors_stay_within_what_the_library_states(name, order):
    values = ORDERS[order](pingmesh(seed=7).take(4 * N))
    query = Query(N, P, quantiles=QUANTILES, partial=False)
    for result in make(name, query).push(values):
        window = values[result.start : result.end]
        for quantile in query.quantiles:
            assert rank_error(window, result[quantile].value, quantile) <= WORST_RANK_ERROR[name]
            assert np.isnan(result[quantile].low) and np.isnan(result[quantile].high)
            assert result[quantile].method == "sketch"


@pytest.mark.parametrize("name", INTERPOLATING)
def test_between_ties_a_t_digest_answers_a_value_between_the_neighbours_of_the_exact_one(name):
    values = ORDERS[TIES](pingmesh(seed=7).take(4 * N))
    query = Query(N, P, quantiles=QUANTILES[:3], partial=False)
    for result in make(name, query).push(values):
        for quantile in query.quantiles:
            exact = exact_quantile(plain(values[result.start : result.end]), quantile)
            assert abs(result[quantile].value - exact) <= 200


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_first_and_the_last_rank_are_the_extremes_of_the_window(name):
    values = pingmesh(seed=3).take(4 * N)
    query = Query(N, P, quantiles=("0.0001", "1"))
    relative = {"ddsketch": 0.01, "hdr-histogram": 0.001}.get(name, 1e-12)
    for result in make(name, query).push(values):
        assert result["0.0001"].value == pytest.approx(result.minimum, rel=relative)
        assert result["1"].value == pytest.approx(result.maximum, rel=relative)


def test_req_is_all_but_exact_near_the_top():
    values = pingmesh(seed=8).take(6 * N)
    query = Query(N, P, quantiles=("0.999", "0.9999", "1"), partial=False)
    for result in make("req", query).push(values):
        for quantile in query.quantiles:
            assert rank_error(values[result.start : result.end], result[quantile].value, quantile) <= 0.0005


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name, relative", [("ddsketch", 0.01), ("hdr-histogram", 0.001)])
def test_the_exact_value_lies_within_bounds_that_the_library_guarantees(name, relative, order):
    values = ORDERS[order](pingmesh(seed=9).take(3 * N))
    query = Query(N, P, quantiles=QUANTILES)
    for result in make(name, query).push(values):
        window = np.sort(values[max(result.start, 0) : result.end])
        for quantile in query.quantiles:
            exact, estimate = exact_quantile(window.tolist(), quantile), result[quantile]
            assert estimate.low <= exact <= estimate.high
            assert estimate.low <= estimate.value <= estimate.high
            assert abs(estimate.value - exact) <= relative * exact * (1 + 1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
def test_one_sub_window_of_few_elements_is_answered_by_exact_ranks(name):
    query = Query(40, 40, quantiles=("0.025", "0.05", "0.5", "0.55", "0.975", "1"))
    values = np.random.default_rng(3).permutation(40) * 7 + 1
    (result,) = make(name, query).push(values)
    for quantile in query.quantiles:
        exact = exact_quantile(plain(values), quantile)
        assert result[quantile].value == pytest.approx(exact, rel=0.01 if name == "ddsketch" else 1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_window_of_a_single_element_is_that_element(name):
    results = make(name, Query(1, 1, quantiles=("0.001", "0.5", "1"))).push([5, 80, 2])
    for result, value in zip(results, [5, 80, 2], strict=True):
        assert [result[q].value for q in ("0.001", "0.5", "1")] == pytest.approx([value] * 3, rel=0.01)


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_leaves_the_window_is_forgotten(name):
    query = Query(4_000, 500, quantiles=("0.001", "0.5", "1"))
    operator = make(name, query)
    operator.push(np.full(4_000, 1_000_000))
    for _ in range(7):
        (result,) = operator.push(np.arange(1, 501))
        assert result["1"].value == pytest.approx(1_000_000, rel=0.01)
    (result,) = operator.push(np.arange(1, 501))
    assert result["1"].value == pytest.approx(500, rel=0.01)
    operator.push(np.full(4_000, 2_000_000))
    assert operator.push(np.full(500, 2_000_000))[-1]["0.001"].value == pytest.approx(2_000_000, rel=0.01)


def retained_count(policy):
    """How many events the library's own sketch of the window believes to hold."""
    if isinstance(policy, DDSketch):
        sketch = policy._sketch
        return sketch._store.count + sketch._negative_store.count + sketch._zero_count
    if isinstance(policy, HdrHistogram):
        assert policy._counters.sum() == policy._histogram.get_total_count()
        return policy._histogram.get_total_count()
    merged = policy._window.merged()
    if hasattr(merged, "get_total_weight"):
        return merged.get_total_weight()
    return merged.n_values if hasattr(merged, "n_values") else merged.n


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_librarys_sketch_holds_as_many_elements_as_the_window(name):
    operator = make(name, Query(3_500, 500))
    for size in [500] * 12 + [137]:
        (result,) = operator.push(np.random.default_rng(size).integers(0, 9_999, size)) or operator.finish()
        assert retained_count(operator.policy) == result.count
    assert result.count == 6 * 500 + 137


@pytest.mark.parametrize("name", DETERMINISTIC)
@given(cuts=st.lists(st.integers(0, 6_000), max_size=6))
@settings(max_examples=10)
def test_how_a_stream_is_cut_into_pushes_changes_no_answer_of_a_deterministic_library(name, cuts):
    values, query = pingmesh(seed=5).take(6_000), Query(4_000, 1_000)
    fewer = {"max_centroids": 50} if name == "fastdigest" else {}  # than events: a batch is compressed
    whole, parts = make(name, query, **fewer).push(values), make(name, query, **fewer)
    estimate = parts.push(values[:0])
    for first, last in itertools.pairwise([0, *sorted(cuts), values.size]):
        estimate = estimate + parts.push(values[first:last])
    np.testing.assert_array_equal(estimate.rows, whole.rows)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_asking_for_the_space_changes_no_answer(name):
    values, query = pingmesh(seed=5).take(12_000), Query(4_000, 1_000)
    watched, alone = make(name, query), make(name, query)
    for start in range(0, 12_000, 300):
        estimate, expected = watched.push(values[start : start + 300]), alone.push(values[start : start + 300])
        assert watched.variables() > 0 and watched.nbytes > 0
        np.testing.assert_array_equal(estimate.rows, expected.rows)


@pytest.mark.parametrize("name", LIBRARIES)
def test_space_follows_what_is_held_and_does_not_grow_with_the_stream(name):
    operator = make(name, Query(8_000, 1_000))
    values = pingmesh(seed=3)
    operator.push(values.take(16_000))
    early = operator.most_variables()
    operator.push(values.take(80_000, 16_000))
    assert 0 < operator.most_variables() < 1.5 * early
    assert operator.nbytes >= 4 * operator.variables() or name == "fastdigest"


@pytest.mark.parametrize("name", LIBRARIES)
def test_arrays_that_may_not_be_written_to_are_taken(name):
    values = np.arange(1, 1_001, dtype=np.float64)
    values.flags.writeable = False
    assert len(make(name, Query(1_000, 500)).push(values)) == 2


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_library_is_named_with_the_line_that_brings_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, LIBRARIES[name], None)
    for module in [m for m in sys.modules if m.startswith(LIBRARIES[name] + ".")]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError, match=r"pip install 'aomg\[peers\]'") as error:
        make(name, Query(100, 10))
    assert LIBRARIES[name] in str(error.value)


def test_the_policies_are_listed_without_any_library(monkeypatch):
    for module in list(sys.modules):
        if module.split(".")[0] in LIBRARIES.values():
            monkeypatch.setitem(sys.modules, module, None)
    for adapter in ("apache_datasketches", "fast_t_digest", "datadog_ddsketch", "hdr_histogram"):
        monkeypatch.delitem(sys.modules, f"aomg.policies.{adapter}", raising=False)
        importlib.import_module(f"aomg.policies.{adapter}")
    assert set(LIBRARIES) <= set(names())


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("kll", {"k": 1}),
        ("kll", {"k": 2.5}),
        ("req", {"k": -4}),
        ("quantiles-sketch", {"k": 100}),
        ("t-digest", {"k": 1}),
        ("fastdigest", {"max_centroids": 0}),
        ("ddsketch", {"relative_accuracy": 1}),
        ("hdr-histogram", {"digits": 9}),
        ("hdr-histogram", {"highest": 1}),
        ("hdr-histogram", {"unit": -1}),
    ],
)
def test_parameters_that_a_library_cannot_take_are_refused(name, parameters):
    with pytest.raises(InputError, match=next(iter(parameters))):
        make(name, Query(100, 10), **parameters)


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("kll", {"k": 400}),
        ("req", {"k": 24}),
        ("quantiles-sketch", {"k": 256}),
        ("t-digest", {"k": 300}),
        ("fastdigest", {"max_centroids": 50}),
        ("ddsketch", {"relative_accuracy": 0.002}),
        ("hdr-histogram", {"digits": 2, "highest": 10**6, "unit": 0.5}),
    ],
)
def test_a_policy_tells_the_parameters_it_runs_with(name, parameters):
    assert make(name, Query(100, 10), **parameters).policy.parameters() == parameters


# t-digest


@given(seed=st.integers(0, 2**32), n=st.integers(1, 3_000), ties=st.booleans())
def test_quantiles_of_a_t_digest_rise_with_the_rank_and_end_at_the_extremes(seed, n, ties):
    values = np.random.default_rng(seed).lognormal(3, 1, n)
    values = np.rint(values) if ties else values
    policy = make("t-digest", Query(n, n), k=50).policy
    sketch = policy._make()
    sketch.update(values)
    estimate = policy._values_at(sketch, np.arange(1, n + 1), n)
    assert (np.diff(estimate) >= 0).all()
    assert (estimate[0], estimate[-1]) == (values.min(), values.max())


def test_the_librarys_own_quantiles_of_a_t_digest_still_fall_where_they_should_rise():
    """If this fails, the library is mended: ask it, and drop the adapter's own interpolation."""
    from datasketches import tdigest_double

    sketch = tdigest_double(100)
    sketch.update(np.random.default_rng(0).uniform(0, 1, 40_000))
    assert np.diff([sketch.get_quantile(share) for share in np.linspace(0.4, 0.6, 41)]).min() < 0


# DDSketch


def edges_of_bins(mapping):
    """Values at and around the edges of bins, where rounding decides."""
    return st.integers(-30_000, 30_000).flatmap(
        lambda key: st.sampled_from(
            [np.nextafter(edge, towards) for edge in [mapping._pow_gamma(key)] for towards in (0, edge, np.inf)]
        )
    )


@given(data=st.data())
def test_keys_of_arrays_are_the_keys_of_the_library(data):
    policy = DDSketch(Query(10, 10))
    mapping = policy._mapping
    sizes = st.floats(mapping.min_possible, mapping.max_possible, exclude_min=True)
    magnitudes = data.draw(st.lists(st.one_of(sizes, edges_of_bins(mapping), st.just(1.0)), min_size=1, max_size=30))
    assert policy.keys(np.array(magnitudes)).tolist() == [mapping.key(value) for value in magnitudes]


@given(
    values=st.lists(
        st.one_of(st.floats(-1e9, 1e9), st.floats(-1e300, 1e300), st.sampled_from([0.0, 1.0, -1.0, 5e-324])),
        min_size=1,
        max_size=60,
    ),
    period=st.sampled_from([1, 4, 13]),
)
def test_every_value_of_ddsketch_is_within_its_accuracy_whatever_its_sign(values, period):
    query = Query(3 * period, period, quantiles=("0.01", "0.5", "0.9", "1"))
    operator = make("ddsketch", query)
    results = list(operator.push(np.array(values))) + list(operator.finish())
    for result, window in zip(results, counted_windows(query, values, finish=True), strict=True):
        for quantile in query.quantiles:
            exact, estimate = exact_quantile(window.values, quantile), result[quantile]
            assert estimate.low <= exact <= estimate.high
            assert abs(estimate.value - exact) <= 0.01 * abs(exact) * (1 + 1e-9) + 1e-307


def test_ddsketch_answers_as_the_librarys_own_sketch_does():
    from ddsketch import DDSketch as Theirs

    values = np.concatenate([pingmesh(seed=1).take(2_000) * 1.0, -pingmesh(seed=2).take(500) * 1.0, np.zeros(100)])
    policy, theirs = DDSketch(Query(2_600, 2_600, quantiles=QUANTILES)), Theirs(0.01)
    policy.accumulate(values)
    policy.close()
    for value in values.tolist():
        theirs.add(value)
    ranks = policy.quantiles.ranks(2_600)
    assert policy.answer(2_600)[:, 0].tolist() == [theirs.get_quantile_value((r - 1 + 1e-6) / 2_599) for r in ranks]


def test_the_bins_of_an_outlier_leave_with_it():
    operator = make("ddsketch", Query(1_000, 100))
    operator.push(pingmesh(seed=1).take(1_000))
    calm = operator.variables()
    operator.push(np.full(100, 1e200))
    assert operator.variables() > 10 * calm
    operator.push(pingmesh(seed=1).take(1_000))
    assert operator.variables() == calm


def test_values_beyond_what_a_library_can_count_are_refused():
    with pytest.raises(InputError, match="above"):
        make("ddsketch", Query(10, 5)).push([1.0, 1.79e308])
    with pytest.raises(InputError, match="single precision"):
        make("req", Query(10, 5)).push([1.0, 1e39])


# HdrHistogram


@given(values=st.lists(st.integers(0, 3_600_000_000), min_size=1, max_size=40), digits=st.integers(1, 5))
def test_indices_of_arrays_are_the_indices_of_the_library(values, digits):
    policy = HdrHistogram(Query(10, 10), digits=digits)
    estimate = policy.indices(np.array(values, float))
    assert estimate.tolist() == [policy._histogram.get_counts_array_index(value) for value in values]


def test_hdr_answers_as_the_librarys_own_histogram_does():
    from hdrh.histogram import HdrHistogram as Theirs

    values = pingmesh(seed=1).take(3_000)
    policy, theirs = HdrHistogram(Query(3_000, 3_000, quantiles=QUANTILES)), Theirs(1, 3_600_000_000, 3)
    policy.accumulate(values.astype(float))
    policy.close()
    for value in values.tolist():
        theirs.record_value(value)
    assert policy.answer(3_000)[:, 0].tolist() == [theirs.get_value_at_percentile(100 * float(q)) for q in QUANTILES]


@pytest.mark.parametrize(
    "value, parameters, message",
    [
        (0.5, {}, "unit="),
        (-1, {}, "from 0"),
        (4e9, {}, "highest=3600000000"),
        (1e300, {}, "highest"),
        (-2.0, {"unit": 0.1}, "from 0"),
        (2_000.0, {"unit": 0.001, "highest": 1_000_000}, "units"),
    ],
)
def test_values_that_hdr_has_no_counter_for_are_refused_with_what_to_do(value, parameters, message):
    with pytest.raises(InputError, match=message):
        make("hdr-histogram", Query(10, 5), **parameters).push([1, value])


@given(
    values=st.lists(st.one_of(st.floats(0, 1e6), st.integers(0, 2_000).map(lambda n: n / 20)), min_size=1, max_size=50),
    unit=st.sampled_from([0.25, 0.1, 0.001]),
)
def test_with_a_unit_hdr_bounds_fractions_as_well(values, unit):
    query = Query(50, 10, quantiles=("0.01", "0.5", "1"))
    operator = make("hdr-histogram", query, unit=unit)
    results = list(operator.push(values)) + list(operator.finish())
    for result, window in zip(results, counted_windows(query, values, finish=True), strict=True):
        for quantile in query.quantiles:
            exact, estimate = exact_quantile(window.values, quantile), result[quantile]
            assert estimate.low <= exact <= estimate.high
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.high - estimate.low <= 2 * unit + 0.001 * exact
