"""Around the application: strangers are refused, people log in, and every answer keeps browsers safe by its headers."""

import asyncio
import logging
import re
from html import escape
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aomg.web.http.access import COOKIE, Access
from aomg.web.http.routes import VIEWS
from aomg.web.parameters import LONGEST_ADDRESS

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
    """Around the application: refuses strangers, and puts the headers on every answer, whoever made it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may be asked."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        is_told = False

        async def guarded(message: Message) -> None:
            nonlocal is_told
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)
            is_told = message["type"] == "http.response.body" and not message.get("more_body", False)

        refused = await self._refusal(scope, receive)
        try:
            await (refused or self._app)(scope, receive, guarded)
        except Exception:
            # without what was asked: an address may tell what is nobody else's business
            _LOG.exception("an answer failed")
            if not is_told:
                raise

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        headers = Headers(scope=scope)
        path = scope["path"]
        if len(headers.getlist("host")) != 1 or not self._access.may_be_called(headers.get("host")):
            return _refused(
                421, "this server is not called so", "use the address that it printed, or start it with --allow-host"
            )
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
            return _refused(414, "the address is too long", f"keep it within {LONGEST_ADDRESS:,} characters")
        if path == LOGIN:
            return await self._login(Request(scope, receive))
        if self._access.knows(headers):
            return None
        if path.startswith("/static/") and path.endswith((".css", ".svg", ".ico")):
            return None  # what the page to log in needs; the same for everyone
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
            return _refused(405, f"{request.method} cannot be asked here", "use GET or POST", {"Allow": "GET, POST"})
        told = await _form(request)
        wanted = view_address(told.get("next", ""))
        if not self._access.opens(told.get("token", "")):
            await asyncio.sleep(_PAUSE_SECONDS)
            return _login_page(wanted, "That is not the token.")
        opened = RedirectResponse(wanted, 303)
        opened.set_cookie(
            COOKIE,
            self._access.cookie,
            max_age=_COOKIE_SECONDS,
            httponly=True,
            samesite="lax",  # who follows a link from a chat or a ticket is still known; no other site can read or ask
            secure=request.url.scheme == "https",
        )
        return opened


def view_address(told: str) -> str:
    """The address of a view, if this is one; else the first view. Nothing else can be gone to after logging in.

    >>> view_address("/key?query=a&key.podset=6"), view_address("//evil.example/"), view_address("/login")
    ('/key?query=a&key.podset=6', '/', '/')
    """
    path, _, query = told.partition("?")
    known = path in VIEWS and re.fullmatch("[!-~]*", query) and len(told) <= _LONGEST_NEXT
    return told if known else "/"


async def _form(request: Request) -> dict[str, str]:
    """The fields of a short form; a field that is there twice is not told."""
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
    told = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Log in - AOMG</title>
<link rel="stylesheet" href="/static/style.css">
</head>
<body class="login">
<main>
<h1>Log in</h1>
{told}<form method="post" action="{LOGIN}">
<input type="hidden" name="next" value="{escape(wanted)}">
<p><label for="token">The token that this page was started with</label></p>
<p><input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Open the page</button></p>
</form>
</main>
</body>
</html>
"""
    return HTMLResponse(page, 401 if problem else 200)


def _refused(status: int, error: str, what_to_do: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": error, "what_to_do": what_to_do}, status, headers)
