"""Hosts as bytes: brought back now and then they end as if nothing had been."""

import os
import pickle
import subprocess
import sys
import time
from collections import Counter, defaultdict, deque
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posse
from posse.agent.host import AgentHost
from posse.agent.recovery import outside_agent
from posse.arms.shared import GroupArms
from posse.cli.new import text
from posse.clocks.immediate import SlotPace, WallPace
from posse.clocks.pace import SharedPace
from posse.clocks.run_clock import Conductor, SharedClock, WallClock
from posse.clocks.virtual import Activity, VirtualPace
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.recovery import outside_coordinator, restored_host
from posse.durable.checkpoint import NotPlain, read, written
from posse.durable.journal import Journal
from posse.durable.ledger import Ledger
from posse.durable.recording import RecordedSpending, record_sources
from posse.engines import memory
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.sources import Sources
from posse.plan import Plan
from posse.protocol.message import Plane
from posse.system import get_system
from posse.system.network import Network
from posse.wire.broadcast import BroadcastSession
from posse.wire.session import Session
from tests.runs.test_golden import CASES
from tests.support.golden import taken, without_clock_and_chance, write_logs
from tests.support.paced import Run, buffer

EVERY = 7
"""Inputs of a host after which it is brought back."""

NOT_TWICE = ("mase, field", "central, field", "cooperative-ucb, field")
"""Others of the field hear more, or wait less often for the disk."""

QUICK = ("dp-mase", "private-ucb", "tdfs-private", "anonymous", "hdp-mab", "cdp-mab, shared")


class BroughtBack:
    """A host whose place another takes now and then, made of the bytes of the last."""

    times = 0
    inputs: tuple[str, ...]

    def __init__(self, sources: Sources, field: bool, every: int, count: int) -> None:
        self._journal = Journal(Path("none"), "")
        self._sources = record_sources(self._journal, replace(sources, common=None), field=field)
        self._every, self._count = every, count

    def __getattr__(self, name: str) -> Any:
        if name in self.inputs:
            self._count += 1
            if self._count % self._every == 0:
                self._again()
        return getattr(self._host, name)

    def _let_go(self, spending: Any) -> None:
        """A ledger is held by one alone."""
        if isinstance(spending, RecordedSpending):
            spending._spending._close()  # type: ignore[attr-defined]
        type(self).times += 1


class AgentBroughtBack(BroughtBack):
    inputs = ("receive", "hear", "step")

    def __init__(self, setup: AgentSetup, rank: int, sources: Sources) -> None:
        field = setup.mode == "field"
        super().__init__(sources, field, 2 * EVERY if field else EVERY, rank)
        self._host = AgentHost(setup, rank, self._sources)
        self._setup = setup
        self._given = self._sources.coarse() if field else self._sources

    def _again(self) -> None:
        setup, rank = self._setup, self._host.rank
        outside = outside_agent(self._journal, self._host.sources, setup, rank)
        state = written(self._host, outside)
        self._let_go(self._host.run and self._host.run._spending)
        self._host = read(state, outside_agent(self._journal, self._given, setup, rank))


class CoordinatorBroughtBack(BroughtBack):
    inputs = ("receive", "fire")

    def __init__(
        self, plan: Plan, network: Network, run: int, sources: Sources, *given: Any, **named: Any
    ) -> None:
        super().__init__(sources, plan.field, EVERY, 0)
        self._host = CoordinatorHost(plan, network, run, self._sources, *given, **named)

    def _again(self) -> None:
        host = self._host
        named = outside_coordinator(self._journal, host.plan, host.sources, host.observe)
        state = written(host, named)
        self._let_go(host._server and host._server._spending)
        self._host = restored_host(self._journal, host.plan, self._sources, host.observe, state)


@pytest.mark.inside
@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in CASES
        if name not in NOT_TWICE
    ],
)
def test_who_was_restored_host_goes_on_as_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    without_clock_and_chance(monkeypatch)
    expected = taken(CASES[name]["run"])
    for file in tmp_path.glob("*.ledger*"):
        file.unlink()
    for kind in (AgentBroughtBack, CoordinatorBroughtBack):
        monkeypatch.setattr(kind, "times", 0)
    monkeypatch.setattr(memory, "AgentHost", AgentBroughtBack)
    monkeypatch.setattr(memory, "CoordinatorHost", CoordinatorBroughtBack)
    assert taken(CASES[name]["run"]) == expected
    assert AgentBroughtBack.times > 0
    assert CoordinatorBroughtBack.times > 0


@pytest.mark.inside
def test_a_users_own_machines_come_back_with_the_context_that_they_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "GreedyAgent(context.arms, context.parameters)"
    keeps = f"one = {made}\n    one.context = context\n    return one"
    own = text("system.py", "ownplain").replace(f"return {made}", keeps)
    assert keeps in own
    (tmp_path / "ownplain.py").write_text(own)
    spec = {"system": "ownplain:SYSTEM", "path": [str(tmp_path)], "agents": {"count": 2}}
    spec |= {"arms": {"kind": "bernoulli", "means": [0.8, 0.3]}, "parameters": {"rounds": 8}}
    expected = posse.run(spec, engine="memory").runs[0]
    for kind in (AgentBroughtBack, CoordinatorBroughtBack):
        monkeypatch.setattr(kind, "times", 0)
    monkeypatch.setattr(memory, "AgentHost", AgentBroughtBack)
    monkeypatch.setattr(memory, "CoordinatorHost", CoordinatorBroughtBack)
    again = posse.run(spec, engine="memory").runs[0]
    assert (again.pulls, again.regret_curve, again.answers) == (
        expected.pulls,
        expected.regret_curve,
        expected.answers,
    )
    assert AgentBroughtBack.times > 0
    assert CoordinatorBroughtBack.times > 0
    with pytest.raises(NotPlain, match=r"^ownplain.* is not plain data"):  # of no other system
        written(sys.modules["ownplain"].GreedyAgent(1, None), {"system": get_system("mase")})


def test_what_hosts_are_made_of_comes_back_compiled_too() -> None:
    run, rewards = Run(print), buffer()
    activity = Activity(1.0, np.random.default_rng(0))
    for one in (
        *(Conductor(2), SharedClock(GroupArms(rewards, 2, 2, None)), WallClock(monotonic_ns)),
        *(SharedPace(run), SlotPace(run, rewards), WallPace(run, rewards, monotonic_ns, False)),
        *(VirtualPace(run, rewards, activity), Session(1), BroadcastSession(1, b"", 2)),
    ):
        outside = {"run": run, "rewards": rewards, "clock": monotonic_ns, "print": print}
        outside["system"] = get_system("cooperative-ucb")
        assert type(read(written(one, outside), outside)) is type(one)


class Harmful:
    def __init__(self, call: Any, *given: Any) -> None:
        self._made_by = call, given

    def __reduce__(self) -> Any:
        return self._made_by


@pytest.mark.parametrize(
    "thing", [Harmful(os.system, "true"), Harmful(list), os.system, print, lambda: 1, object()]
)
def test_nothing_but_plain_data_is_written(thing: Any) -> None:
    with pytest.raises(NotPlain, match="is not plain data"):
        written([thing], {})


@pytest.mark.parametrize(
    "name",
    [
        *("os.system", "subprocess.Popen", "builtins.eval", "posse.durable.journal.Journal"),
        *("posse.durable.capture.Capture", "posse.durable.recording.record_sources", "type"),
        *("posse.arms.python.PythonArms", "posse.durable.journal.sqlite3.connect"),
        "posse.agent.host.os.system",
    ],
)
def test_no_name_in_a_checkpoint_is_imported_or_called(name: str) -> None:
    for document in ([name, ["list", "true"]], ["class", name], ["defaultdict", ["class", name]]):
        with pytest.raises(NotPlain, match="is not plain data"):
            read(msgspec.msgpack.encode(document), {})


def test_a_class_that_this_process_has_not_loaded_is_not_loaded() -> None:
    code = (
        "import sys, msgspec; from posse.durable.checkpoint import NotPlain, read\n"
        "try: read(msgspec.msgpack.encode(['posse_systems.rio2023.agent.MaseVoter', None]), {})\n"
        "except NotPlain: print('posse_systems.rio2023.agent' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


def test_a_checkpoint_of_an_older_version_is_refused_in_a_sentence() -> None:
    with pytest.raises(NotPlain, match="this is no checkpoint of this version .*; remove the jour"):
        read(pickle.dumps({"host": Harmful(os.system, "true")}, 5), {})


def test_a_ledger_that_is_gone_is_not_made(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "made.ledger")
    outside = {"ledger": tmp_path / "made.ledger", "wall": time.time}
    ledger._run = 1
    with pytest.raises(NotPlain, match=r"made\.ledger cannot be written: No such file"):
        read(written(ledger, outside), outside)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_names_no_file(tmp_path: Path) -> None:
    """Else it would open, change and make private any database of the user's (attack r07)."""
    path = tmp_path / "places.sqlite"
    path.write_bytes(b"precious")
    rows, no = ["array", "<i8", [0], "C", b""], None
    held = ["posse.durable.ledger.Ledger", ["tuple", str(path), no, no, 1, no, rows, False]]
    context = ["dict", "rank", 0, "agents", 1, "run", 0, "seed", 0, "base", str(tmp_path)]
    for document in (
        held,
        ["posse.durable.lab.LabLedger", ["tuple", str(path), no, no, ["dict"]]],
        ["posse.durable.persons.OwnArmsPersons", str(path), "a", b"", 1, no],
        ["posse.durable.recording.RecordedArms", ["tuple", no, no, context, no, no]],
        ["posse.durable.recording.RecordedLive", ["tuple", no, no, context, b"", no, no]],
        ["posse.arms.csv.CsvArms", str(path), 2],
        ["posse.hosts.agent_setup.AgentSetup", "mase"],
        ["outside", str(path)],
    ):
        with pytest.raises(NotPlain):
            read(msgspec.msgpack.encode(document), {"ledger": tmp_path / "own.ledger"})
    with pytest.raises(NotPlain, match="it names a file"):
        read(msgspec.msgpack.encode(held), {})
    with pytest.raises(NotPlain):
        written(path, {"ledger": tmp_path / "own.ledger"})
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


def test_values_of_every_kind_come_back() -> None:
    shared = [1, 2]
    values: Any = {
        (1, "a"): [None, True, 1.5, float("inf"), b"x", -(1 << 70), 1 << 63],
        "shared": (shared, shared, {3}, frozenset({4}), range(1, 9, 2)),
        "counts": Counter({"x": 2}),
        "lists": defaultdict(list, {1: shared}),
        "last": deque([1, 2], maxlen=2),
        "number": np.float64(0.5),
        "order": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "plane": Plane.DATA,
        "kind": Ledger,
    }
    again = read(written(values, {}), {})
    assert str(again) == str(values)
    assert again["shared"][0] is again["shared"][1] is again["lists"][1]
    assert again["last"].maxlen == 2
    assert again["order"].flags.f_contiguous


def shared_tuples(depth: int) -> list[Any]:
    """A tuple of a tuple and the same again, and so on: its hash would take 2^depth steps."""
    return ["tuple", 1] if not depth else ["tuple", shared_tuples(depth - 1), ["seen", depth]]


@pytest.mark.parametrize(
    "document",
    [
        ["view", ["array", "<u8", [1], "C", bytes(8)], "|O", [1], 0, [8]],
        ["view", ["array", "<f8", [1], "C", bytes(8)], "<f8", [2], 0, [8]],
        ["view", ["array", "<f8", [1], "C", bytes(8)], "<f8", [1 << 40], 0, [0]],
        ["array", "|O", [1], "C", bytes(8)],
        ["array", "|V0", [10**12], "C", b""],
        ["set", shared_tuples(60)],
        ["list", ["seen", 5]],
        ["posse.agent.host.AgentHost", ["dict", "__class__", ["class", "int"]]],
        ["posse.agent.host.__builtins__", None],
        ["deque", -1],
        [],
        [7],
    ],
)
def test_no_document_reaches_memory_or_takes_for_ever(document: list[Any]) -> None:
    with pytest.raises(NotPlain):
        read(msgspec.msgpack.encode(document), {})


@given(st.integers(0, 1_000))
def test_a_part_of_it_is_named(cut: int) -> None:
    whole = written([1, "two"], {})
    with pytest.raises(NotPlain):
        read(whole[: cut % len(whole)], {})


def test_what_is_a_part_of_an_array_stays_one() -> None:
    whole = np.zeros(4, dtype=[("n", "i8"), ("x", "f8", (2,))])
    again, part, row = read(written((whole, whole["x"], whole["x"][2]), {}), {})
    part[2, 1] = 5.0
    row[0] = 3.0
    assert again["x"].tolist() == [[0, 0], [0, 0], [3, 5], [0, 0]]
