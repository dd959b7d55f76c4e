"""How a monitor did on incidents that are known: which were found, how fast, and what was a false alarm."""

from collections.abc import Sequence
from dataclasses import dataclass

from aomg.monitor.alert import Alert
from aomg.streams import Incident
from aomg.times import microseconds_of


@dataclass(frozen=True)
class Finding:
    """An incident and the alert that found it. `after` is event time, in microseconds, from its start to the alert."""

    incident: Incident
    alert: Alert | None
    after: int | None


@dataclass(frozen=True)
class Rehearsal:
    """What came out: a finding for each incident, and the alerts that fired without one."""

    findings: Sequence[Finding]
    false_alarms: Sequence[Alert]

    @property
    def passed(self) -> bool:
        """Whether all were found and nothing else."""
        return not self.false_alarms and all(finding.alert is not None for finding in self.findings)


def rehearsed(incidents: Sequence[Incident], alerts: Sequence[Alert], label: str = "podset") -> Rehearsal:
    """Match alerts that fired with incidents: of one of its podsets, in a window that holds a part of the incident.

    An incident's podset is named by the label of that name; the first alert to fire is the one that found it.
    """
    fired = [alert for alert in alerts if alert.transition == "firing"]
    of_none = list(fired)
    findings = []
    for incident in incidents:
        start, end = (microseconds_of(time) for time in (incident.start, incident.end))
        podsets = {str(podset) for podset in incident.podsets}
        mine = [a for a in fired if a.labels.get(label) in podsets and a.end > start and a.start < end]
        of_none = [alert for alert in of_none if alert not in mine]
        first = min(mine, key=lambda alert: alert.end, default=None)
        findings.append(Finding(incident, first, None if first is None else first.end - start))
    return Rehearsal(findings, of_none)
