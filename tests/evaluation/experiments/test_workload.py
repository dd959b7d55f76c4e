"""The verdict: insights are measured right on streams whose nature is known, and the rule is the documented one."""

import numpy as np
import pytest

from aomg.evaluation.experiments.workload import EXPERIMENT, TESTED, errors, profile, verdict
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)
SIZE = 16_384


def source_of(values):
    return ValueSource("known", "known", lambda events, start: values[start : start + events], values.size)


def studied(values, tmp_path):
    outcome = Run(tmp_path, TINY, source_of(values)).outcome(EXPERIMENT)
    (row,) = outcome.tables[0].rows
    return dict(zip([column.name for column in outcome.tables[0].columns], row, strict=True)), outcome


def lognormal(size, seed=1):
    return np.exp(np.random.default_rng(seed).normal(7, 0.3, size)).astype(np.int64)


def test_shares_of_distinct_values_are_those_of_windows_and_sub_windows():
    values = np.tile(np.arange(1_000, 3_048), 16)  # 2,048 values, of which three digits leave 205
    features = profile(source_of(values), SIZE, values.size)
    assert features["distinct"] == 2_048 / SIZE
    assert features["sub_distinct"] == 1
    assert features["sub_distinct_3"] == 205 / 2_048
    assert features["sub_distinct_chosen"] == features["sub_distinct_3"]


def test_a_shuffled_stream_is_self_similar_and_a_rising_one_is_not():
    values = lognormal(4 * SIZE)
    still, rising = (
        profile(source_of(values), SIZE, values.size),
        profile(source_of(np.sort(values)), SIZE, values.size),
    )
    for parts in TESTED:
        assert still["spread"][str(parts)]["ratio"][0] == pytest.approx(1, abs=0.35)
        assert rising["spread"][str(parts)]["ratio"][0] > 2


def test_differences_below_a_thousandth_do_not_make_a_stream_unlike_itself():
    level = 1_000_000 + np.repeat(np.arange(32), SIZE // 8)  # every sub-window another, by a millionth
    ratios = profile(source_of(level), SIZE, level.size)["spread"]["8"]["ratio"]
    assert ratios == [1, 1, 1, 1]


def test_the_weight_of_the_tail_is_the_value_of_a_thousandth_of_the_ranks():
    window = np.random.default_rng(3).permutation(np.arange(1, SIZE + 1))
    features = profile(source_of(window), SIZE, SIZE)
    assert features["middle_gap"] == pytest.approx(100 * 16 / 8_192)
    assert features["tail_gap"] == pytest.approx(100 * 16 / 16_368)


def test_a_tail_in_one_sub_window_is_told_from_one_that_is_everywhere():
    values = lognormal(SIZE)
    bursty = values.copy()
    bursty[:100] = 10**6
    assert profile(source_of(values), SIZE, SIZE)["gathered"] < 0.5
    assert profile(source_of(bursty), SIZE, SIZE)["gathered"] == 1


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        (lambda random: random.integers(90, 111, SIZE), 3),
        (lambda random: random.integers(100, 100_000, SIZE), 3),
        (lambda random: 1_000_000 + random.integers(0, 5_000, SIZE), 5),
        (lambda random: 10**9 + random.integers(0, 1_000, SIZE), None),
    ],
    ids=["few values", "many decades", "a narrow band", "a very narrow band"],
)
def test_as_many_digits_as_keep_the_values_apart(values, digits):
    window = values(np.random.default_rng(1))
    assert profile(source_of(window), SIZE, SIZE)["digits"] == digits


def method_errors(mean, few_k):
    """Errors of the two methods at each judged period, the same at every quantile."""
    return {
        str(parts): {"mean": {"mean": [m, None]}, "few-k": {"mean": [k, None]}}
        for parts, m, k in zip(TESTED, mean, few_k, strict=True)
    }


@pytest.mark.parametrize(
    ("mean", "few_k", "least", "smallest"),
    [
        ((5.0, 5.0, 5.0), (9, 9, 9), ["mean", "mean", "mean"], 1_024),
        ((1, 5.01, 1), (1, 1, 1), ["mean", "few-k", "mean"], 16_384),
        ((6, 6, 6), (4, 4, 5.5), ["few-k", "few-k", "envelope"], 4_096),
        ((6, 1, 1), (6, 1, 1), ["envelope", "mean", "mean"], 1_024),
    ],
)
def test_the_least_method_is_the_first_within_five_percent(mean, few_k, least, smallest):
    features = profile(source_of(lognormal(SIZE)), SIZE, SIZE)
    judged = verdict(features, method_errors(mean, few_k))
    assert [judged.least[parts] for parts in TESTED] == least
    assert judged.smallest(131_072) == smallest


def test_the_flags_follow_their_limits():
    spread = {str(parts): {"ratio": [2.0, 2.0, 9.0, 9.0]} for parts in TESTED}
    features = {"spread": spread, "sub_distinct_chosen": 0.49, "tail_gap": 5.1, "digits": 3}
    good = method_errors((1, 1, 1), (1, 1, 1))
    judged = verdict(features, good)
    assert (judged.redundant, judged.self_similar, judged.heavy_tail) == (True, True, True)
    assert judged.suits == "yes, the mean alone"
    spread["32"] = {"ratio": [1.0, 2.1, 1.0, 1.0]}
    judged = verdict(features | {"sub_distinct_chosen": 0.5, "tail_gap": 5.0}, good)
    assert (judged.redundant, judged.self_similar, judged.heavy_tail) == (False, False, False)
    assert judged.suits == "yes, the mean alone, though sub-windows differ"


def test_a_calm_stream_needs_the_mean_alone(tmp_path):
    row, outcome = studied(lognormal(140_000), tmp_path)
    assert row["suits"] == "yes, the mean alone"
    assert row["least settings"] == "digits=3, few_k=None, guarantee=False"
    assert not outcome.claims
    assert [table.title.endswith(" 32,768") for table in outcome.tables] == [True] * 4
    assert "for windows of 32,768 a period of" in outcome.findings[0]


def test_a_stream_whose_parts_are_unlike_needs_the_envelope(tmp_path):
    values = lognormal(140_000)
    loud = np.random.default_rng(2).random(140) < 0.3
    values[np.repeat(loud, 1_000)] *= 20
    row, outcome = studied(values, tmp_path)
    assert row["self-similar"] == "no"
    assert row["suits"] == "only with the envelope"
    assert row["least settings"] == "digits=3, guarantee=0.02"
    assert row["envelope, worst"] <= 2
    assert "not self-similar" in outcome.findings[0]


def test_a_stream_with_bursts_needs_few_k_merging():
    source = of_stream("bursts")
    features = profile(source, 131_072, 150_000)
    judged = verdict(features, errors(source, 131_072, 150_000, features["digits"]))
    assert judged.self_similar
    assert judged.suits == "yes, with few-k merging"
    assert features["gathered"] > 0.9


def test_bursts_of_fewer_values_than_the_detector_can_tell_need_the_envelope(tmp_path):
    # 33 values in a window of 32K; a burst of fewer than about 43 is not told from chance
    row, outcome = studied(of_stream("bursts", size=32_768, period=4_096).values(140_000), tmp_path)
    assert row["self-similar"] == "yes"
    assert row["suits"] == "only with the envelope"
    assert "in one sub-window" in outcome.findings[0]
