"""An agent whose rewards run out: the others go on without it, or the run ends in order."""

from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.plan import Plan
from posse.results.record import RunRecord
from tests.support.runs import assert_same_run, spec

RING = {"kind": "ring"}
SHORT = 4

COOPERATION: dict[str, dict[str, Any]] = {
    "private-ucb": {"epsilon": 1.0},
    "cooperative-ucb": {},
    "byzantine-ucb": {},
    "robust-private-ucb": {"epsilon": 1.0},
}
ELIMINATION: dict[str, dict[str, Any]] = {"cdp-mab": {}, "ddp-mab": RING, "hdp-mab": RING}


def unequal_logs(folder: Path, short: int, rows: int, agents: int = 6) -> dict[str, Any]:
    """Arm 0 gives 1, arm 1 gives 0; agent SHORT has fewer rows for each arm."""
    for rank in range(agents):
        count = short if rank == SHORT else rows
        lines = [f"{arm},{int(arm == 0)}" for _ in range(count) for arm in range(2)]
        (folder / f"{rank}.csv").write_text("\n".join(["arm,reward", *lines]))
    return {"arms": {"kind": "csv", "path": "{rank}.csv", "count": 2}, "base": str(folder)}


def in_processes(one: Plan) -> list[RunRecord]:
    """Two runs across processes, whose links must outlive the first."""
    with ProcessEngine(one) as engine:
        return [engine.run(one, 0), engine.run(one, 1)]


def elimination(folder: Path, system: str, on_missing: str = "continue", **parameters: Any) -> Plan:
    topology = ELIMINATION[system]
    return spec(
        system,
        6,
        **unequal_logs(folder, short=20, rows=3000),
        **({"topology": topology} if topology else {}),
        parameters={"horizon": 2500, "epsilon": 1.0, **parameters},
        engine={"deadline": 20.0, "on_missing": on_missing},
    )


@pytest.mark.parametrize("system", COOPERATION)
def test_neighbours_go_on_without_an_agent_whose_rewards_are_used_up(
    system: str, tmp_path: Path
) -> None:
    """Agent 4 has rows for 20 pulls of each arm."""
    one = spec(
        system,
        6,
        **unequal_logs(tmp_path, short=20, rows=60),
        topology=RING,
        parameters={"horizon": 60, "gamma": 1, **COOPERATION[system]},
    )
    record = memory.run(one, 0)
    assert record.status == "exhausted"
    assert list(record.exhausted) == [SHORT]
    assert "has 0 rewards left" in record.exhausted[SHORT]
    assert record.answers == [None if n == SHORT else 0 for n in range(6)]
    assert [record.pulls_per_agent[n] for n in range(6) if n != SHORT] == [60] * 5
    assert (record.missing, record.refused) == ([], {})
    assert "went on without it" in record.loss
    if system == "private-ucb":
        for number, again in enumerate(in_processes(one)):
            assert_same_run(memory.run(one, number), again)


@pytest.mark.parametrize("system", ELIMINATION)
def test_means_are_averaged_without_an_agent_whose_rewards_are_used_up(
    system: str, tmp_path: Path
) -> None:
    one = elimination(tmp_path, system)
    for record in [memory.run(one, 0), *(in_processes(one) if system == "ddp-mab" else [])]:
        assert (record.status, record.best_arm) == ("identified", 0)
        assert list(record.exhausted) == [SHORT]
        assert "are needed" in record.exhausted[SHORT]
        assert record.missing == []
        assert "averaged over n agents" in record.loss
        assert record.pulls_per_agent[SHORT] == 0
        # who had not begun a slot of the exchange that was given up does not make up for it
        assert all(record.pulls_per_agent[n] >= 2495 for n in range(6) if n != SHORT)
        assert record.communication.closed_form is not None
        assert not record.communication.closed_form.exact


@pytest.mark.parametrize(
    ("system", "on_missing", "parameters"),
    [
        *((system, "end", {}) for system in ELIMINATION),
        ("cdp-mab", "continue", {"noise": "shared"}),  # which does without nobody
    ],
)
def test_who_wants_no_run_without_an_agent_has_its_end_in_order(
    system: str, on_missing: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    record = memory.run(elimination(tmp_path, system, on_missing, **parameters), 0)
    assert (record.status, record.best_arm) == ("exhausted", None)
    assert list(record.exhausted) == [SHORT]
    assert record.loss == "The run ended there."


@pytest.mark.slow
def test_with_partial_participation_both_engines_ask_the_same(tmp_path: Path) -> None:
    one = elimination(tmp_path, "cdp-mab", participation=0.5)
    first, (again, _) = memory.run(one, 0), in_processes(one)
    assert list(first.exhausted) == [SHORT]
    assert first.answers == again.answers
    assert first.log == again.log
    assert first.pulls_per_agent == again.pulls_per_agent


@pytest.mark.parametrize(
    "system", ["single-mab", "ddp-mab", "cdp-mab", "parallel-ucb", "explore-then-commit", "ucb1"]
)
def test_where_all_rewards_are_used_up_the_status_says_so(system: str, tmp_path: Path) -> None:
    one = spec(
        system,
        6,
        **unequal_logs(tmp_path, short=20, rows=20),
        **({"topology": RING} if system == "ddp-mab" else {}),
        parameters={"horizon": 1000} | ({"epsilon": 1.0} if system.endswith("-mab") else {}),
    )
    record = memory.run(one, 0)
    assert (record.status, record.best_arm) == ("exhausted", None)
    assert sorted(record.exhausted) == list(range(6))
