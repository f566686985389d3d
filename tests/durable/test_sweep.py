"""The directories of a sweep's points."""

from pathlib import Path

import pytest

from posse import api
from posse.durable import sweep
from posse.durable.sweep import SweepDirectory
from posse.errors import InputError, RunFailed
from posse.plan import changed, prepare
from tests.support.cluster import SPEC

PLAN = prepare({**SPEC, "repeat": 2, "engine": {"kind": "memory"}})
POINTS = [({"seed": seed}, changed(PLAN, {"seed": seed})) for seed in (1, 2)]


def test_names_are_told_apart_and_fit_into_a_file_system() -> None:
    assert (
        sweep.name({"parameters.epsilon": 0.5, "agents.count": 8}) == "epsilon=0.5,agents.count=8"
    )
    paths = [{"arms.path": value} for value in ("a/b", "a_b", "a b", "x" * 300, "x" * 301)]
    names = [sweep.name(at) for at in paths]
    assert len(set(names)) == len(names)
    assert all(len(name) < 120 and "/" not in name for name in names)


def test_a_point_is_written_when_its_last_run_ends(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path, POINTS)
    directory.open()
    assert [piece.task for piece in directory.pieces()] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    first, second = directory.points
    made = dict(api.make_runs(first.plan, [0, 1]))
    assert first.take(1, made[1]) is None
    assert not (tmp_path / "seed=1" / "result.json").exists()
    ended = first.take(0, made[0])
    assert (ended.runs, ended.failure, ended.best_arms) == (2, None, [0, 0])
    assert (tmp_path / "seed=1" / "result.json").exists()
    assert second.give_up("interrupted") is None
    assert second.take(0, RunFailed("agent 3 was lost")) is None
    failed = second.take(1, made[1])
    assert (failed.runs, failed.failure) == (1, "agent 3 was lost")
    directory.write([ended, failed])
    assert sweep.read(tmp_path) == [ended, failed]


def test_another_sweep_is_refused(tmp_path: Path) -> None:
    SweepDirectory(tmp_path, POINTS).open()
    more = [*POINTS, ({"seed": 3}, changed(PLAN, {"seed": 3}))]
    SweepDirectory(tmp_path, more).open()
    other = [({"seed": 1}, changed(PLAN, {"seed": 1, "agents.count": 9}))]
    with pytest.raises(InputError, match="holds another run, which differs in agents.count"):
        SweepDirectory(tmp_path, other).open()
