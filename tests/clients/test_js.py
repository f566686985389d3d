"""The client in TypeScript, `clients/js`, beside agents of ours: as docs/wire.md promises, no
message and no answer is another. Rewards are 0 or 1 surely, and so much privacy is given away that
no draw decides anything.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.engines import memory
from posse.plan import Plan
from posse.protocol.wire import HEADER, MAGIC, VERSION
from posse.results.record import RunRecord
from posse.security import keys
from posse.testing.foreign import Part, judge_agent
from tests.support.patience import PATIENCE
from tests.support.relay import Relay, relay
from tests.support.remote import Agent, coordinator, free_port
from tests.support.runs import control_messages, data_links, refused, spec

CLIENT = Path(__file__).parents[2] / "clients" / "js"
PROGRAM = CLIENT / "dist" / "main.js"

PARAMETERS: dict[str, dict[str, Any]] = {
    "mase": {"delta": 0.3, "beta": 0.5},
    "cdp-mab": {"horizon": 20_000, "epsilon": 1e9},
    "ddp-mab": {"horizon": 20_000, "epsilon": 1e9},
}
TWO_BEST = [1.0, 0.0, 1.0]
"""They are told apart in no round: there are as many as fit into the horizon, either is right."""

AFTER = [5, 80, 150, 250, 300, 400, 500, 550, 600, 650, 700, 750]
"""Bytes: within handshakes of ZeroMQ, and within first frames."""


def missing() -> str:
    """Why the client cannot run here; "" if it can."""
    if shutil.which("node") is None:
        return "node is not installed; the client in TypeScript needs 18 or later"
    sources = [*(CLIENT / "src").glob("*.ts"), CLIENT / "package-lock.json"]
    newest = max(file.stat().st_mtime for file in sources)
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < newest:
        return "clients/js is not built, or has changed since; run: npm ci --prefix clients/js"
    return ""


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def plan(system: str, agents: int, means: list[float], **changes: Any) -> Plan:
    ring = {"topology": {"kind": "ring"}} if system == "ddp-mab" else {}
    settings = {"engine": {"deadline": 60.0}, "parameters": PARAMETERS[system], **ring, **changes}
    return spec(system, agents, arms={"kind": "bernoulli", "means": means}, **settings)


class Client:
    """The client as a process, with the keys of its rank if there is a folder of them."""

    def __init__(
        self, endpoint: str, rank: int, folder: Path | None = None, program: Path = PROGRAM
    ) -> None:
        who = ["--keys", str(folder / f"agent-{rank}")] if folder else [f"--rank={rank}"]
        self._process = subprocess.Popen(
            ["node", program, "--join", endpoint, "--wait", "60", *who],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ended(self) -> tuple[int, str]:
        """Its exit code, and what it said."""
        try:
            said = self._process.communicate(timeout=PATIENCE)[1]
        finally:
            self.close()
        return self._process.returncode, said

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Closes what a test has begun."""
    with ExitStack() as opened:
        yield opened


def run_with(
    plan: Plan, theirs: int, opened: ExitStack, folder: Path | None = None, *, cut: bool = False
) -> tuple[RunRecord, list[Relay]]:
    """A run with `theirs` agents in TypeScript, the first, and others of ours; each over relays.

    With `cut` all connections to the coordinator are reset several times, and those between agents
    after this many bytes each.
    """
    agents = plan.spec.agents.count
    heard = 0

    def observe(host: object) -> None:
        nonlocal heard
        heard += 1
        if cut and heard in {1, 2, 7, 9}:
            way.cut()

    with coordinator(plan, folder=folder) as engine:
        way = opened.enter_context(relay(engine.endpoint))
        clients = [Client(way.endpoint, rank, folder) for rank in range(theirs)]
        for client in clients:
            opened.callback(client.close)
        pairs = [keys.for_agent(folder, rank) if folder else None for rank in range(agents)]
        ours = [Agent(way.endpoint, rank, keys=pairs[rank]) for rank in range(theirs, agents)]
        engine.hub.gather()
        ways = [way]
        for member in engine.hub.lobby.roster.members.values():
            if member.inbox and cut:
                ways.append(opened.enter_context(relay(member.inbox, lasts=AFTER)))
                member.inbox = ways[-1].endpoint
        for number in range(plan.spec.repeat):
            record = engine.run(plan, number, observe)
    assert [client.ended() for client in clients] == [(0, "")] * theirs
    assert [agent.ended() for agent in ours] == [0] * len(ours)
    return record, ways


def assert_same_but_for_times(expected: RunRecord, found: RunRecord) -> None:
    """As right an answer, the same pulls, regret, and messages and payload bytes on each link."""
    for name in ("status", "right", "rounds", "slots", "pulls_per_agent", "regret", "privacy"):
        assert getattr(expected, name) == getattr(found, name), name
    assert refused(found) == {}
    assert data_links(expected) == data_links(found)
    assert control_messages(expected) == control_messages(found)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    ("system", "agents", "theirs"), [("mase", 2, 1), ("cdp-mab", 3, 2), ("ddp-mab", 4, 2)]
)
def test_beside_ours_it_plays_the_run_of_ours(
    system: str, agents: int, theirs: int, keyed: bool, tmp_path: Path, opened: ExitStack
) -> None:
    played = plan(system, agents, [0.0, 1.0, 0.0], repeat=2)
    if keyed:
        keys.create(tmp_path / "keys", agents)
    record, _ = run_with(played, theirs, opened, tmp_path / "keys" if keyed else None)
    assert (record.status, record.best_arm) == ("identified", 1)
    assert_same_but_for_times(memory.run(played, 1), record)


@pytest.mark.parametrize(
    ("system", "changes"),
    [
        ("cdp-mab", {}),
        ("cdp-mab", {"participation": 0.5}),
        ("cdp-mab", {"max_rounds": 4, "gap": 0.1, "noise": "per_agent"}),
        ("ddp-mab", {}),
        ("ddp-mab", {"t_delay": "diameter"}),
    ],
)
def test_it_resumes_after_cuts_and_nothing_of_the_run_changes(
    system: str, changes: dict[str, Any], tmp_path: Path, opened: ExitStack
) -> None:
    keys.create(tmp_path / "keys", 4)
    played = plan(system, 4, TWO_BEST, parameters=PARAMETERS[system] | changes)
    record, ways = run_with(played, 2, opened, tmp_path / "keys", cut=True)
    assert record.rounds is not None
    assert record.rounds >= 3
    assert all(way.cuts >= 4 for way in ways)
    assert_same_but_for_times(memory.run(played, 0), record)


def test_it_goes_on_by_the_wall_clock(opened: ExitStack) -> None:
    played = plan("mase", 2, [0.0, 1.0, 0.0], engine={"deadline": 60.0, "clock": "wall"})
    record, _ = run_with(played, 1, opened, cut=True)
    assert (record.status, record.best_arm) == ("identified", 1)
    assert record.pulls_per_agent == [108, 108]


@pytest.mark.parametrize("system", PARAMETERS)
def test_it_joins_the_command_and_finds_the_best_of_random_arms(
    system: str, tmp_path: Path, opened: ExitStack
) -> None:
    played = plan(system, 3, [0.9, 0.1, 0.5], variant="printed")
    keys.create(tmp_path / "keys", 3)
    file = RunDirectory(tmp_path / "file", played).open().path / SPECIFICATION
    bind = f"tcp://127.0.0.1:{free_port()}"

    def posse(*command: str) -> "subprocess.Popen[str]":
        process = opened.enter_context(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "posse", *command, "--keys", str(tmp_path / "keys")],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
            )
        )
        opened.callback(process.kill)
        return process

    way = opened.enter_context(relay(bind, lasts=[900, 1_000, 1_200, 1_400]))
    server = posse("coordinator", str(file), "--bind", bind, "--json")
    ours = posse("agent", "--join", bind, "--rank", "2")
    clients = [Client(way.endpoint, rank, tmp_path / "keys") for rank in range(2)]
    for client in clients:
        opened.callback(client.close)
    said, complaint = server.communicate(timeout=PATIENCE)
    assert server.returncode == 0, complaint
    run = json.loads(said)["runs"][0]
    assert (run["status"], run["best_arm"]) == ("identified", 0)
    assert way.cuts >= 3
    assert [client.ended() for client in clients] == [(0, "")] * 2
    assert ours.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (["Refused", "\x1b]0;owned\x07"], r"refused this agent: \u{1b}]0;owned\u{7}"),
        (["Welcome", [], {}], "what this client cannot take: a damaged Welcome"),
        (["Synced", None, None], "what this client cannot take: a damaged Synced"),
        (["Configure", 0, b""], "what this client cannot take: "),
    ],
)
def test_a_hostile_coordinator_gets_a_printable_sentence(fields: list[Any], said: str) -> None:
    """Attack r14."""
    header = HEADER.pack(MAGIC, VERSION, 1, 0xFFFFFFFF, -1, 0, 0.0, 0)
    with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
        socket.linger = 0
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        words = ["node", str(PROGRAM), "--join", f"tcp://127.0.0.1:{port}"]
        with subprocess.Popen(words, stderr=subprocess.PIPE) as client:
            assert socket.poll(int(PATIENCE * 1_000))
            who, _ = socket.recv_multipart()
            socket.send_multipart([who, header + msgspec.msgpack.encode(fields)])
            shown = client.stderr.read().decode()
            assert client.wait(PATIENCE) == 1
    assert said in shown
    assert all(sign.isprintable() for sign in shown.rstrip("\n"))


def judged(
    part: Part, opened: ExitStack, folder: Path | None = None, program: Path = PROGRAM
) -> list[str]:
    """What the judge finds broken."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    client = Client(endpoint, 0 if folder else -1, folder, program)
    opened.callback(client.close)
    found = list(judge_agent(endpoint, wait=PATIENCE, part=part, keys=folder))
    broken = [finding.check for finding in found if not finding.held]
    if not broken:
        assert len(found) == {"wall": 15, "virtual": 17, "ddp-mab": 13 + bool(folder)}[part]
        assert client.ended() == (0, "")
    return broken


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("part", ["wall", "virtual", "ddp-mab"])
def test_the_judge_finds_nothing(
    part: Part, keyed: bool, tmp_path: Path, opened: ExitStack
) -> None:
    folder = tmp_path / "keys" if keyed else None
    if folder:
        keys.create(folder, 2)
    assert judged(part, opened, folder) == []


PLANTED: dict[str, tuple[Part, str, str, str]] = {
    "after Moved": ("ddp-mab", "agent", 'kind === "Moved"', 'kind === ""'),
    "after 2^32 - 1 comes 0": (
        *("ddp-mab", "codec"),
        "bytes.writeUInt32LE(envelope.number >>> 0, 4)",
        "bytes.writeUInt32LE(Math.min(envelope.number, 0xFFFFFFFF), 4)",
    ),
    "lost frame is asked for by A": ("ddp-mab", "session", '> 0 ? "A" : "C"', '> 0 ? "C" : "C"'),
    "admits only the keys": (
        "ddp-mab",
        "mesh",
        "() => this.admitted",
        "() => ({ has: () => true })",
    ),
    "what was planned after a message is undone": (
        *("virtual", "activity"),
        "this.carryOut(frame.now)",
        "this.carryOut(Infinity)",
    ),
    "what it pulled silently before Stop counts": (
        *("virtual", "activity"),
        "if (pulled > 0)",
        "if (false)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("sentence", PLANTED)
def test_the_judge_finds_a_planted_fault(sentence: str, tmp_path: Path, opened: ExitStack) -> None:
    part, file, right, wrong = PLANTED[sentence]
    shutil.copytree(PROGRAM.parent, tmp_path / "dist")
    shutil.copy(CLIENT / "package.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(CLIENT / "node_modules")
    text = (tmp_path / "dist" / f"{file}.js").read_text()
    assert text.count(right) == 1
    (tmp_path / "dist" / f"{file}.js").write_text(text.replace(right, wrong))
    keys.create(tmp_path / "keys", 2)
    (found,) = judged(part, opened, tmp_path / "keys", tmp_path / "dist" / "main.js")
    assert sentence in found
