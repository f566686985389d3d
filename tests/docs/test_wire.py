"""The page of the wire says what the code does."""

import re
import struct

from posse.durable import frames
from posse.protocol import wire
from tests.support.kinds import PAGE, written

TEXT = PAGE.read_text()


def offsets(heading: str) -> list[tuple[int, int]]:
    """Offset and size of each row of a section's first table."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [
        (int(at), int(size)) for at, size in re.findall(r"^\| (\d+) \| (\d+) \|", section, re.M)
    ]


def of_struct(form: struct.Struct) -> list[tuple[int, int]]:
    codes = re.findall(r"\d*[a-zA-Z]", form.format.lstrip("<"))
    return [
        (struct.calcsize("<" + "".join(codes[:number])), struct.calcsize("<" + code))
        for number, code in enumerate(codes)
    ]


def test_every_kind_is_there_with_its_fields() -> None:
    assert written(TEXT) == TEXT, "write them anew: python -m tests.support.kinds"


def test_header_and_envelope_are_laid_out_as_the_page_says() -> None:
    assert offsets("A frame") == of_struct(wire.HEADER) == of_struct(frames.HEADER)
    assert offsets("The envelope") == of_struct(frames.ENVELOPE)
    assert wire.MAX_FRAME == 8 << 20
    assert wire.MAX_DATA == 1 << 20
