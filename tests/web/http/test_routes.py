import gzip
import json
import os
import threading
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web.local_server import serving, wait_until
from web.monitor_files import monitor_files

from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.web.http import handlers
from aomg.web.http.body import Body
from aomg.web.http.routes import response_cache
from aomg.web.http.static_files import PAGE, StaticFiles

HOSTILE = [
    "a\r\nX-Evil: 1",
    '"><script>alert(1)</script>',
    "=cmd|'/C calc'!A0",
    "\u2028 \x00 \x1b[31m",
    'x"} 1\ny{z="',
    "",
]
FILES = StaticFiles(PAGE)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Results whose labels were chosen by someone who means harm."""
    import pyarrow as pa

    folder = tmp_path_factory.mktemp("hostile") / "results"
    rows = [
        {
            "query": "q",
            "labels": [label],
            "label_names": ["pod"],
            "start": 0,
            "end": 60_000_000,
            "count": 10 + number,
            "min": 1.0,
            "max": 9.0,
            "sub_windows": 1,
            "burst": False,
            "estimates": [{"name": "p99", "value": 5.0 + number, "low": 4.0, "high": 20.0, "method": "band"}],
            "batch": 0,
        }
        for number, label in enumerate(HOSTILE)
    ]
    ParquetSink(folder, {"q": ["pod"]}).write(0, pa.Table.from_pylist(rows, SCHEMA))
    with serving(folder) as running:
        yield running


@pytest.mark.parametrize("character", ["k", "ä", "\U0001f600"])
def test_any_key_that_a_monitor_accepts_can_be_opened(tmp_path, character):
    import pyarrow as pa

    from aomg.monitor.config.source import LONGEST_KEY

    estimates = [{"name": "p99", "value": 5.0, "low": 4.0, "high": 20.0, "method": "band"}]
    row = {"query": "q", "label_names": ["pod", "zone"], "start": 0, "end": 60_000_000, "count": 9, "min": 1.0}
    row |= {"max": 9.0, "sub_windows": 1, "burst": False, "estimates": estimates, "batch": 0}
    keys = [(character * (LONGEST_KEY - 5), character * 5), (character * (LONGEST_KEY + 1), "too long")]
    rows = pa.Table.from_pylist([{**row, "labels": list(key)} for key in keys], SCHEMA)
    ParquetSink(tmp_path, {"q": ["pod", "zone"]}).write(0, rows)
    with serving(tmp_path) as running:
        for address in ("/api/key", "/api/key.csv", "/key"):
            longest, longer = (running.get(address, params={"key.pod": pod, "key.zone": zone}) for pod, zone in keys)
            assert longest.status_code == 200
            assert longer.status_code == (200 if address == "/key" else 400)
        assert "read it with aomg query" in running.get("/api/key", params={"key.pod": keys[1][0]}).text


def test_status_tells_what_there_is(served):
    response = served.json("/api/status")
    assert [query["name"] for query in response["queries"]] == ["inbound", "outbound"]
    inbound = response["queries"][0]
    assert (inbound["labels"], inbound["unit"], inbound["keys"], inbound["windows"]) == (["podset"], "us", 20, 30)
    assert [one["quantile"] for one in inbound["estimates"]] == [0.5, 0.9, 0.99, 0.999]
    assert [one["title"] for one in inbound["estimates"]] == ["p50", "p90", "p99", "p99.9"]
    assert (inbound["size_seconds"], inbound["period_seconds"]) == (120.0, 15.0)
    assert inbound["newest_end"] == "2026-11-16T12:00:00Z"
    assert response["alerts"] == {"firing": 1, "pending": 1}
    assert response["loading"]["done"] == response["loading"]["of"] > 0


def test_the_worst_key_comes_first_with_its_alert(served):
    response = served.json("/api/keys?query=inbound&sort=p99&limit=2")
    assert (response["total"], response["matching"], len(response["rows"])) == (20, 20, 2)
    assert response["rows"][0]["key"] == {"podset": "3"}
    assert response["rows"][0]["alert"] == {"state": "pending", "rule": "PodsetSwitchFault", "more": 0}
    assert served.json("/api/keys?alert=firing")["rows"][0]["key"] == {"podset": "13"}


def test_filters_of_the_overview_are_those_of_the_heat_map_and_the_csv(served):
    requested = "query=inbound&where.podset=13&burst=true"
    assert served.json(f"/api/keys?{requested}")["matching"] == 1
    assert served.json(f"/api/heatmap?{requested}")["keys"] == [{"podset": "13"}]
    lines = served.get(f"/api/keys.csv?{requested}").text.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("13,")


def test_a_key_comes_with_its_limits_and_alerts(served):
    response = served.json("/api/key?query=inbound&key.podset=6")
    limit = {"estimate": "p99", "value": 4000.0, "operator": ">", "rule": "PodsetSwitchFault", "kind": "alert"}
    assert limit in response["limits"]
    assert [one["rule"] for one in response["limits"] if one["kind"] == "target"] == ["inbound_p99"]
    assert [alert["transition"] for alert in response["alerts"]] == ["pending", "firing", "resolved"]
    assert len(response["ends"]) == 30
    short = served.json("/api/key?query=inbound&key.podset=6&from=2026-11-16T11:59:30Z&to=2026-11-16T11:59:45Z")
    assert short["ends"] == ["2026-11-16T11:59:30Z", "2026-11-16T11:59:45Z"]


def test_a_histogram_is_made_of_the_stored_summaries(served):
    response = served.json("/api/histogram?query=inbound&key.podset=6")
    assert sum(bucket["count"] for bucket in response["buckets"]) == response["count"] == 12_000
    assert (response["unit"], response["key"], response["end"]) == ("us", {"podset": "6"}, "2026-11-16T12:00:00Z")


def test_alerts_are_told_by_state(served):
    response = served.json("/api/alerts")
    assert response["counts"] == {"firing": 1, "pending": 1, "resolved": 1, "inactive": 0, "fired": 2}
    assert [alert["state"] for alert in response["alerts"]] == ["firing", "pending", "resolved"]
    assert served.json("/api/alerts?state=resolved&key.podset=6")["matching"] == 1
    assert served.json("/api/alerts?query=outbound&state=firing")["matching"] == 0
    assert len(served.get("/api/alerts.csv?state=pending").text.splitlines()) == 2


def test_targets_and_health_are_told(served):
    targets = served.json("/api/targets")["targets"]
    assert len(targets) == 20
    assert targets[0]["target"] == "inbound_p99"
    health = served.json("/api/health")
    assert health["totals"]["refused_by_reason"] == {"rtt_us is no number": 9}
    assert health["server"]["most_bytes"] > health["server"]["history_bytes"] > 0


def test_prometheus_gets_the_newest_values(served):
    answer = served.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
    assert 'aomg_quantile{query="inbound"' in answer.text
    assert 'aomg_alerts{state="firing"} 1' in answer.text


def test_a_folder_of_results_alone_has_no_alerts_and_says_how_to_get_them(monitor):
    with serving(monitor.results) as alone:
        assert alone.json("/api/status")["alerts"] is None
        assert [query["unit"] for query in alone.json("/api/status")["queries"]] == [None, None]
        assert alone.json("/api/status")["queries"][0]["period_seconds"] == 15.0
        assert alone.json("/api/keys")["rows"][0]["alert"] is None
        assert alone.json("/api/key?key.podset=6")["limits"] == []
        response = alone.get("/api/alerts")
        assert response.status_code == 404
        assert "configuration" in response.json()["what_to_do"]
        assert alone.get("/api/histogram?key.podset=6").status_code == 404
        assert "aomg_alerts{" not in alone.get("/metrics").text


def test_an_empty_folder_is_served_and_filled_later(tmp_path):
    monitor = monitor_files(tmp_path, keys=3, windows=0)
    with serving(monitor.file, wait=False) as running:
        response = running.json("/api/status")
        assert [(query["name"], query["windows"]) for query in response["queries"]] == [("inbound", 0), ("outbound", 0)]
        assert running.json("/api/keys")["rows"] == []
        assert running.get("/").status_code == 200
        assert running.get("/api/key?key.podset=1").status_code == 404
        monitor.add_window()
        wait_until(lambda: running.json("/api/keys")["total"] == 3)


def test_a_folder_without_any_result_says_that_it_waits(tmp_path):
    with serving(tmp_path, wait=False) as running:
        assert running.json("/api/status")["queries"] == []
        response = running.get("/api/keys")
        assert response.status_code == 404
        assert "no results yet" in response.json()["error"]


def test_an_unknown_query_is_told_which_there_are(served):
    response = served.get("/api/keys?query=inbund")
    assert response.status_code == 404
    assert response.json()["what_to_do"] == "did you mean inbound? there are inbound, outbound"


@pytest.mark.parametrize(
    ("requested", "status"),
    [
        ("/api/keys?sort=p98", 400),
        ("/api/keys?limit=501", 400),
        ("/api/keys?limit=5&limit=5", 400),
        ("/api/keys?serch=x", 400),
        ("/api/key?key.pod=6", 404),
        ("/api/key?key.podset=600", 404),
        ("/api/key", 404),
        ("/api/heatmap?quantile=p98", 400),
        ("/api/heatmap?from=now", 400),
        ("/api/histogram?key.podset=6&at=1990-01-01T00:00:00Z", 404),
        ("/api/events?x=1", 400),
        ("/metrics?x=1", 400),
        ("/api/status?x=1", 400),
        ("/api/nothing", 404),
        ("/api/", 404),
        ("/api", 404),
        ("/static/nothing.js", 404),
    ],
)
def test_errors_of_the_api_are_json_that_says_what_to_do(served, requested, status):
    answer = served.get(requested)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "what_to_do"}
    assert answer.json()["what_to_do"]


def test_pages_that_are_not_there_are_a_page(served):
    for path in ("/nothing", "/key/", "/static/", "/keys/6"):
        answer = served.get(path)
        assert answer.status_code == 404
    assert served.get("/nothing").headers["content-type"].startswith("text/html")
    page = served.get("/nothing", headers={"Accept": "text/html,*/*"})  # a browser gets the page, with its navigation
    assert page.status_code == 404 and page.text == served.get("/").text
    assert served.get("/api/nothing", headers={"Accept": "text/html"}).json()["error"] == "page not found"


def test_only_reading_is_possible(served):
    for path in ("/", "/api/status", "/api/keys", "/api/events", "/metrics", "/static/plotly.js"):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            answer = served.client.request(method, path)
            assert answer.status_code == 405
            assert "GET" in answer.headers["allow"]


def test_every_address_has_a_head(served):
    paths = ["/", "/key", "/alerts", "/health", "/static/plotly.js", "/metrics", "/api/events"]
    paths += ["/api/status", "/api/keys", "/api/keys.csv", "/api/openapi.json"]
    for path in paths:
        answer = served.client.head(path)
        assert (answer.status_code, answer.content) == (200, b""), path


def test_what_a_viewer_has_already_is_not_sent_again(monitor, tmp_path):
    own = monitor_files(tmp_path, keys=3, windows=3)
    with serving(own.file) as running:
        for path in ("/api/keys", "/api/heatmap", "/api/key?key.podset=1", "/api/alerts", "/api/targets"):
            first = running.get(path)
            tag = first.headers["etag"]
            again = running.get(path, headers={"If-None-Match": tag})
            assert (again.status_code, again.content) == (304, b"")
            assert running.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
        tags = {running.get(path).headers["etag"] for path in ("/api/keys?limit=1", "/api/keys?limit=2", "/api/alerts")}
        assert len(tags) == 3
        before = running.get("/api/keys").headers["etag"]
        own.add_window()
        wait_until(lambda: running.json("/api/keys")["at"] == "2026-11-16T12:00:15Z")
        assert running.get("/api/keys", headers={"If-None-Match": before}).status_code == 200
    with serving(own.file) as restarted:
        assert restarted.get("/api/keys", headers={"If-None-Match": before}).status_code == 200


def test_what_depends_on_the_clock_is_never_kept(served):
    for path in ("/api/status", "/api/health", "/metrics"):
        answer = served.get(path)
        assert answer.headers["cache-control"] == "no-store"
        assert "etag" not in answer.headers


def test_large_answers_are_compressed_for_who_can_read_it(served):
    for path in ("/api/keys", "/api/openapi.json", "/static/plotly.js", "/metrics"):
        small = served.get(path, headers={"Accept-Encoding": "br;q=1, gzip;q=0.5"})
        assert small.headers["content-encoding"] == "gzip"
        plain = served.get(path, headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert served.get(path, headers={"Accept-Encoding": "gzip;q=0"}).headers.get("content-encoding") is None
        if path != "/metrics":
            assert small.content == plain.content
        assert "Accept-Encoding" in plain.headers["vary"]


def test_plotly_is_compressed_once_and_kept_by_browsers_as_long_as_they_like(served, monkeypatch):
    compressed = []
    really = gzip.compress
    monkeypatch.setattr(
        gzip, "compress", lambda *parts, **more: compressed.append(len(parts[0])) or really(*parts, **more)
    )
    page = served.get("/").text
    name = page.split('name="aomg-plotly" content="')[1].split('"')[0]
    assert name.startswith("/static/plotly-")
    for _ in range(3):
        answer = served.get(name)
        assert "immutable" in answer.headers["cache-control"]
        assert len(answer.content) > 1_000_000
    assert len([size for size in compressed if size > 1_000_000]) <= 1
    assert served.get("/static/plotly.js").headers["cache-control"] == "no-cache"


def test_the_page_has_what_plotly_needs_under_the_policy(served):
    page = served.get("/").text
    assert '<meta id="' in page
    head = page.split("</head>")[0]
    assert "aomg-plotly" in head
    assert all(served.get(view).text == page for view in ("/key?query=x", "/alerts", "/health"))


@pytest.fixture(scope="module")
def page_with_secrets(monitor, tmp_path_factory):
    """A page beside, and in, whose folder there is what must not be served."""
    folder = tmp_path_factory.mktemp("pages") / "page"
    folder.mkdir()
    beside = folder.parent / "routes.py"
    for file in (beside, folder / "secret.txt", folder / ".hidden.js"):
        file.write_text("SECRET")
    (folder / "link.js").symlink_to(beside)
    (folder / "index.html").write_text("<html><head></head>SECRET</html>")
    (folder / "style.css").write_text("fine")
    with serving(monitor.results, files=StaticFiles(folder), wait=False) as running:
        assert running.get("/static/style.css").text == "fine"
        yield running


@pytest.mark.parametrize(
    "name",
    [
        "../routes.py",
        "..%2froutes.py",
        "%2e%2e%2froutes.py",
        "%2e%2e/routes.py",
        "..%5croutes.py",
        "..%252froutes.py",
        "....//routes.py",
        "%00index.html",
        "index.html%00.js",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "page/index.html",
        "./style.css/../../routes.py",
        ".",
        "..",
        "",
        "index.html",
        "%c0%ae%c0%ae%c0%afroutes.py",
        "secret.txt",
        "link.js",
        ".hidden.js",
    ],
)
def test_nothing_outside_of_the_page_is_served(page_with_secrets, name):
    head = f"GET /static/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answer = page_with_secrets.raw(head.encode())
    assert answer.split()[1] in (b"404", b"400")
    assert b"SECRET" not in answer


def test_a_name_is_looked_up_and_never_joined_to_a_path(tmp_path):
    folder = tmp_path / "page"
    (folder / "inner").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (tmp_path / "outer").mkdir()
    (folder / "linked").symlink_to(tmp_path / "outer")
    beside, deep, own = tmp_path / "beside.js", folder / "inner" / "deep.js", folder / "own.js"
    for file in (beside, deep, own, folder / ".hidden" / "some.js", tmp_path / "outer" / "some.js"):
        file.write_text("text")
    (folder / "inner" / "link.js").symlink_to(beside)
    files = StaticFiles(folder)
    assert files.get("own.js").content == files.get("inner/deep.js").content == b"text"
    for name in ("../beside.js", "./own.js", "inner/../own.js", "inner//deep.js", "/own.js", str(beside), "inner", ""):
        assert files.get(name) is None
    for name in (".hidden/some.js", "linked/some.js", "inner/link.js", "inner\\deep.js", "deep.js"):
        assert files.get(name) is None


@settings(max_examples=200)
@given(st.text(max_size=40) | st.text("./\\%2efx", max_size=12))
def test_only_files_of_the_page_have_a_name(name):
    result = FILES.get(name)
    assert (
        result is None
        or name == "plotly.js"
        or name in {path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*.*")}
    )


def test_a_file_of_the_page_that_changes_is_read_again(tmp_path):
    (tmp_path / "a.js").write_text("one")
    files = StaticFiles(tmp_path)
    first = files.get("a.js")
    assert files.get("a.js") is first
    (tmp_path / "a.js").write_text("two!")
    os.utime(tmp_path / "a.js", ns=(1, 1))
    assert files.get("a.js").content == b"two!"
    assert files.get("a.js").tag != first.tag


def test_labels_cannot_break_out_of_json_csv_metrics_or_headers(hostile):
    rows = hostile.json("/api/keys")["rows"]
    assert {row["key"]["pod"] for row in rows} == set(HOSTILE)
    for label in HOSTILE:
        for path in ("/api/key", "/api/key.csv", "/api/keys.csv", "/api/heatmap"):
            name = "key.pod" if path.startswith("/api/key") and "keys" not in path else "where.pod"
            answer = hostile.get(f"{path}?{name}={quote(label)}")
            assert answer.status_code == 200, answer.text
            assert "x-evil" not in answer.headers
        response = hostile.json(f"/api/key?key.pod={quote(label)}")
        assert response["key"] == {"pod": label}
    table = hostile.get("/api/keys.csv").text
    assert "\n=cmd" not in table and ",=cmd" not in table and '"=cmd' not in table
    metrics = hostile.get("/metrics").text
    assert not [line for line in metrics.splitlines() if line.startswith(("y{z", "X-Evil"))]
    assert "<script>alert(1)</script>" not in hostile.get("/").text


def test_what_is_asked_cannot_break_out_of_an_error(served):
    for evil in HOSTILE[:-1]:
        for path in ("/api/keys?query=", "/api/keys?sort=", "/api/keys?order=", "/api/keys?at=", "/api/key?key."):
            answer = served.get(f"{path}{quote(evil)}")
            assert answer.status_code in (400, 404)
            assert "x-evil" not in answer.headers
            assert answer.headers["content-type"] == "application/json"
            assert "\x1b" not in answer.json()["error"]
        page = served.get(f"/{quote(evil)}")
        assert page.status_code == 404
        assert "<script>alert" not in page.text
        raw = served.raw(b"GET /api/keys?x=%0d%0aX-Evil:%201 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert b"\r\nX-Evil" not in raw


def test_a_failure_inside_is_told_without_its_trace(monitor, monkeypatch, caplog):
    def fail(*arguments):
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(handlers, "heat_map_answer", fail)
    with serving(monitor.file) as running:
        answer = running.get("/api/heatmap")
        assert answer.status_code == 500
        assert set(answer.json()) == {"error", "what_to_do"}
        assert "secret" not in answer.text and "Traceback" not in answer.text
        assert running.get("/api/keys").status_code == 200
    assert "the secret inside" in caplog.text


def test_twenty_viewers_ask_at_once_and_each_gets_the_same_whole_answer(served):
    paths = ["/api/keys?limit=500&spark=60", "/api/heatmap", "/api/key?key.podset=6", "/api/alerts", "/api/status"]
    heard, problems = [], []

    def look(number):
        try:
            for path in paths:
                heard.append((path, served.json(path)))
        except Exception as problem:
            problems.append((number, problem))

    viewers = [threading.Thread(target=look, args=(number,), daemon=True) for number in range(20)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join(30)
    assert not problems
    assert len(heard) == 100
    for path in paths[:-1]:
        assert len({json.dumps(response) for requested, response in heard if requested == path}) == 1


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5000)), max_size=60))
def test_cached_responses_are_right_and_bounded(requests):
    cache = response_cache(max_bytes=20_000)
    for name, size in requests:
        body = cache.get((name, size), lambda name=name, size=size: Body(bytes([name]) * size))
        assert body.content == bytes([name]) * size
        assert sum(body.size for body in cache._values.values()) <= 20_000
