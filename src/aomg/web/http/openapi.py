"""Describes the API in OpenAPI 3.1, from the declarations that requests are validated with."""

from typing import Any

from aomg.web.http.access import COOKIE
from aomg.web.http.endpoints import ENDPOINTS, Endpoint
from aomg.web.http.schemas import SHAPES
from aomg.web.parameters import LONGEST_TEXT, Parameter

_PROBLEMS = {
    "400": "The request is invalid: an unknown parameter, or an invalid value.",
    "401": "The token is missing or wrong.",
    "404": "No such query, key, window or page.",
    "421": "The Host header names another server.",
    "503": "There are too many connections, or too many open event streams.",
}


def description(version: str) -> dict[str, Any]:
    """Return the whole description as a JSON object. `version` is that of AOMG."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "AOMG live page",
            "version": version,
            "description": (
                "All data of the live page. Every response has the version of its data; /api/events sends an event "
                "for each new version. Times are ISO 8601 in UTC. Numbers that are not finite are null. A token is "
                "needed only if the server was started with one."
            ),
        },
        "paths": {endpoint.path: {"get": _operation(endpoint)} for endpoint in ENDPOINTS},
        "components": {
            "schemas": SHAPES,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
        "security": [{}, {"bearer": []}, {"cookie": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "string"}
    if endpoint.answer:
        shape = {"$ref": f"#/components/schemas/{endpoint.answer}"}
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    answers: dict[str, Any] = {"200": {"description": endpoint.about, "content": {endpoint.media: {"schema": shape}}}}
    if endpoint.cached:
        answers["304"] = {"description": "The client's copy is up to date (If-None-Match)."}
    answers |= {code: {"description": why, "content": problem} for code, why in _PROBLEMS.items()}
    return {
        "operationId": endpoint.path.removeprefix("/api/").strip("/").replace(".", "_"),
        "summary": endpoint.about,
        "parameters": [_parameter(parameter) for parameter in endpoint.parameters],
        "responses": answers,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    """Describe one parameter. A parameter for labels stands for one parameter per label: key.podset=6."""
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": False,
        "schema": _schema(parameter),
    }
    if parameter.kind == "labels":
        described["name"] = f"{parameter.name}.LABEL"
        described["description"] += f" One parameter {parameter.name}.NAME per label NAME."
    if parameter.example is not None:
        described["example"] = parameter.example
    return described


def _schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any]
    if parameter.kind == "whole":
        schema = {"type": "integer", "minimum": parameter.least, "maximum": parameter.most}
    elif parameter.kind == "time":
        schema = {"type": "string", "format": "date-time"}
    elif parameter.kind == "flag":
        schema = {"type": "boolean"}
    elif parameter.kind == "choice":
        schema = {"type": "string", "enum": list(parameter.choices)}
    else:
        schema = {"type": "string", "maxLength": parameter.most if parameter.kind == "text" else LONGEST_TEXT}
    if parameter.default is not None and parameter.kind != "labels":
        schema["default"] = parameter.default
    return schema
