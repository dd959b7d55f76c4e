"""What must not be seen: values from the environment, passwords, user info in addresses.

A Secret shows itself as ***; only `reveal()` tells it. Whoever calls that hands the text to its one user (Spark, an
HTTP request) and to no message.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import NoReturn
from urllib.parse import parse_qsl, urlsplit

from aomg.monitor.errors import ConfigError

_NAME = re.compile(r"password|passwd|secret|token|key|jaas|credential|authorization|cookie", re.IGNORECASE)
_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
_PLACE = re.compile(r"\$(\$\{|\{([A-Za-z_][A-Za-z0-9_]*)\}|\{)")


class Secret:
    """A text that shows itself as ***, or as what of it may be seen.

    >>> password = Secret("hunter2")
    >>> f"{password} {password!r}", password.reveal()
    ('*** ***', 'hunter2')
    """

    __slots__ = ("_shown", "_text")

    def __init__(self, text: str, shown: str = "***") -> None:
        self._text = text
        self._shown = shown

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return self._shown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a pickle is a file with the text in it."""
        raise TypeError("a Secret is not pickled; reveal() it where it is used")

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self


def revealed(options: Mapping[str, str | Secret]) -> dict[str, str]:
    """Options as their one user takes them."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in options.items()}


def names_a_secret(name: str) -> bool:
    """Whether what is called so is a secret whatever its value: kafka.ssl.key.password, Authorization."""
    return _NAME.search(name) is not None


def redacted(text: str) -> str:
    """Return a text that may be shown: without user info of addresses, and nothing of it if it speaks of a secret."""
    return "***" if _NAME.search(text) else _USER_INFO.sub("***@", text)


def without_secrets(text: str, known: object) -> str:
    """Return a text of somebody else's without any secret that a configuration, or a part of one, holds.

    Parts of a secret that may be quoted alone go, too: an entry of a list, its host, a line, what stands in quotes, a
    token behind its scheme, user info, a password, a value of an address's query. Texts of one or two characters stay.

    >>> without_secrets("no broker at me:hunter2@b1:9092", [Secret("me:hunter2@b1:9092,b2:9092")])
    'no broker at ***'
    """
    instead = {part: shown for secret in _secrets_in(known) for part, shown in _parts(secret).items() if len(part) > 2}
    for part in sorted(instead, key=len, reverse=True):
        text = text.replace(part, instead[part])
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
    """What may be quoted of a secret, and what is shown instead."""
    text, shown = secret.reveal(), repr(secret)
    users = re.findall(r"(?:^|[/,\s])([^/,@\s]+)@", text)
    found = {*users, *(user.partition(":")[2] for user in users)}
    found |= {part for either in re.findall(r"\"([^\"]*)\"|'([^']*)'", text) for part in either}
    found |= {value for _, value in parse_qsl(urlsplit(text).query)} if "://" in text else set()
    if shown == "***":  # nothing of it may be seen
        entries = {part.strip() for part in re.split(r"[,\n]", text)}
        hosts = {entry.rpartition("@")[2] for entry in entries}
        found |= entries | hosts | {re.sub(r":\d+$", "", host) for host in hosts}
        found |= {token for scheme, token in re.findall(r"^(\w+) +(\S+)$", text)}
    return {**dict.fromkeys(found, "***"), text: shown}


def with_environment(text: str, environment: Mapping[str, str]) -> str | Secret:
    """Put the values of ${NAME} into a text; with any of them it is a Secret. $${ stands for ${ itself.

    >>> with_environment("Bearer ${TOKEN}", {"TOKEN": "abc"}), with_environment("plain", {})
    (***, 'plain')
    """
    taken = False

    def value(place: re.Match[str]) -> str:
        nonlocal taken
        if place.group(1) == "${":
            return "${"
        name = place.group(2)
        if name is None:
            raise ConfigError("has '${' without a name; write ${NAME}, or $${ for the two characters")
        if name not in environment:
            raise ConfigError(
                f"needs {name} from the environment, which has none; set it before the start: export {name}=..."
            )
        taken = True
        return environment[name]

    resolved = _PLACE.sub(value, text)
    return Secret(resolved) if taken else resolved


def mentions_environment(text: str) -> bool:
    """Whether a text holds ${NAME}: refused where it would be taken literally."""
    return re.search(r"\$\{[A-Za-z_]\w*\}", text) is not None


def address(text: str | Secret) -> Secret:
    """Check an http(s) address. What is shown of it has no user info and no query; of a Secret only the host.

    >>> address("http://me:hunter2@127.0.0.1:9093/alerts?token=abc")
    http://127.0.0.1:9093/alerts
    """
    plain = text.reveal() if isinstance(text, Secret) else text
    if re.search(r"[\x00-\x20\x7f]", plain) or not plain.isascii():
        raise ConfigError("is no address: it has spaces or characters that must be written as %20 and the like")
    try:
        parts = urlsplit(plain)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError("is no address; write it as http://host:port/path") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("is no http address; write it as http://host:port/path or https://...")
    name = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{name}" + (f":{port}" if port is not None else "")
    return Secret(plain, shown if isinstance(text, Secret) else shown + parts.path)
