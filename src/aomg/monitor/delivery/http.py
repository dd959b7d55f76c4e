"""POST with the standard library: always with a timeout, to one host only, and no secret in any message."""

import base64
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from aomg.monitor.config.secret import Secret, address
from aomg.monitor.delivery.base import NotDelivered

_ABOUT_THE_ALERT = frozenset({400, 413, 422})
"""Answers that say something of what was sent: sent again, it would be refused again."""
_PASSES = frozenset({408, 425, 429})
"""Answers of a receiver that is busy. All other 4xx mean a wrong address, a wrong token or a proxy in between."""
_LONG = re.compile(r"[^/]{16,}")
_MOST_OF_AN_ANSWER = 200


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other: the alert and its headers go where the configuration says."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


class HttpPost:
    """Posts JSON to an address. Its repr, and every message, show the address without what may be secret.

    User info in the address becomes an Authorization header. Proxies are those of the environment.
    """

    def __init__(self, url: str | Secret, headers: Mapping[str, str | Secret], timeout: float) -> None:
        checked = address(url)
        parts, visible = urlsplit(checked.reveal()), urlsplit(repr(checked))
        if isinstance(url, Secret) and repr(url).startswith(f"{visible.scheme}://{visible.netloc}"):
            visible = urlsplit(repr(url))  # the configuration says what of it may be seen
        self.shown = urlunsplit(visible._replace(path=_LONG.sub("***", visible.path)))  # a long part may be a token
        self._url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path or "/", parts.query, ""))
        self._headers = {"Content-Type": "application/json", "User-Agent": "aomg"}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        given = {name: text.reveal() if isinstance(text, Secret) else text for name, text in headers.items()}
        self._headers.update(given)
        self._timeout = timeout
        hidden = [*given.values(), parts.username, parts.password, self._headers.get("Authorization")]
        hidden += [value for _, value in parse_qsl(parts.query)] + _LONG.findall(parts.path)
        self._hidden = sorted({text for text in hidden if text and len(text) > 2}, key=len, reverse=True)
        self._opener = urllib.request.build_opener(_NoRedirect)

    def __repr__(self) -> str:
        return f"HttpPost({self.shown})"

    def send(self, body: bytes, key: str | None = None) -> None:
        """Return when the answer was 2xx, else raise NotDelivered: final for 400, 413 and 422, about the body."""
        headers = {**self._headers, **({"Idempotency-Key": key} if key else {})}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout):
                return
        except urllib.error.HTTPError as answer:
            with answer:
                raise self._refused(answer) from None
        except urllib.error.URLError as error:
            why = _reason(error.reason)
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = _reason(error)
        # without the cause: it may quote the address
        raise NotDelivered(f"{self.shown} cannot be reached ({why})")

    def _refused(self, answer: urllib.error.HTTPError) -> NotDelivered:
        told = ""
        try:
            told = answer.read1(1024).decode("utf-8", "replace") if hasattr(answer, "read1") else ""
        except (OSError, http.client.HTTPException, ValueError):
            told = ""
        for text in self._hidden:
            told = told.replace(text, "***")
        told = " ".join("".join(c if c.isprintable() else " " for c in told).split())[:_MOST_OF_AN_ANSWER]
        about = f"{self.shown} answered {answer.code}"
        message = about + (f": {told}" if told else "")
        final = answer.code in _ABOUT_THE_ALERT
        mend = not final and 300 <= answer.code < 500 and answer.code not in _PASSES
        if 300 <= answer.code < 400:
            message += "; redirects are not followed, write the address that it leads to"
        elif mend:
            message += "; it is tried again, but where its address or headers are wrong, mend them and start again"
        return NotDelivered(message, final, _retry_after(answer.headers), mend, about)


def _retry_after(headers: Message) -> float | None:
    asked = (headers.get("Retry-After") or "").strip()
    return float(asked) if re.fullmatch(r"\d{1,6}", asked) else None


def _reason(error: object) -> str:
    """What went wrong, in words that cannot hold the address or a header."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionResetError):
        return "the connection was closed without an answer"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
