"""What the coordinator ordered is signed, kept by both ends, and checked by `posse verify`."""

import json
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from posse import api
from posse.cli.main import main
from posse.durable.directory import RunDirectory
from posse.engines.processes import ProcessEngine
from posse.protocol import control
from posse.protocol.orders import KIND
from posse.protocol.signing import Signer
from posse.results.record import RunRecord
from posse.security import keys
from posse.wire.links import outside_runs
from tests.support.field import MEANS, field, logs
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, Coordinator
from tests.support.signing import RING, states_anew
from tests.systems.li2022.test_comparison import Liar

needs_noise()
pytestmark = pytest.mark.inside


def ran(folder: Path) -> None:
    """A run of six agents with keys, by which agent 0 is dismissed; all in a folder."""
    keys.create(folder / "keys", 6)
    plan = field(
        "ddp-mab",
        logs(folder / "rewards", MEANS, seed=5),
        agents={"count": 6},
        topology={"kind": "edges", "edges": RING},
        engine={"deadline": 30.0, "on_missing": "continue"},
    )
    pairs = keys.for_coordinator(folder / "keys", 6)
    directory = RunDirectory(folder / "out", plan).open()
    come: list[Any] = []

    def serve() -> None:
        with api.serve(
            plan,
            bind="tcp://127.0.0.1:*",
            keys=pairs,
            journal=folder / "out/coordinator.journal",
            on_hub=come.append,
        ) as runs:
            ((_, record),) = runs([0])
            assert isinstance(record, RunRecord)
            directory.complete(plan.result([record], "keys"))

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    while not come:
        serving.join(0.01)
    agents = [
        Agent(
            *(come[0].endpoint, rank),
            keys=keys.for_agent(folder / "keys", rank),
            plan=plan,
            journal=folder / f"agent-{rank}.journal",
        )
        for rank in range(6)
    ]
    serving.join(PATIENCE)
    assert [agent.ended() for agent in agents][1:] == [0] * 5


def in_file(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def result(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "out/result.json"
    document = json.loads(path.read_text())
    change(document["runs"][0])
    path.write_text(json.dumps(document))


LAST = "SELECT MAX(place) FROM signed WHERE hex(place) LIKE '02000000%'"
TO_2 = f"FROM signed WHERE place = ({LAST})"


def lies_to_agent_2(folder: Path) -> None:
    """Its operator signs another last order to agent 2, and shows that one."""
    secret = keys.for_coordinator(folder / "keys", 6).own.signing
    path = folder / "out/coordinator.orders"
    with closing(sqlite3.connect(path)) as db, db:
        run, place = db.execute(f"SELECT run, place {TO_2}").fetchone()
        before = db.execute(
            "SELECT hash FROM signed WHERE place < ? AND run = ? ORDER BY place DESC", (place, run)
        ).fetchone()[0]
        frame = outside_runs(control.Gone(0))
        made = states_anew(Signer(secret, {}, run), KIND, place, before + frame)
        row = (made[:32], made[32:], frame)
        db.execute(
            f"UPDATE signed SET hash = ?, signature = ?, content = ? WHERE place = ({LAST})", row
        )


TAMPERED: list[tuple[Callable[[Path], object], str]] = [
    (
        lambda f: (f / "out/coordinator.orders").unlink(),
        "there is no coordinator.orders, so nobody",
    ),
    (lambda f: (f / "keys/coordinator/coordinator.key").unlink(), "has no coordinator.key"),
    (
        lambda f: in_file(f / "out/coordinator.orders", f"DELETE {TO_2}"),
        "agent 2 keeps 1 order the",
    ),
    (
        lambda f: in_file(
            f / "out/coordinator.orders",
            "DELETE FROM signed WHERE instr(content, CAST('Begin' AS BLOB))",
        ),
        "order 2 to agent 1 does not hold: bad-signature",
    ),
    (
        lambda f: in_file(f / "agent-1.orders", "UPDATE signed SET content = x'00'"),
        "order 1 to agent 1 does not hold",
    ),
    (
        lambda f: result(f, lambda run: run["dismissed"].clear()),
        "told falsely that agent 0 is gone",
    ),
    (
        lambda f: result(f, lambda run: run["signed"].update(run="00")),
        "agents 0, 1, 2, 3, 4, 5: there is not one order",
    ),
    (
        lambda f: (f / "out/spec.toml").write_text(
            (f / "out/spec.toml").read_text().replace("epsilon = 1.0", "epsilon = 2.0")
        ),
        "agent 0 was ordered another run than the result has",
    ),
    (lies_to_agent_2, "two orders to agent 2 for one place of a run, which proves that it lied: "),
    (lambda f: (f / "agent-3.orders").write_bytes(b"no database"), "is no file of what was signed"),
]


def test_a_third_party_checks_what_was_ordered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Liar(monkeypatch, {1: 0.001, 5: -0.001})
    ran(tmp_path / "honest")

    def verified(folder: Path) -> tuple[int, str]:
        kept = [f"--kept={folder}/agent-{rank}.orders" for rank in range(1, 6)]
        capsys.readouterr()
        code = main(["verify", f"{folder}/out", "--keys", f"{folder}/keys/coordinator", *kept])
        return code, "".join(capsys.readouterr())

    code, said = verified(tmp_path / "honest")
    assert code == 0, said
    # each agent: Configure, Begin; those that stay: Gone, Regroup, Stop
    assert "the coordinator signed 27 orders, each after the last" in said
    assert said.count("keeps the same 5 orders") == 5
    for number, (tamper, sentence) in enumerate(TAMPERED):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "honest", folder)
        tamper(folder)
        code, said = verified(folder)
        assert sentence in said
        assert code, sentence


def test_a_coordinator_that_signs_no_order_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.create(tmp_path / "keys", 2)
    plan = field("dp-mase", logs(tmp_path / "rewards", MEANS, seed=5), agents={"count": 2})
    monkeypatch.setattr(ProcessEngine, "_signs", lambda self, plan: None)
    coordinator = Coordinator(plan, "tcp://127.0.0.1:*", tmp_path / "keys")
    agents = [
        Agent(coordinator.endpoint, r, keys=keys.for_agent(tmp_path / "keys", r), plan=plan)
        for r in range(2)
    ]
    coordinator.ended()
    assert [agent.ended() for agent in agents] == [1, 1]
    assert "cannot go on; its own log says why" in str(coordinator.error)
