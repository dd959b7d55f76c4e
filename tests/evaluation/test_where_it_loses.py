"""The page of losses: what was measured stands between its marks, what was written by hand stays."""

import pytest

from aomg.evaluation.files import Result
from aomg.evaluation.losses import Loss
from aomg.evaluation.outcome import Claim, Outcome
from aomg.evaluation.run import EvaluationError
from aomg.evaluation.where_it_loses import filled

PAGE = "above\n" + "".join(
    f"<!-- {n}: begin -->\nstale {n}\n<!-- {n}: end -->\nbetween\n" for n in ("claims", "losses")
)
LOSS = Loss("frontier", "Pingmesh", "bytes", "AOMG (default)", "DDSketch", 9000.0, 1234.0)


def result(*claims: Claim) -> Result:
    return Result("table2", "Table 2", "who?", "Section 6", Outcome([], claims=claims), {})


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
