"""An agent that shares no code with posse, in a run of ours."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from posse.durable.capture import Capture
from posse.durable.frames import COORDINATOR, read, select
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, Coordinator
from tests.support.runs import spec

PROGRAM = Path(__file__).parents[2] / "examples" / "foreign_agent.py"


def test_it_has_msgpack_and_sockets_alone() -> None:
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(PROGRAM.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported - set(sys.stdlib_module_names) == {"msgpack", "zmq"}


@pytest.mark.parametrize("ours", [0, 1])
def test_it_joins_and_its_vote_counts(ours: int, tmp_path: Path) -> None:
    """With this many agents that an arm leaves by all their votes alone."""
    plan = spec(
        "mase",
        ours + 1,
        arms={"kind": "bernoulli", "means": [0.2, 0.9, 0.1]},
        parameters={"delta": 0.3, "beta": 0.5 if ours else 0.3},
        engine={"clock": "wall", "deadline": 20.0},
    )
    capture = Capture(tmp_path / "frames", new=True)
    coordinator = Coordinator(plan, "tcp://127.0.0.1:*", capture=capture)
    agents = [Agent(coordinator.endpoint, 0) for _ in range(ours)]
    done = subprocess.run(
        [sys.executable, PROGRAM, coordinator.endpoint],
        timeout=PATIENCE,
        capture_output=True,
        text=True,
        check=False,
    )
    record = coordinator.ended()
    capture.close()
    assert (done.returncode, done.stderr, coordinator.error) == (0, "", None)
    assert [agent.ended() for agent in agents] == [0] * ours
    assert (record.status, record.best_arm, record.refused) == ("identified", 1, {})
    assert record.pulls_per_agent[-1] > 0
    said = list(select(read(capture.path), link=(COORDINATOR, ours), plane="data"))
    assert sorted(arm for frame in said for arm in frame.fields[0]) == [0, 2]
