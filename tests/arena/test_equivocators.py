"""Equivocators play their role twice, and tell each half of their neighbours one of the two."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from posse import SpecError
from posse.experiments import find_system
from posse.extend import COORDINATOR, Broadcast, Message, Pull, Pulled, Send, Started
from posse_arena import play
from posse_arena.equivocators import TwoFaced, of, two_faced
from posse_arena.problems import TASKS, Size
from tests.arena.test_cells import cell


class Sum(Message, frozen=True):
    """What an agent was paid."""

    value: float


@dataclass
class Teller:
    """Pulls two arms three times each, and tells everybody what it was paid."""

    heard: list[object] = field(default_factory=list)

    def handle(self, event, now):
        self.heard.append(event)
        match event:
            case Started():
                return [Pull((0, 1), 3)]
            case Pulled(_, _, sums):
                said = Sum(float(sums[0]))
                return [Broadcast(said), Send(COORDINATOR, said), Send(7, said)]
        return []


def test_half_of_the_neighbours_hear_the_truth_and_half_a_lie():
    agent = TwoFaced(Teller(), Teller(), frozenset({1, 2}), frozenset({5, 7}), best=0)
    assert agent.handle(Started(), 0) == [
        Pull((0, 1), 3), Send(5, Sum(0.0)), Send(7, Sum(0.0)), Send(7, Sum(0.0))
    ]  # fmt: skip
    assert agent.handle(Pulled((0, 1), 3, np.array([2.0, 1.0])), 1) == [
        Send(1, Sum(2.0)), Send(2, Sum(2.0)), Send(COORDINATOR, Sum(2.0))
    ]  # fmt: skip
    assert [list(event.sums) for event in agent.lie.heard[1:]] == [[0.0, 3.0]]


@pytest.mark.parametrize(("name", "budget"), [("cooperative-ucb", None), ("ddp-mab", 1.0)])
def test_the_last_agents_equivocate_and_slow_links_change_nothing(name, budget):
    near, far = (
        play.trial(cell(name, budget, adversary="equivocators", links=links), Size(8, 40, 5, 3), 0)
        for links in ("near", "lossy")
    )
    assert near.lying == 1
    one, other = play.play(near), play.play(far)
    assert (one.score, one.pulls, one.bytes) == (other.score, other.pulls, other.bytes)


def test_who_tells_lies_costs_the_others_regret():
    honest, lied_to = (
        play.play(
            play.trial(cell("cooperative-ucb", adversary=adversary), TASKS["regret"].light, 2)
        ).score
        for adversary in ("none", "equivocators")
    )
    assert lied_to > 1.5 * honest


def test_systems_are_found_by_name_and_need_neighbours():
    assert getattr(of, "private-ucb").name == "private-ucb"
    assert of.posse_arena.__getattr__("baselines:COOPERATIVE_MOSS").title.startswith("MOSS")
    with pytest.raises(SpecError, match="ucb1 has no neighbours"):
        two_faced(find_system("ucb1", []))
