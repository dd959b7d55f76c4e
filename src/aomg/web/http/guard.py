"""ASGI middleware: refuses requests without access, serves the login page, and adds security headers."""

import asyncio
import logging
import re
from html import escape
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aomg.web.http.access import COOKIE, Access
from aomg.web.http.responses import html_page
from aomg.web.http.routes import VIEWS
from aomg.web.parameters import LONGEST_ADDRESS, LONGEST_HEADERS

LOGIN = "/login"
_LOG = logging.getLogger("aomg.web")
_MOST_BODY = 8_192
_LONGEST_NEXT = 1_500
_PAUSE_SECONDS = 0.2
_COOKIE_SECONDS = 30 * 24 * 3600

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Refuses requests without access, and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass allowed requests to the application."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        is_complete = False

        async def guarded(message: Message) -> None:
            nonlocal is_complete
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)
            is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)

        refused = await self._refusal(scope, receive)
        try:
            await (refused or self._app)(scope, receive, guarded)
        except Exception:
            # without the address: it may contain what others must not see
            _LOG.exception("a request failed")
            if not is_complete:
                raise

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        headers = Headers(scope=scope)
        path = scope["path"]
        if len(headers.getlist("host")) != 1 or not self._access.may_be_called(headers.get("host")):
            return _refused(
                421,
                "the Host header names another server",
                "use the address that aomg printed, or start it with --allow-host NAME",
            )
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
            return _refused(414, "the address is too long", f"keep it within {LONGEST_ADDRESS:,} characters")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEADERS:
            return _refused(431, "the headers are too long", f"keep them within {LONGEST_HEADERS:,} characters")
        if path == LOGIN:
            return await self._login(Request(scope, receive))
        if self._access.knows(headers):
            return None
        if path.startswith("/static/") and path.endswith((".css", ".svg", ".ico")):
            return None  # the login page needs these; they hold nothing secret
        if path.startswith("/api/") or path == "/metrics" or "text/html" not in headers.get("accept", ""):
            refused = _refused(
                401, "the token is missing or wrong", "send it as Authorization: Bearer ..., or log in at /login"
            )
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        wanted = view_address(f"{path}?{scope['query_string'].decode('latin-1')}".rstrip("?"))
        return RedirectResponse(LOGIN if wanted == "/" else f"{LOGIN}?{urlencode({'next': wanted})}", 303)

    async def _login(self, request: Request) -> Response:
        if request.method in ("GET", "HEAD"):
            wanted = view_address(request.query_params.get("next", ""))
            return RedirectResponse(wanted, 303) if self._access.knows(request.headers) else _login_page(wanted)
        if request.method != "POST":
            return _refused(405, f"{request.method} is not allowed here", "use GET or POST", {"Allow": "GET, POST"})
        fields = await _form(request)
        wanted = view_address(fields.get("next", ""))
        if not self._access.opens(fields.get("token", "")):
            await asyncio.sleep(_PAUSE_SECONDS)
            return _login_page(wanted, "This token is wrong.")
        opened = RedirectResponse(wanted, 303)
        opened.set_cookie(
            COOKIE,
            self._access.cookie,
            max_age=_COOKIE_SECONDS,
            httponly=True,
            samesite="lax",  # links from a chat or a ticket stay logged in; other sites cannot read or send requests
            secure=request.url.scheme == "https",
        )
        return opened


def view_address(address: str) -> str:
    """Return an address if it is one of a view, else that of the overview: a login redirects nowhere else.

    >>> view_address("/key?query=a&key.podset=6"), view_address("//evil.example/"), view_address("/login")
    ('/key?query=a&key.podset=6', '/', '/')
    """
    path, _, query = address.partition("?")
    known = path in VIEWS and re.fullmatch("[!-~]*", query) and len(address) <= _LONGEST_NEXT
    return address if known else "/"


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a short form; leaves out fields that are given twice."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BODY:
                return {}
        fields = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=5)
    except (ClientDisconnect, ValueError):
        return {}
    return {name: values[0] for name, values in fields.items() if len(values) == 1}


def _login_page(wanted: str, problem: str = "") -> Response:
    message = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    content = f"""<h1>Log in</h1>
{message}<form method="post" action="{LOGIN}">
<input type="hidden" name="next" value="{escape(wanted)}">
<p><label for="token">Token (the one that aomg was started with)</label></p>
<p><input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Log in</button></p>
</form>
"""
    return html_page("Log in", "login", content, 401 if problem else 200)


def _refused(status: int, error: str, what_to_do: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": error, "what_to_do": what_to_do}, status, headers)
