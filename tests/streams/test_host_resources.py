import numpy as np
import pytest

from aomg.streams import host_resources, pingmesh


@pytest.mark.parametrize(("resource", "most"), [("memory", 5_300), ("cpu", 10_000)])
def test_values_are_bounded_and_small_ranks_mean_small_errors(resource, most):
    values = np.sort(host_resources(resource=resource).take(1_000_000))
    assert values[0] > 0 and values[-1] <= most
    exact = values[999_000 - 1]
    wrong_by_the_papers_epsilon = values[[984_000, 999_999]]
    assert np.abs(wrong_by_the_papers_epsilon / exact - 1).max() < 0.05


def test_the_same_ranks_mean_large_errors_where_the_tail_is_heavy():
    values = np.sort(pingmesh().take(1_000_000))
    assert values[-1] / values[999_000 - 1] > 10


def test_a_resource_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match="there are memory, cpu"):
        host_resources(resource="disk")
