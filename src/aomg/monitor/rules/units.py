"""In what unit two quantities meet. Times are converted exactly; what has no common unit is refused.

Plain numbers are taken in the unit of the quantity they meet, so that `p99 > 4000` works as `p99 > 4ms` does.
"""

from fractions import Fraction

from aomg.durations import UNITS
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import Arithmetic, Column, Constant, Quantity, leaves
from aomg.monitor.rules.tokens import LARGEST_NUMBER, Token

Meeting = tuple[Quantity, Quantity, str | None]


def alike(left: Quantity, right: Quantity, sign: Token) -> Meeting:
    """Bring two quantities that are compared, added or subtracted to one unit, which is told too."""
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


def multiplied(left: Quantity, right: Quantity, sign: Token) -> Meeting:
    """Bring two quantities that are multiplied or divided to units whose product is one again: a time or a number."""
    _refuse_large(left, right)
    if sign.text == "/":
        if isinstance(right, Constant) and right.exact == 0:
            raise ConfigError(f"{right.text!r} at character {right.position} is zero; nothing can be divided by it")
        if left.unit is not None and right.unit is not None:
            left, right, _ = alike(left, right, sign)
            return left, right, None
        if right.unit is not None:
            raise ConfigError(f"{sign.text!r} at character {sign.position} divides a number by a time; turn it round")
    elif left.unit is not None and right.unit is not None:
        raise ConfigError(f"{sign.text!r} at character {sign.position} multiplies two times; one must be a number")
    unit = left.unit if left.unit is not None else right.unit
    if unit == "duration" and not (isinstance(left, Constant) and isinstance(right, Constant)):
        unit = "us"
        left = left.kept_in(unit) if isinstance(left, Constant) and left.unit else left
        right = right.kept_in(unit) if isinstance(right, Constant) and right.unit else right
    return left, right, unit


def _beside(constant: Constant, quantity: Quantity) -> Constant:
    """The constant in the unit of the quantity that it meets."""
    if constant.unit is None:
        return constant
    if quantity.unit is not None:
        return constant.kept_in(quantity.unit)
    column = next(leaf for leaf in leaves(quantity))
    meets = f"{constant.text!r} at character {constant.position} meets {column}"
    if isinstance(quantity, Column) and quantity.is_value:
        raise ConfigError(
            f"{meets}, and the query {column.query} has no unit; give it unit: us, ms or s, or write a plain number"
        )
    raise ConfigError(f"{meets}, which is no time; write a plain number")


def _scaled(quantity: Quantity, unit: str) -> Quantity:
    """The same time in a finer unit; whole numbers stay exact."""
    assert quantity.unit is not None
    factor = Fraction(UNITS[quantity.unit], UNITS[unit])
    if factor == 1:
        return quantity
    return Arithmetic("*", Constant(factor, None, str(factor), 0), quantity, unit)


def _mixed(left: Quantity, right: Quantity, sign: Token) -> ConfigError:
    return ConfigError(
        f"{sign.text!r} at character {sign.position}: {_said(left)} and {_said(right)} cannot be compared or added; "
        f"give both a unit, or neither"
    )


def _said(quantity: Quantity) -> str:
    if isinstance(quantity, Constant):
        return repr(quantity.text)
    name = str(next(leaf for leaf in leaves(quantity)))
    return f"{name} (in {quantity.unit})" if quantity.unit else f"{name} (without unit)"


def _refuse_large(*quantities: Quantity) -> None:
    for quantity in quantities:
        if isinstance(quantity, Constant) and abs(quantity.exact) > LARGEST_NUMBER:
            raise ConfigError(f"{quantity.text!r} at character {quantity.position} is too large")
