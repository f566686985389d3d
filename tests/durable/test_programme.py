"""Declared programmes: their exact total decides while runs are as declared, then a filter."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.durable.ledger import Ledger
from posse.durable.persons import _shares
from posse.errors import PosseError
from posse.protocol.accounting import Losses, together
from tests.durable.test_persons import write
from tests.support.conversations import examples
from tests.support.ledger import claiming, log, task, used_by

__all__ = ["log"]

DELTA = 1e-6
FIVE = Losses(laplace=((0.1, 5),))


def _declare(log, *costs):
    Ledger(log.with_name(log.name + ".ledger"), log).declare(list(costs))


def _of_eva(path):
    """A log in which Eva has two rows of one arm."""
    return write(path, (0, 0.01, "eva"), (0, 0.02, "eva"), (1, 0.5, "adam"))


RUN = """system = "dp-mase"
[agents]
count = 8
[arms]
kind = "bernoulli"
means = [0.9, 0.1]
[parameters]
epsilon = 0.5
"""


def test_a_programme_may_be_over_several_logs_of_a_person(tmp_path):
    """Eva gives two rewards of one log and one of the other, each in two runs: three in all."""
    cost, most = Losses(laplace=((0.05, 40),)), {"person": "who", "rewards_per_person": 3}
    split = [together([cost.of_rewards(k)] * 2 + [cost.of_rewards(3 - k)] * 2) for k in (1, 2)]
    whole = [*split, together([cost.of_rewards(3)] * 2)]
    budget = max(losses.epsilon(DELTA) for losses in whole) * 1.001
    limits = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **limits), losses=cost)

    def gave(folder, *, declared):
        folder.mkdir()
        a = write(folder / "a.csv", (0, 0.01, "eva"), (0, 0.02, "eva"), (1, 0.5, "adam"))
        b = write(folder / "b.csv", (0, 0.04, "eva"), (0, 0.05, "eva"), (1, 0.5, "zoe"))
        if declared:
            for one, other in ((a, b), (b, a)):
                ledger = Ledger(one.with_name(f"{one.name}.ledger"), one)
                ledger.declare([cost] * 2, {f"{other.name}.ledger": [cost] * 2})
        return [len(used_by(log, about, 9, 0)[0]) for log in (a, b, b, a)]

    assert gave(tmp_path / "declared", declared=True) == [2, 1, 1, 2]
    assert sum(gave(tmp_path / "alone", declared=False)) < 6


def test_a_run_over_another_log_that_is_not_as_declared_ends_the_programme_of_both(tmp_path):
    cost, most = Losses(laplace=((0.05, 40),)), {"person": "who", "rewards_per_person": 4}
    budget = together([cost.of_rewards(4)] * 2).epsilon(DELTA) * 1.001
    limits = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **limits), losses=cost)
    rewards = [(0, n / 100, "bob") for n in range(4)]

    def second(folder, *, as_declared):
        """What the second run over a log is given, after one over the other."""
        folder.mkdir()
        a = write(folder / "a.csv", *rewards)
        b = write(folder / "b.csv", (0, 0.9, "zoe"), (1, 0.5, "zoe"))
        Ledger(a.with_name("a.csv.ledger"), a).declare([cost] * 2, {"b.csv.ledger": [cost]})
        used_by(a, about, 9, 0)
        other = cost if as_declared else Losses(laplace=((0.06, 40),))
        used_by(b, claiming(task(2.4, **limits), losses=other), 9, 0)
        return len(used_by(a, about, 9, 0)[0])

    assert second(tmp_path / "as declared", as_declared=True) == 4
    with pytest.raises(PosseError, match="every row of .* or whom they would cost more"):
        second(tmp_path / "not", as_declared=False)
    with pytest.raises(PosseError, match=r"b\.csv\.ledger has runs already"):
        Ledger(tmp_path / "not" / "c.csv.ledger").declare([cost], {"b.csv.ledger": [cost]})


@given(st.integers(1, 6), st.integers(1, 4))
def test_a_person_s_rewards_are_split_in_all_ways(rewards, logs):
    ways = list(_shares(rewards, logs))
    if len(ways) > 1 or logs == 1:
        assert all(sum(shares) == rewards and min(shares) >= 0 for shares in ways)
        assert len(set(ways)) == len(ways) == math.comb(rewards + logs - 1, logs - 1)
    else:
        assert ways == [(rewards,) * logs]


@examples(Path(__file__).with_name("programme.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
