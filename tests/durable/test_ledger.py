"""The ledger: what was used is used, whoever asks again and whatever was killed."""

import gzip
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.durable.ledger import Ledger
from posse.durable.lifetime import read
from posse.errors import PosseError
from posse.hosts.spending import SpendingRequest
from tests.support.arms import context
from tests.support.conversations import examples
from tests.support.ledger import Run, log, task, used_by

__all__ = ["log"]


def test_a_release_looks_at_no_other_runs_rows(log: Path) -> None:
    """Also in a ledger that was begun before there was an index."""
    Run(log, task()).ledger.end(None)
    with closing(sqlite3.connect(f"{log}.ledger")) as db:
        db.execute("DROP INDEX rows_by_arm")
        db.commit()
    Run(log, task()).ledger.end(None)
    with closing(sqlite3.connect(f"{log}.ledger")) as db:
        plan = db.execute("EXPLAIN QUERY PLAN DELETE FROM rows WHERE run = 1 AND arm = 0")
        assert [row[-1] for row in plan] == [
            "SEARCH rows USING INDEX rows_by_arm (arm=? AND run=?)"
        ]


def test_the_deltas_of_all_runs_are_within_what_is_allowed_too(log: Path) -> None:
    """δ = .0004 twice; a claim of ε = 0 at δ = .5 would fit into every budget for ever."""
    within = task(0.0, 4e-4, budget=1.0, reuse="budget")
    for _ in range(2):
        assert used_by(log, within, 2, 0) == [[0.0, 0.01], []]
    assert used_by(log, within, 2, 4) == [[0.02, 0.03], [0.1, 0.11, 0.12, 0.13]]
    assert read(log).delta == 8e-4
    used_by(log, task(0.0, reuse="budget"), 9, 9)  # one without δ goes with all of them
    with pytest.raises(PosseError, match=r"more than its budget, ε = 10, δ = 0\.0001; give"):
        Run(log, task(0.0, 4e-4, delta=1e-4, reuse="budget"))


@pytest.mark.parametrize("privacy", [{}, {"budget": 1000.0, "reuse": "budget"}])
def test_after_rows_were_drawn_with_replacement_only_the_word_unlimited_goes_on(
    log: Path, privacy: dict[str, Any]
) -> None:
    """Five rewards may all have been one row's, which then cost 5 · .5 and not .5."""
    again = task(0.5, reuse="unlimited")
    Run(log, again, replacing=True).ends()  # nothing was used, so nothing was told
    assert used_by(log, task(0.5, **privacy), 1, 0) == [[0.0], []]
    run = Run(log, again, replacing=True)
    run.uses(5)
    run.ledger._close()  # as if it were killed
    with pytest.raises(
        PosseError, match=r"rewards-3\.csv were drawn with replacement in an earlier run"
    ):
        Run(log, task(0.5, **privacy))
    # rows at the end stand in the same log, and nobody wrote down how long it was then
    log.write_text(log.read_text() + "0,0.77\n")
    with pytest.raises(PosseError, match="give this agent another log"):
        Run(log, task(0.5, **privacy))
    assert used_by(log, again, 1, 0) == [[0.0], []]
    assert [run.rewards for run in read(log).runs] == [0, 1, 5, 1]


@pytest.mark.slow
def test_it_is_written_before_anything_is_told_and_survives_a_kill(log: Path) -> None:
    """The process is killed between writing down and ending; another one finds the rows used."""
    script = (
        "import os, signal\nfrom pathlib import Path\n"
        "from tests.support.ledger import Run, task\n"
        f"run = Run(Path({str(log)!r}), task())\nrun.uses(2)\n"
        "run.arms.draw(0, 3)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    book = read(log)
    assert [(run.rewards, run.ended, run.spent) for run in book.runs] == [(2, None, None)]
    # the three rewards of which nothing was told are as good as new
    assert used_by(log, task(), 2, 0) == [[0.02, 0.03], []]


def test_it_is_its_owners_alone_and_follows_no_link(log: Path, tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        run = Run(log, task())
        run.uses(1)
        for path in tmp_path.glob("*.ledger*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        run.ends()
    finally:
        os.umask(mask)
    assert [path.name for path in tmp_path.glob("*.ledger*")] == ["rewards-3.csv.ledger"]
    other = tmp_path / "other.csv"
    other.write_text(log.read_text())
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "other.csv.ledger").symlink_to(victim)
    with pytest.raises(PosseError, match=r"other\.csv\.ledger cannot be written"):
        Run(other, task())
    assert victim.read_text() == "precious"


class _Live:
    def pull(self, arm: int, count: int) -> list[float]:
        return [0.5] * count


live = _Live()


def of_ones_own(tmp_path: Path, about: SpendingRequest) -> Ledger:
    spec = PythonArms(target="tests.durable.test_ledger:live", count=2)
    ledger = Ledger(*spec.ledger(str(tmp_path), 3))
    ledger.begin(about, spec.build(context()))
    return ledger


DELTAS = task(0.0, 4e-4, reuse="budget")
WITHIN = task(0.5, budget=1.5, reuse="budget")


@pytest.mark.parametrize(
    ("before", "about", "said"),
    [
        ([task()], task(), "were used in an earlier run, and posse cannot tell"),
        (
            [task(), task(reuse="unlimited"), WITHIN],
            WITHIN,
            r"cost ε = 1\.5 so far and this run would cost ε = 0\.5",
        ),
        (
            [DELTAS, DELTAS],
            DELTAS,
            r"ε = 0, δ = 0\.0008 so far .* ε = 0, δ = 0\.0004 more, .* ε = 10, δ = 0\.001",
        ),
        (
            [WITHIN, task(None, reuse="unlimited")],
            WITHIN,
            r"used without any ε in an earlier run, .* every budget",
        ),
    ],
    ids=["never", "beyond ε", "beyond δ", "no ε"],
)
def test_of_ones_own_arms_nobody_knows_whether_a_reward_comes_twice(
    tmp_path: Path, before: list[SpendingRequest], about: SpendingRequest, said: str
) -> None:
    of_ones_own(tmp_path, task(None, reuse="unlimited")).end(None)  # nothing was used
    for earlier in before:
        ledger = of_ones_own(tmp_path, earlier)
        ledger.uses(np.array([3, 4]))
        ledger.end(None)
    with pytest.raises(PosseError, match=said):
        of_ones_own(tmp_path, about)
    of_ones_own(tmp_path, task(reuse="unlimited")).end(0.0)
    assert read(tmp_path / "tests.durable.test_ledger.live-3.ledger").rows is None


def test_no_row_ever_costs_more_than_its_budget(tmp_path: Path) -> None:
    """Two hundred runs with ε from .1 to 1 over a budget of 2; seed 4."""
    path = tmp_path / "rewards-3.csv"
    path.write_text("arm,reward\n" + "\n".join(f"{n % 2},0.5" for n in range(60)) + "\n")
    generator = np.random.default_rng(4)
    for _ in range(200):
        epsilon = float(generator.integers(1, 11)) / 10
        try:
            run = Run(path, task(epsilon, budget=2.0, reuse="budget"))
        except PosseError:
            continue
        run.uses(*map(int, generator.integers(0, 20, 2)))
        run.ends()
    assert 1.5 < read(path).epsilon <= 2.0 + 1e-9


@pytest.mark.parametrize("name", ["link", "copy", "moved"])
def test_the_ledger_is_found_under_another_name(log: Path, name: str) -> None:
    used_by(log, task(), 2, 1)
    other = log.parent / f"{name}.csv"
    match name:
        case "link":
            other.hardlink_to(log)
        case "copy":
            other.write_text(log.read_text() + "1,0.77\n")
        case _:
            log.rename(other)
    assert used_by(other, task(), 1, 1) == [[0.02], [0.11]]
    assert [path.name for path in log.parent.glob("*.ledger")] == ["rewards-3.csv.ledger"]


def test_a_run_that_broke_off_does_not_go_on_with_rows_that_a_later_one_used(log: Path) -> None:
    broken = Run(log, task())
    broken.uses(1)
    broken.ledger.leave()
    later = Run(log, task())
    later.uses(2)
    later.ledger.leave()
    with pytest.raises(PosseError, match="other runs were given rows that this agent might use"):
        Ledger(*CsvArms(path=str(log), count=2).ledger("/", 3)).go_on(broken.run, broken.rows)


@pytest.mark.parametrize("how", ["ends", "numbers", "packed"])
def test_a_log_is_known_by_its_rows_however_they_are_written(log: Path, how: str) -> None:
    used_by(log, task(), 2, 1)
    text = log.read_text()
    other = log.with_name("other.csv.gz" if how == "packed" else "other.csv")
    if how == "packed":
        other.write_bytes(gzip.compress(text.encode()))
    else:
        changes = ("\n", "\r\n") if how == "ends" else ("0.0", "+00.0")
        other.write_bytes(text.replace(*changes).encode())
    assert used_by(other, task(), 1, 1) == [[0.02], [0.11]]
    log.write_bytes(text.replace("\n", "\r\n").encode())  # and in its own place
    assert used_by(log, task(), 1, 0) == [[0.03], []]
    log.write_text(text.replace("1,0.1\n", "1,0.2\n"))
    with pytest.raises(PosseError, match="was changed after a run used it"):
        Run(log, task())


@examples(Path(__file__).with_name("ledger.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
