"""Two stacks: a window of what merges but does not subtract."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.policies.two_stacks import TwoStacks


class Bags:
    """Lists as sketches, and how often two were merged."""

    def __init__(self):
        self.merges = 0

    def merge(self, into, other):
        assert into is not other
        self.merges += 1
        into.extend(other)


@given(steps=st.lists(st.booleans(), max_size=60))
def test_the_merger_holds_what_was_pushed_and_has_not_left(steps):
    window, live = TwoStacks(list, Bags().merge), []
    for number, push in enumerate(steps):
        if push or not live:
            window.push([number])
            live.append(number)
        else:
            window.pop()
            live.pop(0)
        assert sorted(window.merged()) == live
        assert len(window) == len(live)


@given(sub_windows=st.integers(1, 40), steps=st.integers(1, 200))
def test_a_step_costs_five_merges_on_average_and_holds_one_sketch_more_than_are_live(sub_windows, steps):
    bags = Bags()
    window = TwoStacks(list, bags.merge)
    for number in range(steps):
        window.push([number])
        if len(window) > sub_windows:
            window.pop()
        window.merged()
        assert len(list(window)) <= len(window) + 1
    assert bags.merges <= 5 * steps


def test_reading_the_merger_changes_nothing():
    window = TwoStacks(list, Bags().merge)
    for number in range(10):
        window.push([number])
        if number >= 4:
            window.pop()
        before = [list(sketch) for sketch in window]
        window.merged().append("mine")
        assert [list(sketch) for sketch in window] == before


def test_an_empty_window_has_nothing_to_forget():
    with pytest.raises(ValueError):
        TwoStacks(list, Bags().merge).pop()
