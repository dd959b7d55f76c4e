"""Access control: checks the Host header and the token.

Without a token the server listens on loopback only. Clients send a token as `Authorization: Bearer ...`, or as the
cookie that POST /login sets (aomg.web.http.guard). It is compared in constant time, and never put into an address, a
page or a log.
"""

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers

from aomg.errors import AomgError
from aomg.monitor.config.secret import Secret

SHORTEST_TOKEN = 16
COOKIE = "aomg_page"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9_.-]+))(?::([0-9]{1,5}))?")


class AccessError(AomgError, ValueError):
    """A host or a token that is not safe to serve with."""


class Access:
    """Decides which requests are allowed.

    host
        The address that the server listens on; any but loopback needs a token.
    allowed
        More names that the Host header may have, such as the name of a reverse proxy.
    """

    def __init__(self, host: str = "127.0.0.1", token: Secret | None = None, allowed: Collection[str] = ()) -> None:
        if token is not None:
            _check_token(token)
        if token is None and not is_loopback(host):
            raise AccessError(
                f"other machines can reach {host}, so a token is needed: put at least {SHORTEST_TOKEN} "
                "characters into a file and give --token-file FILE, or set AOMG_WEB_TOKEN"
            )
        self.token = token
        self._names = {name.lower().rstrip(".").strip("[]") for name in (*_LOOPBACK, host, *allowed)}
        # DNS rebinding needs a name: a numeric address is safe
        self._any_ip_address = host in ("0.0.0.0", "::")
        self._cookie = "" if token is None else cookie_of(token)

    def may_be_called(self, host: str | None) -> bool:
        """Whether a Host header names this server; refusing other names prevents DNS rebinding."""
        parts = _HOST.fullmatch(host or "")
        if parts is None:
            return False
        name = (parts[1] or parts[2]).lower().rstrip(".")
        return name in self._names or (self._any_ip_address and _is_ip_address(name))

    def knows(self, headers: Headers) -> bool:
        """Whether a request has the token, or none is needed."""
        if self.token is None:
            return True
        header = headers.get("authorization", "")
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer" and _equal(token.strip(), self.token.reveal()):
            return True
        return any(_equal(value, self._cookie) for value in _cookie_values(headers))

    def opens(self, text: str) -> bool:
        """Whether a text is the token."""
        return self.token is not None and _equal(text, self.token.reveal())

    @property
    def cookie(self) -> str:
        """The cookie's value: derived from the token by a one-way function, and the same after a restart."""
        return self._cookie


def cookie_of(token: Secret) -> str:
    """Return the cookie value of a token: only someone who knows the token can compute it."""
    return hmac.new(token.reveal().encode(), b"cookie of the page, 1", hashlib.sha256).hexdigest()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_token(token: Secret) -> None:
    text = token.reveal()
    if len(text) < SHORTEST_TOKEN:
        raise AccessError(f"the token is too short; give one of at least {SHORTEST_TOKEN} characters")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise AccessError("the token has characters that HTTP headers do not allow; use letters and digits, no spaces")


def _cookie_values(headers: Headers) -> list[str]:
    values = []
    for line in headers.getlist("cookie"):
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(line)
        except CookieError:
            continue
        if COOKIE in jar:
            values.append(jar[COOKIE].value)
    return values


def _equal(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), secret.encode())


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
