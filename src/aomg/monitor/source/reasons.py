"""The reasons for which rows are refused, in the words of the quarantine."""

from collections.abc import Sequence

from aomg.core.weights import LARGEST_WEIGHT

NO_TIME = "the time is missing"
UNREADABLE_TIME = "the time cannot be read"


def no_text(column: str, encoding: str) -> str:
    """A label has bytes that are no text."""
    return f"{column} is not {encoding}"


def long_key(query: str, longest: int) -> str:
    """The labels of a query have too many characters."""
    return f"the key of {query} is longer than {longest:,} characters (longest_key)"


def no_value(columns: Sequence[str]) -> str:
    """None of the values of all queries is a finite number."""
    return f"no finite value in {', '.join(columns)}"


def no_weight(column: str) -> str:
    """A weight cannot be one."""
    return f"{column} is not a whole number from 0 to {LARGEST_WEIGHT}"
