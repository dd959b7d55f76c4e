import pytest
from benchmarks.core import few_k, magnitudes, scaling, throughput


@pytest.mark.parametrize("benchmark", [throughput, few_k, magnitudes], ids=lambda module: module.__name__)
def test_every_case_runs_and_says_how_long_it_took(benchmark):
    cases = benchmark.cases(quick=True)
    assert len(cases) >= 3
    assert all(run() > 0 for run in cases.values())


def test_windows_are_full_before_they_are_measured(monkeypatch):
    monkeypatch.setattr(scaling, "SIZES", (1_000, 10_000))
    cases = scaling.cases(quick=True)
    assert list(cases) == [
        f"{mode}, P = 1K, N = {size}" for mode in ("default query", "paper mode") for size in ("1K", "10K")
    ]
    assert all(run() > 0 for run in cases.values())
