"""A guess about data: what, why, whether it is certain, and the option that replaces it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guess:
    """A line of what `aomg init` says.

    what, value
        What was guessed: the time column, the value, ...
    why
        What speaks for it.
    option
        The option that sets it.
    doubt
        Why it may be wrong; empty if nothing speaks against it.
    is_given
        Whether an option set it.
    """

    what: str
    value: str
    why: str
    option: str = ""
    doubt: str = ""
    is_given: bool = False
