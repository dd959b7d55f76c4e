"""Hides secrets: values from the environment, passwords, user info in addresses.

The repr of a Secret is ***; only `reveal()` returns its text. Callers pass that text to its user (Spark, an HTTP
request), never into a message.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import NoReturn
from urllib.parse import parse_qsl, urlsplit

from aomg.monitor.errors import ConfigError

_NAME = re.compile(r"password|passwd|secret|token|(?<!longest_)key|jaas|credential|authorization|cookie", re.IGNORECASE)
_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
_PLACE = re.compile(r"\$(\$\{|\{([A-Za-z_][A-Za-z0-9_]*)\}|\{)")


class Secret:
    """A text whose repr is ***, or the part of it that may be shown.

    >>> password = Secret("hunter2")
    >>> f"{password} {password!r}", password.reveal()
    ('*** ***', 'hunter2')
    """

    __slots__ = ("_text", "_visible")

    def __init__(self, text: str, visible: str = "***") -> None:
        self._text = text
        self._visible = visible

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return self._visible

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a pickle would contain the text."""
        raise TypeError("a Secret cannot be pickled; call reveal() where it is used")

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self


def revealed(options: Mapping[str, str | Secret]) -> dict[str, str]:
    """Options with the texts of their secrets."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in options.items()}


def names_a_secret(name: str) -> bool:
    """Whether a key's value is always a secret: kafka.ssl.key.password, Authorization."""
    return _NAME.search(name) is not None


def redacted(text: str) -> str:
    """Return a text that may be shown: without user info of addresses, and `***` if it names a secret."""
    return "***" if _NAME.search(text) else _USER_INFO.sub("***@", text)


def without_secrets(text: str, known: object) -> str:
    """Remove every secret of a configuration, or of a part of one, from a message of another program.

    Parts of a secret that may be quoted alone are removed too: an entry of a list, its host, a line, a quoted text, a
    token after its scheme, user info, a password, a value in an address's query. Texts of one or two characters stay.

    >>> without_secrets("no broker at me:hunter2@b1:9092", [Secret("me:hunter2@b1:9092,b2:9092")])
    'no broker at ***'
    """
    masks = {part: mask for secret in _secrets_in(known) for part, mask in _parts(secret).items() if len(part) > 2}
    for part in sorted(masks, key=len, reverse=True):
        text = text.replace(part, masks[part])
    return text


def _secrets_in(known: object) -> Iterator[Secret]:
    if isinstance(known, Secret):
        yield known
    elif is_dataclass(known):
        for part in fields(known):
            yield from _secrets_in(getattr(known, part.name))
    elif isinstance(known, Mapping):
        for value in known.values():
            yield from _secrets_in(value)
    elif isinstance(known, list | tuple):
        for value in known:
            yield from _secrets_in(value)


def _parts(secret: Secret) -> dict[str, str]:
    """The parts of a secret that may be quoted, and what to show instead."""
    text, visible = secret.reveal(), repr(secret)
    users = re.findall(r"(?:^|[/,\s])([^/,@\s]+)@", text)
    parts = {*users, *(user.partition(":")[2] for user in users)}
    parts |= {part for either in re.findall(r"\"([^\"]*)\"|'([^']*)'", text) for part in either}
    parts |= {value for _, value in parse_qsl(urlsplit(text).query)} if "://" in text else set()
    if visible == "***":
        entries = {part.strip() for part in re.split(r"[,\n]", text)}
        hosts = {entry.rpartition("@")[2] for entry in entries}
        parts |= entries | hosts | {re.sub(r":\d+$", "", host) for host in hosts}
        parts |= {token for scheme, token in re.findall(r"^(\w+) +(\S+)$", text)}
    return {**dict.fromkeys(parts, "***"), text: visible}


def with_environment(text: str, environment: Mapping[str, str]) -> str | Secret:
    """Replace ${NAME} in a text by its value; the result is then a Secret. $${ is written for ${ itself.

    >>> with_environment("Bearer ${TOKEN}", {"TOKEN": "abc"}), with_environment("plain", {})
    (***, 'plain')
    """
    replaced = False

    def value(place: re.Match[str]) -> str:
        nonlocal replaced
        if place.group(1) == "${":
            return "${"
        name = place.group(2)
        if name is None:
            raise ConfigError("has '${' without a name; write ${NAME}, or $${ for the two characters")
        if name not in environment:
            raise ConfigError(
                f"needs {name} from the environment, where it is not set; run export {name}=... before the start"
            )
        replaced = True
        return environment[name]

    resolved = _PLACE.sub(value, text)
    return Secret(resolved) if replaced else resolved


def mentions_environment(text: str) -> bool:
    """Whether a text contains ${NAME}: refused where it would be taken literally."""
    return re.search(r"\$\{[A-Za-z_]\w*\}", text) is not None


def address(text: str | Secret) -> Secret:
    """Check an http(s) address. Its repr has no user info and no query; that of a Secret only the host.

    >>> address("http://me:hunter2@127.0.0.1:9093/alerts?token=abc")
    http://127.0.0.1:9093/alerts
    """
    plain = text.reveal() if isinstance(text, Secret) else text
    if re.search(r"[\x00-\x20\x7f]", plain) or not plain.isascii():
        raise ConfigError("is not an address: write spaces and special characters as %20 and so on")
    try:
        parts = urlsplit(plain)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError("is not an address; write it as http://host:port/path") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("is not an http address; write it as http://host:port/path or https://...")
    name = f"[{host}]" if ":" in host else host
    visible = f"{parts.scheme}://{name}" + (f":{port}" if port is not None else "")
    return Secret(plain, visible if isinstance(text, Secret) else visible + parts.path)
