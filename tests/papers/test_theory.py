"""Audits and checks of theory: exact values by hand, and that each can come out either way."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from posse import papers
from posse.papers import (
    audit,
    audits,
    base,
    dubey_theory,
    esfandiari_theory,
    li_theory,
    rio_theory,
    tossou_theory,
)
from posse.papers.base import Measured
from posse.results.record import RunRecord

GENERATOR = np.random.default_rng


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


def test_releases_of_both_readings():
    assert dubey_theory.releases("corrected", 0.1, 46) == [7, 16, 26, 36, 46]
    assert dubey_theory.releases("printed", 0.1, 14) == [4, 8, 11, 14]


def test_the_printed_robust_mean_takes_one_atom():
    printed = dubey_theory.trimmed("printed", GENERATOR(5), 0.3, 150)["value"]
    assert printed == pytest.approx(-0.3, abs=0.02)
    assert abs(dubey_theory.trimmed("corrected", GENERATOR(5), 0.3, 150)["value"]) < 0.02


def test_parts_of_a_hybrid_sum_by_hand():
    # T0 = 4: nodes {1}, {1, 2}, {3}: item 1 is in two of them, and in the next doubling
    assert tossou_theory.nodes("corrected", None, 4)["value"] == 3


def test_variance_of_an_estimate_by_hand():
    # six members, means .1, .26, .42, .58, .74, .9
    others = 0.1924 + 0.2436 + 0.2436 + 0.1924 + 0.09
    assert esfandiari_theory._variance(6) == pytest.approx(0.09 + 2 * others)


def test_the_solution_loses_nothing_and_the_prints_do():
    for p in (0.2, 1.0):
        solved = li_theory.no_loss("corrected", None, "2 log T / log(M p^1.5)", p)["value"]
        assert solved == pytest.approx(1.0)
    assert li_theory.no_loss("corrected", None, "log T / log pM", 1.0)["value"] == pytest.approx(50)


def test_the_deviation_of_noise_in_a_late_round():
    found = [li_theory.noise_of("corrected", GENERATOR(n), 3, "deviation")["value"] for n in (1, 2)]
    assert found == pytest.approx([1, 1], abs=0.25)


def test_regret_above_the_bound_refutes_it():
    run = li_theory._cdp("printed")
    measured = Measured("corrected", base.regret)
    record = RunRecord(run=0, seed=1, regret_curve=[[0, 0], [1, 1.0], [10, 5.0]])
    measured.runs["a", 0.0] = [record]
    check = base.below_theory("", "a", 0.0, run).check
    assert check(measured).answer == "borne out"
    record.regret_curve = [[0, 0], [1, 1.0], [10, 1e9]]
    assert check(measured).answer == "not borne out"


def test_the_servers_weights_by_hand():
    # printed: M / Q² Σ 1/M_q = 100 / 25 (1/53 + 1/24 + 1/10 + 1/6 + 1/7)
    wanted = 4 * (1 / 53 + 1 / 24 + 1 / 10 + 1 / 6 + 1 / 7)
    assert li_theory.averaging("printed", None, "2: unequal")["value"] == pytest.approx(wanted)
    assert li_theory.averaging("corrected", None, "2: unequal")["value"] == pytest.approx(1)


def test_the_table_of_experiments_names_every_experiment_and_no_other():
    text = (Path(__file__).parents[2] / "docs/experiments.md").read_text()
    named = set(re.findall(r"`((?:rio|dubey|tossou|esfandiari|li|noise)-[\w-]+)`", text))
    for first, last in re.findall(r"`(\w+-\d\w?)` to `(\w+-\d\w?)`", text):
        stem, last_letter = first[:-1], last[-1]
        named |= {stem + chr(c) for c in range(ord(first[-1]), ord(last_letter) + 1)}
    assert named == set(papers.experiments())
