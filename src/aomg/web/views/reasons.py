"""Explains an alert in a sentence: "inbound p99 4.31 ms (4.28..4.35), above 4 ms: certain".

How long it lasts is not part of it: that is one number of its own (`seconds` of /api/alerts).
"""

from aomg.monitor.alert import Alert
from aomg.monitor.sinks.base import title_of
from aomg.numbers import number_texts, unit_of
from aomg.web.views.limits import KnownRule

_SIDES = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below", "==": "equal to", "!=": "other than"}
_REMOVED = {"summary": "the rule was removed"}


def active_reason(alert: Alert, rule: KnownRule | None, fires: bool) -> str:
    """Explain a pending or firing alert."""
    more = "" if fires else "; it fires if this continues"
    return f"{_condition_text(alert, rule)}: {alert.certainty}{more}"


def state_only_reason(rule: KnownRule | None) -> str:
    """Explain a pending or firing alert of which only the state is known."""
    condition = rule.condition if rule is not None else "its condition holds"
    return f"{condition}; the values are not in alerts.jsonl"


def ended_reason(alert: Alert, ending: Alert | None, rule: KnownRule | None) -> str:
    """Explain an alert that ended, and how it ended, where that is known."""
    if ending is None:
        return f"{_condition_text(alert, rule)}: {alert.certainty}; no longer active, time of its end unknown"
    is_removed = dict(ending.annotations) == _REMOVED
    if is_removed:
        end = "the rule was removed"
    elif ending.transition == "inactive":
        end = "its condition no longer held, before it fired"
    else:
        end = "resolved"
    if ending.quantities:
        end += f": {_quantities(ending)}"
    elif ending.certainty == "no data" and not is_removed:
        end += ", because no more data arrived"
    if alert is ending:
        return end
    return f"{_condition_text(alert, rule)}: {alert.certainty}; {end}"


def _condition_text(alert: Alert, rule: KnownRule | None) -> str:
    """Return the quantities with their limits; without quantities, the condition."""
    if alert.fleet is not None:
        fleet = alert.fleet
        share = alert.quantities.get("share")
        text = f"{fleet.violating:,} of {fleet.total:,} members violate the condition"
        text += f", {amount(*share, '%')}" if share is not None else ""
        if rule is not None and rule.share is not None:
            text += f", limit {rule.share * 100:.6g} %"
        return text
    if not alert.quantities:
        return rule.condition if rule is not None else "its condition held"
    sides = {f"{limit.query}.{limit.estimate}": limit for limit in rule.limits} if rule is not None else {}
    perhaps = "perhaps " if alert.certainty == "possible" else ""
    parts = []
    for name in alert.quantities:
        part_text, limit = _quantity(alert, name), sides.get(name)
        if limit is not None:
            unit = alert.units.get(name)
            part_text += f", {perhaps}{_SIDES[limit.operator]} {amount(limit.value, limit.value, limit.value, unit)}"
        parts.append(part_text)
    missing = rule is not None and not sides
    return "; ".join(parts) + (f"; {rule.condition}" if rule is not None and missing else "")


def _quantities(alert: Alert) -> str:
    return "; ".join(_quantity(alert, name) for name in alert.quantities)


def _quantity(alert: Alert, name: str) -> str:
    query, _, estimate = name.partition(".")
    title = f"{query} {title_of(estimate)}" if estimate else name
    return f"{title} {amount(*alert.quantities[name], '%' if name == 'share' else alert.units.get(name))}"


def amount(low: float, value: float, high: float, unit: str | None) -> str:
    """Return a quantity in the best unit, rounded by the rule of `aomg.numbers`.

    >>> amount(4280.0, 4310.0, 4350.0, "us"), amount(0.25, 0.25, 0.25, "%"), amount(7.0, 7.0, 7.0, None)
    ('4.31 ms (4.28..4.35)', '25 %', '7')
    """
    name, scale = unit_of(value, low, high, unit)
    texts = number_texts(value, low, high, scale=scale, grouped=False, missing="unknown")
    suffix = f" {name}" if name else ""
    return f"{texts.value}{suffix}" if low == value == high else f"{texts.value}{suffix} ({texts.interval})"
