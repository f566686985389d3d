"""Every decoder and reader of files of others, as a function of bytes.

Each raises one of `REFUSALS` or takes the bytes; anything else is a mistake of ours.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from posse.arms.log_file import read_log
from posse.durable import checkpoint, frames, lifetime
from posse.durable.checkpoint import NotPlain
from posse.durable.journal import Journal
from posse.errors import PosseError
from posse.plan import prepare
from posse.protocol import control
from posse.protocol.errors import ProtocolError
from posse.protocol.wire import Codec, kind_of, read_header
from posse.reading import folder as results
from posse.security import keys
from posse.spec import runfile
from posse.wire.session import Session, SessionBroken, is_numbered
from posse_systems.dubey2020 import messages as cooperative
from posse_systems.li2022 import messages as federated
from tests.support.blocks import ROOT

REFUSALS = (PosseError, ProtocolError, NotPlain, SessionBroken)

CORPUS = Path(__file__).parent / "corpus"
BEFORE = ROOT / "tests/reading/before"
"""A folder of results."""

Read = Callable[[Path, bytes], object]


def _wire(folder: Path, data: bytes) -> None:
    header = read_header(data)
    _codec().decode(header.plane, data)


@cache
def _codec() -> Codec:
    kinds = (cooperative.Bundle, federated.Adv, federated.Data, federated.Quiet, federated.Req)
    return Codec((*control.TO_JOINING, *control.TO_AGENT, *control.TO_COORDINATOR, *kinds))


def _kind(folder: Path, data: bytes) -> None:
    kind_of(data)


def _session(folder: Path, data: bytes) -> None:
    session = Session()
    if is_numbered(data):
        session.take(data)


def _file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    return path


def _journal(folder: Path, data: bytes) -> None:
    kept = Journal(_file(folder, "journal", data), "fuzz", synchronous=False)
    try:
        with kept.replay() as inputs:
            for _ in inputs:
                pass
    finally:
        kept.close()


def _checkpoint(folder: Path, data: bytes) -> None:
    checkpoint.read(data, {"sources": None})


def _capture(folder: Path, data: bytes) -> None:
    for frame in frames.read(_file(folder, "capture", data)):
        str(frame)


def _ledger(folder: Path, data: bytes) -> None:
    str(lifetime.read(_file(folder, "log.csv.ledger", data)))


def _secret(folder: Path, data: bytes) -> None:
    key_folder(folder)
    _file(folder, "keys/agent-0/agent-0.key_secret", data)
    keys.for_agent(folder / "keys", 0)


def _allowlist(folder: Path, data: bytes) -> None:
    key_folder(folder)
    _file(folder, "keys/agent-1/allowlist.toml", data)
    keys.for_agent(folder / "keys", 1)


def key_folder(folder: Path) -> Path:
    """A folder of keys for two agents, which is made if there is none."""
    if not (folder / "keys").exists():
        keys.create(folder / "keys", 2)
    return folder / "keys"


def _run_file(folder: Path, data: bytes) -> None:
    prepare(runfile.read(_file(folder, "run.toml", data)))


def _log(folder: Path, data: bytes) -> None:
    read_log(_file(folder, "rewards.csv", data), 3, "agent 0", bounded=True)


def _packed_log(folder: Path, data: bytes) -> None:
    read_log(_file(folder, "rewards.csv.gz", data), 3, "agent 0", bounded=True)


def _graph(ending: str) -> Read:
    def read(folder: Path, data: bytes) -> None:
        path = _file(folder, f"graph{ending}", data)
        arms = {"kind": "bernoulli", "means": [0.9, 0.1]}
        topology = {"kind": "file", "path": str(path)}
        run = {"system": "private-ucb", "arms": arms, "topology": topology}
        parameters = {"epsilon": 1.0, "horizon": 10, "gamma": 1}
        prepare(run | {"agents": {"count": 3}, "parameters": parameters}).network(0)

    return read


def _result(name: str) -> Read:
    def read(folder: Path, data: bytes) -> None:
        for other in BEFORE.iterdir():
            _file(folder, f"run/{other.name}", other.read_bytes())
        _file(folder, f"run/{name}", data)
        for series in results.find(folder / "run"):
            series.links()

    return read


READERS: dict[str, Read] = {
    "wire": _wire,
    "kind": _kind,
    "session": _session,
    "journal": _journal,
    "checkpoint": _checkpoint,
    "capture": _capture,
    "ledger": _ledger,
    "secret-key": _secret,
    "allowlist": _allowlist,
    "run-file": _run_file,
    "reward-log": _log,
    "packed-reward-log": _packed_log,
    "edge-list": _graph(".txt"),
    "graphml": _graph(".graphml"),
    "gml": _graph(".gml"),
    "graph.json": _graph(".json"),
    "graph6": _graph(".g6"),
    "result.json": _result("result.json"),
    "spec.toml": _result("spec.toml"),
    "links.csv": _result("links.csv"),
}
