"""Formats a value with its interval `low..high` so that rounding never leaves the interval.

The terminal, alerts and `repr` use this module; the page does the same in JavaScript (`web/page/lib/format.js`), to the
same characters. The rules:

1. A number is the decimal that Python and JavaScript write for it: the shortest that reads back as the same double.
   A change of the unit is exact.
2. Value, low and high have the same decimals: as many as give the value its digits (3 on the page, 4 in the terminal).
3. They have one more decimal if one unit of the last digit is more than half of the interval, unless all three are
   already written in full.
4. The value is rounded to the nearest number with these decimals that is in `low..high`. If there is none, decimals are
   added until there is.
5. Low is rounded down and high up.
6. If `low == value == high`, all three have the same text: all digits, rounded to seven if there are more.

So `text of low <= low <= text of value <= high <= text of high` as numbers, and the exact value is inside the interval
of the texts. The text of the value differs from `value` by less than one in the last digit. The exception is rule 6
with more than seven digits: those texts are off by at most half of the seventh digit.
"""

import math
from dataclasses import dataclass

from aomg.durations import UNITS

MOST_DIGITS = 7
"""Digits of a number whose interval is that number alone; the page, CSV and metrics have as many."""

_LEAST_ORDER, _MOST_ORDER = -6, 11  # powers of ten; smaller and larger numbers are written as 1.23e+12

Number = float | None
Scale = tuple[int, int]
"""The factor that numbers are multiplied by before they are rounded: a numerator and a denominator."""


@dataclass(frozen=True, slots=True)
class NumberTexts:
    """The texts of a value and of both ends of its interval."""

    value: str
    low: str
    high: str

    @property
    def interval(self) -> str:
        """Both ends: 1.930..1.939."""
        return f"{self.low}..{self.high}"


def number_texts(
    value: Number,
    low: Number,
    high: Number,
    *,
    digits: int = 4,
    scale: Scale = (1, 1),
    padded: bool = False,
    grouped: bool = True,
    missing: str = "-",
) -> NumberTexts:
    """Return the texts of a value and its interval, by the rules above. Takes about 20 microseconds.

    digits
        Digits of the value, if the interval allows it. Whole numbers below 10^12 keep all their digits.
    padded
        Keep trailing zeros.
    grouped
        Separate thousands: 1,234.
    missing
        The text for None, NaN and infinity. A missing end does not limit the value.

    >>> number_texts(1.936, 1.93, 1.939, digits=3)
    NumberTexts(value='1.936', low='1.93', high='1.939')
    >>> number_texts(4310.0, 4280.0, 4350.0, scale=(1, 1000))
    NumberTexts(value='4.31', low='4.28', high='4.35')
    >>> number_texts(560.6, 560.0, 560.9999999999999, digits=3)
    NumberTexts(value='560.6', low='560', high='561')
    >>> number_texts(2 / 3, 2 / 3, 2 / 3)
    NumberTexts(value='0.6666667', low='0.6666667', high='0.6666667')
    """
    parts = [_decimal(number) for number in (value, low, high)]
    power = min((part[1] for part in parts if part is not None), default=0)
    middle, bottom, top = (None if part is None else part[0] * 10 ** (part[1] - power) for part in parts)
    decimals = _Decimals(middle or max(abs(bottom or 0), abs(top or 0)), power, scale)
    places = decimals.places(digits)

    def text(units: int) -> str:
        return decimals.text(units, places, padded, grouped)

    units: int | None = None
    if middle is not None and bottom == middle == top:
        units, places = decimals.one_number(middle, places)
        return NumberTexts(text(units), text(units), text(units))
    if (
        bottom is not None
        and top is not None
        and decimals.is_coarse(bottom if middle is None else middle, bottom, top, places)
    ):
        places += 1
    if middle is not None:
        units, places = decimals.inside(middle, bottom, top, places)
    return NumberTexts(
        missing if units is None else text(units),
        missing if bottom is None else text(decimals.down(bottom, places)),
        missing if top is None else text(decimals.up(top, places)),
    )


def rounded(value: Number, low: Number, high: Number) -> tuple[Number, Number, Number]:
    """Return a value and its interval as numbers of seven digits, by the rules above; None for what is not finite.

    >>> rounded(50.43200000000076, 50.4, 50.5), rounded(2 / 3, 0.6, None)
    ((50.432, 50.4, 50.5), (0.6666667, 0.6, None))
    """
    texts = number_texts(value, low, high, digits=MOST_DIGITS, grouped=False, missing="")
    first, second, third = (float(text) if text else None for text in (texts.value, texts.low, texts.high))
    return first, second, third


def unit_of(value: Number, low: Number, high: Number, unit: str | None) -> tuple[str, Scale]:
    """Return the best unit for a quantity, and the scale for `number_texts`.

    Times (us, ms, s) are in the largest unit in which they are at least 1, shares (%) in percent, others unchanged.

    >>> unit_of(4310.0, 4280.0, 4350.0, "us"), unit_of(0.25, 0.25, 0.25, "%"), unit_of(7.0, 7.0, 7.0, None)
    (('ms', (1, 1000)), ('%', (100, 1)), ('', (1, 1)))
    """
    if unit == "%":
        return "%", (100, 1)
    if unit not in UNITS:
        return unit or "", (1, 1)
    known = [abs(number) for number in (value, low, high) if number is not None and math.isfinite(number)]
    size = abs(value) if value and math.isfinite(value) else max(known, default=0.0)
    best = next((name for name in ("s", "ms") if size * UNITS[unit] >= UNITS[name]), "us")
    common = math.gcd(UNITS[unit], UNITS[best])
    return best, (UNITS[unit] // common, UNITS[best] // common)


class _Decimals:
    """Numbers `n * 10^power * scale`, rounded to decimal places. Computes in integers: exact."""

    def __init__(self, main: int, power: int, scale: Scale) -> None:
        """`main` is the number whose size determines the places."""
        self._main, self._power, self._scale = abs(main), power, scale
        self._order = self._order_of_main()
        self._exponential = not _LEAST_ORDER <= self._order <= _MOST_ORDER

    def places(self, digits: int) -> int:
        """The places that give the main number this many digits after rounding: 0.9996 is 1.00."""
        if not self._main:
            return 0
        places = digits - 1 - self._order
        if self.nearest(self._main, places) >= 10**digits:
            places -= 1
        return places if self._exponential else max(places, 0)

    def nearest(self, number: int, places: int) -> int:
        """Round to units of the last place, halves away from zero."""
        above, below = self._in_units(abs(number), places)
        rounded = (2 * above + below) // (2 * below)
        return rounded if number >= 0 else -rounded

    def down(self, number: int, places: int) -> int:
        """Round down to units of the last place."""
        above, below = self._in_units(number, places)
        return above // below

    def up(self, number: int, places: int) -> int:
        """Round up to units of the last place."""
        return -self.down(-number, places)

    def is_coarse(self, value: int, low: int, high: int, places: int) -> bool:
        """Whether a unit of the last place is more than half of the interval, and rounding changes a number."""
        above, below = self._in_units(high - low, places)
        changes = any(self.down(number, places) != self.up(number, places) for number in (value, low, high))
        return above < 2 * below and changes

    def inside(self, value: int, low: int | None, high: int | None, places: int) -> tuple[int, int]:
        """Round a value to units between low and high, with these places or more; returns units and places."""
        if low is not None and high is not None and low <= value <= high:  # low < high: there is one with enough places
            while self.up(low, places) > self.down(high, places):
                places += 1
        units = self.nearest(value, places)
        if low is not None and low <= value:
            units = max(units, self.up(low, places))
        if high is not None and value <= high:
            units = min(units, self.down(high, places))
        return units, places

    def one_number(self, number: int, places: int) -> tuple[int, int]:
        """Round a number to MOST_DIGITS and drop trailing zeros; returns units and places."""
        more = max(places, self.places(MOST_DIGITS))
        rounded = self.nearest(number, more)
        while more > places and rounded % 10 == 0:
            rounded, more = rounded // 10, more - 1
        return rounded, more

    def text(self, units: int, places: int, padded: bool, grouped: bool) -> str:
        """Format a number of units of the last place."""
        sign, digits = "-" if units < 0 else "", str(abs(units))
        if self._exponential:
            exponent = f"e{len(digits) - 1 - places:+d}" if units else ""
            whole, fraction = digits[0], digits[1:]
        else:
            digits = digits.zfill(places + 1)
            point = len(digits) - places
            whole, fraction, exponent = digits[:point], digits[point:], ""
        if not padded:
            fraction = fraction.rstrip("0")
        if grouped:
            whole = f"{int(whole):,}"
        return f"{sign}{whole}.{fraction}{exponent}" if fraction else f"{sign}{whole}{exponent}"

    def _in_units(self, number: int, places: int) -> tuple[int, int]:
        """A number in units of the last place, as a numerator and a denominator."""
        power = self._power + places
        return number * self._scale[0] * 10 ** max(power, 0), self._scale[1] * 10 ** max(-power, 0)

    def _order_of_main(self) -> int:
        """The power of ten of the first digit: 0 for 1 to 9.99."""
        if not self._main:
            return 0
        above, below = self._in_units(self._main, 0)
        order = len(str(above)) - len(str(below))
        return order if above * 10 ** max(-order, 0) >= below * 10 ** max(order, 0) else order - 1


def _decimal(number: Number) -> tuple[int, int] | None:
    """A number as digits and a power of ten; None for None, NaN and infinity.

    >>> _decimal(-1.25), _decimal(5e-324), _decimal(float("nan"))
    ((-125, -2), (5, -324), None)
    """
    if number is None or not math.isfinite(number):
        return None
    digits, _, power = repr(float(number)).partition("e")
    whole, _, fraction = digits.partition(".")
    return int(whole + fraction), int(power or 0) - len(fraction)
