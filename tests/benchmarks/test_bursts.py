"""The benchmark of bursts counts what it says it counts."""

import numpy as np
import pytest
from benchmarks.core import bursts


def test_an_alarm_is_counted_where_a_flag_becomes_true():
    assert bursts._onsets(np.array([False, True, True, False, True])) == 2
    assert bursts._onsets(np.array([True, True])) == 1
    assert bursts._onsets(np.zeros(9, np.bool_)) == 0


def test_every_figure_has_its_number_of_sub_windows_and_the_aims_are_met():
    figures = bursts.run(quick=True)
    found, alarms = figures[:3], figures[3:]
    assert all(figure.met and figure.detail["bursts"] == 100 for figure in found)
    assert alarms[0].met and [figure.met for figure in alarms[1:]] == [None] * len(bursts.CALM)
    assert alarms[0].detail["sub_windows"] == sum(figure.detail["sub_windows"] for figure in alarms[1:])
    assert alarms[0].detail["alarms"] == sum(figure.detail["alarms"] for figure in alarms[1:])


@pytest.mark.parametrize("calm", bursts.CALM, ids=lambda calm: calm.title)
def test_a_calm_stream_has_the_sub_windows_that_its_figure_says(calm, monkeypatch):
    monkeypatch.setattr(bursts, "SHAPES", {"8K by 1K": (8_192, 1_024)})
    sub_windows, alarms = calm.alarms(1)
    assert sub_windows == (501 if isinstance(calm, bursts.Uneven) else 256)  # in event time, the last ones are open
    assert alarms <= 2
