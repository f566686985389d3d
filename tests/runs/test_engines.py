"""The same seed, the same run: in memory and across processes."""

from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.plan import prepare
from posse.system import names
from tests.runs.test_restarts import CASES, SMALLER
from tests.support.golden import write_logs
from tests.support.patience import PATIENCE
from tests.support.runs import BEST_ARM_SYSTEMS, agent_processes, assert_same_run, spec

# M = 11 at xi = .1; the centre hears of every reward
AGENTS = {"corrupted-elimination": 24, "central": 5}

HELD = [
    name
    for name, run in CASES.items()
    if run.get("mode") != "field"
    and "clock" not in run.get("engine", {})
    # whose messages and links are those of the corrected form
    and not name.endswith(", printed")
]


TWICE = ("dp-mase", "tdfs-private", "ddp-mab")
"""One of each kind, whose agents go on with a second run."""

QUICK = (*TWICE, "mase", "private-ucb", "anonymous", "cdp-mab")
"""One of each family and way of exchange; the slow suite has all."""


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in HELD],
)
def test_same_seed_same_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every system and its ways of exchange; each second one over TCP."""
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    transport = ("ipc", "tcp")[HELD.index(name) % 2]
    raw = CASES[name] | SMALLER.get(name, {})
    run = prepare(raw | {"engine": {"transport": transport, "deadline": PATIENCE}})
    with ProcessEngine(run) as engine:
        for number in (0, 1) if name in TWICE else (0,):
            one, other = memory.run(run, number), engine.run(run, number)
            assert_same_run(one, other)
            assert one.detail == other.detail
            assert one.communication.cost == other.communication.cost


THOUSAND: dict[str, dict[str, Any]] = {
    "dp-mase": {"parameters": {"epsilon": 0.25}},
    "mase": {},
    "cdp-mab": {"parameters": {"horizon": 1_000, "epsilon": 0.5}},
    "cooperative-ucb": {
        "topology": {"kind": "ring"},
        "parameters": {"horizon": 6, "gamma": 1},
    },
    "tdfs-ucb": {
        "arms": {"kind": "bernoulli", "means": {"random": "uniform", "count": 1_000}},
        "parameters": {"horizon": 20},
    },
    # each sends to all others: 1,000 would have a million links
    "anonymous": {"agents": {"count": 100}, "parameters": {"horizon": 200}},
}


@pytest.mark.slow
@pytest.mark.parametrize("system", THOUSAND)
def test_a_thousand_agents_have_the_same_run(system: str) -> None:
    """In processes of fifty, so that a machine can hold them."""
    raw = {
        "system": system,
        "seed": 3,
        "agents": {"count": 1_000},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.3, 0.3, 0.3, 0.3]},
        "engine": {"agents_per_process": 50, "deadline": PATIENCE},
    }
    plan = prepare(raw | THOUSAND[system])
    with ProcessEngine(plan) as engine:
        assert_same_run(memory.run(plan, 0), engine.run(plan, 0))


def test_every_system_is_held_equal() -> None:
    assert set(names()) <= set(HELD)


def test_repeated_runs_differ_and_agents_are_reused() -> None:
    run = spec("dp-mase", agents=6)
    with ProcessEngine(run) as engine:
        first, second = engine.run(run, 0), engine.run(run, 1)
        pids = agent_processes()
        engine.run(run, 2)
        assert agent_processes() == pids
    assert len(pids) == 6
    assert first.regret_curve != second.regret_curve


def test_every_agent_is_its_own_process_and_its_memory_is_reported() -> None:
    run = spec("dp-mase", agents=6)
    with ProcessEngine(run) as engine:
        record = engine.run(run, 0)
    assert record.resources is not None
    assert all(0 < used < 200e6 for used in record.resources.proportional_bytes_per_agent)
    assert all(used >= 0 for used in record.resources.cpu_seconds_per_agent)
    assert record.delay is not None
    assert isinstance(record.delay.p50, float)
    assert isinstance(record.delay.p99, float)
    assert record.elapsed_seconds is not None
    # a delay is known to a sixteenth of an octave
    assert 0 < record.delay.p50 <= record.delay.p99 < 1.05 * record.elapsed_seconds


@pytest.mark.slow
def test_the_kernel_counts_at_least_the_frames() -> None:
    run = spec("mase", agents=8, engine={"transport": "tcp", "deadline": PATIENCE})
    with ProcessEngine(run) as engine:
        engine.run(run, 0)
        communication = engine.run(run, 1).communication
    planes = (communication.data, communication.control)
    frames = sum(plane.frame_bytes for plane in planes)
    messages = sum(plane.messages for plane in planes)
    counted = communication.socket_bytes
    # a frame of 32 bytes and more has an envelope of 12, and what CURVE and ZMTP put around it
    assert frames <= counted.sent + counted.received <= frames + 80 * messages


@pytest.mark.parametrize(
    ("system", "kind"),
    [*((system, "memory") for system in BEST_ARM_SYSTEMS), ("dp-mase", "processes")],
)
def test_wall_clock_finds_the_best_arm(system: str, kind: str) -> None:
    setting = {"kind": kind, "clock": "wall", "deadline": PATIENCE}
    run = spec(system, agents=AGENTS.get(system, 12), engine=setting)
    if kind == "memory":
        record = memory.run(run, 0)
    else:
        with ProcessEngine(run) as engine:
            record = engine.run(run, 0)
    assert (record.status, record.best_arm) == ("identified", 0)


def test_a_folder_named_posse_in_the_working_directory_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "posse").mkdir()
    (tmp_path / "posse" / "__init__.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    run = spec("dp-mase", agents=5)
    with ProcessEngine(run) as engine:
        assert engine.run(run, 0).best_arm == 0
