"""`[privacy]`: what may stand there, and what it says."""

from collections.abc import Callable
from pathlib import Path

from tests.support.conversations import examples


@examples(Path(__file__).with_name("privacy.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
