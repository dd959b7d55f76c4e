"""Converts two quantities to a common unit. Times are converted exactly; other differences are refused.

A plain number is in the unit of the other side, so `p99 > 4000` works like `p99 > 4ms`.
"""

from fractions import Fraction

from aomg.durations import UNITS
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import Arithmetic, Column, Constant, Quantity, leaves
from aomg.monitor.rules.tokens import LARGEST_NUMBER, Token

Pair = tuple[Quantity, Quantity, str | None]


def alike(left: Quantity, right: Quantity, sign: Token) -> Pair:
    """Convert two quantities that are compared, added or subtracted to one unit; return both and the unit."""
    _refuse_large(left, right)
    if isinstance(left, Constant) and isinstance(right, Constant):
        if left.unit != right.unit:
            raise _mixed(left, right, sign)
        return left, right, left.unit
    if isinstance(left, Constant):
        return _beside(left, right), right, right.unit
    if isinstance(right, Constant):
        return left, _beside(right, left), left.unit
    if left.unit == right.unit:
        return left, right, left.unit
    if left.unit is None or right.unit is None:
        raise _mixed(left, right, sign)
    finer = min(left.unit, right.unit, key=lambda unit: UNITS[unit])
    return _scaled(left, finer), _scaled(right, finer), finer


def multiplied(left: Quantity, right: Quantity, sign: Token) -> Pair:
    """Convert two quantities that are multiplied or divided, so that the result is a time or a number."""
    _refuse_large(left, right)
    if sign.text == "/":
        if isinstance(right, Constant) and right.exact == 0:
            raise ConfigError(f"{right.text!r} at character {right.position} is zero, and cannot be divided by")
        if left.unit is not None and right.unit is not None:
            left, right, _ = alike(left, right, sign)
            return left, right, None
        if right.unit is not None:
            raise ConfigError(
                f"{sign.text!r} at character {sign.position} divides a number by a time; divide the time by the number"
            )
    elif left.unit is not None and right.unit is not None:
        raise ConfigError(f"{sign.text!r} at character {sign.position} multiplies two times; one must be a number")
    unit = left.unit if left.unit is not None else right.unit
    if unit == "duration" and not (isinstance(left, Constant) and isinstance(right, Constant)):
        unit = "us"
        left = left.in_unit(unit) if isinstance(left, Constant) and left.unit else left
        right = right.in_unit(unit) if isinstance(right, Constant) and right.unit else right
    return left, right, unit


def _beside(constant: Constant, quantity: Quantity) -> Constant:
    """The constant in the unit of the other side."""
    if constant.unit is None:
        return constant
    if quantity.unit is not None:
        return constant.in_unit(quantity.unit)
    column = next(leaf for leaf in leaves(quantity))
    pair = f"{constant.text!r} at character {constant.position} is compared with {column}"
    if isinstance(quantity, Column) and quantity.is_value:
        raise ConfigError(
            f"{pair}, but the query {column.query} has no unit; add unit: us, ms or s, or write a plain number"
        )
    raise ConfigError(f"{pair}, which is not a time; write a plain number")


def _scaled(quantity: Quantity, unit: str) -> Quantity:
    """The same time in a finer unit; whole numbers stay exact."""
    assert quantity.unit is not None
    factor = Fraction(UNITS[quantity.unit], UNITS[unit])
    if factor == 1:
        return quantity
    return Arithmetic("*", Constant(factor, None, str(factor), 0), quantity, unit)


def _mixed(left: Quantity, right: Quantity, sign: Token) -> ConfigError:
    return ConfigError(
        f"{sign.text!r} at character {sign.position}: {_text(left)} and {_text(right)} cannot be compared or added; "
        f"both need a unit, or neither"
    )


def _text(quantity: Quantity) -> str:
    if isinstance(quantity, Constant):
        return repr(quantity.text)
    name = str(next(leaf for leaf in leaves(quantity)))
    return f"{name} (in {quantity.unit})" if quantity.unit else f"{name} (without a unit)"


def _refuse_large(*quantities: Quantity) -> None:
    for quantity in quantities:
        if isinstance(quantity, Constant) and abs(quantity.exact) > LARGEST_NUMBER:
            raise ConfigError(f"{quantity.text!r} at character {quantity.position} is too large")
