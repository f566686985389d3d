"""The ledger: what was used is used, whoever asks again and whatever was killed."""

import gzip
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.durable.ledger import Ledger
from posse.durable.lifetime import read
from posse.errors import PosseError
from posse.hosts.spending import SpendingRequest
from posse.protocol.accounting import Losses, gaussian_deviation
from tests.support.arms import context
from tests.support.ledger import Run, claiming, log, task, used_by

__all__ = ["log"]


def test_each_row_is_used_in_one_run_and_the_next_goes_on_behind_it(log: Path) -> None:
    assert used_by(log, task(), 2, 1) == [[0.0, 0.01], [0.1]]
    assert used_by(log, task(), 1, 1) == [[0.02], [0.11]]
    assert used_by(log, task(), 9, 9) == [[0.03, 0.04, 0.05], [0.12, 0.13]]
    with pytest.raises(
        PosseError, match=r"every row of .*rewards-3\.csv was used in an earlier run"
    ):
        Run(log, task())
    book = read(log)
    assert [run.rewards for run in book.runs] == [3, 2, 5]
    assert (book.rows, book.epsilon, book.unprotected) == (10, 0.5, 0)


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


def test_rows_may_be_added_at_the_end_and_changed_nowhere(log: Path) -> None:
    used_by(log, task(), 6, 4)
    text = log.read_text()
    log.write_text(text + "0,0.77\n")
    assert used_by(log, task(), 3, 0) == [[0.77], []]
    log.write_text(text.replace("0,0.03", "0,0.99"))
    with pytest.raises(PosseError, match="was changed after a run used it"):
        Run(log, task())


def test_within_a_budget_rows_are_used_again(log: Path) -> None:
    """Budget 1, twice ε = .5; the rows of arm 0 that were used once more are out one run sooner."""
    within: dict[str, Any] = {"budget": 1.0, "reuse": "budget"}
    used_by(log, task(0.5, **within), 2, 0)
    assert used_by(log, task(0.5, **within), 4, 0) == [[0.0, 0.01, 0.02, 0.03], []]
    assert used_by(log, task(0.5, **within), 9, 1) == [[0.02, 0.03, 0.04, 0.05], [0.1]]
    assert read(log).epsilon == 1.0
    with pytest.raises(PosseError, match=r"would cost more than its budget, ε = 1\b"):
        Run(log, task(1.5, budget=1.0, reuse="budget"))
    # in between: .4 more fits where .5 was spent, and nowhere else
    used_by(log, task(0.1, **within), 0, 0)
    assert Run(log, task(0.5, **within)).uses(9) == [[0.04, 0.05]]


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


def test_what_a_run_without_epsilon_used_is_beyond_every_budget(log: Path) -> None:
    used_by(log, task(None, reuse="unlimited"), 2, 4)
    within = task(0.1, budget=1000.0, reuse="budget")
    assert used_by(log, within, 9, 9) == [[0.02, 0.03, 0.04, 0.05], []]
    assert read(log).unprotected == 6


def test_a_claim_that_does_not_hold_is_none(log: Path) -> None:
    used_by(log, claiming(task(0.5), holds=False), 2, 0)
    book = read(log)
    assert (book.runs[0].epsilon, book.epsilon, book.unprotected) == (None, 0.0, 2)


def test_the_word_unlimited_is_kept_and_counted(log: Path) -> None:
    for _ in range(3):
        assert used_by(log, task(0.5, 1e-6, reuse="unlimited"), 1, 0) == [[0.0], []]
    book = read(log)
    assert (book.rows, book.epsilon) == (1, 1.5)
    assert book.delta == pytest.approx(3e-6)
    assert book.says == "3 runs used 1 row so far, at most ε = 1.5, δ = 3e-06 for one reward"


def test_rows_drawn_with_replacement_are_counted_as_rewards(log: Path) -> None:
    run = Run(log, task(0.5, reuse="unlimited"), replacing=True)
    run.uses(100)
    assert run.ends() == "1 run used 100 rewards so far, at most ε = 0.5 for one reward"


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


def test_two_agents_cannot_use_one_log_at_once(log: Path) -> None:
    first = Run(log, task())
    with pytest.raises(PosseError, match=r"rewards-3\.csv\.ledger is in use by another agent"):
        Run(log, task())
    (log.parent / "link.csv").symlink_to(log)
    with pytest.raises(PosseError, match="is in use by another agent"):
        Run(log.parent / "link.csv", task())
    first.ends()
    Run(log, task()).ends()


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


def test_what_cannot_be_written_down_is_not_told(log: Path) -> None:
    run = Run(log, task())
    run.ledger._db.execute("PRAGMA query_only = ON")
    with pytest.raises(PosseError, match=r"cannot be written: .*before it sends any result"):
        run.uses(1)
    run.ledger._close()
    (log.parent / "rewards-3.csv.ledger").write_bytes(b"no database" * 100)
    with pytest.raises(PosseError, match="cannot be written: file is not a database"):
        Run(log, task())
    with pytest.raises(PosseError, match="cannot be read as a ledger"):
        read(log)


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


def test_what_was_read_as_rewards_is_what_is_written_down(log: Path) -> None:
    """The log is rotated between its reading and the run's begin: nothing may be used."""
    spec = CsvArms(path=str(log), count=2)
    arms = spec.build(context())
    log.write_text(log.read_text().replace("0,0.03", "0,0.99"))
    with pytest.raises(PosseError, match="was changed after its rewards were read for this run"):
        Ledger(*spec.ledger("/", 3)).begin(task(), arms)
    log.write_text(log.read_text().replace("0,0.99", "0,0.03") + "0,0.77\n")
    Ledger(*spec.ledger("/", 3)).begin(task(), arms)  # rows at the end are the next run's


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


def test_a_log_with_another_name_elsewhere_is_refused(log: Path, tmp_path: Path) -> None:
    used_by(log, task(), 2, 1)
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "rewards.csv"
    other.hardlink_to(log)
    with pytest.raises(PosseError, match=r"rewards\.csv has 2 names \(hard links\)"):
        Run(other, task())
    assert used_by(log, task(), 1, 1) == [[0.02], [0.11]]


def test_a_copy_elsewhere_starts_anew_and_a_log_that_moves_with_its_ledger_does_not(
    log: Path, tmp_path: Path
) -> None:
    used_by(log, task(), 2, 1)
    for name in ("copy", "moved"):
        (tmp_path / name).mkdir()
    (tmp_path / "copy" / log.name).write_bytes(log.read_bytes())
    assert used_by(tmp_path / "copy" / log.name, task(), 1, 1) == [[0.0], [0.1]]
    for path in log.parent.glob(f"{log.name}*"):
        path.rename(tmp_path / "moved" / path.name)
    assert used_by(tmp_path / "moved" / log.name, task(), 1, 1) == [[0.02], [0.11]]


def test_a_log_without_a_lasting_place_for_its_ledger_is_refused(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("posse.durable.ledger._is_mounted", lambda path: path == log)
    with pytest.raises(PosseError, match="is mounted by itself, .* mount its folder instead"):
        Run(log, task())
    assert not list(log.parent.glob("*.ledger"))


def test_runs_are_added_up_by_the_distribution_of_their_losses(log: Path) -> None:
    """Ten shared runs at (1, 1e-6) cost (2.90, 1e-5); the sum, 10, stands beside it."""
    shared = Losses(gaussian=1 / gaussian_deviation(1.0, 1.0, 1e-6) ** 2)
    within = claiming(task(1.0, 1e-6, budget=2.901, reuse="budget"), losses=shared)
    for _ in range(10):
        assert used_by(log, within, 1, 0) == [[0.0], []]
    assert Run(log, within).uses(1) == [[0.01]]
    book = read(log)
    assert book.epsilon == 10.0
    assert book.delta == pytest.approx(1e-5)
    assert book.exact is not None
    assert book.exact.epsilon == pytest.approx(2.900, abs=1e-3)
    assert (
        "at most ε = 10, δ = 1e-05 for one reward, by the distribution of their losses" in book.says
    )


def test_a_slack_lets_runs_without_a_delta_be_added_up_too(log: Path) -> None:
    laplace = Losses(laplace=((0.1, 1),))
    exact = claiming(task(0.1, budget=1.0, reuse="budget", slack=1e-6), losses=laplace)
    basic = claiming(task(0.1, budget=1.0, reuse="budget"), losses=laplace)
    for _ in range(10):
        used_by(log, basic, 1, 0)
    assert Run(log, basic).uses(1) == [[0.01]]
    many = claiming(task(0.1, budget=1.0, delta=0.01, reuse="budget", slack=0.01), losses=laplace)
    assert used_by(log, many, 1, 0) == [[0.0], []]
    with pytest.raises(PosseError, match="more than its budget"):
        Run(log, claiming(exact, epsilon=9.0, losses=Losses(laplace=((9.0, 1),))))


def test_a_run_that_the_journal_forgot_goes_on_if_it_used_nothing_and_is_refused_if_it_did(
    log: Path,
) -> None:
    about = msgspec.structs.replace(task(), run=msgspec.structs.replace(task().run, first=7))
    run = Run(log, about)
    run.ledger._close()
    again = Run(log, about)  # as after a kill between the ledger's commit and the journal's
    again.uses(2)
    again.ledger._close()
    with pytest.raises(PosseError, match="used in this very run, of which its journal knows noth"):
        Run(log, about)
    assert [run.rewards for run in read(log).runs] == [2]
    other = msgspec.structs.replace(about.run, first=8)
    assert used_by(log, msgspec.structs.replace(about, run=other), 1, 0) == [[0.02], []]


def test_a_run_that_broke_off_does_not_go_on_with_rows_that_a_later_one_used(log: Path) -> None:
    broken = Run(log, task())
    broken.uses(1)
    broken.ledger.leave()
    later = Run(log, task())
    later.uses(2)
    later.ledger.leave()
    with pytest.raises(PosseError, match="other runs were given rows that this agent might use"):
        Ledger(*CsvArms(path=str(log), count=2).ledger("/", 3)).go_on(broken.run, broken.rows)


def test_a_copy_is_not_used_beside_the_first(log: Path) -> None:
    """Nor later as if it were new."""
    first = Run(log, task())
    copy = log.with_name("copy.csv")
    copy.write_bytes(log.read_bytes())
    with pytest.raises(PosseError, match=r"copy\.csv has the rewards whose ledger is .*rewards-3"):
        Run(copy, task())
    assert first.uses(2, 1) == [[0.0, 0.01], [0.1]]
    first.ends()
    assert used_by(copy, task(), 1, 1) == [[0.02], [0.11]]


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


def test_all_of_a_ledger_is_in_one_file_at_any_moment(log: Path) -> None:
    """Whoever moves the file of an agent that was killed takes all uses along."""
    run = Run(log, task())
    run.uses(3, 1)
    assert [path.name for path in log.parent.glob("*.ledger*")] == ["rewards-3.csv.ledger"]
    moved = log.parent / "moved.csv.ledger"
    moved.write_bytes(log.with_name("rewards-3.csv.ledger").read_bytes())
    assert read(moved).rows == 4
    run.ends()
