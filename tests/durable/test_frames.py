"""Captures read without posse's messages: what is said of a frame is what our own codec says."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import posse
from posse.durable.capture import writing
from posse.durable.frames import Frame, read, select
from posse.errors import InputError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane
from posse.protocol.wire import HEADER, encode
from posse_systems.rio2023.messages import Vote
from tests.support.conversations import examples
from tests.support.runfile import describe_run

VOTE = encode(Vote((2,)), run=1, source=3, sequence=7, now=12.5, sent=99)


def captured(tmp_path: Path, *rows: tuple[int | None, int | None, bytes]) -> list[Frame]:
    with writing(tmp_path / "frames") as capture:
        for row in rows:
            capture(*row)
    return list(read(tmp_path / "frames"))


@pytest.mark.parametrize(
    "data",
    [
        b"?",
        VOTE[:20],
        b"xx" + VOTE[2:],
        VOTE[: HEADER.size],
        VOTE[:-1],
        VOTE + b"more",
        VOTE[: HEADER.size] + b"\xc1",
        VOTE[: HEADER.size] + b"\x07",
        VOTE[: HEADER.size] + b"\x92\x07\x08",
        VOTE[: HEADER.size] + b"\xa2\xff\xff",
        VOTE[: HEADER.size] + b"\x91" * 5_000 + b"\x07",
    ],
)
def test_what_is_no_frame_is_shown_as_it_is(data: bytes, tmp_path: Path) -> None:
    bad, good = captured(tmp_path, (None, 0, data), (3, COORDINATOR, VOTE))
    assert (bad.plane, bad.kind, bad.fields) == ("unknown", "", (data,))
    assert good.kind == "Vote"
    assert str(bad)


def test_every_frame_of_a_run_is_read_as_our_own_codec_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    parameters = {"epsilon": 1.0, "horizon": 500}
    raw = describe_run("hdp-mab", 4, [0.8, 0.2], parameters=parameters, engine={"kind": "memory"})
    result = posse.run(raw | {"topology": {"kind": "ring"}}, capture=path)
    frames = list(read(path))
    counted = {
        (link.source, link.target, link.kind): (link.messages, link.frame_bytes)
        for link in result.runs[0].links
    }
    assert len(counted) > 20
    for (source, target, kind), (messages, size) in counted.items():
        found = list(select(frames, link=(source, target), kind=kind))
        assert (len(found), sum(f.size for f in found)) == (messages, size)
        assert {f.plane for f in found} < {plane.name.lower() for plane in Plane}
    assert sum(messages for messages, _ in counted.values()) == len(frames)


HEAD = msgspec.msgpack.encode({"posse": "capture", "version": 1})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"system = 'mase'",
        msgspec.msgpack.encode([1, 2]),
        HEAD + b"\xc1",
        HEAD + b"\x07",
        HEAD + msgspec.msgpack.encode([0, 1, 2]),
        HEAD + msgspec.msgpack.encode([0, "1", 2, b""]),
    ],
)
def test_another_file_is_no_capture(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(InputError, match="other is (not a capture|damaged: its row 1 is no frame)"):
        list(read(path))


MESSAGE = HEADER.pack(b"po", 1, 0, 0, 3, 1, 0.0, 0)


@pytest.mark.parametrize(
    "row",
    [
        b"\x91" * 200_000 + b"\x90",
        b"\x81\x91\x01\x01",
        msgspec.msgpack.encode([float("nan"), 3, -1, b""]),
    ],
    ids=["nested deep", "a list as a key", "a time that is no number"],
)
def test_a_row_that_is_no_frame_is_named(row: bytes, tmp_path: Path) -> None:
    path = tmp_path / "frames"
    path.write_bytes(HEAD + msgspec.msgpack.encode([0, 3, -1, MESSAGE]) + row)
    with pytest.raises(InputError, match="frames is damaged: its row 2 is no frame"):
        list(read(path))


@pytest.mark.parametrize(
    "body",
    [
        msgspec.msgpack.encode(["Vote\x1b]0;owned\x07\x1b[2J\nline", "\x1b[31m", {"\x1b": "\r"}]),
        b"\x92\xa4Vote" + b"\x91" * 500 + b"\x90",
        b"\x92\xa4Vote" + b"\x91" * 100_000 + b"\x90",
        b"\x92\xa4Vote\x81\x91\x01\x01",
    ],
    ids=["terminal codes", "deep", "deeper", "a list as a key"],
)
def test_a_frame_is_shown_in_one_printable_line(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "frames"
    path.write_bytes(HEAD + msgspec.msgpack.encode([0, 3, -1, MESSAGE + body]))
    (frame,) = read(path)
    assert str(frame).isprintable()
    assert len(str(frame)) <= 1_001


@examples(Path(__file__).with_name("frames.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
