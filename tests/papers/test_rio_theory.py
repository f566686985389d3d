"""Rio et al. 2023: what is measured of a run, by hand."""

import pytest

from posse.papers import rio_theory
from posse.results.record import RunRecord


def test_the_adversary_by_hand():
    record = RunRecord(run=0, seed=1, answers=[None] * 4)
    # agent 0: nine arms gone, one left; 1: none; 2: against the best; 3: five arms gone
    votes: list[list[float]] = [[1, 0, k] for k in range(1, 10)]
    votes += [[2, 2, 0], *[[3.0, 3.0, k] for k in range(1, 6)]]
    record.log = {"votes": votes}
    assert rio_theory.success(record) == pytest.approx((1 + 0.1 + 0 + 0.2) / 4)
    assert rio_theory.wrong_votes(record) == 1


def test_some_m_of_n_by_hand():
    # M = 2 of N = 3 at β = 1/2: 4 of 8
    assert rio_theory.majority("corrected", None, 3, 0.5, 0.25)["value"] == pytest.approx(0.5)


def test_all_of_n_agents_are_given_agents():
    votes = rio_theory.AGENTS
    found = rio_theory.exact("corrected", None, votes)["value"]
    assert found == pytest.approx(rio_theory.given("corrected", None, votes)["value"], rel=1e-9)
