"""Journals: what was committed is there again, whole, in order, for its owner alone."""

import functools
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from posse.arms import Arms
from posse.arms.base import ArmsContext
from posse.arms.python import PythonArms
from posse.durable.journal import FRAME, STEPS, Input, Journal, is_held
from posse.durable.lifetime import read as lifetime
from posse.durable.recording import RecordedNoise, RecordedSpending, record_sources
from posse.errors import PosseError
from posse.hosts.spending import Spending, SpendingRequest
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import Claim, OneReward
from posse.spec.privacy import PrivacySpec
from posse.wire.sources import of_this_machine
from tests.support.lobby import setup

OWNER = "agent 3 of a run"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def opened(path: Path, owner: str = OWNER) -> Journal:
    return Journal(path, owner, synchronous=False)


@contextmanager
def recording(path: Path, owner: str = OWNER) -> Iterator[Journal]:
    """A new journal; what was recorded in the block is committed at its end."""
    journal = opened(path, owner)
    journal.begin(b"x")
    yield journal
    journal.commit()
    journal.close()


@contextmanager
def replaying(path: Path, owner: str = OWNER) -> Iterator[tuple[Journal, Iterator[Input]]]:
    """The journal of a process that was started again, and the inputs that it does again."""
    with closing(opened(path, owner)) as journal, journal.replay() as inputs:
        yield journal, inputs


def kept(path: Path) -> list[Input]:
    with replaying(path) as (_, inputs):
        return list(inputs)


def test_what_was_committed_is_there_in_order_and_the_rest_is_not(path: Path) -> None:
    with recording(path) as one:
        one.add(FRAME, -1, b"first")
        one.stepped()
        one.stepped()
        one.commit()
        one.add(FRAME, 2, b"second")
        one.commit()
        one.add(FRAME, 2, b"never committed")
        one.close()
    with replaying(path) as (two, inputs):
        assert two.began_as(bytes) == b"x"
        assert (one.starts, two.starts) == (0, 1)
        assert list(inputs) == [(FRAME, -1, b"first"), (STEPS, 2, b""), (FRAME, 2, b"second")]


def test_answers_are_given_again_in_order_and_then_new_ones_are_asked_for(path: Path) -> None:
    answers: list[Any] = [1, None, 0.5, [True, False], "text", b"bytes"]
    array = np.array([[1.5, -0.0], [np.inf, 3.0]])
    with recording(path) as one:
        for answer in [*answers, array, np.float64(2.5)]:
            one.asked(lambda answer=answer: answer)()
    with replaying(path) as (two, inputs):
        assert list(inputs) == []
        new: Any = "new"
        ask = two.asked(lambda: new)
        assert [ask() for _ in answers] == answers
        again = ask()
        assert (again.dtype, again.tobytes()) == (array.dtype, array.tobytes())
        assert [ask(), ask()] == [2.5, "new"]


def test_what_is_done_again_is_not_written_again_and_what_is_new_is(path: Path) -> None:
    with recording(path) as one:
        one.add(FRAME, 0, b"once")
    for start in range(3):
        with replaying(path) as (again, inputs):
            for count, (what, whom, said) in enumerate(inputs):
                assert (what, whom, said) == (FRAME, count, b"once")
                again.add(what, whom, said)
                again.stepped()
                again.commit()
            assert count == start
            again.add(FRAME, count + 1, b"once")
            again.commit()


def test_a_new_beginning_forgets_all_before(path: Path) -> None:
    with recording(path) as one:
        one.asked(lambda: 1)()
        one.add(FRAME, 0, b"old")
        one.commit()
        one.add(FRAME, 0, b"not committed")
        one.begin(b"y")
    with replaying(path) as (two, inputs):
        assert two.began_as(bytes) == b"y"
        assert list(inputs) == []
        assert two.asked(lambda: 2)() == 2
        two.forget()
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
    assert [whom for _, whom, _ in kept(path)] == list(range(100))


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
    with recording(path):
        pass
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
    opened(path)
    assert list(path.parent.iterdir()) == []
    with recording(path):
        pass
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
            where = super().execute("PRAGMA database_list").fetchone()[2]
            for file in (Path(where), Path(f"{where}-wal")):
                shutil.copy(file, self.lasts)
        if statement.startswith(("COMMIT", "INSERT INTO batches")):
            self.waits.append(super().execute("PRAGMA synchronous").fetchone()[0])
        return super().execute(statement, *values)


@pytest.mark.parametrize(("synchronous", "waits"), [(True, 2), (False, 0)])
def test_each_row_of_a_synchronous_one_waits_for_the_disk_and_what_is_there_before_is_a_journal(
    path: Path, monkeypatch: pytest.MonkeyPatch, synchronous: bool, waits: int
) -> None:
    """A loss of power leaves all that came before the row that is about to be written."""
    Disk.waits.clear()
    Disk.lasts = path.parent / "disk"
    Disk.lasts.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Disk))
        one = Journal(path, OWNER, synchronous=synchronous)
        one.begin(b"x")
        for number in range(3):
            one.add(FRAME, number, b"said")
            one.commit()
        one.close()
    assert Disk.waits == [waits] * 5
    assert [number for _, number, _ in kept(Disk.lasts / path.name)] == [0, 1]


def test_two_processes_do_not_share_one_and_who_was_refused_does_not_remove_it(path: Path) -> None:
    one, two = opened(path), opened(path)
    assert not is_held(path)
    one.begin(b"x")
    assert is_held(path)
    with pytest.raises(PosseError, match="is in use by another process"):
        two.begin(b"y")
    with pytest.raises(PosseError, match="is in use by another process"):
        opened(path)
    two.remove()
    one.add(FRAME, -1, b"after")
    one.commit()
    one.close()
    assert not is_held(path)
    assert kept(path) == [(FRAME, -1, b"after")]


def test_what_is_closed_or_removed_is_written_no_more(path: Path) -> None:
    with recording(path) as one:
        one.add(FRAME, 0, b"never committed")
        one.close()
    two = opened(path)
    with two.replay() as inputs:
        assert list(inputs) == []
    two.remove()
    two.asked(lambda: 1)()
    two.commit()
    opened(path).begin(b"of another process")
    two.remove()
    assert path.exists()


def rows_of_three(path: Path, owner: str = OWNER) -> list[tuple[int, bytes]]:
    """Write a journal of three rows; the rows as they are in the file."""
    with recording(path, owner) as one:
        noise = one.asked(lambda: np.array([1.5, -2.25]))
        for rank in range(3):
            one.add(FRAME, rank, b"a frame")
            noise()
            one.commit()
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT number, content FROM batches").fetchall()


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement, values)


def test_a_file_that_is_no_database_or_half_of_one_is_named(path: Path) -> None:
    with recording(path) as one:
        for number in range(200):
            one.add(FRAME, number, bytes(500))
            one.commit()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(PosseError, match="is damaged"):
        kept(path)
    path.write_bytes(b"no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(PosseError, match="is damaged, or is not a journal of posse; remove"):
        opened(path)


def test_every_flipped_bit_of_a_row_is_found_and_the_row_is_named(path: Path) -> None:
    (number, row), *_ = rows_of_three(path)
    for bit in range(0, 8 * len(row), 7):
        flipped = bytearray(row)
        flipped[bit // 8] ^= 1 << bit % 8
        change(path, "UPDATE batches SET content = ? WHERE number = ?", bytes(flipped), number)
        with pytest.raises(PosseError, match=r"is damaged: its row 1 is not what was written; rem"):
            kept(path)
    change(path, "UPDATE batches SET content = ? WHERE number = ?", row, number)
    assert len(kept(path)) == 3


def test_a_row_that_is_missing_moved_or_of_another_agent_is_found(path: Path) -> None:
    first, second, third = rows_of_three(path)
    change(path, "DELETE FROM batches WHERE number = ?", second[0])
    with pytest.raises(PosseError, match="its row 3 is not what was written"):
        kept(path)
    change(path, "INSERT INTO batches VALUES (?, ?)", second[0], third[1])
    with pytest.raises(PosseError, match="its row 2 is not what was written"):
        kept(path)
    other, owner = path.with_name("other"), "agent 4 of a run"
    rows_of_three(other, owner)
    change(other, "UPDATE batches SET content = ? WHERE number = ?", first[1], first[0])
    with (
        pytest.raises(PosseError, match="its row 1 is not what was written"),
        replaying(other, owner),
    ):
        pass


def test_a_checkpoint_that_was_changed_is_found_before_it_is_read(path: Path) -> None:
    rows_of_three(path)
    change(path, "UPDATE about SET value = CAST(value || 'x' AS BLOB) WHERE name = 'beginning'")
    with pytest.raises(PosseError, match="is damaged: its beginning is not what was written"):
        opened(path)


# --- what sources answered -----------------------------------------------------------------------


def test_clocks_are_read_back_and_an_answer_of_another_kind_is_not_given(path: Path) -> None:
    ticks = iter(range(100, 200))
    with recording(path) as one:
        sources = record_sources(one, of_this_machine(lambda: next(ticks)), field=True)
        told = [sources.stamp(), sources.clock(), sources.stamp()]
    with replaying(path) as (two, _):
        noise = RecordedNoise(two, SeededNoise(np.random.default_rng(0)))
        with pytest.raises(PosseError, match="does not match the course of this run"):
            noise.noisy(np.zeros(2), 1.0, 1.0)
    with replaying(path) as (three, _):
        again = record_sources(three, of_this_machine(lambda: next(ticks)), field=True)
        assert [again.stamp(), again.clock(), again.stamp()] == told
        assert again.stamp() == 102


def test_shares_of_noise_are_given_again_and_not_drawn_anew(path: Path) -> None:
    def drawn(journal: Journal, seed: int) -> list[list[int]]:
        noise = RecordedNoise(journal, SeededNoise(np.random.default_rng(seed)))
        zeros = np.zeros(4, dtype=np.int64)
        shares = noise.polya(zeros, 500.0, 3), noise.discrete_gaussian(zeros, 500.0)
        return [share.tolist() for share in shares]

    with recording(path) as one:
        first = drawn(one, 1)
    with replaying(path) as (two, _):
        assert drawn(two, 2) == first
        assert drawn(two, 2) != first


OWN_ARMS = """
class Counted:
    def __init__(self, **keywords):
        self.came = [0, 0]

    def skip(self, given):
        self.came = given

    def pull(self, arm, count):
        first, self.came[arm] = self.came[arm], self.came[arm] + count
        return [n / 100 for n in range(first, first + count)]

class Named(Counted):
    def pull(self, arm, count):
        first = self.came[arm]
        names = [f"p{n // 2}" for n in range(first, first + count)]
        return super().pull(arm, count), names
"""


@pytest.fixture
def context(tmp_path: Path) -> ArmsContext:
    (tmp_path / "own_arms.py").write_text(OWN_ARMS)
    chance = np.random.default_rng(1)
    return ArmsContext(0, 1, 0, 1, str(tmp_path), chance, lambda: chance)


def test_own_arms_that_are_made_anew_go_on_after_what_they_gave(
    path: Path, context: ArmsContext
) -> None:
    def arms(of: Journal) -> Arms:
        spec = PythonArms(target="own_arms:Counted", count=2)
        return record_sources(of, of_this_machine(lambda: 0), field=False).arms(spec, context)

    with recording(path) as one:
        first = arms(one)
        before = [*first.draw(1, 3), *first.totals((0, 1), 2)]
    with replaying(path) as (two, _):
        again = arms(two)
        assert [*again.draw(1, 3), *again.totals((0, 1), 2)] == before
        assert [*again.draw(0, 1), *again.draw(1, 1), *again.draw(0, 1)] == [0.02, 0.05, 0.03]


CLAIM = Claim(change=OneReward(), mechanism="laplace", epsilon=0.5, delta=None)
TASK = SpendingRequest(run=setup(3), agents=8, rank=3, claim=CLAIM)


def test_own_arms_made_anew_leave_out_who_gave_before_and_skip_what_was_left_out(
    path: Path, context: ArmsContext
) -> None:
    """Each person gives two rewards, of which one may be used."""
    persons = PrivacySpec(person="who")
    context = replace(context, persons=persons.persons)
    about = msgspec.structs.replace(TASK, run=msgspec.structs.replace(TASK.run, privacy=persons))
    spec = PythonArms(target="own_arms:Named", count=2)

    def begun(of: Journal) -> tuple[Arms, Spending]:
        sources = record_sources(of, of_this_machine(lambda: 0), field=True)
        arms, spending = sources.arms(spec, context), sources.spending(spec, context.base, 3)
        spending.begin(about, arms)
        return arms, spending

    with recording(path) as one:
        arms, spending = begun(one)
        assert arms.draw(0, 3).tolist() == [0.0, 0.02, 0.04]
    spending.leave()
    with replaying(path) as (two, _):
        again, spending = begun(two)
        assert again.draw(0, 3).tolist() == [0.0, 0.02, 0.04]
        assert again.draw(0, 2).tolist() == [0.06, 0.08]  # after five and without p2's second
    spending.leave()


def test_who_is_killed_before_it_said_anything_has_one_run_in_its_ledger(
    path: Path, context: ArmsContext
) -> None:
    spec = PythonArms(target="own_arms:Counted", count=2)

    def begun(of: Journal) -> Spending:
        sources = record_sources(of, of_this_machine(lambda: 0), field=True)
        spending = sources.spending(spec, context.base, 3)
        spending.begin(TASK, spec.build(context))
        return spending

    one = opened(path)
    one.begin(b"x")
    begun(one)
    one.close()
    with replaying(path) as (two, _):
        begun(two).end(None)
    assert len(lifetime(Path(context.base) / "own_arms.Counted-3.ledger").runs) == 1


class Noted(Spending):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[list[int]] = []

    def uses(self, pulls: NDArray[np.int64]) -> None:
        self.told.append(pulls.tolist())


def test_what_was_handed_over_and_never_answered_costs_when_it_is_done_again(path: Path) -> None:
    """The confirmation of a frame writes it down, before the host has it."""
    with recording(path) as one:
        one.add(FRAME, -1, b"pull")
        one.asked(lambda: 1)()
        one.add(FRAME, -1, b"pull again")
    noted = Noted()
    with replaying(path) as (two, inputs):
        again, ask = RecordedSpending(two, noted), two.asked(lambda: 2)
        for pulls, _ in enumerate(inputs, 1):
            again.uses(np.array([pulls]))
            ask()
    assert noted.told == [[2]]


inputs = st.tuples(st.integers(-1, 3), st.binary(max_size=9)) | st.just("commit")
answered = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats()
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=25)
@given(st.lists(inputs, max_size=12), st.lists(answered, max_size=5))
def test_what_was_committed_comes_back_in_order_and_answers_are_given_again(
    said: list[Any], answers: list[Any]
) -> None:
    """What came after the last commit is not there; after the last answer new ones come."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "journal")
        one = opened(path)
        one.begin(b"x")
        for answer in answers:
            one.asked(lambda answer=answer: answer)()
        one.commit()
        committed: list[Any] = []
        pending: list[Any] = []
        for what in said:
            if what == "commit":
                one.commit()
                committed, pending = committed + pending, []
            else:
                one.add(FRAME, *what)
                pending.append((FRAME, *what))
        one.close()
        with replaying(path) as (two, found):
            assert list(found) == committed
            ask = two.asked(lambda: "new")
            assert repr([ask() for _ in answers]) == repr(answers)
            assert ask() == "new"
