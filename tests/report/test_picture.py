"""Space-time pictures."""

import xml.etree.ElementTree as ET

from posse.durable.frames import Frame
from posse.report.picture import Arrow, Band, Mark, of_frames, picture

_SVG = "{http://www.w3.org/2000/svg}"


def test_processes_are_lines_and_messages_are_arrows_that_are_named() -> None:
    arrows = [Arrow(-1, 2, 0, 1, "Begin"), Arrow(2, -1, 1, None, "Vote <1>\x1b[2J")]
    root = ET.fromstring(picture("a run", ["0.0", "0.5"], arrows, [Mark(2, 1, "killed", bad=True)]))
    texts = [text.text for text in root.iter(f"{_SVG}text")]
    assert texts == [
        *("a run", "0.0", "0.5", "Begin", r"Vote <1>\x1b[2J (lost)"),
        *("killed", "coordinator", "agent 2"),
    ]
    told = {group.get("class"): group.findtext(f"{_SVG}title") for group in root.iter(f"{_SVG}g")}
    assert told == {"r data": "Begin", "r data bad": r"Vote <1>\x1b[2J", "names": None}


def test_a_fault_that_lasts_is_a_band_along_its_process_and_says_what_it_is() -> None:
    svg = picture("", [str(row) for row in range(9)], [], [], [Band(1, 2, 4, "cut & <lost>")])
    (band,) = (g for g in ET.fromstring(svg) if g.findtext(f"{_SVG}title") is not None)
    assert band.findtext(f"{_SVG}title") == "cut & <lost>"
    assert int(band[1].get("height", "")) == 3 * int(band[1].get("width", ""))


def test_of_a_capture_the_last_frames_are_drawn() -> None:
    frames = [Frame(number / 10, 0, 1, 9, "data", f"Kind{number}") for number in range(5)]
    root = ET.fromstring(of_frames("frames", frames, 2))
    texts = [text.text for text in root.iter(f"{_SVG}text")]
    assert texts[:5] == [
        *("frames: the last 2 of 5 frames", "0.300000", "0.400000", "Kind3", "Kind4")
    ]
