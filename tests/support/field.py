"""Field runs of every system, what they were caught sending, and what the page says of it."""

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from docs.hooks.messages import named
from posse.engines import memory
from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR
from posse.protocol.wire import HEADER
from posse.results.record import RunRecord
from posse.system import get_system

PAGE = Path(__file__).parents[2] / "docs" / "private.md"
MEANS = (0.95, 0.5, 0.3, 0.1)
RING = {"kind": "ring"}
PARTS = {
    "kind": "components",
    "components": [{"kind": "path", "count": 3}, {"kind": "single"}],
}

CASES: dict[str, dict[str, Any]] = {
    "mase": {"parameters": {"delta": 0.3}},
    "dp-mase": {"parameters": {"epsilon": 2.0, "delta": 0.3}},
    "corrupted-elimination": {"parameters": {"xi": 0.1, "eta": 0.5}, "agents": {"count": 12}},
    "central": {},
    "cdp-mab": {"parameters": {"epsilon": 1.0, "horizon": 2000}},
    "ddp-mab": {"parameters": {"epsilon": 1.0, "horizon": 2000}, "topology": RING},
    "hdp-mab": {"parameters": {"epsilon": 1.0, "horizon": 2000}, "topology": PARTS},
    "single-mab": {"parameters": {"epsilon": 1.0, "horizon": 2000}},
    "private-ucb": {"parameters": {"epsilon": 0.5, "horizon": 150}, "topology": RING},
    "cooperative-ucb": {"parameters": {"horizon": 150}, "topology": RING},
    "byzantine-ucb": {
        "parameters": {"horizon": 150, "assumed_contamination": 0.05},
        "topology": RING,
    },
    "robust-private-ucb": {
        "parameters": {"epsilon": 0.5, "horizon": 150, "assumed_contamination": 0.2},
        "topology": RING,
    },
    "ucb1": {"parameters": {"horizon": 150}},
    "dp-ucb-int": {"parameters": {"epsilon": 0.5, "horizon": 150}},
    "adap-ucb": {"parameters": {"epsilon": 0.5, "horizon": 150}},
    "anonymous": {"parameters": {"horizon": 3000, "group_size": 2}},
    "explore-then-commit": {"parameters": {"horizon": 600, "group_size": 2}},
    "parallel-ucb": {"parameters": {"horizon": 600}},
    "tdfs-ucb": {"parameters": {"horizon": 150}},
    "tdfs-private-bound": {"parameters": {"horizon": 150, "epsilon": 1.0}},
    "tdfs-private": {"parameters": {"horizon": 150, "epsilon": 1.0}},
    "random-player": {"parameters": {"horizon": 150}},
}
VARIATIONS: dict[str, list[dict[str, Any]]] = {
    "ddp-mab": [{"exchange": "flooding"}, {"exchange": "gossip"}],
    "anonymous": [{"aggregation": "sink"}],
    "cdp-mab": [{"participation": 0.5}, {"noise": "shared"}],
    "private-ucb": [{"releases": "doubling"}, {"releases": "trees"}],
    "tdfs-private": [{"counter": "tree"}, {"counter": "honaker"}],
    "tdfs-private-bound": [{"counter": "tree"}, {"counter": "honaker"}],
}
"""Parameters by which a system sends other kinds."""

FAMILIES = {
    "Best arm: `mase`, `dp-mase`, `corrupted-elimination`, `central`",
    "Federated elimination: `cdp-mab`, `ddp-mab`, `hdp-mab`, `single-mab`",
    "Cooperation: `private-ucb`, `cooperative-ucb`, `byzantine-ucb`, `robust-private-ucb`, `ucb1`, "
    "`dp-ucb-int`, `adap-ucb`",
    "Anonymous bandits: `anonymous`, `explore-then-commit`, `parallel-ucb`",
    "Players: `tdfs-ucb`, `tdfs-private`, `tdfs-private-bound`, `random-player`",
}


MASKED = "Masked sums"
"""The heading under which messages stand that two families share."""

MASKING = {heading for heading in FAMILIES if "`cdp-mab`" in heading or "`anonymous`" in heading}


def family_of(system: str) -> str:
    """The heading of the page under which the system's messages stand."""
    (heading,) = [heading for heading in FAMILIES if f"`{system}`" in heading]
    return heading


def logs(folder: Path, means: tuple[float, ...], seed: int, rows: int = 400) -> Path:
    """A reward log per agent, and one for players, drawn again and again; rewards in {0, 1}."""
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(seed)
    for name in [*range(12), "all"]:
        lines = ["arm,reward"]
        for arm, mean in enumerate(means):
            lines += [f"{arm},{int(r)}" for r in generator.random(rows) < mean]
        (folder / f"rewards-{name}.csv").write_text("\n".join(lines))
    return folder


def field(system: str, folder: Path, **changes: Any) -> Plan:
    """A small field run of the system on the folder's logs."""
    shared = get_system(system).shares_arms
    case = CASES[system]
    return prepare(
        {
            "system": system,
            "mode": "field",
            "agents": {"count": 4},
            "arms": {
                "kind": "csv",
                "path": "rewards-all.csv" if shared else "rewards-{rank}.csv",
                "count": len(MEANS),
                "replace": True,
            },
            "privacy": {"reuse": "unlimited"},
            "engine": {"deadline": 30.0},
            "base": str(folder),
            **case,
            **changes,
            "parameters": case.get("parameters", {}) | changes.get("parameters", {}),
        }
    )


Frames = list[tuple[int, int, bytes]]


def captured(spec: Plan) -> tuple[RunRecord, Frames]:
    """A run's record, and every frame between its hosts as (source, target, frame)."""
    frames: Frames = []
    record = memory.run(spec, 0, tap=lambda *frame: frames.append(frame))
    return record, frames


def message(frame: bytes) -> list[Any]:
    """A frame's message as plain data, its kind first."""
    plain: list[Any] = msgspec.msgpack.decode(frame[HEADER.size :])
    return plain


def sent(frames: Frames) -> dict[str, set[str]]:
    """The kinds in these frames, by who sent them."""
    out: dict[str, set[str]] = {"agent": set(), "coordinator": set()}
    for source, _, frame in frames:
        out["coordinator" if source == COORDINATOR else "agent"].add(message(frame)[0])
    return out


def allowed(system: str) -> dict[str, set[str]]:
    """What the page lists for a system's runs, by who sends it."""
    headings = ["In every run", family_of(system)]
    if family_of(system) in MASKING:
        headings.append(MASKED)
    definition = get_system(system)
    if definition.server is None:
        headings.append("Systems without a server")
    lists = [documented(heading) for heading in headings]
    return {who: set().union(*(listed[who] for listed in lists)) for who in lists[0]}


KIND = re.compile(rb"po\x01[\x00-\x02].{28}[\x91-\x9f][\xa1-\xbf]([A-Z][A-Za-z]+)", re.DOTALL)


def kinds(captured: list[bytearray]) -> set[str]:
    """The kinds of messages that can be read in what went over the wire."""
    return {match.decode() for stream in captured for match in KIND.findall(bytes(stream))}


def documented(heading: str) -> dict[str, set[str]]:
    """The kinds of the page's table below a heading, by direction."""
    section = re.split(r"\n##+ ", PAGE.read_text().partition(f"## {heading}\n")[2])[0]
    out: dict[str, set[str]] = {"agent": set(), "coordinator": set()}
    for source, kind in named(section):
        out["agent" if source == "neighbour" else source].add(kind)
    return out
