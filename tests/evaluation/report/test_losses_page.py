"""The page of losses: what was measured stands between its marks, what was written by hand stays."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from aomg.evaluation.files import ExperimentResult
from aomg.evaluation.measure.scale import FULL, QUICK, Scale
from aomg.evaluation.outcome import Claim, Outcome
from aomg.evaluation.report.losses import Loss
from aomg.evaluation.report.losses_page import filled, run_of
from aomg.evaluation.run import EvaluationError

PAGE = "above\n" + "".join(
    f"<!-- {n}: begin -->\nstale {n}\n<!-- {n}: end -->\nbetween\n" for n in ("claims", "losses")
)
LOSS = Loss("frontier", "Pingmesh", "bytes", "AOMG (default)", "DDSketch", 9000.0, 1234.0)


def result(*claims: Claim, scale: Scale = FULL) -> ExperimentResult:
    about = {"scale": asdict(scale)}
    return ExperimentResult("table2", "Table 2", "who?", "Section 6", Outcome([], claims=claims), about)


def test_the_page_names_rivals_that_do_better_and_claims_that_fail_and_keeps_the_rest():
    page = filled(PAGE, [LOSS], [result(Claim("fails", "1", "2", False, "why"), Claim("stands", "1", "1", True))])
    assert page.startswith("above\n") and page.count("between") == 2
    assert "stale" not in page
    assert "DDSketch" in page and "1,234" in page
    assert "fails" in page and "stands" not in page
    assert filled(page, [LOSS], [result(Claim("fails", "1", "2", False, "why"))]) == page


def test_a_page_without_marks_is_refused():
    with pytest.raises(EvaluationError, match="marks"):
        filled("nothing here", [LOSS], [])


def test_losses_are_those_of_the_scale_that_the_results_have(tmp_path, monkeypatch):
    monkeypatch.setattr("aomg.evaluation.run.Run.missing", lambda run, experiments: [])
    assert run_of(tmp_path, [result(scale=QUICK)]).scale == QUICK
    assert run_of(tmp_path, [result(), result()]).scale == FULL
    for results in ([], [result(), result(scale=QUICK)]):
        with pytest.raises(EvaluationError, match=f"results of {len(results)} scales"):
            run_of(tmp_path, results)


def test_what_is_missing_is_not_measured_for_the_page(tmp_path):
    with pytest.raises(EvaluationError, match=r"lacks \d+ pieces of frontier, table2, taxi, host; run them first"):
        run_of(tmp_path, [result()])


def test_what_to_choose_agrees_with_what_was_measured():
    """REQ is named for the streams on which it is nearer at p99.9, and said to be further off on the others."""
    page = (Path(__file__).parents[3] / "docs" / "where-it-loses.md").read_text()
    (advice,) = re.findall(r"where the tail is dense: ([^|]+) \| REQ \|.*all three Pingmesh streams", page)
    cases = page.partition("does better than AOMG (default)")[2].partition("does better than AOMG (paper)")[0]
    tails = dict(re.findall(r"^\| ([^|]+) \| value error at Q0\.999 \(%\) \| [\d.]+ \| (.*) \|$", cases, re.MULTILINE))
    better = {stream for stream, rivals in tails.items() if "REQ " in rivals}
    hosts = {stream for stream in better if stream.startswith("Host resources")}
    named = {name.replace("\\", "") for name in advice.split(", ")}
    assert hosts and named == (better - hosts) | {"hosts' resources"}
    assert not any(stream.startswith("Pingmesh") for stream in better)
    assert all("HdrHistogram " in tails[stream] for stream in tails if stream.startswith("Pingmesh"))
