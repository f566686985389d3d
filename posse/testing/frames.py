"""Reads what a capture has, as docs/wire.md says that it is written, by `msgpack` alone.

Nothing here knows posse's messages, nor its code that writes them: what it shows is what any
program in any language can read.
"""

import importlib.util
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posse.errors import InputError, PosseError

HEADER = struct.Struct("<2sBBIiIdq")
ENVELOPE = struct.Struct("<4sII")
PLANES = {0: "data", 1: "control", 2: "world"}
BARE = {b"pn\x01C": "Confirm", b"pn\x01A": "Again", b"pn\x01P": "Probe"}
"""What an envelope that carries no frame is for."""

COORDINATOR = -1
"""The coordinator, as one end of a link."""


@dataclass(frozen=True)
class Frame:
    """One frame, as it was handed to ZeroMQ.

    `source` and `target` are ranks, `COORDINATOR`, or None for who had no rank yet; `time` is in
    seconds since the capture's first frame; `size` in bytes, with envelope and header. `plane` is
    "data" (what the paper sends), "control", "world" (the arms' medium) or "session": an envelope
    alone. `kind` and `fields` are the message, `run`, `sequence`, `now` and `sent` its header.
    `number` and `confirmed` are its envelope's, None where there is none, as in memory. `resent`:
    it was handed over before, byte for byte.
    """

    time: float
    source: int | None
    target: int | None
    size: int
    plane: str
    kind: str
    fields: Sequence[Any] = ()
    run: int | None = None
    sequence: int | None = None
    now: float | None = None
    sent: int | None = None
    number: int | None = None
    confirmed: int | None = None
    resent: bool = False


def read(path: Path) -> Iterator[Frame]:
    """The frames of a capture in the order in which they were handed over."""
    rows = _rows(path)
    if next(rows, None) != {"posse": "capture", "version": 1}:
        raise InputError(f"{path} is no capture; posse capture writes one")
    begin: int | None = None
    seen: dict[tuple[Any, ...], bytes] = {}
    for time, source, target, data in rows:
        begin = time if begin is None else begin
        yield _frame((time - begin) / 1e9, source, target, data, seen)


def select(
    frames: Iterable[Frame],
    *,
    link: tuple[int | None, int | None] | None = None,
    plane: str | None = None,
    kind: str | None = None,
) -> Iterator[Frame]:
    """The frames of one link (source and target, of which None is any), plane and kind."""
    source, target = link or (None, None)
    wanted = {"source": source, "target": target, "plane": plane, "kind": kind}
    asked = [(name, value) for name, value in wanted.items() if value is not None]
    return (f for f in frames if all(getattr(f, name) == value for name, value in asked))


def _rows(path: Path) -> Iterator[Any]:
    if importlib.util.find_spec("msgpack") is None:
        raise PosseError(
            'captures are read by msgpack; install it with: python -m pip install "posse[testing]"'
        )
    import msgpack  # noqa: PLC0415

    try:
        with path.open("rb") as file:
            # a last row that is half written is not one yet
            yield from msgpack.Unpacker(file, strict_map_key=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{path} is no capture; posse capture writes one") from None


def _frame(
    time: float,
    source: int | None,
    target: int | None,
    data: bytes,
    seen: dict[tuple[Any, ...], bytes],
) -> Frame:
    import msgpack  # noqa: PLC0415

    number = confirmed = None
    frame, resent = data, False
    if data[:2] == b"pn" and len(data) >= ENVELOPE.size:
        mark, number, confirmed = ENVELOPE.unpack_from(data)
        frame = data[ENVELOPE.size :]
        if mark in BARE:
            return Frame(
                time, source, target, len(data), "session", BARE[mark], (), number=number,
                confirmed=confirmed,
            )  # fmt: skip
        resent = seen.get((source, target, number)) == frame
        seen[source, target, number] = frame
    if len(frame) < HEADER.size or frame[:2] != b"po":
        return Frame(time, source, target, len(data), "unknown", "", (data,))
    _, _, plane, run, _, sequence, now, sent = HEADER.unpack_from(frame)
    kind, *fields = msgpack.unpackb(frame[HEADER.size :], strict_map_key=False)
    return Frame(
        time,
        source,
        target,
        len(data),
        PLANES.get(plane, "unknown"),
        kind,
        fields,
        run,
        sequence,
        now,
        sent,
        number,
        confirmed,
        resent,
    )
