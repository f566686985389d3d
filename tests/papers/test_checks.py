"""Checks of measured lines, against each other and against numbers, by hand-made samples."""

from collections.abc import Callable
from pathlib import Path

from posse_papers import checks
from posse_papers.li import theory
from posse_papers.sample import Sample, regret
from posse_papers.statements import Measured
from tests.support.conversations import examples
from tests.support.papers import measured


def test_a_rate_of_what_samples_show_in_one_place():
    runs = measured(a={0: [1.0] * 100, 1: [2.0] * 100})

    def large(sample):
        return int(sample.regret > 1), 1

    assert checks.rate("a", 0.1, where=0, happened=large)(runs).held == "holds"
    assert checks.rate("a", 0.1, happened=large)(runs).held == "fails"


def test_regret_above_the_bound_refutes_it():
    for last, answer in ((5.0, "holds"), (1e9, "fails")):
        runs = Measured("corrected", regret)
        curve = [[0.0, 0.0], [1.0, 1.0], [10.0, last]]
        runs.runs["a", 0.0] = [Sample(status="horizon", curve=curve)]
        runs.settings["a", 0.0] = theory.FREE
        assert checks.under_theory("a")(runs).held == answer


@examples(Path(__file__).with_name("checks.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
