"""Space-time pictures."""

import xml.etree.ElementTree as ET

from posse.durable.frames import Frame
from posse.testing.picture import Arrow, Mark, of_frames, picture

_SVG = "{http://www.w3.org/2000/svg}"


def test_processes_are_lines_and_messages_are_arrows_that_are_named() -> None:
    arrows = [Arrow(-1, 2, 0, 1, "Begin"), Arrow(2, -1, 1, None, "Vote <1>\x1b[2J")]
    root = ET.fromstring(picture("a run", [0.0, 0.5], arrows, [Mark(2, 1, "killed", bad=True)]))
    texts = [text.text for text in root.iter(f"{_SVG}text")]
    assert texts == [
        *("a run", "coordinator", "agent 2", "0.000000", "0.500000"),
        *("Begin", r"Vote <1>\x1b[2J (lost)", "killed"),
    ]
    assert [line.get("class") for line in root.iter(f"{_SVG}line")] == [None, None, "m", "l"]


def test_of_a_capture_the_last_frames_are_drawn() -> None:
    frames = [Frame(number / 10, 0, 1, 9, "data", f"Kind{number}") for number in range(5)]
    root = ET.fromstring(of_frames("frames", frames, 2))
    texts = [text.text for text in root.iter(f"{_SVG}text")]
    assert texts[3:] == ["0.300000", "0.400000", "Kind3", "Kind4"]
