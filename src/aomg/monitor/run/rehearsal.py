"""Compares the alerts of a run with known incidents: which were detected, how fast, and the false alarms."""

from collections.abc import Sequence
from dataclasses import dataclass

from aomg.monitor.alert import Alert
from aomg.streams import Incident
from aomg.times import microseconds_of


@dataclass(frozen=True)
class Detection:
    """An incident, and the first alert that fired for it. `delay` is microseconds of event time from its start."""

    incident: Incident
    alert: Alert | None
    delay: int | None


@dataclass(frozen=True)
class Rehearsal:
    """A detection for each incident, and the alerts that fired without one."""

    detections: Sequence[Detection]
    false_alarms: Sequence[Alert]

    @property
    def passed(self) -> bool:
        """Whether all incidents were detected, without false alarms."""
        return not self.false_alarms and all(detection.alert is not None for detection in self.detections)


def rehearsed(incidents: Sequence[Incident], alerts: Sequence[Alert]) -> Rehearsal:
    """Match firing alerts with incidents: the label `podset` names one of its podsets, and the window overlaps it."""
    fired = [alert for alert in alerts if alert.transition == "firing"]
    unmatched = list(fired)
    detections = []
    for incident in incidents:
        start, end = (microseconds_of(time) for time in (incident.start, incident.end))
        podsets = {str(podset) for podset in incident.podsets}
        matches = [a for a in fired if a.labels.get("podset") in podsets and a.end > start and a.start < end]
        unmatched = [alert for alert in unmatched if alert not in matches]
        first = min(matches, key=lambda alert: alert.end, default=None)
        detections.append(Detection(incident, first, None if first is None else first.end - start))
    return Rehearsal(detections, unmatched)
