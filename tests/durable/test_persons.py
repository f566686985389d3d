"""The ledger of persons: no person is behind more rewards, or is charged more, than allowed."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.arms.python import Python, PythonArms
from posse.durable import checkpoint
from posse.durable.ledger import Ledger
from posse.durable.lifetime import read
from posse.durable.persons import NAME, SECRET, RunCost, person_cost
from posse.errors import PosseError
from posse.hosts.spending import SpendingRequest
from posse.protocol.accounting import Losses, gaussian_deviation
from tests.support.ledger import Run, claiming, task, used_by

PERSONS: dict[str, Any] = {"person": "who", "rewards_per_person": 2}


def write(path: Path, *rows: tuple[int, float, str]) -> Path:
    lines = [f"{arm},{reward},{who}" for arm, reward, who in rows]
    path.write_text("\n".join(["arm,reward,who", *lines, ""]))
    return path


def persons_of(log: Path) -> Any:
    """What the ledger of persons of this log's folder adds up to."""
    return read(log).persons


SHARED = Losses(gaussian=1 / gaussian_deviation(1.0, 1.0, 1e-6) ** 2)
"""Gaussian noise sized for (1, 1e-6)."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Eva has four rows, Adam one."""
    return write(
        tmp_path / "a.csv",
        (0, 0.0, "eva"), (1, 0.1, "eva"), (0, 0.01, "eva"), (0, 0.02, "adam"), (1, 0.11, "eva"),
    )  # fmt: skip


def test_rows_beyond_a_persons_are_used_in_no_run(log: Path) -> None:
    assert used_by(log, task(**PERSONS), 1, 0) == [[0.0], []]
    assert used_by(log, task(**PERSONS), 9, 9) == [[0.02], [0.1]]
    with pytest.raises(PosseError, match="was used in an earlier run, and may be used only once"):
        Run(log, task(**PERSONS))
    book = read(log)
    persons = persons_of(log)
    assert (persons.persons, persons.rows, persons.cost.epsilon) == (2, 2, 1.0)
    assert book.epsilon == 0.5  # of one reward
    assert book.says.endswith("; of 2 persons, at most 2 rows and ε = 1 for one person")


def test_a_person_is_the_same_in_all_logs_of_a_folder(log: Path) -> None:
    other = write(log.with_name("b.csv"), (0, 0.5, "eva"), (0, 0.6, "adam"), (0, 0.7, "eva"))
    assert used_by(log, task(**PERSONS), 1, 0) == [[0.0], []]
    assert used_by(other, task(**PERSONS), 9, 0) == [[0.5, 0.6], []]
    assert used_by(log, task(**PERSONS), 9, 0) == [[0.02], []]
    # Eva has two rows in all, and Adam too
    with pytest.raises(PosseError, match="of a person of whom runs over the logs of this folder"):
        Run(log, task(**PERSONS))
    assert read(other).persons == read(log).persons


def test_agents_of_one_run_share_what_a_person_may_give(log: Path) -> None:
    """The first to begin holds Eva's rows until it ends, and gives back what it did not use."""
    other = write(log.with_name("b.csv"), (0, 0.5, "eva"), (0, 0.6, "adam"), (0, 0.7, "eva"))
    first = Run(log, task(**PERSONS))
    second = Run(other, task(**PERSONS))
    assert second.uses(9, 9) == [[0.6], []]
    assert first.uses(1, 0) == [[0.0], []]
    first.ends()
    second.ends()
    assert used_by(other, task(**PERSONS), 9, 9) == [[0.5], []]


def test_a_budget_is_a_persons_over_all_runs_and_logs(log: Path) -> None:
    """ε = .5 for a row: within 1.5 Eva affords two rows of one run and one more of another."""
    other = write(log.with_name("b.csv"), (0, 0.5, "eva"), (0, 0.6, "adam"))
    within = {**PERSONS, "rewards_per_person": 9, "budget": 1.5, "reuse": "budget"}
    assert used_by(log, task(**within), 1, 1) == [[0.0], [0.1]]
    assert used_by(other, task(**within), 9, 9) == [[0.5, 0.6], []]
    assert used_by(log, task(**within), 9, 9) == [[0.02], []]  # Adam's second
    assert used_by(other, task(**within), 9, 9) == [[0.6], []]  # and third
    with pytest.raises(PosseError, match=r"they would cost more than ε = 1\.5"):
        Run(other, task(**within))
    assert (persons_of(log).rows, persons_of(log).cost.epsilon) == (3, 1.5)


@pytest.mark.parametrize(("share", "rows"), [(1.0, 2), (0.999, 1)])
def test_with_a_delta_a_person_is_charged_what_so_many_rewards_cost_exactly(
    log: Path, share: float, rows: int
) -> None:
    """Two rows in one run cost 2.03, not 2 · .927."""
    cost = person_cost([(RunCost(SHARED, 1e-6), 2)])
    assert cost is not None
    assert cost.epsilon == pytest.approx(1.9854, abs=0.1)
    about = task(1.0, 1e-6, **PERSONS, budget=cost.epsilon * share, reuse="budget")
    assert sum(map(len, Run(log, claiming(about, losses=SHARED)).uses(1, 9))) == rows


def test_runs_that_named_no_persons_and_runs_that_were_killed_are_charged_too(log: Path) -> None:
    used_by(log, task(), 1, 0)  # Eva's first row
    killed = Run(log, task(**PERSONS))
    killed.uses(0, 1)  # her second
    killed.ledger._close()
    assert used_by(log, task(**PERSONS), 9, 9) == [[0.02], []]
    assert (persons_of(log).persons, persons_of(log).rows) == (2, 2)


def test_another_log_that_comes_to_have_a_name_is_another_log(log: Path) -> None:
    """A month's log and its ledger are moved away, and the next has the same name."""
    assert used_by(log, task(**PERSONS), 9, 9) == [[0.0, 0.02], [0.1]]
    (log.parent / "before").mkdir()
    for path in log.parent.glob("a.csv*"):
        path.rename(path.parent / "before" / path.name)
    write(log, (0, 0.5, "eva"), (0, 0.6, "adam"), (0, 0.7, "eva"))
    assert used_by(log, task(**PERSONS), 9, 9) == [[0.6], []]


def test_what_a_run_held_that_broke_off_is_given_to_the_next(log: Path) -> None:
    """Also to that of another log, and then the first does not go on."""
    other = write(log.with_name("b.csv"), (0, 0.5, "eva"), (0, 0.6, "eva"))
    broken = Run(log, task(**PERSONS))
    assert broken.uses(1, 0) == [[0.0], []]
    with pytest.raises(PosseError, match="another agent holds them until its run ends"):
        Run(other, task(**PERSONS))
    broken.ledger.leave()
    assert "3 rows that runs hold which have not ended" in persons_of(log).says
    assert used_by(other, task(**PERSONS), 9, 9) == [[0.5], []]
    with pytest.raises(PosseError, match="other runs were given rows that this agent might use"):
        broken.ledger.go_on(broken.run, broken.rows)
    assert used_by(log, task(**PERSONS), 9, 9) == [[0.02], []]


def test_a_run_goes_on_with_what_it_held(log: Path) -> None:
    broken = Run(log, task(**PERSONS))
    broken.ledger.leave()
    broken.ledger.go_on(broken.run, broken.rows)
    assert broken.uses(9, 9) == [[0.0, 0.02], [0.1]]


def test_rows_at_two_agents_of_one_run_may_be_in_one_sum(log: Path) -> None:
    """Of Gaussian noise: two rows at each of two agents cost what four cost, and not √2 times."""
    other = write(log.with_name("b.csv"), (0, 0.5, "eva"), (0, 0.6, "eva"))
    within = {**PERSONS, "rewards_per_person": 9, "budget": 100.0}
    about = claiming(task(1.0, 1e-6, **within), losses=SHARED)
    named = msgspec.structs.replace(about.run, first=7, name=b"run")
    about = msgspec.structs.replace(about, run=named)
    runs = [Run(path, about) for path in (log, other)]
    for run, counts in zip(runs, ((1, 1), (2, 0)), strict=True):
        run.uses(*counts)
        run.ends()
    assert persons_of(log).cost.epsilon == SHARED.of_rewards(4).epsilon(1e-6)
    assert persons_of(log).cost.delta == 1e-6


def hashes(book: Path) -> list[Any]:
    with closing(sqlite3.connect(book)) as db:
        return db.execute("SELECT DISTINCT person FROM uses ORDER BY person").fetchall()


def test_persons_are_in_it_by_hashes_under_a_secret(log: Path) -> None:
    used_by(log, task(**PERSONS), 9, 9)
    book, secret = log.with_name(NAME), log.with_name(SECRET)
    for path in (book, secret):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(secret.read_bytes()) == 32
    assert b"eva" not in book.read_bytes()
    first = hashes(book)
    (log.parent / "elsewhere").mkdir()
    other = log.parent / "elsewhere" / "a.csv"
    other.write_text(log.read_text())
    used_by(other, task(**PERSONS), 9, 9)
    assert first != hashes(other.with_name(NAME))
    secret.write_bytes(bytes(32))
    write(log.with_name("b.csv"), (0, 0.5, "eva"))
    with pytest.raises(PosseError, match="is not the secret under which persons.ledger has its pe"):
        Run(log.with_name("b.csv"), task(**PERSONS))


class Ward:
    """The user's own arms: patients come in this order, each with the reward .5."""

    def __init__(self, *patients: Any) -> None:
        self.patients = list(patients)

    def pull(self, arm: int, count: int) -> tuple[list[float], list[Any]]:
        came, self.patients = self.patients[:count], self.patients[count:]
        return [0.5] * count, came + [None] * (count - len(came))


class OwnRun:
    """One run of the user's own arms in a folder."""

    def __init__(self, folder: Path, about: SpendingRequest, *patients: Any) -> None:
        spec = PythonArms(target="ward:Ward", count=2)
        self.ward = Ward(*patients)
        persons = about.run.privacy.persons
        given = np.zeros(2, dtype=np.int64)
        self.arms = Python(self.ward, spec.target, None, "agent 3", given, persons)
        self.ledger = Ledger(*spec.ledger(str(folder), 3))
        self.run, _ = self.ledger.begin(about, self.arms)

    def uses(self, count: int) -> None:
        assert len(self.arms.draw(0, count)) == count
        self.ledger.uses(np.array([count, 0]))


def test_rewards_of_own_arms_beyond_a_persons_are_left_out_in_all_runs(log: Path) -> None:
    """Eva has a row in a log of the folder, and gives one more reward, and no other ever."""
    assert used_by(log, task(**PERSONS), 1, 0) == [[0.0], []]
    run = OwnRun(log.parent, task(**PERSONS), "eva", "eva", "Zo\u00eb", 7, "eva", 7.0, "adam")
    run.uses(5)
    assert run.ward.patients == []
    assert run.arms.given.tolist() == [7, 0]  # with two of Eva's that were left out
    run.ledger.end(None)
    later = OwnRun(log.parent, task(**PERSONS), "eva", "Zoe\u0308", "7", "Zo\u00eb", "ben")
    later.uses(2)
    assert later.arms.given.tolist() == [5, 0]
    persons = persons_of(log)
    assert (persons.persons, persons.rows, persons.cost.epsilon) == (5, 2, 1.0)
    assert used_by(log, task(**PERSONS), 9, 9) == [[0.02], []]  # Adam's second


def test_own_arms_stay_within_the_budget_of_a_person(tmp_path: Path) -> None:
    within = {"person": "who", "rewards_per_person": 9, "budget": 1.5, "reuse": "budget"}
    first = OwnRun(tmp_path, task(**within), "eva", "eva", "adam")
    first.uses(3)
    first.ledger.end(None)
    second = OwnRun(tmp_path, task(**within), "eva", "eva", "adam", "adam", "adam", "ben")
    second.uses(4)
    assert second.arms.given.tolist() == [6, 0]  # Eva's second and Adam's third cost too much


def test_own_arms_go_on_with_what_persons_gave_before_a_restart(tmp_path: Path) -> None:
    run = OwnRun(tmp_path, task(**PERSONS), "eva", "adam")
    run.uses(2)
    admitting: Any = run.arms._admit
    outside = {"persons": admitting.path}
    admit = checkpoint.read(checkpoint.written(admitting, outside), outside)
    run.ledger.leave()
    run.ledger.go_on(run.run, None)
    run.arms.target = Ward("eva", "eva", "ben")
    run.arms.admit_by(admit)
    assert len(run.arms.draw(0, 2)) == 2
    assert run.arms.given.tolist() == [5, 0]  # Eva's third was left out
    run.arms.target = Ward("eva", "adam", "cy")
    run.ledger.count_persons(task(**PERSONS), run.arms)
    assert len(run.arms.draw(0, 2)) == 2
    assert run.arms.given.tolist() == [8, 0]  # and her fourth
    (tmp_path / NAME).unlink()
    with pytest.raises(PosseError, match="persons.ledger is gone"):
        admit(["eva"])


def test_own_arms_that_named_nobody_before_are_refused(tmp_path: Path) -> None:
    plain = OwnRun(tmp_path, task())
    plain.arms.persons = None
    plain.ledger.uses(np.array([1, 0]))
    plain.ledger.end(None)
    with pytest.raises(PosseError, match="run 1 used rewards of this agent's own arms without"):
        OwnRun(tmp_path, task(**PERSONS), "eva")


def _put_back(log: Path, name: str) -> None:
    """A backup of before the last run is put back."""
    used_by(log, task(**PERSONS), 1, 0)
    kept = log.with_name(name).read_bytes()
    used_by(log, task(**PERSONS), 1, 1)
    log.with_name(name).write_bytes(kept)


def _gone(log: Path, *names: str) -> None:
    used_by(log, task(**PERSONS), 1, 0)
    for name in names:
        log.with_name(name).unlink()


@pytest.mark.parametrize(
    ("before", "about", "said"),
    [
        (lambda log: _put_back(log, "a.csv.ledger"), PERSONS, r"ledger is not the one that pers"),
        (lambda log: _put_back(log, NAME), PERSONS, r"persons\.ledger is not the one that a\.csv"),
        (lambda log: _gone(log, NAME), PERSONS, r"persons\.ledger is gone, and a\.csv\.ledger sa"),
        (lambda log: _gone(log, NAME, SECRET), PERSONS, r"persons\.ledger is gone, and a\.csv\.l"),
        (lambda log: _gone(log, NAME, "a.csv.ledger"), PERSONS, "is gone, and persons.ledger-sec"),
        (_gone, {"person": "x"}, r"counts the persons that 'who' names, and .* person = 'x'"),
        (_gone, {}, r"persons\.ledger counts what runs over the logs of this folder cost each"),
    ],
    ids=["log's", "persons'", "deleted", "with its secret", "with the log's", "column", "nobody"],
)
def test_nothing_that_persons_were_charged_is_forgotten(
    before: Any, about: dict[str, Any], said: str, log: Path
) -> None:
    """Neither of the two ledgers is rewound, nor deleted, nor is a person called another thing.

    Over this log or another one of the folder.
    """
    other = write(log.with_name("b.csv"), (0, 0.5, "eva"), (1, 0.6, "eva"))
    for path in (log, other):  # a further column
        path.write_text(
            path.read_text()
            .replace("who\n", "who,x\n")
            .replace("a\n", "a,1\n")
            .replace("am\n", "am,2\n")
        )
    before(log)
    for path in (log,) if "not the one" in said else (log, other):
        with pytest.raises(PosseError, match=said):
            Run(path, task(**about))
