"""Mechanisms whose telling event is known."""

import pytest

from posse_papers import noise as bits
from posse_papers.dubey import theory as dubey
from posse_papers.li import theory as li
from posse_papers.rio import theory as rio
from posse_papers.tossou import theory as tossou
from tests.support.papers import GENERATOR


def test_numpys_draws_are_recognised():
    drawn = GENERATOR(2).laplace(0.0, 2.0, 2000)
    assert all(bits.numpy_adds(0.0, float(y), 2.0) for y in drawn)
    moved = 1.0 + GENERATOR(2).laplace(0.0, 2.0, 2000)
    assert all(bits.numpy_adds(1.0, float(y), 2.0) for y in moved)
    assert not all(bits.numpy_adds(0.0, float(y), 2.0) for y in moved)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "arguments", "more", "over"),
    [
        (rio.votes, (1.0, "moved"), {"variant": "corrected"}, True),
        (dubey.laplace, (0.5,), {}, True),
        (dubey.laplace, (2.0,), {}, False),
        (dubey.message, (1.0,), {"variant": "corrected"}, False),
        (dubey.message, (1.0,), {"variant": "printed"}, True),
        (tossou.tree, (1.0, "tree"), {}, False),
        (tossou.tree, (1.0, "honaker"), {}, False),
        (li.first_message, (4, 0.5, "per_agent", 0.5), {}, False),
        (li.shared_sum, (4, 0.5, 1e-6), {}, False),
        (bits.numpy_noise, (1.0,), {}, True),
    ],
)
def test_mechanisms_that_must_pass_and_that_must_fail(of, arguments, more, over):
    found = of(3000, *arguments, generator=GENERATOR(3), **more)
    assert (found["found"] > found["claimed"]) is over
    if not over:
        # and not for want of power: something is found
        assert found["value"] > 0.05


@pytest.mark.slow
def test_the_tree_spends_all_of_its_epsilon() -> None:
    assert tossou.tree(20_000, 1.0, "tree", generator=GENERATOR(4))["found"] > 0.8


@pytest.mark.slow
def test_a_row_that_is_taken_out_costs_more_than_epsilon() -> None:
    """The claim "one per record" of 66a882c held for the value of a row alone."""

    def found(change: rio.Change) -> float:
        of = rio.votes(20_000, 1.0, change, variant="corrected", generator=GENERATOR(5))
        return of["found"]

    assert found("taken out") > 1.0
    assert 0.05 < found("value") < 1.0
