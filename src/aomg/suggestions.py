"""Suggests what a misspelt name probably means, for errors that say what to write instead."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_NAME = 100  # the search takes quadratic time


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one probably means. Capital letters do not matter.

    >>> nearest("serach", ["pingmesh", "search"]), nearest("Kafka", ["kafka"]), nearest("x", ["kafka"])
    ('search', 'kafka', None)
    """
    small = {each.lower(): each for each in known}
    near = get_close_matches(name[:_LONGEST_NAME].lower(), small, n=1)
    return small[near[0]] if near else None


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a question that names what was probably meant, or another remedy.

    >>> suggestion("serach", ["search"], "write a stream"), suggestion("x", ["search"], "write a stream")
    ('did you mean search?', 'write a stream')
    """
    near = nearest(name, known)
    return f"did you mean {near}?" if near else otherwise


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to append to an error, or nothing.

    >>> did_you_mean("serach", ["search"]), did_you_mean("x", ["search"])
    ('; did you mean search?', '')
    """
    question = suggestion(name, known, "")
    return f"; {question}" if question else ""


def there_are(name: str, known: Iterable[str]) -> str:
    """Return which names there are, with the nearest first.

    >>> there_are("p09", ["p50", "p90"]), there_are("x", [])
    ('did you mean p90? there are p50, p90', 'there are none')
    """
    names = list(known)
    listed = f"there are {', '.join(names)}" if names else "there are none"
    return f"{suggestion(name, names, '')} {listed}".lstrip()
