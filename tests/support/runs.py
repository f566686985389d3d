"""Specifications for tests, and what two runs must agree in."""

import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from posse.measure.traffic import CONFIRMATION, RESENT
from posse.plan import Plan, prepare
from posse.protocol.control import LinkCount
from posse.protocol.message import Plane
from posse.results.record import RunRecord
from posse.system.record import System
from tests.conftest import PROBLEM_1
from tests.support.runfile import describe_run

BEST_ARM_SYSTEMS: dict[str, dict[str, Any]] = {
    "mase": {},
    "dp-mase": {"epsilon": 0.5},
    "corrupted-elimination": {"xi": 0.1},
    "central": {},
    "independent": {},
}


def spec(system: str, agents: int = 16, **changes: Any) -> Plan:
    """A specification on Problem 1, with changes."""
    parameters = BEST_ARM_SYSTEMS.get(system, {})
    engine = {"deadline": 20.0}
    raw = describe_run(system, agents, PROBLEM_1, seed=3, parameters=parameters, engine=engine)
    return prepare(raw | changes)


def certain_logs(folder: Path, agents: int, arms: int, rows: int) -> None:
    """RANK.csv for each agent: arm 0 gives 1 in each of its rows, the others 0."""
    lines = [f"{arm},{int(arm == 0)}" for _ in range(rows) for arm in range(arms)]
    for rank in range(agents):
        (folder / f"{rank}.csv").write_text("\n".join(["arm,reward", *lines]))


def printed(command: Sequence[str], timeout: float = 120, **options: Any) -> str:
    """What a command prints, which must succeed."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """`work` goes on in a thread until the block ends, and its event is set."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def agent_processes() -> list[psutil.Process]:
    """The agents that this process has up, oldest first."""
    found = []
    for child in psutil.Process().children():
        if "posse.engines.start.forkserver" in child.cmdline():
            found += child.children()
    return sorted(found, key=lambda process: process.pid)


def after(messages: int, act: Callable[[], None]) -> Callable[[object], None]:
    """An observer that acts once, when the coordinator has heard this many messages of a run."""
    heard = 0

    def observe(host: object) -> None:
        nonlocal heard
        heard += 1
        if heard == messages:
            act()

    return observe


def detail(record: RunRecord) -> Any:
    """What a record says in the words of its family, which a test knows."""
    return record.detail


def data_links(record: RunRecord) -> list[LinkCount]:
    """Messages and bytes of the paper's own messages, per link and kind."""
    return [link for link in record.links if link.plane != Plane.CONTROL]


OF_CONNECTIONS = {"Linked", RESENT, CONFIRMATION}
"""Kinds of what is sent because a connection was lost; undisturbed runs have none of it."""

REFUSED_OF_CONNECTIONS = {"connection-dropped", "out-of-session", "handshake", "unreachable"}
"""What is refused because a connection was lost or a process killed."""


def refused(record: RunRecord) -> dict[str, int]:
    """What was refused for what it was."""
    return {why: n for why, n in record.refused.items() if why not in REFUSED_OF_CONNECTIONS}


def control_messages(record: RunRecord) -> dict[tuple[int, int, str], int]:
    """Control messages per link and kind, but for those of connections."""
    return {
        (link.source, link.target, link.kind): link.messages
        for link in record.links
        if link.plane == Plane.CONTROL and link.kind not in OF_CONNECTIONS
    }


def assert_same_run(one: RunRecord, other: RunRecord) -> None:
    """The same seed gave the same run: answer, log, regret curve, messages, payload bytes."""
    for name in (
        "status",
        "best_arm",
        "rounds",
        "slots",
        "pulls_per_arm",
        "pulls_per_agent",
        "regret",
        "regret_curve",
        "answers",
        "log",
        "agent_logs",
        "privacy",
    ):
        assert getattr(one, name) == getattr(other, name), name
    assert refused(one) == refused(other), (refused(one), refused(other))
    assert data_links(one) == data_links(other)
    assert control_messages(one) == control_messages(other)


def with_machines(
    system: System, *, agent: Any = None, server: Any = None, name: str | None = None
) -> System:
    """The system with an agent's or the server's machine made by somebody else."""
    shape: Any = system.shape
    if agent is not None:
        shape = replace(shape, agent=replace(shape.agent, make=agent))
    if server is not None:
        shape = replace(shape, server=replace(shape.server, make=server))
    return replace(system, shape=shape, name=name or system.name)
