"""What the fuzzers begin with: valid bytes of each reader, and what was once found."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from posse.durable.journal import FRAME, Journal
from posse.protocol import control
from posse.protocol.wire import encode
from tests.fuzz.readers import BEFORE, CORPUS, key_folder


def of(reader: str, folder: Path) -> list[bytes]:
    """The bytes that a reader's fuzzer begins with."""
    return [*_valid(reader, folder), *(path.read_bytes() for path in found(reader))]


def found(reader: str) -> list[Path]:
    """Files of the corpus of this reader."""
    return sorted((CORPUS / reader).glob("*"))


def _valid(reader: str, folder: Path) -> Iterator[bytes]:
    match reader:
        case "wire" | "kind":
            for message in (control.Goodbye(0), control.Sync(1), control.Arrived("tcp://[::1]:1")):
                yield encode(message, run=1, source=0, sequence=1, now=0.0, sent=0)
        case "session":
            for mark in b"FCPR":
                yield b"pn\x01" + bytes([mark]) + b"\1\0\0\0\1\0\0\0" + bytes(8)
        case "journal":
            path = folder / "seed"
            kept = Journal(path, "fuzz", synchronous=False)
            kept.begin(b"state")
            kept.add(FRAME, 1, b"frame")
            kept.commit()
            kept.close()
            yield path.read_bytes()
        case "secret-key":
            yield (key_folder(folder) / "agent-0/agent-0.key_secret").read_bytes()
        case "allowlist":
            yield (key_folder(folder) / "agent-1/allowlist.toml").read_bytes()
        case "packed-reward-log":
            yield gzip.compress(b"arm,reward\n0,0.5\n1,1\n2,0\n", mtime=0)
        case "result.json" | "spec.toml" | "links.csv":
            yield (BEFORE / reader).read_bytes()
