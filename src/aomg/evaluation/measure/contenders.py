"""Who takes part: AOMG as the paper ran it, AOMG as it comes, and every rival, with one set of verbs."""

from dataclasses import dataclass, field
from typing import Any

from aomg import FewK, Operator, Query
from aomg.policies import PolicyOperator, make, titles

Runner = Operator | PolicyOperator


@dataclass(frozen=True)
class Contender:
    """A way to answer windows. `policy` is a rival's name; without one it is AOMG with these arguments of its query."""

    title: str
    policy: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    as_paper: bool = False

    def start(self, size: int, period: int, quantiles: tuple[Any, ...]) -> Runner:
        """Return an operator at its beginning. All answer full windows only, as the paper does."""
        if self.policy is not None:
            return make(self.policy, Query(size, period, quantiles=quantiles, partial=False), **self.parameters)
        if self.as_paper:
            return Operator(Query.paper(size, period, quantiles=quantiles, **self.parameters))
        return Operator(Query(size, period, quantiles=quantiles, partial=False, **self.parameters))


def paper_aomg(few_k: FewK | None = None, title: str = "AOMG (paper)") -> Contender:
    """AOMG as the paper ran it: raw values, plain mean, no envelope; few-k merging on request."""
    return Contender(title, parameters={"few_k": few_k}, as_paper=True)


def default_aomg(title: str = "AOMG (default)", **query: Any) -> Contender:
    """AOMG as it comes: three digits, the envelope and the band, a guarantee; or with other arguments of its query."""
    return Contender(title, parameters=query)


TITLES = titles()
EXACT = ("exact", "exact-sorted")
PAPERS_RIVALS = ("cmqs", "am", "random", "moment")
MODERN_RIVALS = tuple(name for name in TITLES if name not in (*EXACT, *PAPERS_RIVALS))


def rival(policy: str, title: str | None = None, **parameters: Any) -> Contender:
    """Return a rival with its own parameters, see `aomg.policies`."""
    return Contender(title or TITLES[policy], policy, parameters)
