"""Space-time pictures."""

from collections.abc import Callable
from pathlib import Path

from tests.support.conversations import examples

_SVG = "{http://www.w3.org/2000/svg}"


@examples(Path(__file__).with_name("picture.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
