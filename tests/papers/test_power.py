"""A statement is borne out only where the same test refutes what the statement excludes."""

import pytest

from posse_papers.checks import above, at_most, rate
from posse_papers.experiment import run_file
from posse_papers.power import beside, by_chance, decided, multiplied
from posse_papers.sample import Sample, regret
from posse_papers.statements import Measured, claim
from tests.support.papers import counted, measured


def test_a_clear_order_refutes_that_there_is_none() -> None:
    runs = measured(high={1: [5.0, 6.0, 5.5]}, low={1: [1.0, 1.5, 1.2]})
    found = decided(claim("high is above low", "1", above("high", "low")), runs)
    assert (found.answer, found.power) == ("borne out", "no difference")


def test_a_rate_refutes_those_on_the_other_side() -> None:
    found = decided(claim("seldom", "1", rate("line", 0.5)), counted(line={1: [(1, 1000)]}))
    assert (found.answer, found.power) == ("borne out", "another rate")


def test_a_bound_without_an_alternative_says_nothing() -> None:
    found = decided(claim("at most 9", "1", at_most("a", 9.0)), measured(a={1: [1.0, 1.1]}))
    assert (found.answer, found.power) == ("says nothing here", "no alternative was tried")


@pytest.mark.parametrize(
    ("broken", "answer"), [([20.0, 21.0], "borne out"), ([2.0, 2.5], "says nothing here")]
)
def test_a_bound_has_power_where_what_is_run_beside_it_exceeds_it(
    broken: list[float], answer: str
) -> None:
    runs = measured(a={1: [1.0, 1.1]}, broken={1: broken})
    bound = claim(
        "at most 9", "1", at_most("a", 9.0), excludes=beside("a broken a", {"a": "broken"})
    )
    found = decided(bound, runs)
    assert found.answer == answer
    assert found.said == "a: 1.05 ± 0.635, at most 9"
    assert found.power.startswith(
        "a broken a: a: 20.5" if answer == "borne out" else "a broken a (not refuted): a: 2.25"
    )


def test_a_worse_rate_is_what_was_measured_times_a_factor() -> None:
    runs = measured(a={1: [1.0, 1.1], 4: [4.0, 4.1]})
    bound = at_most("a", lambda line, x: 10 * x)
    worse = multiplied("by x² more", "a", lambda x: x**2)
    assert decided(claim("of order x", "1", bound, excludes=worse), runs).answer == "borne out"
    same = multiplied("by nothing more", "a", lambda x: 1.0)
    found = decided(claim("of order x", "1", bound, excludes=same), runs)
    assert found.answer == "says nothing here"


def test_what_is_refuted_needs_no_power() -> None:
    found = decided(claim("at most 1", "1", at_most("a", 1.0)), measured(a={1: [5.0, 5.1]}))
    assert (found.answer, found.power) == ("not borne out", "")


def test_play_by_chance_has_the_mean_gap_in_every_slot() -> None:
    arms = {"kind": "bernoulli", "means": [0.9, 0.5, 0.1]}
    runs = Measured("corrected", regret)
    runs.settings["a", 0.0] = run_file("cooperative-ucb", 4, arms, {"horizon": 50}) | {
        "topology": {"kind": "ring"}
    }
    runs.runs["a", 0.0] = [Sample(status="horizon", regret=3.0, curve=[[0, 0], [50, 3.0]])]
    (sample,) = by_chance("a").instead(runs).runs["a", 0.0]
    assert sample.regret == pytest.approx(4 * 50 * (0.0 + 0.4 + 0.8) / 3)
    assert runs.runs["a", 0.0][0].regret == 3.0
