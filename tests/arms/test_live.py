"""Live arms in whole runs: an application asks and tells, and the answer follows from that."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
import tomli_w

from posse import run
from posse.arms import ArmsSpec
from posse.arms.live import LiveArms
from posse.errors import SpecError
from posse.live import Agent, LiveError, service
from posse.live.store import DecisionStore
from posse.plan import prepare
from tests.support.patience import PATIENCE

MEANS = (0.2, 0.8, 0.4)


@pytest.fixture(autouse=True)
def closed():
    yield
    service.close_all()


def spec(base: Path, system: str, agents: int, **more) -> dict:
    return {
        "system": system,
        "agents": {"count": agents},
        "arms": {"kind": "live", "names": ["a", "b", "c"], **more.pop("arms", {})},
        "engine": {"kind": "memory", **more.pop("engine", {})},
        "base": str(base),
        **more,
    }


class Shops:
    """Applications in threads of the run's process: some visitors leave, some tell twice."""

    def __init__(self, agents: int, most_open: int = 20) -> None:
        self._ends = threading.Event()
        self._open = most_open
        self._threads = [threading.Thread(target=self._serve, args=(n,)) for n in range(agents)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _serve(self, number: int) -> None:
        draw, waiting, found = random.Random(number), [], None
        while not self._ends.is_set():
            found = next((s for s in service.services() if s.rank == number), None)
            if found is None:
                self._ends.wait(0.01)
                continue
            decision = found.ask()
            if decision.idle:
                self._ends.wait(0.001)
            else:
                waiting.append((decision.id, float(draw.random() < MEANS[decision.arm])))
            if waiting and (decision.idle or len(waiting) >= self._open):
                draw.shuffle(waiting)
                told = waiting.pop()
                assert found.tell(*told) is True
                assert found.tell(*told) is False


@pytest.mark.parametrize(
    ("system", "agents", "parameters"),
    [
        ("dp-mase", 5, {"epsilon": 1.0}),
        ("mase", 5, {}),
        ("cdp-mab", 2, {"horizon": 400, "epsilon": 1.0}),
        ("explore-then-commit", 6, {"horizon": 300}),
    ],
)
def test_the_answer_is_that_of_a_plain_replay(tmp_path, system, agents, parameters) -> None:
    """A log with the told rewards in the order of use gives the same pulls and the same answer."""
    raw = spec(tmp_path, system, agents, parameters=parameters, seed=3)
    with Shops(agents):
        live = run(raw).runs[0]
    for rank in range(agents):
        store = DecisionStore(tmp_path / f"live-{rank}.decisions")
        rows = [f"{arm},{reward}" for arm, reward in store.rewards_of(1)]
        store.close()
        (tmp_path / f"{rank}.csv").write_text("\n".join(["arm,reward", *rows]))
    clock = prepare(raw).clock
    arms = {"kind": "csv", "path": "{rank}.csv", "count": 3}
    plain = run(raw | {"arms": arms, "engine": {"kind": "memory", "clock": clock}}).runs[0]
    assert (live.answers, live.status) == (plain.answers, plain.status)
    if "mase" in system:  # when a vote is heard depends on who is ahead
        assert live.best_arm == plain.best_arm == 1
    else:
        assert (live.pulls_per_arm, live.rewards) == (plain.pulls_per_arm, plain.rewards)
        assert (live.log, live.agent_logs) == (plain.log, plain.agent_logs)


def test_the_run_file_says_what_is_wrong(tmp_path) -> None:
    for arms, problem in (
        ({"names": ["a"]}, "give names or count, 2 at least"),
        ({"names": ["a", "a"]}, "a name twice"),
        ({"count": 2}, "names has 3 arms"),
        ({"listen": "tcp://1"}, "must be unix:PATH"),
        ({"listen": "unix:one"}, "{rank}"),
        ({"store": "one"}, "{rank}"),
        ({"idle": {"choose": "fixed", "arm": "d"}}, "none of names"),
        ({"idle": {"choose": "fixed", "arm": 3}}, "none of 3 arms"),
        ({"on_timeout": 2.0}, "arms.on_timeout"),
        ({"token": "none", "listen": "http://127.0.0.1:0"}, "does not exist"),
    ):
        with pytest.raises(SpecError, match=problem.replace("{", r"\{")):
            prepare(
                spec(tmp_path, "cdp-mab", 2, parameters={"horizon": 9, "epsilon": 1.0}, arms=arms)
            ).require()
    with pytest.raises(SpecError, match="share their arms"):
        prepare(spec(tmp_path, "random-player", 2, parameters={"horizon": 9}))
    with pytest.raises(SpecError, match="clock 'virtual'"):
        prepare(spec(tmp_path, "mase", 5, engine={"clock": "virtual"}))
    made = msgspec.convert({"kind": "live", "count": 2}, ArmsSpec)
    assert isinstance(made, LiveArms)
    assert made.labels() == ("0", "1")


def test_an_end_by_timeout_ends_the_run(tmp_path) -> None:
    raw = spec(
        tmp_path,
        "cdp-mab",
        1,
        parameters={"horizon": 9, "epsilon": 1.0},
        arms={"timeout": 0.05, "on_timeout": "end", "durable": False},
    )
    ends = threading.Event()

    def ask() -> None:
        while not ends.wait(0.01):
            for found in service.services():
                found.ask()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with pytest.raises(Exception, match="no reward of arm"):
            run(raw)
    finally:
        ends.set()
        asking.join()


@pytest.mark.slow
def test_after_a_run_its_answer_is_served_and_the_next_one_has_the_same_application(
    tmp_path,
) -> None:
    parameters = {"horizon": 400, "epsilon": 4.0}
    raw = spec(tmp_path, "cdp-mab", 1, parameters=parameters, arms={"listen": "unix:shop.sock"})
    del raw["base"], raw["engine"]
    (tmp_path / "run.toml").write_text(tomli_w.dumps(raw))
    command = [sys.executable, "-P", "-m", "posse", "run", "run.toml", "--serve", "--json"]
    draw, used = random.Random(1), 0
    with Agent(f"unix:{tmp_path}/shop.sock") as agent:
        for run_number in (1, 2):
            process = subprocess.Popen(
                [*command, "--out", f"out-{run_number}"],
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                until = time.monotonic() + PATIENCE
                while True:
                    assert time.monotonic() < until
                    try:
                        decision = agent.ask()
                        used += agent.tell(decision, float(draw.random() < MEANS[decision.arm]))
                    except LiveError:
                        time.sleep(0.05)
                        continue
                    if decision.idle == "over" and used == 400 * run_number:
                        break
                assert json.loads(process.stdout.readline())["runs"]
                while "is served at unix:" not in process.stderr.readline():
                    assert process.poll() is None
                assert [agent.ask().arm for _ in range(3)] == [1] * 3
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE) == 0
            finally:
                process.kill()
                process.communicate()


@pytest.mark.slow
def test_an_audit_finds_nothing_over_the_desk_and_asks_no_application(tmp_path) -> None:
    """Coupled runs of dp-mase: the same noisy numbers and another reward give the same messages."""
    parameters = {"epsilon": 1.0, "delta": 0.3, "beta": 0.5}
    raw = spec(tmp_path, "dp-mase", 3, parameters=parameters)
    del raw["base"]
    (tmp_path / "run.toml").write_text(tomli_w.dumps(raw))
    command = [sys.executable, "-P", "-m", "posse", "audit", "run.toml", "--runs", "0", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["coupling"]["violations"] == []
    assert not list(tmp_path.glob("live-*"))
