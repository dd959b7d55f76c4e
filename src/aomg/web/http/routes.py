"""Routes of the page, its files and the API, and the error responses."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from aomg.web.follow.live import LiveData, Snapshot
from aomg.web.http import sse as events
from aomg.web.http.body import Body, json_bytes
from aomg.web.http.endpoints import BY_PATH, Endpoint
from aomg.web.http.handlers import Handlers, Params
from aomg.web.http.responses import is_for_reader, problem, respond, respond_file
from aomg.web.http.static_files import StaticFiles
from aomg.web.http.status import change_event
from aomg.web.lru_cache import LruCache
from aomg.web.parameters import BadRequest, parse_parameters

VIEWS = ("/", "/key", "/alerts", "/health")
_CSV_TYPE = "text/csv; charset=utf-8; header=present"
_MOST_RESPONSES = 256
_MOST_BYTES = 64 << 20

Handler = Callable[[Snapshot, Params], Any]
View = Callable[[Request], Response]


def routes(live: LiveData, files: StaticFiles, most_viewers: int | None = None) -> list[Route]:
    """Return all routes. Slow requests run in threads, on immutable snapshots. `most_viewers` limits event streams."""
    api, cache = Handlers(live), response_cache()

    def page(request: Request) -> Response:
        return _file(request, files.index())

    def static(request: Request) -> Response:
        return _file(request, files.get(request.path_params["name"]))

    async def changes(request: Request) -> Response:
        parse_parameters(BY_PATH["/api/events"].parameters, request.scope["query_string"])
        if most_viewers is not None and live.viewers >= most_viewers and request.method != "HEAD":
            todo = "close other pages, or start the page with a larger --most-viewers; this page asks every ten seconds"
            return problem(request, 503, f"{most_viewers:,} pages are open already", todo, {"Retry-After": "10"})
        return events.answer(request, live, lambda: change_event(live.snapshot()))

    def metrics(request: Request) -> Response:
        parse_parameters(BY_PATH["/metrics"].parameters, request.scope["query_string"])
        content, kind = api.metrics(live.snapshot(), request.headers.get("accept", ""))
        return respond(request, Body(content), kind)

    all_routes = [Route(path, page) for path in VIEWS]
    all_routes += [Route("/static/{name:path}", static), Route("/api/events", changes), Route("/metrics", metrics)]
    all_routes += [Route(path, _timely(live, BY_PATH[path], handler)) for path, handler in api.timely.items()]
    all_routes += [Route(path, _cached(live, cache, BY_PATH[path], handler)) for path, handler in api.cached.items()]
    all_routes += [Route(path, _table(live, BY_PATH[path], handler)) for path, handler in api.tables.items()]
    return all_routes


def response_cache(max_bytes: int = _MOST_BYTES) -> LruCache[Body]:
    """Return a cache of responses: many viewers of the same data cost as much as one."""
    return LruCache(_MOST_RESPONSES, max_bytes, lambda body: body.size)


def _file(request: Request, file: Any) -> Response:
    if file is None:
        raise HTTPException(404)
    return respond_file(request, file)


def _timely(live: LiveData, endpoint: Endpoint, handler: Handler) -> View:
    """A view whose response depends on the clock: computed for every request."""

    def view(request: Request) -> Response:
        params = parse_parameters(endpoint.parameters, request.scope["query_string"])
        return respond(request, Body(json_bytes(handler(live.snapshot(), params))), "application/json")

    return view


def _cached(live: LiveData, cache: LruCache[Body], endpoint: Endpoint, handler: Handler) -> View:
    """A view whose response depends only on the version: computed once, and 304 for clients that have it."""

    def view(request: Request) -> Response:
        params = parse_parameters(endpoint.parameters, request.scope["query_string"])
        snapshot = live.snapshot()
        digest = hashlib.blake2b(json_bytes([endpoint.path, params]), digest_size=8).hexdigest()
        body = cache.get((snapshot.version, digest), lambda: Body(json_bytes(handler(snapshot, params))))
        return respond(request, body, "application/json", f'W/"{snapshot.since}-{snapshot.version}-{digest}"')

    return view


def _table(live: LiveData, endpoint: Endpoint, handler: Callable[[Snapshot, Params], Iterator[str]]) -> View:
    """A view that streams CSV as a download."""
    headers = {"Content-Disposition": f'attachment; filename="aomg-{endpoint.path.rpartition("/")[2]}"'}

    def view(request: Request) -> Response:
        params = parse_parameters(endpoint.parameters, request.scope["query_string"])
        return StreamingResponse(handler(live.snapshot(), params), media_type=_CSV_TYPE, headers=headers)

    return view


def exception_handlers(files: StaticFiles) -> dict[Any, Any]:
    """Return the handlers of exceptions; their responses never contain a stack trace.

    A browser at an address that does not exist gets the page, which says so and has the way to all views.
    """

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, BadRequest)
        return problem(request, error.status, error.error, error.what_to_do)

    def stopped(request: Request, error: Exception) -> Response:
        status, headers = 500, None
        if isinstance(error, HTTPException):
            status, headers = error.status_code, dict(error.headers or {})
        if status == 404:
            index = files.index() if is_for_reader(request) else None
            if index is not None:
                return Response(index.content, 404, {"Cache-Control": "no-store"}, index.kind)
            return problem(request, 404, "page not found", "start at / or /api/openapi.json", headers)
        if status == 405:
            return problem(request, 405, f"{request.method} is not allowed here", "use GET", headers)
        return problem(request, status, "the request failed", "try again", headers)

    def failed(request: Request, error: Exception) -> Response:
        return problem(request, 500, "the server failed", "try again; the server's log has the details")

    return {BadRequest: refused, HTTPException: stopped, Exception: failed}
