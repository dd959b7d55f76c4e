"""Parses whole numbers such as 10M, 500k and 1_000_000."""

import re

LARGEST = 1 << 53

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


def count_of(text: str) -> int | None:
    """Return the whole number in a text, at most 2^53; None for anything else.

    >>> count_of("10M"), count_of("2.5k"), count_of("1,000"), count_of("1e6"), count_of("some")
    (10000000, 2500, 1000, 1000000, None)
    """
    match = re.fullmatch(r"(\d[\d_,]*(?:\.\d+)?(?:e\d{1,2})?)\s*([kmgb]?)", text.strip().lower())
    if match:
        number = float(re.sub("[_,]", "", match[1])) * _UNITS[match[2]]
        if number.is_integer() and number <= LARGEST:
            return int(number)
    return None
