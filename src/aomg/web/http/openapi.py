"""The description of the API in OpenAPI 3.1, from the declarations that requests are checked with."""

from typing import Any

from aomg.web.http.access import COOKIE
from aomg.web.http.endpoints import ENDPOINTS, Endpoint
from aomg.web.http.schemas import SHAPES
from aomg.web.parameters import LONGEST_TEXT, Parameter

_PROBLEMS = {
    "400": "The request means nothing: an unknown parameter, or a value that is none.",
    "401": "The token is missing or wrong.",
    "404": "What is asked for is not there.",
    "421": "The Host header names another server.",
}


def description(version: str) -> dict[str, Any]:
    """All of it, as JSON has it. `version` is that of the program."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "AOMG, the live page",
            "version": version,
            "description": (
                "Everything that the page shows. Answers tell the version of what they show; /api/events tells when "
                "there is a newer one. Times are ISO 8601 in UTC, numbers that are not finite are null. Where the "
                "server was started without a token, none is needed."
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
    if endpoint.lasting:
        answers["304"] = {"description": "The answer that the client has is still the newest (If-None-Match)."}
    answers |= {code: {"description": why, "content": problem} for code, why in _PROBLEMS.items()}
    return {
        "operationId": endpoint.path.removeprefix("/api/").strip("/").replace(".", "_"),
        "summary": endpoint.about,
        "parameters": [_parameter(one) for one in endpoint.parameters],
        "responses": answers,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    """One parameter. Those of labels have as many names as there are labels: an object, whose parts have dots."""
    told: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.needed,
        "schema": _schema(parameter),
    }
    if parameter.kind == "labels":
        told["name"] = f"{parameter.name}.LABEL"
        told["description"] += f" For each label NAME a parameter {parameter.name}.NAME."
    if parameter.example is not None:
        told["example"] = parameter.example
    return told


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
