"""Runs of the local operator and of other policies that are recorded: what is asked, what is pushed, how it is cut."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from oracle_inputs import SECOND, TIMES, VALUES, below, decimals, latencies, raw
from oracle_records import Outcome, digest, result_rows

from aomg import FewK, Operator, Query, Results
from aomg.policies import make

DIGITS = (1, 2, 3, 4, 5, 6, None)
FEW_K = {
    "default": FewK(),
    "one tenth": FewK(fraction=0.1),
    "everything": FewK(fraction=1),
    "budget": FewK(budget=40),
    "small budget": FewK(budget=5),
    "biased samples": FewK(fraction=0.2, offset="paper"),
    "never top-k": FewK(threshold=0),
    "always top-k": FewK(threshold=1000),
    "high from 0.9": FewK(high=0.9, fraction=0.3),
    "small effect": FewK(burst=0.1, high=0.9),
    "large effect": FewK(burst=0.9, high=0.9),
}


@dataclass(frozen=True)
class Case:
    """A query, what is pushed, into how many pushes it is cut, and after which of them the operator is saved."""

    query: Query
    values: Any
    times: Any = None
    cut: str = "whole"
    saved: tuple[int, ...] = ()
    advance: bool = False

    def pushes(self) -> Iterator[tuple[Any, Any]]:
        size = len(self.values)
        for first, last in itertools.pairwise(EDGES[self.cut](size)):
            yield self.values[first:last], None if self.times is None else self.times[first:last]

    def run(self) -> Outcome:
        operator, rows = Operator(self.query), []
        for number, (values, times) in enumerate(self.pushes()):
            rows += result_rows(_push(operator, values, times))
            if number in self.saved:
                operator = Operator.load(self.query, operator.save())
            if self.advance and len(times):
                rows += result_rows(operator.advance(np.max(times) + np.timedelta64(5 * SECOND, "us")))
        totals = {
            "refused": str(operator.refused),
            "late": str(operator.late),
            "open": str(operator.open),
            "variables": str(operator.variables()),
            "saved": digest(operator.save()),
        }
        rows += result_rows(operator.finish())
        return Outcome(rows, totals | {"finished": digest(operator.save()), "query": self.query.fingerprint})


def _push(operator: Operator, values: Any, times: Any) -> Results:
    return operator.push(values) if times is None else operator.push(values, times)


EDGES = {
    "whole": lambda size: [0, size],
    "thirds": lambda size: [0, size // 3, 2 * size // 3, size],
    "sevenths": lambda size: [size * part // 7 for part in range(8)],
    "uneven": lambda size: [0, 1, 1, 2, size // 9, size // 9 + 250, size // 2 + 3, size - 1, size, size],
    "ones": lambda size: [*range(0, 300), size],
}


def instants_of(kind: str, seed: int, size: int) -> Any:
    return TIMES[kind](seed, size).astype("datetime64[us]")


# -- windows counted in elements ---------------------------------------------------------------------------------------

COUNTED = Query(1000, 250, quantiles=(0.001, 0.5, 0.9, 0.99, 0.999))
WIDE = Query(2000, 500, quantiles=(0.5, 0.9, 0.99, 0.999))
PAPER = Query.paper(1000, 250)


def counted_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for digits, (index, kind) in itertools.product(DIGITS, enumerate(VALUES)):
        thresholds = (-1.5, 0.0, 1000.0) if index % 2 else ()
        query = COUNTED.replace(digits=digits, thresholds=thresholds)
        cases[f"{digits} digits, {kind}"] = Case(query, VALUES[kind](100 + index, 2_850))
    for digits, kind in itertools.product(DIGITS, ("latencies", "bursts", "heavy tail", "signed reals", "longs")):
        query = COUNTED.replace(digits=digits, guarantee=False)
        cases[f"{digits} digits, no guarantee, {kind}"] = Case(query, VALUES[kind](200, 2_850), cut="thirds")
    for (index, name), kind, guarantee_name in itertools.product(
        enumerate(FEW_K), ("bursts", "heavy tail"), ("no guarantee", "always")
    ):
        few_k = FEW_K[name]
        guarantee: Any = False
        if guarantee_name == "always":
            few_k, guarantee = FewK(**{**vars(few_k), "always": True}), None
        query = WIDE.replace(few_k=few_k, guarantee=guarantee, digits=DIGITS[index % 7])
        cases[f"few-k {name}, {guarantee_name}, {kind}"] = Case(query, VALUES[kind](300 + index, 6_200))
    for (index, name), kind in itertools.product(enumerate([None, *FEW_K]), ("latencies", "heavy tail", "bursts")):
        query = Query.paper(2000, 500, few_k=None if name is None else FEW_K[name])
        cases[f"paper, few-k {name}, {kind}"] = Case(query, VALUES[kind](400 + index, 6_200), cut="sevenths")
    for kind in ("any integers", "longs", "tiny", "huge", "zeros", "ties", "not all finite"):
        cases[f"paper, {kind}"] = Case(PAPER, VALUES[kind](420, 2_850), cut="uneven")
    for digits, guarantee in ((2, 0.05), (2, 0.5), (3, 0.005), (3, 0.1), (4, 0.005), (5, 0.01), (None, 0.005)):
        query = WIDE.replace(digits=digits, guarantee=guarantee, few_k=None)
        cases[f"{digits} digits, guarantee {guarantee}"] = Case(query, VALUES["bursts"](500, 6_200))
    for name, query in _kinds_of_queries(Query(20_000, 5_000, quantiles=(0.5, 0.99))).items():
        cases[f"bursts, {name}"] = Case(query, VALUES["bursts"](550, 61_000), cut="sevenths")
    cases |= _shapes() | _cuts() | _doors() | _saved()
    for name, query in {"three digits": Query(100_000, 10_000), "paper": Query.paper(100_000, 10_000)}.items():
        cases[f"many elements, {name}"] = Case(query, VALUES["bursts"](600, 250_000), cut="sevenths")
    return cases


def _shapes() -> dict[str, Case]:
    shapes = {
        "tumbling": COUNTED.replace(size=250),
        "tumbling, raw": PAPER.replace(size=250),
        "full windows only": COUNTED.replace(partial=False),
        "periods of one element": COUNTED.replace(size=7, period=1),
        "periods of one element, raw": PAPER.replace(size=7, period=1),
        "100 sub-windows": COUNTED.replace(size=2500, period=25),
        "100 sub-windows, no guarantee": COUNTED.replace(size=2500, period=25, guarantee=False),
        "one quantile": COUNTED.replace(quantiles=1),
        "twenty quantiles": COUNTED.replace(quantiles=[f"0.{part:02}" for part in range(5, 100, 5)] + ["1"]),
        "quantiles of nine decimals": COUNTED.replace(quantiles=["0.999999999", "0.123456789", "0.000000001"]),
        "many thresholds": COUNTED.replace(thresholds=[100.5, 550, 700, 1e4, -1e300, 6200, 1e300]),
        "no few-k": COUNTED.replace(few_k=None),
    }
    return {f"shape: {name}": Case(query, latencies(700, 2_850)) for name, query in shapes.items()}


def _kinds_of_queries(query: Query) -> dict[str, Query]:
    """One for each way in which an operator counts and answers."""
    few_k = FEW_K["one tenth"]
    return {
        "three digits": query.replace(thresholds=(1000.0,)),
        "one digit": query.replace(digits=1),
        "five digits": query.replace(digits=5, thresholds=(1000.0,)),
        "raw": query.replace(digits=None),
        "no guarantee": query.replace(guarantee=False, few_k=FEW_K["budget"]),
        "raw, no guarantee": query.replace(digits=None, guarantee=False),
        "always few-k": query.replace(few_k=FewK(fraction=0.3, always=True)),
        "full windows only": query.replace(partial=False),
        "paper": query.replace(digits=None, guarantee=False, few_k=few_k, partial=False, as_paper=True),
    }


def _cuts() -> dict[str, Case]:
    return {
        f"cut {cut}, {name}": Case(query, VALUES["bursts"](800, 2_850), cut=cut)
        for cut in EDGES
        for name, query in _kinds_of_queries(COUNTED).items()
        if name in ("three digits", "five digits", "raw, no guarantee", "paper")
    }


def _doors() -> dict[str, Case]:
    """Every kind of array and sequence that may be pushed."""
    whole, missing = latencies(900, 2_850), below(30, 901, 2_850) == 0
    arrays = {
        "int32": whole.astype(np.int32),
        "int8": (whole % 100).astype(np.int8),
        "doubles of uint64 beyond 2^63": raw(902, 2_850).astype(np.float64),
        "float32": (whole / 8).astype(np.float32),
        "a strided array": np.repeat(whole, 2)[::2],
        "a list with None": [None if gone else value for value, gone in zip(whole.tolist(), missing, strict=True)],
        "a masked array": np.ma.masked_array(whole, missing),
        "Arrow integers with nulls": pa.array(whole, mask=missing),
        "Arrow reals with nulls": pa.array(decimals(900, 2_850), mask=missing),
        "whole reals and others": np.where(missing, whole / 7.0, whole),
    }
    cases = {f"pushed as {name}": Case(COUNTED, values, cut="thirds") for name, values in arrays.items()}
    cases |= {
        f"pushed as {name}, paper": Case(PAPER, arrays[name], cut="thirds")
        for name in ("int32", "float32", "a list with None", "Arrow integers with nulls")
    }
    return cases


def _saved() -> dict[str, Case]:
    return {
        f"saved and loaded, {name}, {kind}": Case(query, VALUES[kind](1000, 2_850), cut="sevenths", saved=(0, 2, 3, 5))
        for name, query in _kinds_of_queries(COUNTED).items()
        for kind in ("bursts", "signed reals")
    }


# -- windows in event time ---------------------------------------------------------------------------------------------

TIMED = Query("5 minutes", "1 minute", quantiles=(0.5, 0.9, 0.99), lateness="10 seconds")


def timed_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for digits, kind in itertools.product(
        DIGITS, ("latencies", "bursts", "signed reals", "longs", "every magnitude", "not all finite")
    ):
        times = instants_of("out of order", 1101, 2_000)
        cases[f"{digits} digits, {kind}"] = Case(TIMED.replace(digits=digits), VALUES[kind](1100, 2_000), times)
    for when, lateness, (index, (name, query)) in itertools.product(
        TIMES, ("0 seconds", "10 seconds", "1 hour"), enumerate(_kinds_of_queries(TIMED).items())
    ):
        if name in ("three digits", "raw", "no guarantee", "paper"):
            patient = query.replace(lateness=lateness)
            times = instants_of(when, 1201, 1_500)
            cut = ("whole", "thirds", "sevenths", "uneven")[index % 4]
            cases[f"{when}, lateness {lateness}, {name}"] = Case(patient, VALUES["bursts"](1200, 1_500), times, cut)
    for name, query in _kinds_of_queries(TIMED).items():
        values = VALUES["signed reals"](1300, 1_500)
        times = instants_of("partly late", 1301, 1_500)
        cases[f"advanced, {name}"] = Case(query, values, times, "sevenths", advance=True)
        patient = query.replace(lateness="90 seconds")
        cases[f"saved and loaded, {name}"] = Case(patient, values, times, "sevenths", (0, 2, 3, 5))
        values, times = VALUES["bursts"](1350, 60_000), instants_of("out of order", 1351, 60_000)
        cases[f"bursts, {name}"] = Case(query.replace(few_k=FEW_K["high from 0.9"]), values, times, "thirds")
    for name, query in {
        "periods of a second": TIMED.replace(size="1 minute", period="1 second"),
        "tumbling": TIMED.replace(size="1 minute"),
        "a day": TIMED.replace(size="1 day", period="5 minutes"),
    }.items():
        cases[name] = Case(query, latencies(1400, 1_500), instants_of("with idle times", 1401, 1_500))
    without = instants_of("out of order", 1501, 1_500)
    without[::50] = np.datetime64("NaT")
    cases["events without a time"] = Case(TIMED, VALUES["not all finite"](1500, 1_500), without, "thirds")
    seconds = instants_of("out of order", 1501, 1_500).astype("datetime64[s]")
    cases["times in seconds"] = Case(TIMED, decimals(1500, 1_500), seconds, "thirds")
    return cases


# -- operators that are kept -------------------------------------------------------------------------------------------

KEPT_AFTER = 3
"""After which of seven pushes the operators are kept."""


def kept_cases() -> dict[str, Case]:
    """Streams whose operators are kept in the middle, as bytes, to be loaded ever after."""
    return {
        **{f"counted, {name}": case for name, case in counted_cases().items() if name.startswith("saved and loaded")},
        **{f"timed, {name}": case for name, case in timed_cases().items() if name.startswith("saved and loaded")},
        "timed, idle": Case(TIMED, latencies(1400, 1_500), instants_of("with idle times", 1401, 1_500), "sevenths"),
        "counted, longs": Case(COUNTED.replace(digits=None), VALUES["longs"](1450, 2_850), cut="sevenths"),
        "counted, every magnitude": Case(COUNTED, VALUES["every magnitude"](1450, 2_850), cut="sevenths"),
    }


def keep(case: Case) -> bytes:
    """The operator in the middle of its stream."""
    operator = Operator(case.query)
    for values, times in itertools.islice(case.pushes(), KEPT_AFTER):
        _push(operator, values, times)
    return operator.save()


def go_on(case: Case, saved: bytes) -> Outcome:
    """What a kept operator gives for the rest of its stream."""
    return _rest(case, Operator.load(case.query, saved))


def not_interrupted(case: Case) -> Outcome:
    """What an operator gives for the rest that was never saved."""
    operator = Operator(case.query)
    for values, times in itertools.islice(case.pushes(), KEPT_AFTER):
        _push(operator, values, times)
    return _rest(case, operator)


def _rest(case: Case, operator: Operator) -> Outcome:
    rows = []
    for values, times in itertools.islice(case.pushes(), KEPT_AFTER, None):
        rows += result_rows(_push(operator, values, times))
    totals = {name: str(getattr(operator, name)) for name in ("refused", "late", "open")}
    return Outcome([*rows, *result_rows(operator.finish())], totals | {"finished": digest(operator.save())})


# -- other policies ----------------------------------------------------------------------------------------------------

OURS = {
    "exact": {},
    "exact-sorted": {},
    "cmqs": {},
    "cmqs, lifted": {"rule": "lift"},
    "cmqs, buffered": {"buffered": True},
    "am": {},
    "am, coarse": {"epsilon": 0.05},
    "random": {},
    "random, another seed": {"seed": 7},
    "histogram": {},
}
"""Policies of which two runs give the same bits."""
SKETCHES = {"t-digest": {}, "fastdigest": {}, "ddsketch": {}, "hdr-histogram": {"unit": 0.001}}
"""The same, in libraries of others, which use the machine's logarithms; KLL, REQ and the classic sketch draw lots."""


@dataclass(frozen=True)
class PolicyCase:
    """A policy and what is pushed."""

    name: str
    query: Query
    values: Any
    parameters: dict[str, Any]
    digits: int | None = None

    def run(self) -> Outcome:
        policy, rows = make(self.name, self.query, **self.parameters), []
        for first, last in itertools.pairwise(EDGES["thirds"](len(self.values))):
            rows += result_rows(policy.push(self.values[first:last]), self.digits)
        totals = {"refused": str(policy.refused), "variables": str(policy.variables()), "open": str(policy.open)}
        return Outcome([*rows, *result_rows(policy.finish(), self.digits)], totals)


def policy_cases() -> dict[str, PolicyCase]:
    query = Query(2000, 500, quantiles=(0.5, 0.9, 0.99))
    cases = {}
    for kind in ("bursts", "heavy tail", "not all finite"):
        values = VALUES[kind](1600, 5_200)
        for name, parameters in OURS.items():
            cases[f"{name}, {kind}"] = PolicyCase(name.partition(",")[0], query, values, parameters)
        for name, parameters in SKETCHES.items():
            cases[f"{name}, {kind}"] = PolicyCase(name, query, values, parameters, 9)
    for name in ("exact", "am", "random", "histogram"):
        values = VALUES["signed reals"](1700, 3_100)
        cases[f"{name}, tumbling, signed reals"] = PolicyCase(name, query.replace(size=500), values, {})
    return cases


def moments() -> dict[str, list[list[float]]]:
    """What the policy `moment` estimates: an optimum that is found in steps, so that its last digits may differ."""
    estimates = {}
    for kind in ("latencies", "bursts", "signed reals"):
        policy = make("moment", Query(2000, 500, quantiles=(0.5, 0.9, 0.99)))
        results = policy.push(VALUES[kind](1800, 4_000))
        estimates[kind] = [results.values(quantile).tolist() for quantile in (0.5, 0.9, 0.99)]
    return estimates
