"""Frames that real processes of the field sent, looked at without the truth."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.audit.captured import Check, checks
from posse.durable.capture import writing
from posse.durable.frames import read
from posse.engines.processes import ProcessEngine
from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR
from posse.protocol.masking import keystream
from posse.security import keys
from tests.support.field import MEANS, field, logs
from tests.support.noise import needs_noise
from tests.support.remote import Agent, Coordinator
from tests.support.runs import after, agent_processes

needs_noise()

GRID = "noisy numbers lie on a grid"
RESTS = "an arm that rests is not noised again"


def looked_at(plan: Plan, path: Path) -> dict[str, Check]:
    """The checks of what a run's processes sent, by name."""
    with writing(path) as capture, ProcessEngine(plan, capture=capture) as engine:
        engine.run(plan, 0)
    return {check.name: check for check in checks(read(path), plan)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("dp-mase", {}),
        ("cdp-mab", {"noise": "shared"}),
        ("cdp-mab", {"noise": "shared", "noise_law": "laplace", "dropouts": 1}),
        ("hdp-mab", {}),
        ("private-ucb", {}),
        ("tdfs-private", {}),
        ("anonymous", {"aggregation": "sink"}),
    ],
)
def test_what_the_field_sends_has_no_violation(
    system: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    # agents load OpenDP in the run, which takes a busy machine more than half a minute
    engine = {"deadline": 120.0}
    plan = field(system, logs(tmp_path / "logs", MEANS, 5), parameters=parameters, engine=engine)
    found = looked_at(plan, tmp_path / "frames")
    assert {name: check.violations for name, check in found.items() if check.violations} == {}
    assert all(check.looked_at for name, check in found.items() if "kinds" in name)
    if system in ("cdp-mab", "ddp-mab", "hdp-mab", "private-ucb") and not parameters:
        assert found[GRID].looked_at > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("cdp-mab", {"noise": "shared", "noise_law": "laplace", "dropouts": 1}),
        ("anonymous", {"group_size": 2, "dropouts": 1}),
    ],
)
def test_who_is_killed_is_done_without_and_nothing_comes_unmasked(
    system: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    plan = field(
        system,
        logs(tmp_path / "logs", MEANS, 5),
        parameters=parameters,
        engine={"deadline": 120.0, "on_missing": "continue"},
        agents={"count": 8},
    )
    path = tmp_path / "frames"
    with writing(path) as capture, ProcessEngine(plan, capture=capture) as engine:
        record = engine.run(plan, 0, after(12, agent_processes()[3].kill))
    assert (record.answered, list(record.dismissed)) == (True, [3])
    found = {check.name: check.violations for check in checks(read(path), plan)}
    assert not any(found.values()), found
    told: dict[tuple[int | None, str, Any], Any] = {}
    for frame in read(path):
        if frame.target == COORDINATOR and frame.plane == "data":
            told[frame.source, frame.kind, frame.fields[0]] = frame.fields
    reports = [(rank, fields) for (rank, kind, _), fields in told.items() if kind == "Covered"]
    assert len(reports) >= 7  # of all others at least; it may be killed before its own
    for rank, (number, words, _) in reports:
        left = np.frombuffer(words, "<u8").copy()
        hidden = left != 0  # no word for the round that leaves its agent out
        if (rank, "Rest", number) in told:
            left -= np.frombuffer(told[rank, "Rest", number][2], "<u8")
        if (rank, "Unmasked", number) in told:
            left -= keystream(told[rank, "Unmasked", number][1], number, len(left))
        # a sum of rewards and noise is below 2^34; of a uniform word that is so once in 2^29
        assert (np.abs(left.view(np.int64))[hidden] > 2**34).all()


@pytest.mark.slow
@pytest.mark.parametrize(("system", "check"), [("ddp-mab", GRID), ("private-ucb", RESTS)])
def test_signatures_are_no_numbers(system: str, check: str, tmp_path: Path) -> None:
    plan = field(system, logs(tmp_path / "logs", MEANS, 5))
    folder = tmp_path / "keys"
    keys.create(folder, 4)
    with writing(tmp_path / "frames") as capture:
        c = Coordinator(plan, "tcp://127.0.0.1:*", folder)
        agents = [
            Agent(c.endpoint, rank, keys=keys.for_agent(folder, rank), plan=plan, tap=capture)
            for rank in range(4)
        ]
        c.ended()
        assert c.error is None
        assert [agent.ended() for agent in agents] == [0] * 4
    found = {check.name: check for check in checks(read(tmp_path / "frames"), plan)}
    assert {name: check.violations for name, check in found.items() if check.violations} == {}
    assert found[check].looked_at > 0


@pytest.mark.slow
def test_the_labs_noise_is_told_from_the_fields(tmp_path: Path) -> None:
    lab = prepare({
        "system": "cdp-mab",
        "agents": {"count": 4},
        "arms": {"kind": "bernoulli", "means": list(MEANS)},
        "parameters": {"epsilon": 1.0, "horizon": 2000},
    })  # fmt: skip
    found = looked_at(lab, tmp_path / "frames")
    assert "use all their bits" in found[GRID].violations[0]
    assert {check.name for check in found.values() if check.violations} >= {GRID}
