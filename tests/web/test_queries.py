"""Queries that differ share files, a page and an API, and nothing else."""

import csv
import io

import pytest
from web.different_queries import ESTIMATES, KEYS, LABELS, METHODS, PERIODS, SIZES, different_queries, numbers
from web.local_server import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(different_queries(tmp_path_factory.mktemp("differing"))) as running:
        yield running


def test_status_tells_what_each_query_has(served):
    response = served.json("/api/status")
    assert response["problems"] == []
    by_name = {query["name"]: query for query in response["queries"]}
    assert {name: [one["name"] for one in query["estimates"]] for name, query in by_name.items()} == ESTIMATES
    assert {name: query["labels"] for name, query in by_name.items()} == LABELS
    assert {name: query["unit"] for name, query in by_name.items()} == {"wide": "us", "narrow": "s", "all": None}
    assert {name: query["size_seconds"] / 60 for name, query in by_name.items()} == SIZES
    assert {name: query["period_seconds"] / 60 for name, query in by_name.items()} == PERIODS
    assert {name: query["windows"] for name, query in by_name.items()} == {"wide": 6, "narrow": 2, "all": 6}


@pytest.mark.parametrize("query", KEYS)
def test_a_query_answers_with_its_own_keys_and_numbers_and_with_no_others(served, query):
    expected = {
        tuple(zip(LABELS[query], key, strict=True)): {
            name: {"low": low, "value": value, "high": high, "method": method}
            for name, (low, value, high, method) in numbers(query, index).items()
        }
        for index, key in enumerate(KEYS[query])
    }
    answer = served.json(f"/api/keys?query={query}")
    assert answer["columns"] == ESTIMATES[query]
    assert {tuple(row["key"].items()): row["estimates"] for row in answer["rows"]} == expected
    heat = served.json(f"/api/heatmap?query={query}")
    usual = [name for name in ESTIMATES[query] if name.startswith("p")][-1]
    assert heat["quantile"] == usual and heat["windows_per_column"] == 1
    assert {tuple(key.items()): row[-1] for key, row in zip(heat["keys"], heat["values"], strict=True)} == {
        key: estimates[usual]["value"] for key, estimates in expected.items()
    }
    for key, estimates in expected.items():
        requested = "".join(f"&key.{label}={value}" for label, value in key)
        over_time = served.json(f"/api/key?query={query}{requested}")
        assert [one["name"] for one in over_time["estimates"]] == ESTIMATES[query]
        for one in over_time["estimates"]:
            assert set(one["values"]) == {estimates[one["name"]]["value"]}, "in every window, without gaps"
            assert set(one["methods"]) == {METHODS[query]}
        lines = list(csv.DictReader(io.StringIO(served.get(f"/api/key.csv?query={query}{requested}").text)))
        assert {float(line[usual]) for line in lines} == {estimates[usual]["value"]}
    table = list(csv.DictReader(io.StringIO(served.get(f"/api/keys.csv?query={query}").text)))
    assert len(table) == len(expected) and all(set(line) >= {*LABELS[query], *ESTIMATES[query]} for line in table)


def test_an_estimate_of_another_query_is_refused_with_those_that_there_are(served):
    for path in ("/api/keys?query=narrow&sort=p90", "/api/heatmap?query=narrow&quantile=below_250"):
        answer = served.get(path)
        assert answer.status_code == 400 and "query narrow has no" in answer.json()["error"]
        assert "p50" in answer.json()["what_to_do"]


def test_prometheus_gets_each_query_with_its_own_labels_and_unit(served):
    text = served.get("/metrics").text
    assert 'aomg_quantile{query="wide",host="a",quantile="0.9",unit="us"} 101.0' in text
    assert 'aomg_share_below{query="wide",host="a",threshold="250"} 103.0' in text
    assert 'aomg_quantile{query="narrow",rack="r1",host="a",quantile="0.5",unit="s"} 200.0' in text
    assert 'aomg_quantile{query="all",quantile="0.9"} 300.0' in text
    assert text.count('query="narrow"') == len(KEYS["narrow"]) * (2 + 3) + 3, "and no other estimates"
    for follower in ("results", "alerts", "health", "targets"):
        assert f'aomg_follower_failing{{follower="{follower}"}} 0' in text
