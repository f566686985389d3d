"""When an agent says no more for now, and for how long."""

from collections.abc import Callable
from pathlib import Path

from posse.wire.restraint import Restraint
from tests.support.conversations import examples


def held(restraint: Restraint, now: float) -> bool:
    restraint.look(now)
    return restraint.held


@examples(Path(__file__).with_name("restraint.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
