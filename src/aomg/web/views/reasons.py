"""Why an alert is there, in a sentence: "inbound p99 4.31 ms (4.28..4.35), above 4 ms for 45 s: certain"."""

from aomg.monitor.alert import Alert
from aomg.monitor.sinks.base import title_of
from aomg.numbers import number_texts, unit_of
from aomg.web.views.limits import KnownRule

_SIDES = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below", "==": "equal to", "!=": "other than"}
_LENGTHS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_REMOVED = {"summary": "the rule was removed"}


def active_reason(alert: Alert, rule: KnownRule | None, held: int, fires: bool) -> str:
    """Why it is pending or fires; the condition has held for `held` microseconds."""
    more = "" if fires else "; it fires if this goes on"
    return f"{_seen(alert, rule)} for {lasting(held)}: {alert.certainty}{more}"


def bare_reason(rule: KnownRule | None, held: int) -> str:
    """The same for an alert of which only the state is known."""
    condition = rule.condition if rule is not None else "its condition holds"
    return f"{condition} for {lasting(held)}; what was seen is not in the file of alerts"


def ended_reason(alert: Alert, ending: Alert | None, rule: KnownRule | None) -> str:
    """Why it was there, and how it ended, where that is known."""
    if ending is None:
        return f"{_seen(alert, rule)}: {alert.certainty}; it is no longer active, and nobody told when it ended"
    after = lasting(max(ending.end - ending.started, 0))
    if dict(ending.annotations) == _REMOVED:
        over = f"the rule was removed after {after}"
    elif ending.transition == "inactive":
        over = f"it went away after {after}, before it fired"
    else:
        over = f"over after {after}"
    if ending.quantities:
        over += f", with {_quantities(ending)}"
    elif ending.certainty == "no data" and dict(ending.annotations) != _REMOVED:
        over += ", as no more data came"
    if alert is ending:
        return over
    return f"{_seen(alert, rule)}: {alert.certainty}; {over}"


def _seen(alert: Alert, rule: KnownRule | None) -> str:
    """The quantities beside their limits; where there are none, the condition."""
    if alert.fleet is not None:
        fleet = alert.fleet
        share = alert.quantities.get("share")
        told = f"{fleet.violating:,} of {fleet.total:,} members violate"
        told += f", {amount(*share, '%')}" if share is not None else ""
        if rule is not None and rule.share is not None:
            told += f", at least {rule.share * 100:.6g} %"
        return told
    if not alert.quantities:
        return rule.condition if rule is not None else "its condition held"
    sides = {f"{limit.query}.{limit.estimate}": limit for limit in rule.limits} if rule is not None else {}
    perhaps = "perhaps " if alert.certainty == "possible" else ""
    parts = []
    for name in alert.quantities:
        text, limit = _quantity(alert, name), sides.get(name)
        if limit is not None:
            unit = alert.units.get(name)
            text += f", {perhaps}{_SIDES[limit.operator]} {amount(limit.value, limit.value, limit.value, unit)}"
        parts.append(text)
    missing = rule is not None and not sides
    return "; ".join(parts) + (f"; {rule.condition}" if rule is not None and missing else "")


def _quantities(alert: Alert) -> str:
    return "; ".join(_quantity(alert, name) for name in alert.quantities)


def _quantity(alert: Alert, name: str) -> str:
    query, _, estimate = name.partition(".")
    title = f"{query} {title_of(estimate)}" if estimate else name
    return f"{title} {amount(*alert.quantities[name], '%' if name == 'share' else alert.units.get(name))}"


def amount(low: float, value: float, high: float, unit: str | None) -> str:
    """A quantity as people read it, in the unit that suits it, rounded by the rule of `aomg.numbers`.

    >>> amount(4280.0, 4310.0, 4350.0, "us"), amount(0.25, 0.25, 0.25, "%"), amount(7.0, 7.0, 7.0, None)
    ('4.31 ms (4.28..4.35)', '25 %', '7')
    """
    name, scale = unit_of(value, low, high, unit)
    texts = number_texts(value, low, high, scale=scale, grouped=False, missing="unknown")
    suffix = f" {name}" if name else ""
    return f"{texts.value}{suffix}" if low == value == high else f"{texts.value}{suffix} ({texts.interval})"


def lasting(microseconds: int) -> str:
    """A duration by its two largest parts.

    >>> lasting(45_000_000), lasting(195_000_000), lasting(5_400_000_000), lasting(400_000)
    ('45 s', '3 min 15 s', '1 h 30 min', '0.4 s')
    """
    if microseconds < 1_000_000:
        return f"{microseconds / 1e6:.2g} s"
    rest = microseconds // 1_000_000
    parts: list[str] = []
    for name, length in _LENGTHS:
        number, rest = divmod(rest, length)
        if number or parts:
            parts.append(f"{number} {name}" if number else "")
    return " ".join(part for part in parts[:2] if part)
