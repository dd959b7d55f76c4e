"""Addresses: the page, its files, the API; and what is said where something is wrong."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from aomg.web.follow.live import Live, Now
from aomg.web.http import sse as events
from aomg.web.http.cache import Kept, KeptAnswers, json_bytes
from aomg.web.http.endpoints import BY_PATH, Endpoint
from aomg.web.http.handlers import Answers, Ask
from aomg.web.http.responses import problem, respond, respond_file
from aomg.web.http.static_files import StaticFiles
from aomg.web.http.status import newest_told
from aomg.web.parameters import BadRequest, asked

VIEWS = ("/", "/key", "/alerts", "/health")
_CSV_TYPE = "text/csv; charset=utf-8; header=present"


def routes(live: Live, files: StaticFiles) -> list[Route]:
    """All addresses there are. What is slow is answered in threads, over what does not change."""
    answers, kept = Answers(live), KeptAnswers()

    def page(request: Request) -> Response:
        return _file(request, files.index())

    def static(request: Request) -> Response:
        return _file(request, files.get(request.path_params["name"]))

    async def changes(request: Request) -> Response:
        asked(BY_PATH["/api/events"].parameters, request.scope["query_string"])
        return events.answer(request, live, lambda: newest_told(live.now()))

    def metrics(request: Request) -> Response:
        asked(BY_PATH["/metrics"].parameters, request.scope["query_string"])
        content, kind = answers.metrics(live.now(), request.headers.get("accept", ""))
        return respond(request, Kept(content), kind)

    made = [Route(path, page) for path in VIEWS]
    made += [Route("/static/{name:path}", static), Route("/api/events", changes), Route("/metrics", metrics)]
    made += [Route(path, _timely(live, BY_PATH[path], answer)) for path, answer in answers.timely.items()]
    made += [Route(path, _lasting(live, kept, BY_PATH[path], answer)) for path, answer in answers.lasting.items()]
    made += [Route(path, _table(live, BY_PATH[path], answer)) for path, answer in answers.tables.items()]
    return made


def _file(request: Request, found: Any) -> Response:
    if found is None:
        raise HTTPException(404)
    return respond_file(request, found)


def _timely(live: Live, endpoint: Endpoint, answer: Callable[[Now, Ask], Any]) -> Callable[[Request], Response]:
    """An answer that depends on the clock: made anew for everyone."""

    def told(request: Request) -> Response:
        ask = asked(endpoint.parameters, request.scope["query_string"])
        return respond(request, Kept(json_bytes(answer(live.now(), ask))), "application/json")

    return told


def _lasting(
    live: Live, kept: KeptAnswers, endpoint: Endpoint, answer: Callable[[Now, Ask], Any]
) -> Callable[[Request], Response]:
    """An answer that is the same as long as the version is: made once, and not sent to whoever has it."""

    def told(request: Request) -> Response:
        ask = asked(endpoint.parameters, request.scope["query_string"])
        now = live.now()
        which = hashlib.blake2b(json_bytes([endpoint.path, ask]), digest_size=8).hexdigest()
        found = kept.get((now.version, which), lambda: json_bytes(answer(now, ask)))
        return respond(request, found, "application/json", f'W/"{now.since}-{now.version}-{which}"')

    return told


def _table(
    live: Live, endpoint: Endpoint, answer: Callable[[Now, Ask], Iterator[str]]
) -> Callable[[Request], Response]:
    """An answer as CSV, to be saved: written while it is made."""
    headers = {"Content-Disposition": f'attachment; filename="aomg-{endpoint.path.rpartition("/")[2]}"'}

    def told(request: Request) -> Response:
        ask = asked(endpoint.parameters, request.scope["query_string"])
        return StreamingResponse(answer(live.now(), ask), media_type=_CSV_TYPE, headers=headers)

    return told


def handlers() -> dict[Any, Any]:
    """What is said where something is wrong; never a trace of the program."""

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, BadRequest)
        return problem(request, error.status, error.error, error.what_to_do)

    def stopped(request: Request, error: Exception) -> Response:
        status, headers = 500, None
        if isinstance(error, HTTPException):
            status, headers = error.status_code, dict(error.headers or {})
        if status == 404:
            return problem(request, 404, "there is nothing here", "begin at /, or at /api/openapi.json", headers)
        if status == 405:
            return problem(request, 405, f"{request.method} cannot be asked here", "use GET", headers)
        return problem(request, status, "this cannot be answered", "try again", headers)

    def failed(request: Request, error: Exception) -> Response:
        return problem(request, 500, "something went wrong here", "try again; what the server printed says more")

    return {BadRequest: refused, HTTPException: stopped, Exception: failed}
