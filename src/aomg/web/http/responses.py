"""Builds HTTP responses: compression, ETags, caching headers, error responses."""

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from aomg.web.http.body import Body
from aomg.web.http.static_files import StaticFile


def accepts_gzip(request: Request) -> bool:
    """Whether the client accepts gzip."""
    for part in request.headers.get("accept-encoding", "").lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() in ("gzip", "*") and quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            return True
    return False


def is_known(request: Request, tag: str) -> bool:
    """Whether the client already has the content with this ETag."""
    known = request.headers.get("if-none-match", "")
    return any(part.strip().removeprefix("W/") == tag.removeprefix("W/") for part in known.split(","))


def respond(
    request: Request, body: Body, kind: str, tag: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    """Return a body as a response: compressed where that is worth it, or 304 where the client has it."""
    sent = {"Vary": "Accept-Encoding", "Cache-Control": "no-store" if tag is None else "no-cache", **(headers or {})}
    if tag is not None:
        sent["ETag"] = tag
        if is_known(request, tag):
            return Response(None, 304, sent)
    compressed = body.compressed if accepts_gzip(request) else None
    if compressed is not None:
        sent["Content-Encoding"] = "gzip"
    return Response(body.content if compressed is None else compressed, 200, sent, kind)


def respond_file(request: Request, file: StaticFile) -> Response:
    """Return a file of the page. Browsers keep files whose address changes with their content."""
    caching = "public, max-age=31536000, immutable" if file.immutable else "no-cache"
    tag = f'W/"{file.tag}"'
    sent = {"Vary": "Accept-Encoding", "Cache-Control": caching, "ETag": tag}
    if is_known(request, tag):
        return Response(None, 304, sent)
    small = len(file.content) < 1_400 or file.kind == "image/png" or not accepts_gzip(request)
    if not small:
        sent["Content-Encoding"] = "gzip"
    return Response(file.content if small else file.compressed, 200, sent, file.kind)


def is_for_program(request: Request) -> bool:
    """Whether the address is one of the API or of a file."""
    path = request.url.path
    return path.startswith(("/api/", "/static/")) or path in ("/api", "/metrics")


def is_for_reader(request: Request) -> bool:
    """Whether a browser wants to show the response as a page."""
    return not is_for_program(request) and "text/html" in request.headers.get("accept", "")


def problem(
    request: Request, status: int, error: str, what_to_do: str, headers: dict[str, str] | None = None
) -> Response:
    """Return an error: JSON from the API, HTML elsewhere. Control characters that it quotes are escaped."""
    error, what_to_do = _printable(error), _printable(what_to_do)
    if is_for_program(request):
        return JSONResponse({"error": error, "what_to_do": what_to_do}, status, headers)
    content = f"""<h1>{escape(_capital(error))}</h1>
<p>{escape(_capital(what_to_do))}.</p>
<p><a href="/">Overview</a></p>
"""
    return html_page(str(status), "problem", content, status, headers)


def html_page(title: str, kind: str, content: str, status: int, headers: dict[str, str] | None = None) -> Response:
    """Return a small HTML page. `content` is HTML and must be escaped."""
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} - AOMG</title>
<link rel="stylesheet" href="/static/style.css">
</head>
<body class="{kind}">
<main>
{content}</main>
</body>
</html>
"""
    return HTMLResponse(page, status, headers)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
