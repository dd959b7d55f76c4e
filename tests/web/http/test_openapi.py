import re
from pathlib import Path

import pytest
from web.local_server import event_data, serving
from web.monitor_files import monitor_files

from aomg.web.http.endpoints import ENDPOINTS
from aomg.web.http.openapi import description
from aomg.web.http.routes import routes
from aomg.web.http.schemas import SHAPES
from aomg.web.http.static_files import StaticFiles

GUIDE = Path(__file__).parents[3] / "docs" / "web.md"
TIME = re.compile(r"\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}


def problems(value, shape, place="$"):
    """What of a value is not as its shape says: a small part of JSON Schema, enough for ours."""
    if "anyOf" in shape:
        result = [problems(value, part, place) for part in shape["anyOf"]]
        return [] if any(not part for part in result) else result[0]
    kinds = [shape["type"]] if isinstance(shape["type"], str) else shape["type"]
    if value is None:
        return [] if "null" in kinds else [f"{place} is null"]
    kind = next((kind for kind in kinds if kind != "null"), "null")
    if kind == "null":
        return [f"{place} is {value!r}, not null"]
    if not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{place} is {value!r}, not {kind}"]
    result = []
    if "enum" in shape and value not in shape["enum"]:
        result.append(f"{place} is {value!r}, none of {shape['enum']}")
    if shape.get("format") == "date-time" and not TIME.fullmatch(value):
        result.append(f"{place} is {value!r}, no time")
    if kind == "array":
        if not shape.get("minItems", 0) <= len(value) <= shape.get("maxItems", len(value)):
            result.append(f"{place} has {len(value)} parts")
        for index, part in enumerate(value):
            result += problems(part, shape["items"], f"{place}[{index}]")
    if kind == "object":
        parts, others = shape.get("properties", {}), shape.get("additionalProperties", True)
        result += [f"{place} lacks {name}" for name in shape.get("required", ()) if name not in value]
        for name, part in value.items():
            if name in parts:
                result += problems(part, parts[name], f"{place}.{name}")
            elif others is False:
                result.append(f"{place} has {name}, of which nothing is said")
            elif isinstance(others, dict):
                result += problems(part, others, f"{place}.{name}")
    return result


def test_the_small_check_of_shapes_finds_what_is_wrong():
    status = SHAPES["Status"]
    assert "$ lacks version" in problems({}, status)
    assert problems({"error": "x", "what_to_do": "y"}, SHAPES["Problem"]) == []
    assert problems({"error": "x", "what_to_do": None}, SHAPES["Problem"]) == ["$.what_to_do is null"]
    assert problems({"error": 1, "what_to_do": "y"}, SHAPES["Problem"])
    assert problems({"error": "x", "what_to_do": "y", "z": 1}, SHAPES["Problem"])
    assert problems([1.0, None], SHAPES["Targets"]["properties"]["targets"]["items"]["properties"]["headroom"])
    assert problems("yesterday", status["properties"]["now"])
    assert problems(True, status["properties"]["version"])
    assert problems("days", status["properties"]["queries"]["items"]["properties"]["unit"])


def test_every_address_is_described_and_every_description_is_served(served):
    response = served.json("/api/openapi.json")
    assert response["openapi"] == "3.1.0"
    made_routes = routes(served.live, StaticFiles())
    served_paths = {route.path for route in made_routes if route.path.startswith(("/api/", "/metrics"))}
    assert set(response["paths"]) == served_paths == {endpoint.path for endpoint in ENDPOINTS}


def test_every_parameter_that_is_taken_is_described_with_its_bounds(served):
    response = served.json("/api/openapi.json")
    for endpoint in ENDPOINTS:
        described = {one["name"]: one for one in response["paths"][endpoint.path]["get"]["parameters"]}
        names = {f"{one.name}.LABEL" if one.kind == "labels" else one.name for one in endpoint.parameters}
        assert set(described) == names
        for one in endpoint.parameters:
            if one.kind == "whole":
                schema = described[one.name]["schema"]
                for number, status in ((one.least - 1, 400), (one.most + 1, 400)):
                    assert served.get(f"{endpoint.path}?{one.name}={number}").status_code == status
                assert (schema["minimum"], schema["maximum"], schema["default"]) == (one.least, one.most, one.default)
            assert described[one.name if one.kind != "labels" else f"{one.name}.LABEL"]["description"]


def test_what_is_not_described_is_refused_everywhere(served):
    for endpoint in ENDPOINTS:
        answer = served.get(f"{endpoint.path}?surely_unknown=1")
        assert answer.status_code == 400
        assert problems(answer.json(), SHAPES["Problem"]) == []


def test_references_in_the_description_lead_somewhere(served):
    text = served.get("/api/openapi.json").text
    for name in re.findall(r"#/components/schemas/(\w+)", text):
        assert name in SHAPES
    named = {endpoint.answer for endpoint in ENDPOINTS if endpoint.answer}
    assert set(SHAPES) == named | {"Problem", "Changed"}
    ids = [path["get"]["operationId"] for path in description("1")["paths"].values()]
    assert len(set(ids)) == len(ids)


ASKED = {
    "Status": ["/api/status"],
    "Keys": ["/api/keys", "/api/keys?sort=key&order=asc&spark=0", "/api/keys?search=nothing", "/api/keys?silent=true"],
    "HeatMap": ["/api/heatmap", "/api/heatmap?columns=5&rows=3", "/api/heatmap?search=nothing"],
    "Key": ["/api/key?key.podset=6", "/api/key?key.podset=13&points=10"],
    "Alerts": ["/api/alerts", "/api/alerts?state=pending"],
    "Health": ["/api/health"],
    "Targets": ["/api/targets"],
    "Description": ["/api/openapi.json"],
    "Histogram": ["/api/histogram?key.podset=6"],
}


@pytest.mark.parametrize("shape", sorted(ASKED))
def test_real_answers_are_as_described(served, shape):
    for path in ASKED[shape]:
        assert problems(served.json(path), SHAPES[shape]) == [], path


def test_answers_of_a_folder_that_is_empty_or_alone_are_as_described(monitor, tmp_path):
    for place, wait in ((monitor.results, True), (tmp_path, False)):
        with serving(place, wait=wait) as running:
            for shape in ("Status", "Health", "Targets"):
                assert problems(running.json(ASKED[shape][0]), SHAPES[shape]) == []


def test_a_query_without_results_is_as_described(tmp_path):
    waiting = monitor_files(tmp_path, keys=2, windows=0)
    with serving(waiting.file, wait=False) as running:
        for shape in ("Status", "Keys", "HeatMap", "Alerts", "Health", "Targets"):
            assert problems(running.json(ASKED[shape][0]), SHAPES[shape]) == []


def test_every_shape_of_an_answer_is_held_against_real_ones():
    assert set(ASKED) == {endpoint.answer for endpoint in ENDPOINTS if endpoint.answer}


def test_errors_and_events_are_as_described(served):
    for path in ("/api/keys?x=1", "/api/keys?query=none", "/api/none", "/static/none.js"):
        assert problems(served.get(path).json(), SHAPES["Problem"]) == []
    with served.client.stream("GET", "/api/events") as stream:
        assert problems(event_data(stream.iter_lines()), SHAPES["Changed"]) == []


def test_answers_come_in_the_described_kind(served):
    response = served.json("/api/openapi.json")["paths"]
    labels = "?key.podset=6"
    for path, operations in response.items():
        requested = path + (labels if path.removesuffix(".csv") in ("/api/key", "/api/histogram") else "")
        accept = {"Accept": "application/openmetrics-text"} if path == "/metrics" else {}
        (kind,) = operations["get"]["responses"]["200"]["content"]
        answer = served.client.head(requested, headers=accept)
        if answer.status_code == 200:
            assert answer.headers["content-type"].split(";")[0] == kind, path
            assert ("304" in operations["get"]["responses"]) == ("etag" in answer.headers)


def test_the_guide_has_every_address_and_parameter():
    rows = re.findall(r"^\| `(/(?:api|metrics)[^`]*)` \|(.*)$", GUIDE.read_text(), re.MULTILINE)
    response = {path: set(re.findall(r"`([\w.]+)`", text)) for path, text in rows}
    assert list(response) == list(dict.fromkeys(response)) and set(response) == {
        endpoint.path for endpoint in ENDPOINTS
    }
    for endpoint in ENDPOINTS:
        names = {f"{one.name}.LABEL" if one.kind == "labels" else one.name for one in endpoint.parameters}
        if endpoint.media == "application/json":
            assert response[endpoint.path] == names, endpoint.path
        elif endpoint.media == "text/csv":
            whole = response[endpoint.path.removesuffix(".csv")] - response[endpoint.path]
            assert whole == names, endpoint.path
