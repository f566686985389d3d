"""Equivocators play their role twice, and tell each half of their neighbours one of the two."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from posse.extend import COORDINATOR, Broadcast, Message, Pull, Pulled, Send, Started
from tests.support.conversations import examples


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


@examples(Path(__file__).with_name("equivocators.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
