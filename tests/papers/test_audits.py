"""Audits of mechanisms: who must pass, and who must fail."""

import pytest

from posse.papers import audit, audits
from tests.support.papers import GENERATOR


def test_numpys_draws_are_recognised():
    drawn = GENERATOR(2).laplace(0.0, 2.0, 2000)
    assert all(audit.numpy_adds(0.0, float(y), 2.0) for y in drawn)
    moved = 1.0 + GENERATOR(2).laplace(0.0, 2.0, 2000)
    assert all(audit.numpy_adds(1.0, float(y), 2.0) for y in moved)
    assert not all(audit.numpy_adds(0.0, float(y), 2.0) for y in moved)


@pytest.mark.parametrize(
    ("of", "arguments", "variant", "over"),
    [
        (audits.dp_mase, (1.0, 1.0), "corrected", False),
        (audits.dp_mase, (1.0, 10.0), "corrected", True),
        (audits.hybrid, (1.0, "half"), "corrected", False),
        (audits.hybrid, (1.0, "tossou"), "corrected", True),
        (audits.cdp, (4, 0.5, "printed", 0.5), "corrected", True),
        (audits.cdp, (4, 0.5, "printed", 2.0), "corrected", False),
        (audits.cdp, (4, 0.5, "per_agent", 0.5), "corrected", False),
        (audits.private_ucb, (1.0,), "corrected", False),
        (audits.private_ucb, (1.0,), "printed", True),
        (audits.numpy_noise, (1.0,), "corrected", True),
    ],
)
def test_mechanisms_that_must_pass_and_that_must_fail(of, arguments, variant, over):
    found = of(variant, GENERATOR(3), 3000, *arguments)
    assert (found["found"] > found["claimed"]) is over
    if not over:
        # and not for want of power: something is found
        assert found["value"] > 0.05


def test_the_hybrid_mechanism_spends_all_of_its_epsilon():
    assert audits.hybrid("corrected", GENERATOR(4), 20_000, 1.0, "half")["found"] > 0.85
