"""Sends HTTP POST requests: with a timeout, without redirects, and with no secret in any message."""

import base64
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from aomg.monitor.config.schema import Field
from aomg.monitor.config.secret import Secret, address, revealed
from aomg.monitor.config.values import secret_text
from aomg.monitor.delivery.base import NotDelivered
from aomg.monitor.errors import ConfigError

_REFUSES_ALERT = frozenset({400, 413, 422})
"""Responses that refuse the alert itself: a further attempt would fail too."""
_BUSY = frozenset({408, 425, 429})
"""Responses of a busy receiver. All other 4xx mean a wrong address, a wrong token or a proxy in between."""
_LONG = re.compile(r"[^/]{16,}")
_LONGEST_EXCERPT = 200


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as a failure: alerts and headers go only to the configured address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


class HttpPost:
    """Posts JSON to an address. Its repr, and every message, show the address without secrets.

    User info in the address becomes an Authorization header. Proxies are those of the environment.
    """

    def __init__(self, url: str | Secret, headers: Mapping[str, str | Secret], timeout: float) -> None:
        checked = address(url)
        parts, public = urlsplit(checked.reveal()), urlsplit(repr(checked))
        if isinstance(url, Secret) and repr(url).startswith(f"{public.scheme}://{public.netloc}"):
            public = urlsplit(repr(url))  # the configuration decides what may be shown
        self.visible = urlunsplit(public._replace(path=_LONG.sub("***", public.path)))  # a long part may be a token
        self._url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path or "/", parts.query, ""))
        self._headers = {"Content-Type": "application/json", "User-Agent": "aomg"}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        own = revealed(headers)
        self._headers.update(own)
        self._timeout = timeout
        hidden = [*own.values(), parts.username, parts.password, self._headers.get("Authorization")]
        hidden += [value for _, value in parse_qsl(parts.query)] + _LONG.findall(parts.path)
        self._hidden = sorted({text for text in hidden if text and len(text) > 2}, key=len, reverse=True)
        self._opener = urllib.request.build_opener(_NoRedirect)

    def __repr__(self) -> str:
        return f"HttpPost({self.visible})"

    def send(self, body: bytes, key: str | None = None) -> None:
        """Return after a 2xx response; else raise NotDelivered, which is final for 400, 413 and 422."""
        headers = {**self._headers, **({"Idempotency-Key": key} if key else {})}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout):
                return
        except urllib.error.HTTPError as response:
            with response:
                raise self._refused(response) from None
        except urllib.error.URLError as error:
            why = _reason(error.reason)
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = _reason(error)
        # without the cause: it may quote the address
        raise NotDelivered(f"{self.visible} cannot be reached ({why})")

    def _refused(self, response: urllib.error.HTTPError) -> NotDelivered:
        body = ""
        try:
            body = response.read1(1024).decode("utf-8", "replace") if hasattr(response, "read1") else ""
        except (OSError, http.client.HTTPException, ValueError):
            body = ""
        for text in self._hidden:
            body = body.replace(text, "***")
        body = " ".join("".join(c if c.isprintable() else " " for c in body).split())[:_LONGEST_EXCERPT]
        cause = f"{self.visible} answered {response.code}"
        message = cause + (f": {body}" if body else "")
        final = response.code in _REFUSES_ALERT
        needs_fix = not final and 300 <= response.code < 500 and response.code not in _BUSY
        if 300 <= response.code < 400:
            message += "; redirects are not followed: configure the address that it redirects to"
        elif needs_fix:
            message += "; it will be tried again, but if its address or headers are wrong, fix them and restart"
        return NotDelivered(message, final, _retry_after(response.headers), needs_fix, cause)


def http_address(field: Field) -> Secret:
    """Parse an http(s) address."""
    try:
        return address(secret_text(field))
    except ConfigError as problem:
        field.refuse(problem.message.removeprefix(f"{field.name} "))


def header(field: Field) -> str | Secret:
    """Parse the value of an HTTP header."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", field.key):
        field.refuse("is not a valid header name")
    value = secret_text(field)
    plain = value.reveal() if isinstance(value, Secret) else value
    if not plain.isascii() or not plain.isprintable():
        field.refuse("has a character that headers cannot have: a line break, or one that is not ASCII")
    return value


def _retry_after(headers: Message) -> float | None:
    seconds = (headers.get("Retry-After") or "").strip()
    return float(seconds) if re.fullmatch(r"\d{1,6}", seconds) else None


def _reason(error: object) -> str:
    """The cause, in words that cannot contain the address or a header."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionResetError):
        return "the connection was closed without a response"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
