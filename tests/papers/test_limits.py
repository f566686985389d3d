"""Checks of measured lines against numbers, decided by hand-made samples."""

import pytest

from posse.papers import limits
from posse.papers.li import theorems
from posse.papers.sample import Sample, named, regret
from posse.papers.statements import Measured
from tests.support.papers import counted, measured


def test_at_most_a_number_or_one_for_each_place():
    runs = measured(a={1: [1.0, 1.1], 2: [1.9, 2.1]})
    assert limits.at_most("a", 8.0)(runs).answer == "borne out"
    assert limits.at_most("a", lambda line, x: x + 0.2)(runs).answer == "undecided"
    assert limits.at_most("a", 2.0, every=True)(runs).answer == "not borne out"
    assert limits.at_most("a", 2.1, every=True)(runs).answer == "borne out"
    assert limits.at_most("a", 1.0, sign=-1, every=True)(runs).answer == "borne out"
    assert limits.at_most("a", 0.1)(runs).answer == "not borne out"
    assert limits.at_most("a", 8.0, sign=-1)(runs).answer == "not borne out"
    assert limits.at_most("a", 0.2, sign=-1)(runs).answer == "borne out"


def test_a_single_number_is_exact():
    runs = counted(a={0: [(3, 10)]})
    assert limits.at_most("a", 0.3)(runs).answer == "borne out"
    assert limits.at_most("a", 0.29)(runs).answer == "not borne out"
    assert limits.inside("a", 0.2, 0.4)(runs).answer == "borne out"
    assert limits.inside("a", 0.4, 0.5)(runs).answer == "not borne out"


def test_exactly():
    runs = counted(a={0: [(1, 2), (1, 2)]}, b={7: [(3, 4)]})
    assert limits.equal({"a": 0.5, ("b", 7): 0.75})(runs).answer == "borne out"
    wrong = limits.equal({"a": 0.5, ("b", 7): 0.7})(runs)
    assert (wrong.answer, wrong.said) == ("not borne out", "b at 7: 0.75 for 0.7")
    assert limits.equal({"b": 3.0}, named("hits"))(runs).answer == "borne out"


@pytest.mark.parametrize(
    ("limit", "sign", "answer"),
    [
        (0.1, 1, "borne out"),  # 50 of 1000: 3.8 to 6.5 %
        (0.05, 1, "undecided"),
        (0.03, 1, "not borne out"),
        (0.03, -1, "borne out"),
        (0.1, -1, "not borne out"),
    ],
)
def test_a_rate_by_its_interval(limit, sign, answer):
    runs = counted(a={0: [(25, 500), (25, 500)]})
    assert limits.rate("a", limit, sign=sign)(runs).answer == answer


def test_rates_pooled_over_lines():
    runs = counted(a={0: [(0, 20)], 1: [(0, 20)]}, b={0: [(0, 40)]})
    assert limits.rate(("a", "b"), 0.05)(runs).answer == "undecided"
    assert limits.rate(("a", "b"), 0.05, pooled=True)(runs).answer == "borne out"


def test_a_rate_of_what_samples_show_in_one_place():
    runs = measured(a={0: [1.0] * 100, 1: [2.0] * 100})

    def large(sample):
        return int(sample.regret > 1), 1

    assert limits.rate("a", 0.1, where=lambda x: x == 0, of=large)(runs).answer == "borne out"
    assert limits.rate("a", 0.1, of=large)(runs).answer == "not borne out"


def test_matches_within_the_widened_intervals_of_all_places():
    runs = measured(a={1: [0.9, 1.1, 1.0], 2: [2.2, 2.3, 2.4]})  # ± .248 each
    assert limits.matches("a", lambda line, x: x)(runs).answer == "not borne out"
    assert limits.matches("a", lambda line, x: x, widened=1.3)(runs).answer == "borne out"
    assert limits.matches("a", lambda line, x: x, slack=0.1)(runs).answer == "borne out"
    squared = limits.matches("a", 1.0, metric=lambda sample: sample.regret / sample.regret)
    assert squared(runs).answer == "borne out"


def test_right_needs_enough_runs():
    assert limits.right(0.05)(measured(a={0: [1.0] * 10})).answer == "undecided"
    assert limits.right(0.05)(measured(a={0: [1.0] * 100})).answer == "borne out"
    wrong = measured(a={0: [1.0] * 80}, b={0: [1.0] * 100})
    wrong.runs["a", 0.0] += [Sample(status="identified", best_arm=1)] * 20
    assert limits.right(0.05)(wrong).answer == "not borne out"
    assert limits.right(0.05, "b")(wrong).answer == "borne out"


def test_regret_above_the_bound_refutes_it():
    run = theorems.FREE
    for last, answer in ((5.0, "borne out"), (1e9, "not borne out")):
        runs = Measured("corrected", regret)
        curve = [[0.0, 0.0], [1.0, 1.0], [10.0, last]]
        runs.runs["a", 0.0] = [Sample(status="horizon", curve=curve)]
        assert limits.under_theory("a", 0.0, run)(runs).answer == answer
