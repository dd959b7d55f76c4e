"""Local operators and policies give what they gave when the oracle was recorded, bit for bit."""

import json

import pytest
from oracle_local import counted_cases, moments, policy_cases, timed_cases
from oracle_records import RECORDED, compare, read

GROUPS = {"counted": counted_cases(), "timed": timed_cases(), "policies": policy_cases()}
CASES = [(group, name) for group, cases in GROUPS.items() for name in cases]


@pytest.fixture(scope="module")
def recorded():
    return {group: read(group) for group in GROUPS}


@pytest.mark.parametrize("group", GROUPS)
def test_every_recorded_case_is_run(recorded, group):
    assert list(recorded[group]) == list(GROUPS[group])


@pytest.mark.parametrize(("group", "name"), CASES, ids=[": ".join(case) for case in CASES])
def test_a_run_gives_the_recorded_results(recorded, group, name):
    compare(GROUPS[group][name].run(), recorded[group][name])


@pytest.mark.parametrize("kind", ["three digits", "five digits", "raw, no guarantee", "paper"])
def test_results_do_not_depend_on_how_pushes_are_cut(recorded, kind):
    records = {cut: recorded["counted"][f"cut {cut}, {kind}"] for cut in ("whole", "thirds", "uneven", "ones")}
    assert len({record["digest"] for record in records.values()}) == 1


def test_the_estimates_of_moment_are_the_recorded_ones_except_for_their_last_digits():
    expected = json.loads((RECORDED / "moments.json").read_text())
    for kind, estimates in moments().items():
        for values, then in zip(estimates, expected[kind], strict=True):
            assert values == pytest.approx(then, rel=1e-6)
