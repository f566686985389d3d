"""Reward logs: each row once, or drawn; what is wrong with a file is named."""

import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.arms import csv, log_file
from posse.engines import memory
from posse.plan import prepare
from tests.support.arms import build
from tests.support.conversations import examples


def log(folder: Path, rows: list[tuple[int, float]], rank: int = 0) -> dict[str, Any]:
    lines = "".join(f"{arm},{reward}\n" for arm, reward in rows)
    (folder / f"log-{rank}.csv").write_text("arm,reward\n" + lines)
    return {"kind": "csv", "path": "log-{rank}.csv", "count": 2}


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


@examples(Path(__file__).with_name("csv.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
