"""Random: unbiased ranks, weights that add up, errors as rare as promised, and replays that agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orders import ORDERS, QUANTILES, answers, worst_rank_error, wrong_by

from aomg import Query
from aomg.errors import InputError
from aomg.policies import make
from aomg.policies.kernels.gk import LEAST

SEEDS = range(200)
# the first halves buffers only; the second takes one of 2, of 4... from 160 events on
SKETCHES = {"all values": {"s": 40, "h": 7}, "sampling": {"s": 20, "h": 3}}
every_sketch = pytest.mark.parametrize("parameters", SKETCHES.values(), ids=SKETCHES)


def after(query: Query, values: np.ndarray, **parameters: object):
    operator = make("random", query, **parameters)
    operator.push(values)
    return operator.policy


@every_sketch
@pytest.mark.parametrize("sub_windows", [1, 4])
@pytest.mark.parametrize("order", ["random", "descending", "organ pipe", "twenty-one values"])
def test_ranks_are_unbiased_over_two_hundred_seeds(order, sub_windows, parameters):
    query = Query(3_000, 3_000 // sub_windows)
    values = ORDERS[order](3_000)
    limits = np.quantile(values, [0.05, 0.3, 0.5, 0.77, 0.98], method="inverted_cdf")
    off = []
    for seed in SEEDS:
        entries = after(query, values, seed=seed, **parameters).samples()
        reached = np.concatenate([[0], np.cumsum(entries.steps[:, LEAST])])
        off.append(reached[np.searchsorted(entries.values, limits, "right")] - (values[:, None] <= limits).sum(0))
    off = np.array(off)
    standard_error = off.std(0, ddof=1) / np.sqrt(len(SEEDS))
    assert len(entries.values) < values.size / 2
    assert (np.abs(off.mean(0)) <= 3 * standard_error + 1e-9).all()


@pytest.mark.parametrize("order", ["random", "descending", "organ pipe"])
def test_answers_miss_epsilon_no_more_often_than_one_time_in_ten(order):
    epsilon = 0.05
    values = ORDERS[order](4_000)
    query = Query(4_000, 4_000, quantiles=(0.1, 0.5, 0.9))
    ordered = np.sort(values)
    missed, wrong = np.zeros(3), []
    for seed in SEEDS:
        policy = after(query, values, seed=seed, epsilon=epsilon)
        results = policy.answer(values.size)[:, 0]
        errors = [
            wrong_by(ordered, value, rank) for value, rank in zip(results, policy.quantiles.ranks(4_000), strict=True)
        ]
        missed += np.array(errors) > epsilon * values.size
        wrong.append(errors)
    assert (missed / len(SEEDS) <= 0.1).all()
    assert np.max(wrong) > 0


def test_answers_of_a_window_are_too_high_as_often_as_too_low():
    values = ORDERS["random"](32_768)
    query = Query(32_768, 16_384, quantiles=(0.25, 0.5, 0.9, 0.99))
    ordered = np.sort(values)
    signed = []
    for seed in SEEDS:
        policy = after(query, values, seed=seed)
        signed.append(
            np.searchsorted(ordered, policy.answer(values.size)[:, 0]) + 1 - policy.quantiles.ranks(values.size)
        )
    standard_error = np.std(signed, axis=0, ddof=1) / np.sqrt(len(SEEDS))
    assert (standard_error > 0).all()
    assert (np.abs(np.mean(signed, axis=0)) <= 3 * standard_error).all()
    assert np.max(np.abs(signed)) <= 0.015 * values.size


def test_a_window_of_many_sketches_is_more_accurate_than_each():
    values = ORDERS["random"](16_000)
    error = {}
    for sub_windows in (1, 8):
        query = Query(2_000 * sub_windows, 2_000, quantiles=(0.5,))
        ordered = np.sort(values[-query.size :])
        signed = []
        for seed in range(60):
            policy = after(query, values, seed=seed, s=30, h=4)
            signed.append(np.searchsorted(ordered, policy.answer(query.size)[0, 0]) + 1 - query.size / 2)
        error[sub_windows] = np.std(signed) / query.size
    assert error[8] < 0.6 * error[1]


@given(st.integers(1, 25), st.integers(1, 5), st.integers(1, 3_000), st.integers(0, 99))
def test_weights_add_up_to_the_elements(s, h, count, seed):
    values = np.random.default_rng(count).random(count)
    query = Query(count, count)
    policy = make("random", query, s=s, h=h, seed=seed).policy
    policy.accumulate(values)
    assert (np.bincount(policy._levels + 1)[1:] <= h + 1).all()
    policy.close()
    sampled_from = policy.parameters()["sampling_after"]
    assert sampled_from == s * 2**h
    of_block = 1
    while count > sampled_from * of_block:
        of_block *= 2
    assert abs(policy.weight() - count) < of_block
    if count % of_block == 0:
        assert policy.weight() == count
    entries = policy.samples()
    assert entries.steps[:, LEAST].sum() == policy.weight()
    assert np.isin(entries.values, values).all()
    assert len(entries.values) <= s * (h + 1)


def test_a_sampling_block_that_does_not_end_keeps_its_share_of_weight_on_average():
    values = np.random.default_rng(1).random(10 * 16 + 3)
    query = Query(values.size, values.size)
    weights = [after(query, values, s=10, h=1, seed=seed).weight() for seed in range(400)]
    assert set(weights) == {160, 176}
    assert abs(np.mean(weights) - values.size) <= 3 * np.std(weights) / np.sqrt(len(weights))


def test_short_sub_windows_are_exact():
    query = Query(4_000, 1_000, quantiles=QUANTILES)
    for order in ORDERS:
        assert worst_rank_error("random", query, ORDERS[order](9_500)) == 0


@pytest.mark.parametrize("size", [1, 10, 130, 2_000])
def test_one_sub_window_alone_keeps_the_rank_error(size):
    query = Query(size, size, quantiles=QUANTILES)
    for order in ("random", "descending", "organ pipe", "few values, then many"):
        assert worst_rank_error("random", query, ORDERS[order](int(20.5 * size)), epsilon=0.015) <= 0.015


@every_sketch
@given(st.data())
def test_neither_how_pushes_are_cut_nor_a_replay_changes_answers(parameters, data):
    query = Query(2_400, 800, quantiles=QUANTILES)
    values = ORDERS["long tail"](5_150)
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=12)))
    want, got = make("random", query, **parameters), make("random", query, **parameters)
    expected = answers(want, values)
    results = [result for part in np.split(values, cuts) for result in got.push(part)] + list(got.finish())
    assert [[result[q].value for q in query.quantiles] for result in results] == expected
    assert got.variables() == want.variables()


def test_another_seed_or_another_sub_window_draws_other_samples():
    values = ORDERS["random"](2_000)
    query = Query(2_000, 2_000)
    again = np.concatenate([values, values])
    one = after(query, values, seed=1, s=20, h=3).samples().values
    other = after(query, values, seed=2, s=20, h=3).samples().values
    second = after(query, again, seed=1, s=20, h=3).samples().values
    assert one.tolist() != other.tolist()
    assert one.tolist() != second.tolist()


def test_looking_at_the_space_changes_no_answer():
    query = Query(1_000, 200)
    plain, watched = make("random", query, s=10, h=2).policy, make("random", query, s=10, h=2).policy
    for number, part in enumerate(ORDERS["ascending"](4_000).reshape(-1, 200)):
        results = []
        for policy in (plain, watched):
            policy.accumulate(part)
            policy.close()
            if policy is watched:
                policy.variables()
            if number >= 5:
                policy.expire()
            results.append(policy.answer(200 * min(5, number + 1))[:, 0].tolist())
        assert results[0] == results[1]
        assert plain.nbytes == watched.nbytes


def test_what_has_left_the_window_is_forgotten():
    query = Query(4_000, 500, quantiles=QUANTILES)
    values = np.concatenate([np.zeros(4_500), np.random.default_rng(1).random(4_500) + 100])
    results = np.array(answers(make("random", query, s=30, h=3), values))
    assert (results[:9] == 0).all()
    assert (results[17:] >= 100).all()
    assert len(results) == 18


@pytest.mark.parametrize("order", ["random", "ascending", "three values"])
def test_there_never_are_more_variables_than_the_analysis_says(order):
    for parameters in SKETCHES.values():
        operator = make("random", Query(12_000, 1_500), **parameters)
        answers(operator, ORDERS[order](30_700))
        assert 0 < operator.most_variables() <= operator.policy.analytical()
        assert operator.nbytes >= 24 * operator.policy.samples().values.size


def test_the_parameters_are_those_of_the_co_authors_code_unless_given():
    query = Query(131_072, 16_384)
    shown = make("random", query).policy.parameters()
    assert shown == {"epsilon": 0.015, "s": 172, "h": 7, "seed": 1, "sampling_after": 22_016}
    shown = make("random", query, s=165, h=6, seed=9).policy.parameters()
    assert shown == {"epsilon": 0.015, "s": 165, "h": 6, "seed": 9, "sampling_after": 10_560}


def test_wrong_parameters_are_refused_with_what_to_do():
    for wrong in ({"epsilon": 0}, {"s": 0}, {"h": 1.5}, {"seed": -1}, {"seed": None}, {"s": True}):
        with pytest.raises(InputError, match="must"):
            make("random", Query(100, 10), **wrong)
