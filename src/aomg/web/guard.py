"""Around the application: strangers are refused, people log in, and every answer keeps browsers safe by its headers."""

import asyncio
import logging
from html import escape
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aomg.web.access import COOKIE, Access
from aomg.web.parameters import LONGEST_ADDRESS

LOGIN = "/login"
_LOG = logging.getLogger("aomg.web")
_MOST_BODY = 4_096
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
        return RedirectResponse(LOGIN, 303)

    async def _login(self, request: Request) -> Response:
        if request.method in ("GET", "HEAD"):
            return RedirectResponse("/", 303) if self._access.token is None else HTMLResponse(_login_page())
        if request.method != "POST":
            return _refused(405, f"{request.method} cannot be asked here", "use GET or POST", {"Allow": "GET, POST"})
        told = await _form_field(request, "token")
        if told is None or not self._access.opens(told):
            await asyncio.sleep(_PAUSE_SECONDS)
            return HTMLResponse(_login_page("That is not the token."), 401)
        opened = RedirectResponse("/", 303)
        opened.set_cookie(
            COOKIE,
            self._access.cookie,
            max_age=_COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return opened


async def _form_field(request: Request, name: str) -> str | None:
    """A field of a short form, or None."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BODY:
                return None
        fields = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=5)
    except (ClientDisconnect, ValueError):
        return None
    values = fields.get(name, [])
    return values[0] if len(values) == 1 else None


def _login_page(problem: str = "") -> str:
    told = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    return f"""<!doctype html>
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
<p><label for="token">The token that this page was started with</label></p>
<p><input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Open the page</button></p>
</form>
</main>
</body>
</html>
"""


def _refused(status: int, error: str, what_to_do: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": error, "what_to_do": what_to_do}, status, headers)
