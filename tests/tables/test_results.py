"""Results as tables: every column has the fields of the objects, bit for bit, in Arrow, pandas and Polars."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import InputError, Operator, Query, Results
from aomg.errors import SettingsError
from aomg.names import quantile_name, threshold_name
from aomg.policies import make
from aomg.tables.columns import names_of
from aomg.tables.results import flat_table

VALUES = np.random.default_rng(7).lognormal(6.7, 0.8, 6_000)
TIMES = np.datetime64("1969-12-31T23:50", "us") + np.arange(6_000) * np.timedelta64(250, "ms")
COUNTED = Query(2_000, 500, quantiles=(0.5, 0.999, 1), thresholds=(500, 0.25, -5))
TIMED = Query("5m", "1m", quantiles=(0.5, 0.005), lateness="0s")
PAPER = Query.paper(2_000, 500, quantiles=(0.5, 0.9))


def results_of(query: Query) -> Results:
    return Operator(query).push(VALUES, None if query.counted else TIMES)


def sketched() -> Results:
    """Results of a policy that guarantees nothing: their intervals are NaN."""
    results = make("moment", Query(2_000, 500, quantiles=(0.5,), partial=False)).push(VALUES)
    assert np.isnan(results.lows(0.5)).all()
    return results


ALL = {
    "counted": lambda: results_of(COUNTED),
    "timed": lambda: results_of(TIMED),
    "paper": lambda: results_of(PAPER),
    "no guarantee": lambda: results_of(Query(2_000, 500, guarantee=False)),
    "policy": sketched,
    "empty": lambda: results_of(COUNTED)[:0],
    "empty and timed": lambda: results_of(TIMED)[:0],
    "empty and paper": lambda: results_of(PAPER)[:0],
    "slice": lambda: results_of(COUNTED)[::-2],
}
every_kind = pytest.mark.parametrize("make_results", ALL.values(), ids=ALL.keys())


def utc(moment):
    return moment if isinstance(moment, int) else moment.item()


def expected(results: Results) -> list[dict]:
    """The rows of the flat table, from the objects."""
    rows = []
    for result in results:
        row = {"window_start": utc(result.start), "window_end": utc(result.end), "count": result.count}
        row |= {"min": result.minimum, "max": result.maximum, "sub_windows": result.sub_windows, "burst": result.burst}
        for quantile in results.query.quantiles:
            name, estimate = quantile_name(quantile), result[quantile]
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            row[f"{name}_method"] = estimate.method
            if results.query.guarantee is None:
                row |= {f"{name}_bound": estimate.bound, f"{name}_bound_corrected": estimate.bound_corrected}
        for threshold in results.query.thresholds:
            name, share = threshold_name(threshold), result.below(threshold)
            row |= {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}
        rows.append(row)
    return rows


def bits(rows: list[dict]) -> str:
    """The text of rows: repr is exact for doubles, and equal for NaN. Times lose their zone, which is UTC."""
    return repr([{name: v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for name, v in r.items()} for r in rows])


def same(one: pa.Table, other: pa.Table) -> bool:
    """Whether tables have the same columns and the same bits; `equals` of Arrow is false for NaN."""
    return one.schema == other.schema and bits(one.to_pylist()) == bits(other.to_pylist())


@every_kind
def test_flat_columns_are_the_fields_of_the_results(make_results):
    results = make_results()
    assert bits(results.to_arrow(flat=True).to_pylist()) == bits(expected(results))


@every_kind
def test_nested_columns_have_the_same_fields_as_flat_ones(make_results):
    results = make_results()
    nested = results.to_arrow()
    assert nested.column_names == names_of(results.query)
    assert same(flat_table(nested), results.to_arrow(flat=True))
    for row, result in zip(nested.to_pylist(), results, strict=True):
        assert bits([row["window"]]) == bits([{"start": utc(result.start), "end": utc(result.end)}])


def test_columns_have_the_types_of_spark():
    schema = results_of(TIMED).to_arrow(flat=True).schema
    utc = pa.timestamp("us", tz="UTC")
    types = {name: schema.field(name).type for name in schema.names}
    assert types["window_start"] == types["window_end"] == utc
    assert (types["count"], types["sub_windows"], types["burst"]) == (pa.int64(), pa.int32(), pa.bool_())
    assert (types["p50"], types["p50_low"], types["p50_method"]) == (pa.float64(), pa.float64(), pa.string())
    assert results_of(COUNTED).to_arrow().schema.field("window").type.field("end").type == pa.int64()


@pytest.mark.parametrize("kind", ["counted", "timed", "paper"])
def test_no_results_have_the_types_of_some(kind):
    results = ALL[kind]()
    for flat in (False, True):
        assert results[:0].to_arrow(flat=flat).schema == results.to_arrow(flat=flat).schema
        assert results[:0].to_arrow(flat=flat).num_rows == 0


def test_paper_mode_has_bounds_of_theorem_1_where_they_hold():
    results = results_of(PAPER)
    bounds = results.to_arrow(flat=True)["p50_bound_corrected"].to_pylist()
    assert bounds == [result[0.5].bound_corrected for result in results]
    assert any(bound is not None for bound in bounds)
    assert "p50_bound" not in results_of(TIMED).to_arrow(flat=True).column_names


def test_by_columns_and_others_are_left_alone_in_a_flat_table():
    nested = results_of(COUNTED).to_arrow()
    host = pa.array([{"name": "a", "value": 1}] * len(nested))
    flat = flat_table(nested.add_column(0, "host", host).append_column("p95", nested["count"]))
    assert flat.column_names[:3] == ["host", "window_start", "window_end"] and flat.column_names[-1] == "p95"
    assert flat["host"].to_pylist() == host.to_pylist()


# -- other libraries ---------------------------------------------------------------------------------------------------


@every_kind
def test_pandas_has_the_same_columns_and_gives_them_back(make_results, request):
    pd = pytest.importorskip("pandas")
    results = make_results()
    frame = results.to_pandas()
    flat = results.to_arrow(flat=True)
    assert list(frame.columns) == flat.column_names
    if "policy" not in request.node.name:  # pandas has NaN for null, and Arrow reads it as null
        assert same(pa.Table.from_pandas(frame, schema=flat.schema, preserve_index=False), flat)
    np.testing.assert_array_equal(frame["p50"], results.values(0.5))
    np.testing.assert_array_equal(frame["p50_low"], results.lows(0.5))
    if not results.query.counted:
        assert frame["window_end"].dtype == pd.DatetimeTZDtype("us", "UTC")
        np.testing.assert_array_equal(frame["window_end"].dt.tz_localize(None).to_numpy(), results.ends)


def test_pandas_may_have_structs_as_dictionaries():
    pytest.importorskip("pandas")
    results = results_of(COUNTED)
    row = results.to_pandas(flat=False).iloc[-1]
    assert row["p99_9"]["low"] == results[-1][0.999].low and row["window"]["end"] == results[-1].end


@every_kind
def test_polars_has_the_same_columns_and_gives_them_back(make_results):
    pl = pytest.importorskip("polars")
    results = make_results()
    for flat in (False, True):
        frame, table = results.to_polars(flat=flat), results.to_arrow(flat=flat)
        assert isinstance(frame, pl.DataFrame) and frame.columns == table.column_names
        assert same(frame.to_arrow().cast(table.schema), table)
    if not results.query.counted:
        assert results.to_polars(flat=True)["window_end"].dtype == pl.Datetime("us", "UTC")


@every_kind
def test_libraries_that_read_arrow_take_results_as_they_are(make_results):
    results = make_results()
    assert same(pa.table(results), results.to_arrow())
    assert pa.RecordBatchReader.from_stream(results).schema == results.to_arrow().schema


def test_polars_takes_results_as_they_are():
    pl = pytest.importorskip("polars")
    results = results_of(COUNTED)
    assert pl.DataFrame(results).equals(results.to_polars())


@pytest.mark.parametrize("results", [results_of(COUNTED), results_of(COUNTED)[:0]], ids=["some", "none"])
def test_the_constructor_of_pandas_refuses_results_and_names_the_method(results):
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputError, match=r"for a DataFrame call results\.to_pandas\(\)"):
        pd.DataFrame(results)
    with pytest.raises(TypeError, match=r"for an array results\.values"):
        np.asarray(results)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, package):
    def missing(name, *more):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("aomg.packages.import_module", missing)
    with pytest.raises(SettingsError, match=f"^the package {package} is missing; run: pip install {package}$"):
        getattr(results_of(COUNTED), f"to_{package}")()


# -- the promise -------------------------------------------------------------------------------------------------------


@given(
    values=st.lists(st.floats(-1e300, 1e300) | st.integers(-5, 5), max_size=60),
    quantiles=st.lists(st.decimals("0.001", 1, places=3), min_size=1, max_size=3, unique=True),
    thresholds=st.lists(st.floats(-1e6, 1e6), max_size=2, unique=True),
    guarantee=st.sampled_from([None, False]),
    partial=st.booleans(),
)
def test_no_bit_of_any_result_is_lost(values, quantiles, thresholds, guarantee, partial):
    query = Query(12, 4, quantiles=quantiles, thresholds=thresholds, guarantee=guarantee, partial=partial)
    results = Operator(query).push(values)
    assert bits(results.to_arrow(flat=True).to_pylist()) == bits(expected(results))
