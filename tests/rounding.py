"""Values with intervals of every size, and what must be true of their texts, in whatever language they were written."""

import math
from decimal import Decimal
from fractions import Fraction
from random import Random

SCALES = [(1, 1), (1, 1000), (1000, 1), (1, 1_000_000), (100, 1), (1, 60), (1, 3600), (1000, 86_400_000_000_000)]


def number(text: str) -> Fraction:
    """What people read."""
    return Fraction(text.replace(",", ""))


def exact(value: float, scale: tuple[int, int] = (1, 1)) -> Fraction:
    return Fraction(repr(float(value))) * Fraction(*scale)


def some_intervals(seed: int, count: int) -> list[tuple[float, float, float]]:
    """Value, low, high: of any size and sign, wide, narrow and none; values in the middle and at the ends."""
    random = Random(seed)
    found = []
    while len(found) < count:
        size = random.choice([random.uniform(-6, 6), random.uniform(-20, 20), random.uniform(-320, 308)])
        value = random.choice([-1, 1, 1, 1]) * random.uniform(1, 10) * 10**size
        if random.random() < 0.5:  # as people write numbers
            value = float(f"{value:.{random.randint(0, 5)}e}")
        below, above = (abs(value) * 10 ** random.uniform(-17, 1) * random.choice([0, 1, 1]) for _ in range(2))
        low, high = value - below, value + above
        if random.random() < 0.5:  # as codes have them: up to the last number below the next
            low, high = (float(f"{end:.{random.randint(1, 4)}e}") for end in (low, high))
            high = math.nextafter(high, -math.inf)
        value = random.choice([value, value, low, high, 0.0])
        if low <= value <= high and math.isfinite(high - low):
            found.append((value, low, high))
    return found


def assert_inside(value, low, high, texts, scale=(1, 1)):
    """The shown value lies in the true interval, and the true interval in the shown one; one number has one text."""
    about = f"{value!r} in {low!r}..{high!r} times {scale} as {texts}"
    middle, bottom, top = (exact(part, scale) for part in (value, low, high))
    shown_value, shown_low, shown_high = map(number, texts)
    if low == high:
        assert len(set(texts)) == 1, about
        assert abs(shown_value - middle) <= Fraction(1, 2 * 10**6) * abs(middle), about
    else:
        assert shown_low <= bottom <= shown_value <= top <= shown_high, about


def assert_short(value, low, high, texts, digits, scale=(1, 1)):
    """Texts with all their zeros have no more decimals than the rule needs."""
    about = f"{value!r} in {low!r}..{high!r} times {scale} as {texts}"
    middle, bottom, top = (exact(part, scale) for part in (value, low, high))
    assert len({_places(text) for text in texts if number(text)}) <= 1, about
    places = _places(max(texts, key=lambda text: abs(number(text))))
    main = abs(middle) or max(abs(bottom), abs(top))
    fewest = digits - 1 - Decimal(f"{_decimal(main):.{digits - 1}e}").adjusted() if main else 0
    if Fraction(1, 10**6) <= main < 10**12:
        fewest = max(fewest, 0)
    unit = Fraction(10) ** -(places - 1)  # of one place less
    assert abs(number(texts[0]) - middle) < unit / 10 or not middle, about
    if low == high:
        assert places <= max(fewest, fewest + 7 - digits), about
    elif places > fewest:
        none_inside = math.ceil(bottom / unit) > math.floor(top / unit)
        assert none_inside or (places == fewest + 1 and unit * 2 > top - bottom), about
    else:
        assert places == fewest, about


def _places(text: str) -> int:
    """Behind the point, as if there were no exponent."""
    return -Decimal(text.replace(",", "")).as_tuple().exponent


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
