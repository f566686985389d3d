"""Reward logs: each row once, or drawn; what is wrong with a file is named."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from posse.arms import ArmsSpec, csv, log_file
from posse.engines import memory
from posse.errors import ArmsError
from posse.plan import prepare
from tests.support.arms import ERROR_RATE, PYTHON, build


def log(folder: Path, rows: list[tuple[int, float]], rank: int = 0) -> dict[str, Any]:
    lines = "".join(f"{arm},{reward}\n" for arm, reward in rows)
    (folder / f"log-{rank}.csv").write_text("arm,reward\n" + lines)
    return {"kind": "csv", "path": "log-{rank}.csv", "count": 2}


def test_arms_of_an_order_are_pulled_in_turn_each_in_its_slot(tmp_path: Path) -> None:
    """Of two arms twice: arm 1 in slots 0 and 2, arm 0 in slots 1 and 3."""
    rows = [(slot / 10, arm) for slot in range(5) for arm in (0, 1)]
    lines = "".join(f"{arm},{reward + arm / 100},0.5\n" for reward, arm in rows)
    (tmp_path / "log-0.csv").write_text("arm,reward,age\n" + lines)
    raw = {"kind": "csv", "path": "log-{rank}.csv", "count": 2, "features": ["age"]}
    arms = build(raw, base=str(tmp_path))
    assert isinstance(arms, csv.CsvInSlots)
    assert arms.turns((1, 0), 2).round(9).tolist() == [[0.01, 0.21], [0.1, 0.3]]
    assert (arms.remaining(0), arms.remaining(1)) == (1, 1)
    assert arms.draw(1, 1).round(9).tolist() == [0.41]


def test_csv_with_replacement_draws_every_row_alike(tmp_path: Path) -> None:
    rows = [(0, r / 10) for r in range(10)]
    arms = build({**log(tmp_path, rows), "replace": True}, base=str(tmp_path))
    assert arms.remaining(0) is None
    assert arms.remaining(1) == 0
    assert len(arms.draw(1, 3)) == 0
    drawn = np.round(arms.draw(0, 10_000) * 10).astype(int)
    assert stats.chisquare(np.bincount(drawn, minlength=10)).pvalue > ERROR_RATE


def test_with_clip_what_is_no_number_is_an_end_of_the_interval_and_ends_no_run(
    tmp_path: Path,
) -> None:
    """Else whether a reward was a number would be told by the end, and no noise covers that."""
    rows = [(0, math.nan), (0, math.inf), (0, -math.inf), (0, 5.0)]
    arms = build({**log(tmp_path, rows), "clip": [0.0, 10.0]}, base=str(tmp_path))
    assert arms.draw(0, 4).tolist() == [0.0, 1.0, 0.0, 0.5]

    ends = {}
    for reward in (math.nan, 3.0):
        for rank in range(5):
            rows = [(arm, 10.0 * (arm == 0)) for _ in range(400) for arm in (0, 1)]
            raw = log(tmp_path, [(1, reward), *rows], rank)
        run = {"system": "mase", "agents": {"count": 5}, "base": str(tmp_path)}
        ends[str(reward)] = memory.run(prepare({**run, "arms": {**raw, "clip": [0.0, 10.0]}}), 0)
    assert {record.status for record in ends.values()} == {"identified"}


def test_what_the_end_of_a_run_tells_is_said() -> None:
    raw = {"kind": "csv", "path": "log-{rank}.csv", "count": 2}
    without = msgspec.convert(raw, ArmsSpec).ends
    with_clip = msgspec.convert({**raw, "clip": [0.0, 1.0]}, ArmsSpec).ends
    assert with_clip == "Everybody sees if an agent's log is used up."
    assert without.startswith(with_clip)
    assert "not a number in [0, 1], because that ends the run" in without


def test_a_bad_file_is_named_with_whose_it_is(tmp_path: Path) -> None:
    (tmp_path / "log-4.csv").write_text("arm,reward\nx,0.5\n")
    raw = {"kind": "csv", "path": "log-{rank}.csv", "count": 2}
    with pytest.raises(ArmsError, match=r"agent 4: .*log-4\.csv, line 2"):
        build(raw, rank=4, agents=5, base=str(tmp_path))
    with pytest.raises(ArmsError, match="agent 3: .*cannot be read"):
        build(raw, rank=3, agents=5, base=str(tmp_path))


def test_what_a_machine_lacks_is_known_before_anybody_builds(tmp_path: Path) -> None:
    logs = msgspec.convert({"kind": "csv", "path": "{rank}.csv", "count": 2}, ArmsSpec)
    for rank in (0, 2):
        (tmp_path / f"{rank}.csv").touch()
    assert logs.missing(str(tmp_path), [0, 2]) == ""
    assert logs.missing(str(tmp_path), []) == ""
    assert logs.missing(str(tmp_path), range(3)) == f"path: {tmp_path}/1.csv does not exist"
    assert logs.missing(str(tmp_path), range(5)) == (
        f"path: {tmp_path}/1.csv does not exist, nor do the logs of 2 more agents"
    )
    own = msgspec.convert({**PYTHON, "target": "lies_here.deep:Arms"}, ArmsSpec)
    assert own.missing(str(tmp_path), [0]) == (
        "target: 'lies_here.deep:Arms': module 'lies_here' is neither in "
        f"{tmp_path} nor installed; see path = […]"
    )
    assert own.missing(str(tmp_path), []) == ""
    (tmp_path / "lies_here").mkdir()
    (tmp_path / "lies_here" / "__init__.py").write_text("raise SystemExit('it was imported')")
    assert own.missing(str(tmp_path), [0]) == ""


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ArmsError, match="agent 0: .*cannot be read"):
        build({"kind": "csv", "path": "none.csv", "count": 2}, base=str(tmp_path))


def test_agents_do_not_share_a_log() -> None:
    spec = msgspec.convert({"kind": "csv", "path": "log.csv", "count": 2}, ArmsSpec)
    spec.check_agents(1)
    with pytest.raises(ValueError, match=r"\{rank\}"):
        spec.check_agents(2)


def test_what_may_surprise_in_a_log_is_said(tmp_path: Path) -> None:
    log(tmp_path, [(0, 0.5), (0, 99.0), (0, 99.0), (0, -1.0), (0, math.nan)])
    log(tmp_path, [(0, 0.5), (1, 0.5)], rank=1)
    raw = {"kind": "csv", "path": "log-{rank}.csv", "count": 3, "clip": [0.0, 10.0]}
    said = msgspec.convert(raw, ArmsSpec).remarks(str(tmp_path), range(3))
    assert said == [
        "agent 0: no row of arm 1",
        "agents 0, 1: no row of arm 2",
        "arms.clip changes 4 of 7 rewards, 2 of them 99, which becomes 10, the best reward; by arm "
        "4 of 6 of arm 0; NaN counts as 0, the worst reward, and a row without a reward is refused",
    ]
    log(tmp_path, [(0, 0.5), (1, 0.5)])
    whole = msgspec.convert({**raw, "count": 2, "clip": None}, ArmsSpec)
    assert whole.remarks(str(tmp_path), [0]) == []


def test_a_series_reads_a_log_once_and_again_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    once = log_file.read_log

    def counting(path: Path, *others: Any, **options: Any) -> log_file.Log:
        read.append(path)
        return once(path, *others, **options)

    monkeypatch.setattr(csv, "read_log", counting)
    raw = log(tmp_path, [(0, 0.1), (1, 1.0)])
    first = build(raw, base=str(tmp_path)).draw(0, 1)
    first[:] = 0.9  # what a machine does to its rewards is not the next run's
    assert build(raw, base=str(tmp_path)).draw(0, 1).tolist() == [0.1]
    assert len(read) == 1
    log(tmp_path, [(0, 0.25), (1, 1.0), (1, 0.0)])
    assert build(raw, base=str(tmp_path)).draw(0, 1).tolist() == [0.25]
    assert len(read) == 2


rewards = st.lists(st.tuples(st.integers(0, 1), st.floats(0.0, 1.0)), min_size=1, max_size=12)


@given(rewards.filter(lambda rows: {arm for arm, _ in rows} == {0, 1}),
       st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4)), max_size=8))  # fmt: skip
def test_rows_are_used_once_in_their_order_until_there_are_no_more(
    rows: list[tuple[int, float]], orders: list[tuple[int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        arms = build(log(Path(folder), rows), base=folder)
        left = {arm: [reward for of, reward in rows if of == arm] for arm in (0, 1)}
        for arm, count in orders:
            assert arms.remaining(arm) == len(left[arm])
            assert arms.draw(arm, count).tolist() == left[arm][:count]
            left[arm] = left[arm][count:]
