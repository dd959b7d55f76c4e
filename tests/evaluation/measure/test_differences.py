"""What is far from the paper's numbers is told, the furthest first; what is near is not."""

from hypothesis import given
from hypothesis import strategies as st

from aomg.evaluation.measure.differences import Pair, differences

number = st.floats(0, 1e6)


def test_a_number_is_far_by_half_of_the_papers_and_by_the_least():
    assert not Pair("a", 1.5, 1.0).is_far(1.0)  # half of it, but less than one
    assert not Pair("a", 14.9, 10.0).is_far(1.0)
    assert Pair("a", 15.1, 10.0).is_far(1.0)
    assert Pair("a", 0.0, 2.5).is_far(1.0)


def test_near_numbers_have_no_sentence():
    assert differences("Table 2", [Pair("a", 1.0, 1.2), Pair("b", 30.0, 28.47)], why="Because.") == []


def test_the_furthest_are_named_and_the_others_counted():
    pairs = [Pair(f"Q{n}", 10.0 * n, 10.0) for n in range(1, 6)]
    (sentence,) = differences("Table 2", pairs, why="The tail is drawn.", most=2)
    assert sentence == (
        "Table 2, far from the paper's numbers: Q5 50.00 % (the paper 10.00 %); Q4 40.00 % (the paper 10.00 %); "
        "and 2 more. The tail is drawn."
    )


def test_numbers_are_printed_as_the_paper_prints_them():
    assert str(Pair("AM", 149_454, 45_309, digits=0, unit="")) == "AM 149,454 (the paper 45,309)"
    assert str(Pair("CMQS", 109.84, 28.47, beside="rank 7")) == "CMQS 109.84 % (the paper 28.47 %; rank 7)"


@given(st.lists(st.builds(Pair, st.text("ab", max_size=2), number, number), max_size=8), st.integers(1, 4))
def test_as_many_are_told_as_are_far(pairs, most):
    far = [pair for pair in pairs if pair.is_far(1.0)]
    sentences = differences("x", pairs, most=most)
    assert len(sentences) == bool(far)
    if far:
        assert sentences[0].count("(the paper ") == min(len(far), most)
        assert (f"and {len(far) - most} more" in sentences[0]) == (len(far) > most)
