"""How an audit decides, and how seldom it errs."""

import math

import numpy as np
import pytest

from posse.papers import audit
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
