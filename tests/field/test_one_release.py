"""One release, whoever asks: coordinators that begin again, and again."""

import dataclasses
import gc
import logging
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.agent.host import AgentHost
from posse.coordinator.setups import agent_setups
from posse.durable.lifetime import read
from posse.errors import InputError, PosseError
from posse.plan import Plan, prepare
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import COORDINATOR
from posse.security.keys import create, for_agent
from posse.spec.runfile import read as read_run
from posse.wire.sources import of_this_machine
from tests.conftest import Start
from tests.support.field import captured, field
from tests.support.hosts import begin
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, free_port, until

needs_noise()

ARMS = 4
ROWS = 4000
FEW = 400


@pytest.fixture
def rewards(tmp_path: Path) -> Path:
    """A log for each of six agents, no reward of which comes twice; seed 9."""
    generator = np.random.default_rng(9)
    for rank in range(6):
        values = generator.permutation(ARMS * ROWS) / (ARMS * ROWS)
        rows = [f"{n % ARMS},{value!r}" for n, value in enumerate(values.tolist())]
        (tmp_path / f"rewards-{rank}.csv").write_text("\n".join(["arm,reward", *rows]) + "\n")
    return tmp_path


def once(system: str, folder: Path, **changes: Any) -> Plan:
    """A run of the field that uses each row once, as runs do unless told otherwise."""
    arms = {"kind": "csv", "path": "rewards-{rank}.csv", "count": ARMS}
    return field(system, folder, arms=arms, privacy={}, **changes)


class Overheard:
    """In the place of the field's noise: writes down what was to be noised, and adds nothing."""

    def __init__(self) -> None:
        self.values: list[FloatArray] = []

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        self.values.append(values.copy())
        return values


def agent_of(run: Plan, noise: Any) -> AgentHost:
    """A process of agent 0 that was just configured."""
    setup = agent_setups(run, run.network(0))[0]
    sources = of_this_machine(lambda: 0)
    return AgentHost(setup, 0, dataclasses.replace(sources, noise=lambda: noise))


def carries_out(host: AgentHost, run: int = 0) -> None:
    host.receive(COORDINATOR, begin(run=run))
    for _ in range(50):
        if host.busy:
            host.step()


@pytest.mark.slow
def test_a_coordinator_that_begins_again_gets_no_second_look(rewards: Path) -> None:
    """Attack a11: 300 noises of one statistic. Here each has other rows, until none is left."""
    run = once("cdp-mab", rewards, parameters={"horizon": 4000, "epsilon": 0.5})
    noise = Overheard()
    short = (rewards / "rewards-0.csv").read_text().splitlines()[: 1 + ARMS * FEW]
    (rewards / "rewards-0.csv").write_text("\n".join(short) + "\n")
    log = np.loadtxt(rewards / "rewards-0.csv", delimiter=",", skiprows=1)
    rows = [log[log[:, 0] == arm, 1] for arm in range(ARMS)]
    used = 0
    for configured in range(12):
        host = agent_of(run, noise)
        carries_out(host)
        with pytest.raises(PosseError, match="the coordinator began a second run"):
            carries_out(host, run=1)
        if len(noise.values) == configured + 1:
            new = int(read(rewards / "rewards-0.csv").runs[-1].rewards) // ARMS
            mean = [float(np.mean(of_arm[used : used + new])) for of_arm in rows]
            np.testing.assert_allclose(noise.values[-1], mean)
            used += new
        del host
        gc.collect()  # its process ends
    book = read(rewards / "rewards-0.csv")
    assert len(noise.values) == FEW // new
    assert len(noise.values) > 1
    assert book.epsilon == 0.5
    assert book.rows == sum(run.rewards for run in book.runs)


def test_runs_of_anonymous_over_one_log_give_no_system_of_equations(rewards: Path) -> None:
    """Attack a16: nine runs over one log gave each user's reward, as groups change with the run.

    Here no row is in the sums of two runs, so that there is nothing to be subtracted.
    """
    for _ in range(3):
        captured(
            once(
                "explore-then-commit",
                rewards,
                agents={"count": 6},
                parameters={"horizon": 600, "group_size": 2},
            )
        )
    for rank in range(6):
        book = read(rewards / f"rewards-{rank}.csv")
        assert [run.ended is not None for run in book.runs] == [True] * 3
        assert book.rows == sum(run.rewards for run in book.runs) == book.unprotected


@pytest.mark.parametrize("system", ["explore-then-commit", "central"])
def test_where_no_epsilon_adds_up_no_row_is_used_again_by_a_budget(
    system: str, rewards: Path
) -> None:
    with pytest.raises(PosseError, match=f"{system} has no ε to add up"):
        field(
            system,
            rewards,
            arms={"kind": "csv", "path": "rewards-{rank}.csv", "count": ARMS},
            privacy={"reuse": "budget"},
        )


def test_rows_are_drawn_again_and_again_only_by_a_word(rewards: Path) -> None:
    with pytest.raises(PosseError, match=r"arms\.replace: uses rows more than once"):
        field("dp-mase", rewards, privacy={})


def test_what_players_were_given_is_written_down_by_who_keeps_the_arms(rewards: Path) -> None:
    log = rewards / "rewards-all.csv"
    log.write_text((rewards / "rewards-0.csv").read_text())
    arms = {"kind": "csv", "path": "rewards-all.csv", "count": ARMS}
    for runs in (1, 2):
        captured(field("tdfs-private", rewards, arms=arms, privacy={}))
        book = read(log)
        assert [(run.agent, run.rewards) for run in book.runs] == [(-1, 4 * 150)] * runs
    assert book.rows == 2 * 4 * 150


RUN = """
system = "private-ucb"
mode = "field"
agents.count = 3
arms = {{ kind = "csv", path = "rewards-{{rank}}.csv", count = {arms} }}
topology.kind = "ring"
parameters = {{ epsilon = 0.2, horizon = 10_000_000 }}
engine.deadline = 30.0
"""


def told_of(log: Path) -> bool:
    try:
        return bool(read(log).rows)
    except InputError:  # it is not made yet
        return False


@pytest.mark.slow
def test_a_coordinator_that_is_started_again_spends_nothing_again(
    rewards: Path, caplog: pytest.LogCaptureFixture, start: Start
) -> None:
    """Attack a32: agents came back to it by themselves, and noised the same rows again."""
    logging.getLogger("posse").propagate = True
    file, folder = rewards / "run.toml", rewards / "keys"
    file.write_text(RUN.format(arms=ARMS))
    create(folder, 3)
    plan, endpoint = prepare(read_run(file)), f"tcp://127.0.0.1:{free_port()}"

    def coordinator(out: str) -> "subprocess.Popen[str]":
        serve = ("coordinator", file, "--bind", endpoint, "--keys", folder)
        # without the journal of the first
        return start(*serve, "--out", rewards / out, stderr=subprocess.DEVNULL)

    first = coordinator("first")
    agents = [
        Agent(endpoint, rank, keys=for_agent(folder, rank), plan=plan, wait=PATIENCE)
        for rank in range(3)
    ]
    books = [rewards / f"rewards-{rank}.csv" for rank in range(3)]
    until(lambda: all(map(told_of, books)), "rewards that were told of")
    first.kill()
    first.wait()
    coordinator("second")
    assert [agent.ended() for agent in agents] == [1, 1, 1]
    assert "the coordinator began a second run, or was started again" in caplog.text
    for book in books:
        assert len(read(book).runs) == 1
