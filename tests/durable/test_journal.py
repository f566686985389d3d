"""Journals: what was committed is there again, whole, in order, for its owner alone."""

import functools
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from posse.agent.noise import SeededNoise
from posse.arms import Arms
from posse.arms.base import ArmsContext
from posse.arms.python import PythonArms
from posse.durable.journal import FRAME, STEPS, Journal, is_held
from posse.durable.lifetime import read as lifetime
from posse.durable.recording import RecordedNoise, RecordedSpending, record_sources
from posse.engines.sources import of_this_machine
from posse.errors import PosseError
from posse.hosts.spending import RowsByArm, Spending, SpendingRequest
from posse.protocol.arrays import FloatArray
from posse.protocol.privacy import Claim
from posse.spec.privacy import PrivacySpec
from tests.support.lobby import setup


def opened(path: Path, owner: str = "agent 3 of a run") -> Journal:
    return Journal(path, owner, synchronous=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_what_was_committed_is_there_in_order_and_the_rest_is_not(path: Path) -> None:
    one = opened(path)
    one.begin(b"what it was")
    one.add(FRAME, -1, b"first")
    one.stepped()
    one.stepped()
    one.commit()
    one.add(FRAME, 2, b"second")
    one.commit()
    one.add(FRAME, 2, b"never committed")
    one.close()
    two = opened(path)
    assert two.began_as(bytes) == b"what it was"
    assert (one.starts, two.starts) == (0, 1)
    with two.replay() as inputs:
        assert list(inputs) == [(FRAME, -1, b"first"), (STEPS, 2, b""), (FRAME, 2, b"second")]


def test_answers_are_given_again_in_order_and_then_new_ones_are_asked_for(path: Path) -> None:
    answers: list[Any] = [1, None, 0.5, [True, False], "text", b"bytes"]
    array = np.array([[1.5, -0.0], [np.inf, 3.0]])
    one = opened(path)
    one.begin(b"x")
    for answer in [*answers, array, np.float64(2.5)]:
        one.asked(lambda answer=answer: answer)()
    one.commit()
    one.close()
    two = opened(path)
    with two.replay() as inputs:
        assert list(inputs) == []
        new: Any = "new"
        ask = two.asked(lambda: new)
        assert [ask() for _ in answers] == answers
        again = ask()
        assert (again.dtype, again.tobytes()) == (array.dtype, array.tobytes())
        assert [ask(), ask()] == [2.5, "new"]


def test_what_is_done_again_is_not_written_again(path: Path) -> None:
    one = opened(path)
    one.begin(b"x")
    one.add(FRAME, 0, b"once")
    one.commit()
    one.close()
    for _ in range(2):
        again = opened(path)
        with again.replay() as inputs:
            for what, whom, said in inputs:
                assert (what, whom, said) == (FRAME, 0, b"once")
                again.add(what, whom, said)
                again.stepped()
                again.commit()
        again.close()


def test_a_new_beginning_forgets_all_before(path: Path) -> None:
    one = opened(path)
    one.begin(b"x")
    one.asked(lambda: 1)()
    one.add(FRAME, 0, b"old")
    one.commit()
    one.add(FRAME, 0, b"not committed")
    one.begin(b"y")
    one.commit()
    one.close()
    two = opened(path)
    assert two.began_as(bytes) == b"y"
    with two.replay() as inputs:
        assert list(inputs) == []
        assert two.asked(lambda: 2)() == 2
    two.forget()
    two.close()
    assert opened(path).beginning == b""


KILLED = """
import os, signal, sys
from pathlib import Path
from posse.durable.journal import Journal
journal = Journal(Path(sys.argv[1]), "agent 3 of a run", synchronous=False)
journal.begin(b"x")
for number in range(100):
    journal.add("frame", number, b"")
    journal.commit()
journal.add("frame", 100, b"")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_loses_nothing_that_was_committed(path: Path) -> None:
    ended = subprocess.run([sys.executable, "-P", "-c", KILLED, str(path)], check=False)
    assert ended.returncode == -9
    with opened(path).replay() as inputs:
        assert [whom for _, whom, _ in inputs] == list(range(100))


def test_it_is_its_owners_alone_and_follows_no_link(path: Path) -> None:
    umask = os.umask(0)
    try:
        one = opened(path)
        one.begin(b"x")
    finally:
        os.umask(umask)
    files = list(path.parent.iterdir())
    assert len(files) > 1
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    one.remove()
    assert list(path.parent.iterdir()) == []
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(PosseError, match="cannot be written"):
        opened(path)


def test_one_that_others_may_have_written_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = opened(path)
    one.begin(b"x")
    one.close()
    path.chmod(0o620)
    with pytest.raises(PosseError, match="is open to others"):
        opened(path)
    path.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PosseError, match="or belongs to another user"):
        opened(path)
    monkeypatch.undo()
    assert opened(path).starts == 1


def test_another_runs_is_refused_in_a_sentence(path: Path) -> None:
    one = opened(path)
    assert list(path.parent.iterdir()) == []
    one.begin(b"x")
    one.close()
    with pytest.raises(PosseError, match=r"another run or version \(agent 3 of .* posse abandon"):
        opened(path, "agent 4 of a run")
    assert opened(path).starts == 1


class Disk(sqlite3.Connection):
    """What a journal wrote, by what SQLite says of each commit: 2 waits for the disk, 1 does not.

    `lasts` is for what is there by the time that the first row may be written.
    """

    waits: ClassVar[list[int]] = []
    lasts: ClassVar[Path]

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement.startswith("INSERT INTO batches"):
            (where,) = (file for _, _, file in super().execute("PRAGMA database_list"))
            for file in (Path(where), Path(f"{where}-wal")):
                shutil.copy(file, self.lasts)
        if statement.startswith(("COMMIT", "INSERT INTO batches")):
            self.waits.append(super().execute("PRAGMA synchronous").fetchone()[0])
        return super().execute(statement, *values)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Disk]:
    Disk.waits.clear()
    Disk.lasts = tmp_path / "disk"
    Disk.lasts.mkdir()
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Disk))
    return Disk


@pytest.mark.parametrize(("synchronous", "waits"), [(True, 2), (False, 0)])
def test_each_row_of_a_synchronous_one_waits_for_the_disk(
    path: Path, disk: type[Disk], synchronous: bool, waits: int
) -> None:
    one = Journal(path, "agent 3 of a run", synchronous=synchronous)
    one.begin(b"x")
    one.add(FRAME, 1, b"said")
    one.commit()
    assert disk.waits == [waits] * 3
    one.remove()


def test_what_a_loss_of_power_leaves_has_every_row_that_left(path: Path, disk: type[Disk]) -> None:
    """What is on the disk when a row is about to be written is all that came before it."""
    one = Journal(path, "agent 3 of a run")
    one.begin(b"x")
    for number in range(3):
        one.add(FRAME, number, b"said")
        one.commit()
    one.remove()
    two = Journal(disk.lasts / path.name, "agent 3 of a run")
    with two.replay() as inputs:
        assert [number for _, number, _ in inputs] == [0, 1]
    two.remove()


def test_two_processes_do_not_share_one(path: Path) -> None:
    assert not is_held(path)
    one = opened(path)
    one.begin(b"x")
    assert is_held(path)
    with pytest.raises(PosseError, match="another process"):
        opened(path)
    one.close()
    assert not is_held(path)


def test_who_was_refused_does_not_remove_the_other_processes(path: Path) -> None:
    one, two = opened(path), opened(path)
    one.begin(b"x")
    with pytest.raises(PosseError, match="is in use by another process"):
        two.begin(b"y")
    two.remove()
    one.add(FRAME, -1, b"after")
    one.commit()
    one.close()
    three = opened(path)
    with three.replay() as inputs:
        assert (three.began_as(bytes), list(inputs)) == (b"x", [(FRAME, -1, b"after")])


def test_a_damaged_one_is_named(path: Path) -> None:
    path.write_bytes(b"no database at all, but long enough to be looked at as one" * 20)
    path.chmod(0o600)
    with pytest.raises(PosseError, match="is damaged, or is not a journal of posse; remove"):
        opened(path)


def test_half_a_write_is_named_or_not_there(path: Path) -> None:
    one = opened(path)
    one.begin(b"x")
    for number in range(200):
        one.add(FRAME, number, bytes(500))
        one.commit()
    one.close()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(PosseError, match=r"is damaged"), opened(path).replay() as inputs:
        list(inputs)


def test_a_row_that_posse_did_not_write_is_named(path: Path) -> None:
    one = opened(path)
    one.begin(b"x")
    one.close()
    database = sqlite3.connect(path)
    database.execute("INSERT INTO batches (content) VALUES (x'c1')")
    database.commit()
    database.close()
    with pytest.raises(PosseError, match="is damaged"), opened(path).replay():
        pass


def test_clocks_are_read_back(path: Path) -> None:
    ticks = iter(range(100, 200))
    one = opened(path)
    one.begin(b"x")
    sources = record_sources(one, of_this_machine(lambda: next(ticks)), field=False)
    told = [sources.stamp(), sources.clock(), sources.stamp()]
    one.commit()
    one.close()
    two = opened(path)
    again = record_sources(two, of_this_machine(lambda: next(ticks)), field=False)
    with two.replay():
        assert [again.stamp(), again.clock(), again.stamp()] == told
        assert again.stamp() == 102


OWN = PythonArms(target="own:Arms", count=2)
CLAIM = Claim(mechanism="laplace", epsilon=0.5, delta=None)
TASK = SpendingRequest(run=setup(3), agents=8, rank=3, claim=CLAIM)


def spending(one: Journal, folder: Path) -> Spending:
    """The ledger of an agent with arms of its own, as it has it beside this journal."""
    return record_sources(one, of_this_machine(lambda: 0), field=True).spending(OWN, str(folder), 3)


class Drawn(Arms):
    """Arms of one's own."""

    def draw(self, arm: int, count: int) -> FloatArray:
        return np.zeros(count)


def test_who_is_killed_before_it_said_anything_has_one_run_in_its_ledger(
    path: Path, tmp_path: Path
) -> None:
    one = opened(path)
    one.begin(b"x")
    spending(one, tmp_path).begin(TASK, Drawn())
    one.close()
    two = opened(path)
    again = spending(two, tmp_path)
    with two.replay():
        again.begin(TASK, Drawn())
    again.end(None)
    two.remove()
    assert len(lifetime(tmp_path / "own.Arms-3.ledger").runs) == 1


COUNTED = """
class Counted:
    def __init__(self, **keywords):
        self.came = [0, 0]

    def skip(self, given):
        self.came = given

    def pull(self, arm, count):
        first, self.came[arm] = self.came[arm], self.came[arm] + count
        return [n / 100 for n in range(first, first + count)]
"""


NAMED = COUNTED.replace("Counted", "Named").replace(
    "return [n / 100 for n in range(first, first + count)]",
    "came = range(first, first + count)\n"
    "        return [n / 100 for n in came], [f'p{n // 2}' for n in came]",
)


def test_own_arms_made_anew_leave_out_who_gave_before_and_skip_what_was_left_out(
    path: Path, tmp_path: Path
) -> None:
    """Each person gives two rewards, of which one may be used."""
    (tmp_path / "named_arms.py").write_text(NAMED)
    chance = np.random.default_rng(1)
    persons = PrivacySpec(person="who")
    context = ArmsContext(
        0, 1, 0, 1, str(tmp_path), chance, lambda: chance, persons=persons.persons
    )
    about = msgspec.structs.replace(TASK, run=msgspec.structs.replace(TASK.run, privacy=persons))
    spec = PythonArms(target="named_arms:Named", count=2)

    def begun(of: Journal) -> tuple[Arms, Spending]:
        sources = record_sources(of, of_this_machine(lambda: 0), field=True)
        arms, spending = sources.arms(spec, context), sources.spending(spec, str(tmp_path), 3)
        spending.begin(about, arms)
        return arms, spending

    one = opened(path)
    one.begin(b"x")
    arms, spending = begun(one)
    assert arms.draw(0, 3).tolist() == [0.0, 0.02, 0.04]
    one.commit()
    one.close()
    spending.leave()
    two = opened(path)
    with two.replay():
        again, spending = begun(two)
        assert again.draw(0, 3).tolist() == [0.0, 0.02, 0.04]
    assert again.draw(0, 2).tolist() == [0.06, 0.08]  # after five and without p2's second
    spending.leave()
    two.remove()


def test_own_arms_that_are_made_anew_go_on_after_what_they_gave(path: Path, tmp_path: Path) -> None:
    (tmp_path / "counted_arms.py").write_text(COUNTED)
    chance = np.random.default_rng(1)
    context = ArmsContext(0, 1, 0, 1, str(tmp_path), chance, lambda: chance)

    def arms(of: Journal) -> Arms:
        spec = PythonArms(target="counted_arms:Counted", count=2)
        return record_sources(of, of_this_machine(lambda: 0), field=False).arms(spec, context)

    one = opened(path)
    one.begin(b"x")
    first = arms(one)
    before = [*first.draw(1, 3), *first.totals((0, 1), 2)]
    one.commit()
    one.close()
    two = opened(path)
    again = arms(two)
    with two.replay():
        assert [*again.draw(1, 3), *again.totals((0, 1), 2)] == before
    assert [*again.draw(0, 1), *again.draw(1, 1), *again.draw(0, 1)] == [0.02, 0.05, 0.03]
    two.remove()


class Noted(Spending):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[list[int]] = []

    def uses(self, pulls: NDArray[np.int64]) -> None:
        self.told.append(pulls.tolist())


def test_what_was_handed_over_and_never_answered_costs_when_it_is_done_again(path: Path) -> None:
    """The confirmation of a frame writes it down, before the host has it."""
    one = opened(path)
    one.begin(b"x")
    one.add(FRAME, -1, b"pull")
    one.asked(lambda: 1)()
    one.add(FRAME, -1, b"pull again")
    one.commit()
    one.close()
    two, noted = opened(path), Noted()
    again, ask = RecordedSpending(two, noted), two.asked(lambda: 2)
    with two.replay() as inputs:
        for pulls, _ in enumerate(inputs, 1):
            again.uses(np.array([pulls]))
            ask()
    assert noted.told == [[2]]
    two.remove()


def test_the_ledger_has_a_run_before_the_journal_says_so(path: Path) -> None:
    """Who is killed between them begins a second one: never has a run begun that nobody charges."""
    one = opened(path)
    one.begin(b"x")

    class Full(Spending):
        def begin(self, task: SpendingRequest, arms: Arms) -> tuple[int, RowsByArm]:
            raise PosseError("no rows are left")

    with pytest.raises(PosseError, match="no rows"):
        RecordedSpending(one, Full()).begin(TASK, Drawn())
    one.close()
    two = opened(path)
    with two.replay():
        assert two.asked(lambda: "asked again")() == "asked again"
    two.remove()


def test_what_is_closed_or_removed_is_written_no_more(path: Path) -> None:
    one = opened(path)
    one.begin(b"x")
    one.add(FRAME, 0, b"never committed")
    one.close()
    one.commit()
    two = opened(path)
    with two.replay() as inputs:
        assert list(inputs) == []
    two.remove()
    two.asked(lambda: 1)()
    two.commit()
    opened(path).begin(b"of another process")
    two.remove()
    assert path.exists()


def test_an_answer_of_another_kind_is_named_and_not_given(path: Path) -> None:
    one = opened(path)
    one.begin(b"x")
    sources = record_sources(one, of_this_machine(lambda: 7), field=True)
    sources.stamp()
    one.commit()
    one.close()
    two = opened(path)
    again = record_sources(two, of_this_machine(lambda: 7), field=True)
    with two.replay(), pytest.raises(PosseError, match="does not match the course of this run"):
        RecordedNoise(two, SeededNoise(np.random.default_rng(0))).noisy(np.zeros(2), 1.0, 1.0)
    two.close()
    three = opened(path)
    again = record_sources(three, of_this_machine(lambda: 8), field=True)
    with three.replay():
        assert again.stamp() == 7


def written(path: Path) -> list[tuple[int, bytes]]:
    """A journal of three rows; the rows as they are in the file."""
    one = opened(path)
    one.begin(b"what it was")
    noise = one.asked(lambda: np.array([1.5, -2.25]))
    for rank in range(3):
        one.add(FRAME, rank, b"a frame")
        noise()
        one.commit()
    one.close()
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT number, content FROM batches").fetchall()


def changed(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement, values)


def read_again(path: Path) -> None:
    one = opened(path)
    try:
        with one.replay() as inputs:
            list(inputs)
    finally:
        one.close()


def test_every_flipped_bit_of_a_row_is_found_and_the_row_is_named(path: Path) -> None:
    (number, row), *_ = written(path)
    for bit in range(0, 8 * len(row), 7):
        flipped = bytearray(row)
        flipped[bit // 8] ^= 1 << bit % 8
        changed(path, "UPDATE batches SET content = ? WHERE number = ?", bytes(flipped), number)
        with pytest.raises(PosseError, match=r"is damaged: its row 1 is not what was written; rem"):
            read_again(path)
    changed(path, "UPDATE batches SET content = ? WHERE number = ?", row, number)
    read_again(path)


def test_a_row_that_is_missing_moved_or_of_another_agent_is_found(path: Path) -> None:
    first, second, third = written(path)
    changed(path, "DELETE FROM batches WHERE number = ?", second[0])
    with pytest.raises(PosseError, match="its row 3 is not what was written"):
        read_again(path)
    changed(path, "INSERT INTO batches VALUES (?, ?)", second[0], third[1])
    with pytest.raises(PosseError, match="its row 2 is not what was written"):
        read_again(path)
    other = path.with_name("other")
    one = opened(other, "agent 4 of a run")
    one.begin(b"what it was")
    one.add(FRAME, 0, b"a frame")
    one.commit()
    one.close()
    changed(other, "DELETE FROM batches")
    changed(other, "INSERT INTO batches VALUES (?, ?)", *first)
    two = opened(other, "agent 4 of a run")
    with pytest.raises(PosseError, match="its row 1 is not what was written"), two.replay():
        pass
    two.close()


def test_a_checkpoint_that_was_changed_is_found_before_it_is_read(path: Path) -> None:
    written(path)
    changed(path, "UPDATE about SET value = CAST(value || 'x' AS BLOB) WHERE name = 'beginning'")
    with pytest.raises(PosseError, match="is damaged: its beginning is not what was written"):
        opened(path)


def test_a_process_that_goes_on_goes_on_with_its_checksums(path: Path) -> None:
    written(path)
    one = opened(path)
    with one.replay() as inputs:
        list(inputs)
    one.add(FRAME, 3, b"another")
    one.commit()
    one.close()
    read_again(path)


def test_shares_of_noise_are_given_again_and_not_drawn_anew(path: Path) -> None:
    def drawn(journal: Journal, seed: int) -> list[list[int]]:
        noise = RecordedNoise(journal, SeededNoise(np.random.default_rng(seed)))
        zeros = np.zeros(4, dtype=np.int64)
        shares = noise.polya(zeros, 500.0, 3), noise.discrete_gaussian(zeros, 500.0)
        return [share.tolist() for share in shares]

    one = opened(path)
    one.begin(b"x")
    first = drawn(one, 1)
    one.commit()
    one.close()
    two = opened(path)
    with two.replay():
        assert drawn(two, 2) == first
    assert drawn(two, 2) != first
    two.remove()
