"""Wrong worlds: a statement is borne out only where its test refutes one that it excludes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posse_papers.checks import above, alike, at_most, exponent, rate, ratio, trend
from posse_papers.experiment import run_file
from posse_papers.looks import tried
from posse_papers.outcome import Tried
from posse_papers.sample import Sample, regret
from posse_papers.statements import Check, Measured, Mutant
from posse_papers.worlds import beside, changed, multiplied
from tests.support.conversations import examples
from tests.support.papers import counted, measured


def put(check: Check, runs: Measured, *wrong: Mutant) -> Tried:
    """What a check and its wrong worlds give."""
    return tried({}, check, wrong, runs)


MANY = [5.0 + n / 10 for n in range(10)]


@pytest.mark.parametrize(
    ("check", "runs", "power"),
    [
        # ten pairs the same way: dealt anew they are so in one of 512
        (above("a", "b"), measured(a={0: MANY}, b={0: [x / 2 for x in MANY]}), "1/1"),
        # two pairs are in every second deal
        (above("a", "b"), measured(a={0: [9.0, 9.1]}, b={0: [1.0, 1.2]}), "0/1"),
        (trend("a"), measured(a={1: MANY, 2: [2 * x for x in MANY]}), "1/1"),
        # exact numbers: nothing is left to chance
        (above("a", "b"), measured(a={0: [9.0]}, b={0: [1.0]}), ""),
        (above("a", "b"), measured(a={0: [9.0, 9.0]}, b={0: [1.0, 1.0]}), "1/1"),
        # within a tenth, known to a hundredth: a fifth is refuted
        (alike("a", "b", 0.1), measured(a={0: [100, 101, 99]}, b={0: [101, 102, 100]}), "1/1"),
        (ratio(("a", 0.0), ("b", 0.0), 0.5, 3.0), measured(a={0: [2, 2.01]}, b={0: [1, 1]}), "2/2"),
        # a growth a quarter beyond either end, x^-.25 and x^.85, known to .02
        (exponent("a", 0.0, 0.6), measured(a={1: [1.0, 1.01], 100: [10.0, 10.1]}), "2/2"),
        # of single runs nothing is known
        (exponent("a", 0.0, 0.6), measured(a={1: [1.0], 100: [10.0]}), ""),
        (rate("line", 0.01), counted(line={1: [(1, 1000)]}), "1/1"),
    ],
)
def test_each_kind_of_check_brings_its_wrong_worlds(
    check: Check, runs: Measured, power: str
) -> None:
    found = put(check, runs)
    assert found.power == power
    answers = {"": "undecided", "0": "says nothing here"}
    assert found.answer == answers.get(power[:1], "borne out")


@pytest.mark.parametrize(
    ("broken", "answer"), [([20.0, 21.0], "borne out"), ([2.0, 2.5], "says nothing here")]
)
def test_a_bound_has_power_where_what_is_run_beside_it_exceeds_it(
    broken: list[float], answer: str
) -> None:
    runs = measured(a={1: [1.0, 1.1]}, broken={1: broken})
    found = put(at_most("a", 9.0), runs, beside("a broken a", {"a": "broken"}))
    assert found.answer == answer
    assert found.said == "a: 1.05 ± 0.635, at most 9"
    (told,) = found.refuted + found.passed
    assert told.startswith(f"a broken a: a: {sum(broken) / 2:.3g}")


@pytest.mark.parametrize(
    ("world", "refuted"),
    [
        (multiplied("by x² more", "a", lambda x: x**2), True),
        (multiplied("by nothing more", "a", 1.0), False),
        (changed("much more", "a", lambda runs, point: (1.0, 40.0)), True),
    ],
)
def test_a_world_is_what_was_measured_and_changed(world: Mutant, refuted: bool) -> None:
    runs = measured(a={1: [1.0, 1.1], 4: [4.0, 4.1]})
    found = put(at_most("a", lambda line, x: 10 * x), runs, world)
    assert bool(found.refuted) is refuted
    assert runs.values("a", 4.0) == [4.0, 4.1]


def described(**more: Any) -> Measured:
    runs = Measured("corrected", regret)
    arms = {"kind": "bernoulli", "means": [0.9, 0.5, 0.1]}
    runs.settings["a", 0.0] = run_file("cooperative-ucb", 4, arms, {"horizon": 50}) | {
        "topology": {"kind": "ring"}
    }
    runs.runs["a", 0.0] = [Sample(status="horizon", regret=3.0, curve=[[0, 0], [50, 3.0]])]
    return runs


@examples(Path(__file__).with_name("worlds.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
