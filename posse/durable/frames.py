"""Reads a capture as docs/wire.md describes it, with `msgpack` alone.

Nothing here knows posse's messages, or the code that writes them: it shows what any program in any
language can read.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgpack  # noqa: TID251  (rows of a capture, one after the other, each checked below)

from posse.errors import InputError
from posse.gates import files
from posse.gates.shown import printable
from posse.protocol.orders import unsealed

HEADER = struct.Struct("<2sBBIiIdq")
ENVELOPE = struct.Struct("<4sII")
PLANES = {0: "data", 1: "control", 2: "world"}
BARE = {
    b"pn\x01C": "Confirm",
    b"pn\x01A": "Again",
    b"pn\x01P": "Probe",
    b"pn\x01L": "Alive",
    b"pn\x01G": "Gone",
}
"""The purpose of an envelope that carries no frame, by its mark."""

ALONE = 24
"""Bytes of the topic before data for one neighbour, on a link that carries the same to all."""

HEAD = {"posse": "capture", "version": 1}
_CHUNK = 1 << 20
_DEEPEST = 8
"""Deeper lists and tables are not shown."""
_WIDEST = 100
_LONGEST = 1_000

COORDINATOR = -1
"""The coordinator, as one end of a link."""

NO_RUN = 0xFFFF_FFFF
"""A header's run number outside of runs."""


@dataclass(frozen=True)
class Frame:
    """One frame, as it was handed to ZeroMQ.

    `source` and `target` are ranks, `COORDINATOR`, or None for a process without a rank yet. `time`
    is in seconds since the capture's first frame, `size` in bytes, with envelope and header.
    `plane` is "data" (what the paper sends), "control", "world" (the medium of shared arms),
    "session" (an envelope alone), "sealed" (forwarded), or "unknown". `kind` and `fields` are the
    message; `run` (None outside of runs), `sequence`, `now` and `sent` its header.
    `number` and `confirmed` are its envelope's, None without one, as in memory. `resent`: it was
    handed over before, byte for byte.
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

    def __str__(self) -> str:
        """One line: time, link, plane, size, header and message."""
        where = "" if self.run is None else f"run {self.run}  #{self.sequence}  at {self.now:g}"
        fields = ", ".join(map(_plain, self.fields))
        fields = fields if len(fields) <= _WIDEST else fields[: _WIDEST - 1] + "…"
        line = (
            f"{self.time:10.6f}  {self.link:<17}  {self.plane:<7}  {self.size:>6} B  {where:<28}  "
            f"{self.kind[:_WIDEST]} {fields}{'  (again)' if self.resent else ''}"
        ).rstrip()
        return printable(line, _LONGEST)  # a capture may be anybody's

    @property
    def link(self) -> str:
        """Its two ends in words."""
        return f"{_name(self.source)} → {_name(self.target)}"

    def line(self, names: Sequence[str] = ()) -> str:
        """The message first, its fields by their `names`, then link, plane and size."""
        given = [*(f"{name} = " for name in names), *[""] * len(self.fields)]
        fields = [f"{name}{_plain(value)}" for name, value in zip(given, self.fields, strict=False)]
        message = f"{self.kind[:_WIDEST]}({', '.join(fields)})"
        message = message if len(message) <= _WIDEST else message[: _WIDEST - 1] + "…"
        return f"{message} · {self.link} · {self.plane} · {self.size} B · {self.time:.6f} s"


def _name(end: int | None) -> str:
    return "?" if end is None else "coordinator" if end == COORDINATOR else str(end)


def _plain(value: Any, depth: int = 0) -> str:
    if depth > _DEEPEST:
        return "…"
    plain = partial(_plain, depth=depth + 1)
    match value:
        case bytes():
            return f"<{len(value)} bytes>"
        case list():
            return f"[{', '.join(map(plain, value))}]"
        case dict():
            return f"{{{', '.join(f'{key}: {plain(item)}' for key, item in value.items())}}}"
        case _:
            return str(value)


def read(path: Path) -> Iterator[Frame]:
    """The frames of a capture, in the order in which they were handed over."""
    reader = Reader(path)
    yield from reader.new()
    if not reader.begun:
        raise InputError(f"{path} is not a capture; --capture of posse run writes one")


class Reader:
    """Reads a capture while it grows.

    Frames' times count from `begin`, if it is given. `sent` is what several readers share if their
    captures are of one run: a frame that is in one and in an earlier one was sent again.
    """

    def __init__(
        self,
        path: Path,
        begin: int | None = None,
        sent: dict[tuple[Any, ...], int] | None = None,
    ) -> None:
        self.begun = False
        """Whether the file's first row was read."""
        self._path = path
        self._at = 0
        self._count = 0
        self._rows = msgpack.Unpacker(strict_map_key=False)
        self._unpack = partial(msgpack.unpackb, strict_map_key=False)
        self._begin = begin
        self._sent: dict[tuple[Any, ...], int] = {} if sent is None else sent

    def new(self) -> Iterator[Frame]:
        """The frames that came since the last call; a row that is half written comes later."""
        try:
            with files.opened(self._path) as file:
                file.seek(self._at)
                while chunk := file.read(_CHUNK):
                    self._at += len(chunk)
                    self._rows.feed(chunk)
                    yield from self._whole()
        except OSError as error:
            raise InputError(f"{self._path} cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, msgpack.UnpackException):
            if not self.begun:
                problem = "is not a capture; --capture of posse run writes one"
            else:
                problem = f"is damaged: its row {self._count + 1} is no frame"
            raise InputError(f"{self._path} {problem}") from None

    def _whole(self) -> Iterator[Frame]:
        for row in self._rows:
            if not self.begun:
                if row != HEAD:
                    raise ValueError
                self.begun = True
                continue
            match row:
                case [int(time), int() | None as source, int() | None as target, bytes(data)]:
                    pass
                case _:
                    raise ValueError
            self._count += 1
            self._begin = time if self._begin is None else self._begin
            yield self._frame((time - self._begin) / 1e9, source, target, data)

    def _frame(self, time: float, source: int | None, target: int | None, data: bytes) -> Frame:
        number = confirmed = None
        made = partial(Frame, time, source, target, len(data))
        if data[:2] == b"pf":  # sealed from end to end: what is in it was handed over before
            return made("sealed", "Forwarded")
        data = data[ALONE:] if data[:2] == b"pt" else data
        frame, resent = data, False
        if data[:2] == b"pn" and len(data) >= ENVELOPE.size:
            mark, number, confirmed = ENVELOPE.unpack_from(data)
            frame = data[ENVELOPE.size :]
            if mark in BARE:
                return made("session", BARE[mark], number=number, confirmed=confirmed)
            resent = self._sent.get((source, target, number)) == hash(frame)
            self._sent[source, target, number] = hash(frame)
            frame = unsealed(frame)
        try:
            magic, _, plane, run, _, sequence, now, sent = HEADER.unpack_from(frame)
            kind, *fields = self._unpack(frame[HEADER.size :])
            known = magic == b"po" and isinstance(kind, str)
        except (ValueError, TypeError, struct.error):
            known = False
        if not known:
            return made("unknown", "", (data,))
        return made(
            PLANES.get(plane, "unknown"),
            kind,
            fields,
            None if run == NO_RUN else run,
            sequence,
            now,
            sent,
            number,
            confirmed,
            resent,
        )


def select(
    frames: Iterable[Frame],
    *,
    link: tuple[int | None, int | None] | None = None,
    plane: str | None = None,
    kind: str | None = None,
    run: int | None = None,
) -> Iterator[Frame]:
    """The frames of one link (source and target, of which None is any), plane, kind and run."""
    source, target = link or (None, None)
    wanted = {"source": source, "target": target, "plane": plane, "kind": kind, "run": run}
    asked = [(name, value) for name, value in wanted.items() if value is not None]
    return (f for f in frames if all(getattr(f, name) == value for name, value in asked))
