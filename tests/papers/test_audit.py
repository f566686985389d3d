"""How an audit decides, and how seldom it errs."""

import math

import numpy as np
import pytest

from posse.papers import audit
from posse.papers import noise as bits
from posse.papers.dubey import privacy as dubey
from posse.papers.li import noise as li
from posse.papers.rio import privacy as rio
from posse.papers.tossou import sums as tossou
from tests.support.papers import GENERATOR


def test_the_audits_intervals_by_hand():
    # all hits: (ERROR/2)^(1/n); none: 1 - (ERROR/2)^(1/n)
    n = 1000
    low = (audit.ERROR / 2) ** (1 / n)
    assert audit.epsilon_at_least(n, 0, n) == pytest.approx(math.log(low / (1 - low)))
    assert audit.epsilon_at_least(n, 0, n, 0.5) == pytest.approx(math.log((low - 0.5) / (1 - low)))
    assert audit.epsilon_at_least(0, 0, n) == 0
    assert audit.epsilon_at_least(500, 500, n) == 0
    assert audit.epsilon_at_least(n, n, n) == 0


def test_an_audit_seldom_finds_more_than_is_spent():
    # randomised response with ε = 1; 400 audits, so that 0.4 are expected to find more
    generator, yes = GENERATOR(1), math.e / (1 + math.e)
    hits, others = generator.binomial(2000, [[yes], [1 - yes]], (2, 400))
    found = [
        audit.epsilon_at_least(int(a), int(b), 2000) for a, b in zip(hits, others, strict=True)
    ]
    assert sum(epsilon > 1 for epsilon in found) <= 4
    assert np.mean(found) > 0.7


def test_numpys_draws_are_recognised():
    drawn = GENERATOR(2).laplace(0.0, 2.0, 2000)
    assert all(audit.numpy_adds(0.0, float(y), 2.0) for y in drawn)
    moved = 1.0 + GENERATOR(2).laplace(0.0, 2.0, 2000)
    assert all(audit.numpy_adds(1.0, float(y), 2.0) for y in moved)
    assert not all(audit.numpy_adds(0.0, float(y), 2.0) for y in moved)


@pytest.mark.parametrize(
    ("of", "arguments", "variant", "over"),
    [
        (rio.dp_mase, (1.0, 1.0), "corrected", False),
        (rio.dp_mase, (1.0, 10.0), "corrected", True),
        (rio.votes, (1.0, "moved"), "corrected", True),
        (dubey.laplace, (0.5,), "corrected", True),
        (dubey.laplace, (2.0,), "corrected", False),
        (dubey.message, (1.0,), "corrected", False),
        (dubey.message, (1.0,), "printed", True),
        (dubey.messages, (1.0,), "corrected", False),
        (dubey.messages, (1.0,), "printed", True),
        (tossou.hybrid, (1.0, "half"), "corrected", False),
        (tossou.hybrid, (1.0, "tossou"), "corrected", True),
        (tossou.tree, (1.0, "tree"), "corrected", False),
        (tossou.tree, (1.0, "honaker"), "corrected", False),
        (li.first_message, (4, 0.5, "printed", 0.5), "corrected", True),
        (li.first_message, (4, 0.5, "printed", 2.0), "corrected", False),
        (li.first_message, (4, 0.5, "per_agent", 0.5), "corrected", False),
        (li.shared_sum, (4, 0.5, 1e-6), "corrected", False),
        (bits.numpy_noise, (1.0,), "corrected", True),
    ],
)
def test_mechanisms_that_must_pass_and_that_must_fail(of, arguments, variant, over):
    found = of(variant, GENERATOR(3), 3000, *arguments)
    assert (found["found"] > found["claimed"]) is over
    if not over:
        # and not for want of power: something is found
        assert found["value"] > 0.05


def test_the_hybrid_mechanism_spends_all_of_its_epsilon():
    assert tossou.hybrid("corrected", GENERATOR(4), 20_000, 1.0, "half")["found"] > 0.85


def test_the_tree_spends_all_of_its_epsilon() -> None:
    assert tossou.tree("corrected", GENERATOR(4), 20_000, 1.0, "tree")["found"] > 0.8


def test_a_row_that_is_taken_out_costs_more_than_epsilon() -> None:
    """The claim "one per record" of 66a882c held for the value of a row alone."""
    assert rio.votes("corrected", GENERATOR(5), 20_000, 1.0, "taken out")["found"] > 1.0
    assert 0.05 < rio.votes("corrected", GENERATOR(5), 20_000, 1.0, "value")["found"] < 1.0
