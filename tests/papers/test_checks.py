"""Checks of measured lines, against each other and against numbers, by hand-made samples."""

import math

import pytest

from posse_papers import checks
from posse_papers.experiment import panel
from posse_papers.li import theory
from posse_papers.sample import Sample, named, regret, regret_at
from posse_papers.statements import Measured
from tests.support.papers import counted, measured


@pytest.mark.parametrize(
    ("high", "low", "answer"),
    [
        ([10, 11, 12], [1, 2, 3], "holds"),
        ([1, 2, 3], [10, 11, 12], "fails"),
        ([5, 9, 1], [4, 5, 6], "open"),
        # what all runs share does not hide the difference
        ([100, 500, 900], [99, 498.9, 899.1], "holds"),
        ([10], [1], "open"),
        # no more runs will decide what is the same in all of them
        ([3, 5], [3, 5], "fails"),
    ],
)
def test_an_order_is_decided_run_by_run(high, low, answer):
    assert checks.falling("a", "b")(measured(a={0: high}, b={0: low})).held == answer


def test_one_place_the_other_way_refutes_an_order():
    runs = measured(a={1: [9, 9.1], 2: [1, 1.1]}, b={1: [1, 1.1], 2: [9, 9.1]})
    found = checks.above("a", "b")(runs)
    assert found.held == "fails"
    assert found.said == "1 of 2 clear; least: a − b at 2: -8"
    assert checks.above("a", "b", 1)(runs).held == "holds"


def test_points_that_were_not_run_equally_often_are_compared_as_independent():
    runs = measured(a={0: [9, 10, 11, 10]}, b={0: [1, 3]})
    mean, half = checks.combined(runs, ("a", 0), ("b", 0))
    # Welch: variances 2/3 / 4 and 2 / 2, so 1.35 degrees of freedom, rounded down to 1
    assert mean == 8.0
    assert half == pytest.approx(12.7062047362 * (1 / 6 + 1) ** 0.5)
    one = measured(a={0: [9, 10, 11]}, b={0: [1]})
    assert checks.combined(one, ("a", 0), ("b", 0)) == (9.0, math.inf)
    level = measured(a={0: [3, 3, 3]}, b={0: [1, 1]})
    assert checks.combined(level, ("a", 0), ("b", 0), (1.0, -2.0)) == (1.0, 0.0)
    # of equally many runs what both share counts for nothing
    shared = measured(a={0: [1, 5, 9]}, b={0: [0, 4, 8]})
    assert checks.combined(shared, ("a", 0), ("b", 0)) == (1.0, 0.0)


def test_nothing_to_compare_bears_nothing_out():
    assert checks.falling("a", "b")(measured(a={0: [1, 2]})).held == "fails"


def test_growth_and_its_sign():
    runs = measured(a={1: [1, 2, 3], 2: [5, 6, 7]}, b={1: [1, 2, 3], 2: [5, 6, 7], 3: [0, 1, 2]})
    assert checks.trend("a")(runs).held == "holds"
    assert checks.trend("a", -1)(runs).held == "fails"
    assert checks.trend("b", -1)(runs).held == "holds"


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.49, 0.51, "holds"),
        (0.495, 0.6, "open"),
        (0.508, 0.6, "fails"),
        (0.4, 0.492, "fails"),
        (-math.inf, 0.51, "holds"),
    ],
)
def test_the_exponent(low: float, high: float, answer: str) -> None:
    # each mean is known up to 4.303 / sqrt(3) = 2.48 %, so log 10 / log 100 up to .0076
    runs = measured(a={1: [99, 100, 101], 100: [990, 1000, 1010]})
    found = checks.exponent("a", low, high)(runs)
    assert found.held == answer
    assert found.said.startswith("a: 0.50 ± 0.01; wanted")


def test_one_line_grows_slower_than_another():
    few = measured(a={1: [100, 110], 10: [400, 440]}, b={1: [100, 110], 10: [1000, 1100]})
    assert checks.slower("a", "b")(few).held == "open"
    many = {1: [99, 100, 101] * 10, 10: [396, 400, 404] * 10}
    more = {1: [99, 100, 101] * 10, 10: [990, 1000, 1010] * 10}
    assert checks.slower("a", "b")(measured(a=many, b=more)).held == "holds"
    assert checks.slower("b", "a")(measured(a=many, b=more)).held == "fails"


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        ([101, 100, 99], "holds"),
        ([150, 150, 151], "fails"),
        ([90, 110, 120], "open"),
    ],
)
def test_alike_within_a_share(other, answer):
    runs = measured(a={0: [100, 100, 100]}, b={0: other})
    assert checks.alike("a", "b", 0.05)(runs).held == answer


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (4, 6, "holds"),
        (5.5, 6, "fails"),
        (0, 4, "fails"),
        (4.9, 6, "open"),
        (4.5, math.inf, "holds"),
        (5.5, math.inf, "fails"),
    ],
)
def test_a_ratio(low, high, answer):
    runs = measured(a={0: [500, 520, 480]}, b={3: [100, 101, 99]})
    assert checks.ratio(("a", 0.0), ("b", 3.0), low, high)(runs).held == answer


def test_regret_between_the_points_of_a_curve():
    sample = Sample(status="horizon", curve=[[0.0, 0.0], [10.0, 5.0], [20.0, 6.0]])
    assert regret_at(sample, 15) == 5.5


def test_a_panel_is_what_stands_before_the_colon():
    assert panel("left: ε=0.1") == "left"
    assert panel("ε=0.1") == ""


def test_at_most_a_number_or_one_for_each_place():
    runs = measured(a={1: [1.0, 1.1], 2: [1.9, 2.1]})
    assert checks.at_most("a", 8.0)(runs).held == "holds"
    assert checks.at_most("a", lambda line, x: x + 0.2)(runs).held == "open"
    assert checks.at_most("a", 2.0, every=True)(runs).held == "fails"
    assert checks.at_most("a", 2.1, every=True)(runs).held == "holds"
    assert checks.at_most("a", 1.0, sign=-1, every=True)(runs).held == "holds"
    assert checks.at_most("a", 0.1)(runs).held == "fails"
    assert checks.at_most("a", 8.0, sign=-1)(runs).held == "fails"
    assert checks.at_most("a", 0.2, sign=-1)(runs).held == "holds"


def test_a_single_number_is_exact():
    runs = counted(a={0: [(3, 10)]})
    assert checks.at_most("a", 0.3)(runs).held == "holds"
    assert checks.at_most("a", 0.29)(runs).held == "fails"
    assert checks.inside("a", 0.2, 0.4)(runs).held == "holds"
    assert checks.inside("a", 0.4, 0.5)(runs).held == "fails"


def test_exactly():
    runs = counted(a={0: [(1, 2), (1, 2)]}, b={7: [(3, 4)]})
    assert checks.equal({"a": 0.5, ("b", 7): 0.75})(runs).held == "holds"
    wrong = checks.equal({"a": 0.5, ("b", 7): 0.7})(runs)
    assert (wrong.held, wrong.said) == ("fails", "b at 7: 0.75 for 0.7")
    assert checks.equal({"b": 3.0}, named("hits"))(runs).held == "holds"


@pytest.mark.parametrize(
    ("limit", "sign", "answer"),
    [
        (0.1, 1, "holds"),  # 50 of 1000: 3.8 to 6.5 %
        (0.05, 1, "open"),
        (0.03, 1, "fails"),
        (0.03, -1, "holds"),
        (0.1, -1, "fails"),
    ],
)
def test_a_rate_by_its_interval(limit, sign, answer):
    runs = counted(a={0: [(25, 500), (25, 500)]})
    assert checks.rate("a", limit, sign=sign)(runs).held == answer


def test_rates_pooled_over_lines():
    runs = counted(a={0: [(0, 20)], 1: [(0, 20)]}, b={0: [(0, 40)]})
    assert checks.rate(("a", "b"), 0.05)(runs).held == "open"
    assert checks.rate(("a", "b"), 0.05, pooled=True)(runs).held == "holds"


def test_a_rate_of_what_samples_show_in_one_place():
    runs = measured(a={0: [1.0] * 100, 1: [2.0] * 100})

    def large(sample):
        return int(sample.regret > 1), 1

    assert checks.rate("a", 0.1, where=0, of=large)(runs).held == "holds"
    assert checks.rate("a", 0.1, of=large)(runs).held == "fails"


def test_matches_within_the_widened_intervals_of_all_places():
    runs = measured(a={1: [0.9, 1.1, 1.0], 2: [2.2, 2.3, 2.4]})  # ± .248 each
    assert checks.matches("a", lambda line, x: x)(runs).held == "fails"
    assert checks.matches("a", lambda line, x: x, widened=1.3)(runs).held == "holds"
    assert checks.matches("a", lambda line, x: x, slack=0.1)(runs).held == "holds"
    squared = checks.matches("a", 1.0, metric=lambda sample: sample.regret / sample.regret)
    assert squared(runs).held == "holds"


def test_right_needs_enough_runs():
    assert checks.right(0.05)(measured(a={0: [1.0] * 10})).held == "open"
    assert checks.right(0.05)(measured(a={0: [1.0] * 100})).held == "holds"
    wrong = measured(a={0: [1.0] * 80}, b={0: [1.0] * 100})
    wrong.runs["a", 0.0] += [Sample(status="identified", best_arm=1)] * 20
    assert checks.right(0.05)(wrong).held == "fails"
    assert checks.right(0.05, "b")(wrong).held == "holds"


def test_regret_above_the_bound_refutes_it():
    for last, answer in ((5.0, "holds"), (1e9, "fails")):
        runs = Measured("corrected", regret)
        curve = [[0.0, 0.0], [1.0, 1.0], [10.0, last]]
        runs.runs["a", 0.0] = [Sample(status="horizon", curve=curve)]
        runs.settings["a", 0.0] = theory.FREE
        assert checks.under_theory("a")(runs).held == answer
