"""The contenders: AOMG as the paper ran it, AOMG with its defaults, and every rival, with the same methods."""

from dataclasses import dataclass, field
from typing import Any

from aomg import FewK, Operator, Query
from aomg.policies import PolicyOperator, make, titles

Runner = Operator | PolicyOperator


@dataclass(frozen=True)
class Contender:
    """A way to compute windows. `policy` is the name of a rival; without it, AOMG with these query arguments."""

    title: str
    policy: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    as_paper: bool = False

    def start(self, size: int, period: int, quantiles: tuple[Any, ...]) -> Runner:
        """Return a new operator. All report full windows only, as the paper does."""
        if self.policy is not None:
            return make(self.policy, Query(size, period, quantiles=quantiles, partial=False), **self.parameters)
        if self.as_paper:
            return Operator(Query.paper(size, period, quantiles=quantiles, **self.parameters))
        return Operator(Query(size, period, quantiles=quantiles, partial=False, **self.parameters))


def paper_aomg(few_k: FewK | None = None, title: str = "AOMG (paper)") -> Contender:
    """Return AOMG as the paper ran it: raw values, plain mean, no envelope; few-k merging if given."""
    return Contender(title, parameters={"few_k": few_k}, as_paper=True)


def default_aomg(title: str = "AOMG (default)", **query: Any) -> Contender:
    """Return AOMG with its defaults (three digits, envelope, band, guarantee), or with other query arguments."""
    return Contender(title, parameters=query)


TITLES = titles()
EXACT = ("exact", "exact-sorted")
PAPERS_RIVALS = ("cmqs", "am", "random", "moment")
MODERN_RIVALS = tuple(name for name in TITLES if name not in (*EXACT, *PAPERS_RIVALS))


def rival(policy: str, title: str | None = None, **parameters: Any) -> Contender:
    """Return a rival with its own parameters; see `aomg.policies`."""
    return Contender(title or TITLES[policy], policy, parameters)


def sketches() -> list[Contender]:
    """Return the paper's rivals and the modern ones, with their defaults."""
    return [rival(policy) for policy in (*PAPERS_RIVALS, *MODERN_RIVALS)]


def everyone() -> list[Contender]:
    """Return AOMG in both modes, the exact policies and all sketches."""
    return [paper_aomg(), default_aomg(), *(rival(policy) for policy in EXACT), *sketches()]
