"""Field runs over sockets and keys: threads and processes, as a user starts them."""

import json
import logging
import os
from collections import defaultdict
from pathlib import Path

import pytest

from posse.durable.capture import Capture
from posse.durable.frames import BARE, COORDINATOR, read
from posse.security import keys
from tests.conftest import Start
from tests.support.field import MEANS, allowed, documented, field, kinds, logs
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.relay import relay
from tests.support.remote import Agent, Coordinator, free_port

needs_noise()


@pytest.fixture
def rewards(tmp_path: Path) -> Path:
    return logs(tmp_path / "rewards", MEANS, seed=5)


@pytest.mark.parametrize("system", ["ddp-mab", "anonymous"])
def test_over_keys_the_same_leaves_and_the_wire_shows_none_of_it(
    system: str, rewards: Path, tmp_path: Path
) -> None:
    capture = Capture(tmp_path / "frames", new=True)
    folder = tmp_path / "keys"
    keys.create(folder, 4)
    spec = field(system, rewards)
    c = Coordinator(spec, "tcp://127.0.0.1:*", folder, capture)
    with relay(c.endpoint) as way:
        agents = [
            Agent(way.endpoint, rank, keys=keys.for_agent(folder, rank), plan=spec, tap=capture)
            for rank in range(4)
        ]
        record = c.ended()
        assert c.error is None
        assert [agent.ended() for agent in agents] == [0] * 4
    assert record.status == "horizon"
    capture.close()
    said: dict[str, set[str]] = defaultdict(set)
    page = allowed(system)
    for frame in read(capture.path):
        said["coordinator" if frame.source == COORDINATOR else "agent"] |= {frame.kind}
    bare = set(BARE.values())
    assert said["agent"] <= page["agent"] | bare
    assert said["coordinator"] <= page["coordinator"] | bare
    every = documented("In every run")
    assert every["agent"] <= said["agent"]
    assert every["coordinator"] <= said["coordinator"]
    assert len(way.carried["there"]) == 4
    assert all(len(stream) > 1000 for stream in way.carried["there"])
    assert kinds(way.carried["there"]) == kinds(way.carried["back"]) == set()


def test_an_agent_says_what_it_gives_away_before_it_uses_a_reward(
    rewards: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("posse").propagate = True
    caplog.set_level(logging.INFO, "posse")
    spec = field("cooperative-ucb", rewards)
    c = Coordinator(spec, "tcp://127.0.0.1:*")
    agents = [Agent(c.endpoint, rank, plan=spec) for rank in range(4)]
    record = c.ended()
    assert c.error is None
    assert [agent.ended() for agent in agents] == [0] * 4
    assert record.answers == [0] * 4
    said = [entry.getMessage() for entry in caplog.records]
    warned = [at for at, text in enumerate(said) if "protects no rewards" in text]
    told = [at for at, text in enumerate(said) if "each agent's mean reward and number" in text]
    used = [text for text in said if "this run used" in text]
    ended = [at for at, text in enumerate(said) if "this run used" in text]
    assert len(warned) == len(told) == len(ended) == 4
    assert max(*warned, *told) < min(ended)
    assert all("used 150 rewards" in text and "arm is 0" in text for text in used)


PULLS = """
import random

MEANS = (0.95, 0.5, 0.3, 0.1)


class Clicks:
    def pull(self, arm, count):
        return [float(random.random() < MEANS[arm]) for _ in range(count)]


clicks = Clicks()
"""

RUN = """
system = "{system}"
mode = "field"
agents.count = 4
arms = {arms}
engine.deadline = 30.0
privacy.reuse = "unlimited"
{more}
[parameters]
{parameters}
"""

CSV = '{ kind = "csv", path = "rewards-{rank}.csv", count = 4, replace = true }'
PYTHON = '{ kind = "python", target = "clicks:clicks", count = 4 }'
SEVERAL = [
    ("hdp-mab", CSV, 'topology.kind = "path"', "epsilon = 1.0\nhorizon = 3000"),
    ("private-ucb", PYTHON, 'topology.kind = "ring"', "epsilon = 0.5\nhorizon = 300"),
    ("anonymous", CSV, "", "horizon = 400_000\ngroup_size = 2\nlearning_rate = 0.5"),
]
"""Those of `tests/field/test_marked.py` run as a user starts them, too."""


def as_a_user(start: Start, folder: Path, text: str) -> list[tuple[str, str]]:
    """What `posse coordinator`, and then `posse agent` four times, said until they ended well."""
    (folder / "clicks.py").write_text(PULLS)
    (folder / "run.toml").write_text(text)
    pairs, endpoint = folder / "keys", f"tcp://127.0.0.1:{free_port()}"
    assert start("keys", pairs, "--agents", 4).wait(PATIENCE) == 0
    given = {"cwd": folder, "env": {**os.environ, "OPENBLAS_NUM_THREADS": "1"}}
    serve = ("coordinator", "run.toml", "--bind", endpoint, "--json", "--out", "out")
    join = ("agent", "--join", endpoint, "--run", "run.toml", "--wait", "60", "--rank")
    processes = [start(*serve, "--keys", pairs, **given)]
    processes += [start(*join, rank, "--keys", pairs, **given) for rank in range(4)]
    printed = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [process.returncode for process in processes] == [0] * 5, printed
    return printed


@pytest.mark.slow
@pytest.mark.parametrize(("system", "arms", "more", "parameters"), SEVERAL)
def test_real_processes_with_keys_find_an_answer(
    system: str, arms: str, more: str, parameters: str, rewards: Path, start: Start
) -> None:
    text = RUN.format(system=system, arms=arms, more=more, parameters=parameters)
    (out, _), *agents = as_a_user(start, rewards, text)
    result = json.loads(out)
    (run,) = result["runs"]
    assert result["links"] == "keys"
    assert run["status"] in ("identified", "horizon")
    assert set(run["answers"]) <= {0}
    assert run["best_arm"] == (None if system == "anonymous" else 0)  # each has its own
    assert run["pulls"] is None
    assert all("this run used" in said for _, said in agents)
