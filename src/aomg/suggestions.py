"""Suggests the name that a misspelt one probably means, for error messages."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_NAME = 100  # the search takes quadratic time


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one probably means, or None. Ignores case.

    >>> nearest("serach", ["pingmesh", "search"]), nearest("Kafka", ["kafka"]), nearest("x", ["kafka"])
    ('search', 'kafka', None)
    """
    names = {candidate.lower(): candidate for candidate in known}
    matches = get_close_matches(name[:_LONGEST_NAME].lower(), names, n=1)
    return names[matches[0]] if matches else None


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return "did you mean ...?", or `otherwise` if no known name is close.

    >>> suggestion("serach", ["search"], "write a stream"), suggestion("x", ["search"], "write a stream")
    ('did you mean search?', 'write a stream')
    """
    match = nearest(name, known)
    return f"did you mean {match}?" if match else otherwise


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" to append to an error, or nothing.

    >>> did_you_mean("serach", ["search"]), did_you_mean("x", ["search"])
    ('; did you mean search?', '')
    """
    question = suggestion(name, known, "")
    return f"; {question}" if question else ""


def there_are(name: str, known: Iterable[str]) -> str:
    """Return the known names, after a suggestion of the closest one.

    >>> there_are("p09", ["p50", "p90"]), there_are("x", [])
    ('did you mean p90? there are p50, p90', 'there are none')
    """
    names = list(known)
    listed = f"there are {', '.join(names)}" if names else "there are none"
    return f"{suggestion(name, names, '')} {listed}".lstrip()
