"""Who may ask: which names this server goes by, and who knows the token.

Without a token only this machine is answered. A token comes as `Authorization: Bearer ...`, or in a cookie that
POST /login sets (aomg.web.http.guard); it is compared in constant time, and is never in an address, a page or a log.
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
    """An address or a token with which the page must not be served."""


class Access:
    """Who is answered.

    host
        The address that is listened on; another than this machine's own needs a token.
    allowed
        Other names that browsers may call this server by, such as that of a reverse proxy.
    """

    def __init__(self, host: str = "127.0.0.1", token: Secret | None = None, allowed: Collection[str] = ()) -> None:
        if token is not None:
            _check_token(token)
        if token is None and not is_loopback(host):
            raise AccessError(
                f"{host} can be reached from other machines, so a token is needed: put at least {SHORTEST_TOKEN} "
                "characters into a file and give --token-file FILE, or set AOMG_WEB_TOKEN"
            )
        self.token = token
        self._names = {name.lower().rstrip(".").strip("[]") for name in (*_LOOPBACK, host, *allowed)}
        # an address given by its numbers cannot be a name that was bent towards this machine
        self._any_number = host in ("0.0.0.0", "::")
        self._cookie = "" if token is None else cookie_of(token)

    def may_be_called(self, host: str | None) -> bool:
        """Whether a Host header names this server: another name may be one that was bent towards it."""
        parts = _HOST.fullmatch(host or "")
        if parts is None:
            return False
        name = (parts[1] or parts[2]).lower().rstrip(".")
        return name in self._names or (self._any_number and _is_number(name))

    def knows(self, headers: Headers) -> bool:
        """Whether a request brings the token, where one is needed."""
        if self.token is None:
            return True
        given = headers.get("authorization", "")
        scheme, _, told = given.partition(" ")
        if scheme.lower() == "bearer" and _same(told.strip(), self.token.reveal()):
            return True
        return any(_same(value, self._cookie) for value in _cookies(headers))

    def opens(self, told: str) -> bool:
        """Whether a text is the token."""
        return self.token is not None and _same(told, self.token.reveal())

    @property
    def cookie(self) -> str:
        """What the cookie holds: made from the token, which cannot be found from it; the same after a restart."""
        return self._cookie


def cookie_of(token: Secret) -> str:
    """A text that only who knows the token can make."""
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
        raise AccessError("the token has characters that no header can carry; use letters and digits, without spaces")


def _cookies(headers: Headers) -> list[str]:
    found = []
    for line in headers.getlist("cookie"):
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(line)
        except CookieError:
            continue
        if COOKIE in jar:
            found.append(jar[COOKIE].value)
    return found


def _same(given: str, kept: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), kept.encode())


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
