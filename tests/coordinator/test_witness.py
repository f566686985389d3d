"""The witness: who kept a ledger's head notices another ledger in its place."""

import shutil
from pathlib import Path
from secrets import randbits
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.coordinator.witness import NAME, Witness
from posse.durable.journal import Journal
from posse.durable.ledger import Ledger
from posse.durable.recording import RecordedSpending
from posse.errors import InputError
from posse.hosts.spending import head_of
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from tests.support.ledger import Run, log, task, used_by
from tests.support.signing import signers

__all__ = ["log"]

SIGNERS = signers(2)
KEYS = [b"key of 0", b"key of 1"]


def told_by(data: Path, rank: int = 0) -> control.LedgerHead:
    """What an agent that is about to use this log says of its ledger."""
    ledger = Ledger(data.with_name(f"{data.name}.ledger").resolve(), data.resolve())
    head = head_of(ledger, SIGNERS[rank], randbits)
    assert head is not None
    return head


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir(mode=0o700)
    return tmp_path / "keys" / NAME


def take(path: Path, told: control.LedgerHead, rank: int = 0) -> str:
    """What a coordinator that was started anew says of it."""
    return Witness(path, SIGNERS[1 - rank]).take(rank, KEYS[rank], told)


def ledger_of(data: Path) -> Path:
    return data.with_name(f"{data.name}.ledger")


def test_a_ledger_goes_on_whatever_runs_used_it_and_whoever_was_told(log: Path, path: Path) -> None:
    assert take(path, told_by(log)) == ""
    used_by(log, task(), 2, 1)
    assert take(path, told_by(log)) == ""
    told_by(log)  # to another coordinator
    used_by(log, task(), 1, 1)
    assert take(path, told_by(log)) == ""
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize("how", ["deleted", "an earlier one", "a copy of before", "a clone"])
def test_another_ledger_in_its_place_is_noticed(how: str, log: Path, path: Path) -> None:
    ledger, backup = ledger_of(log), log.with_name("backup")
    assert take(path, told_by(log)) == ""
    used_by(log, task(), 2, 1)
    shutil.copy(ledger, backup)
    assert take(path, told_by(log)) == ""
    if how == "deleted":
        ledger.unlink()
    elif how == "an earlier one":
        shutil.copy(backup, ledger)
    elif how == "a copy of before":  # that went on by more than what it lacks
        shutil.copy(backup, ledger)
        for _ in range(3):
            told_by(log)
    else:  # nobody used a reward since
        shutil.copy(ledger, backup)
        assert take(path, told_by(log)) == ""
        shutil.copy(backup, ledger)
    why = take(path, told_by(log))
    assert why.startswith("agent 0's ledger does not go on from where it was: it was deleted")
    assert str(path) in why
    # nothing of the wrong one is kept, and whoever believes it takes the line out
    number = why.split("lines with ")[1].split(" out of")[0]
    kept = [line for line in path.read_text().splitlines() if number not in line]
    path.write_text("".join(f"{line}\n" for line in kept))
    assert take(path, told_by(log)) == ""


def test_a_log_moves_with_its_ledger_and_what_is_left_behind_has_ended(
    log: Path, path: Path, tmp_path: Path
) -> None:
    assert take(path, told_by(log)) == ""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in (log, ledger_of(log)):
        shutil.copy(file, elsewhere)
    assert take(path, told_by(elsewhere / log.name)) == ""
    assert take(path, told_by(elsewhere / log.name)) == ""
    assert "one of two copies" in take(path, told_by(log))


def test_logs_and_agents_are_told_apart(log: Path, path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / log.name
    other.write_text("arm,reward\n0,0.5\n1,0.5\n")
    for _ in range(2):
        assert take(path, told_by(log)) == ""
        assert take(path, told_by(other)) == ""
        assert take(path, told_by(other, 1), 1) == ""
    assert told_by(log).log != told_by(other).log != told_by(other, 1).log


def test_a_replay_after_a_kill_tells_the_same(log: Path, path: Path, tmp_path: Path) -> None:
    """The agent was killed in its run: its ledger went on, and its journal begins before it."""
    real = Ledger(ledger_of(log), log)

    def begun() -> tuple[Journal, RecordedSpending]:
        journal = Journal(tmp_path / "journal", "agent 0")
        return journal, RecordedSpending(journal, real)

    journal, spending = begun()
    journal.begin(0)
    told = head_of(spending, SIGNERS[0], randbits)
    assert told is not None
    journal.commit()
    journal.close()
    assert take(path, told) == ""
    used_by(log, task(), 2, 1)
    assert take(path, told_by(log)) == ""
    journal, spending = begun()
    with journal.replay():
        again = head_of(spending, SIGNERS[0], randbits)
        assert again == told
        # posse replay may have no keys, and reads the same answers
        assert not journal.repeats
    journal.close()
    journal, spending = begun()
    with journal.replay():
        assert head_of(spending, None, randbits) is None
        assert not journal.repeats
    journal.close()


def test_what_is_told_twice_is_no_fault(log: Path, path: Path) -> None:
    told = told_by(log)
    assert take(path, told) == take(path, told) == ""
    assert len(path.read_text().splitlines()) == 1


def test_within_a_run_the_open_ledger_tells(log: Path, path: Path) -> None:
    assert take(path, told_by(log)) == ""
    run = Run(log, task())
    run.uses(2, 1)
    told = head_of(run.ledger, SIGNERS[0], randbits)
    assert told is not None
    assert take(path, told) == ""
    run.ends()
    assert take(path, told_by(log)) == ""


def test_after_very_many_runs_elsewhere_it_is_believed(
    log: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "MOST_HEADS", 5)
    assert take(path, told_by(log)) == ""
    for _ in range(control.MOST_HEADS):
        last = told_by(log)
    assert len(last.heads) == control.MOST_HEADS * control.HEAD_BYTES
    assert take(path, last) == ""


def test_a_head_tells_nothing_of_what_is_in_the_ledger(log: Path, tmp_path: Path) -> None:
    """Two ledgers with the same entries have other heads."""
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(log, copy)
    heads = {told_by(where).heads for where in (log, copy / log.name)}
    assert len(heads) == 2


@given(st.data())
def test_only_its_own_agent_says_where_a_ledger_is(data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 9))
    heads = data.draw(st.binary(min_size=16, max_size=64).filter(lambda b: len(b) % 16 == 0))
    signer = signers(2)[0]
    content = b"l" * 16 + number.to_bytes(8, "little")
    good = control.LedgerHead(
        b"l" * 16, number, heads, signer.state(b"ledger", heads[-16:], content)
    )
    at = data.draw(st.integers(0, 95))
    flipped = bytearray(good.statement)
    flipped[at] ^= 1
    changed: dict[str, Any] = data.draw(
        st.sampled_from(
            [
                {"statement": bytes(flipped)},
                {"number": number + 1},
                {"log": b"m" * 16},
                {"heads": heads[:-1] + bytes([heads[-1] ^ 1])},
            ]
        )
    )
    witness = Witness(Path("/nowhere/there"), signers(2)[1])
    for bad, rank in ((msgspec.structs.replace(good, **changed), 0), (good, 1)):
        with pytest.raises(RemoteProtocolError, match="bad-signature"):
            witness.take(rank, KEYS[rank], bad)
    odd = msgspec.structs.replace(good, heads=heads + b"x")
    with pytest.raises(RemoteProtocolError, match="malformed"):
        witness.take(0, KEYS[0], odd)
    assert witness.take(0, KEYS[0], good) == ""


def test_a_line_that_a_kill_cut_short_is_left_out(log: Path, path: Path) -> None:
    assert take(path, told_by(log)) == ""
    whole = path.read_text()
    assert take(path, told_by(log)) == ""
    path.write_text(path.read_text()[:-20])
    assert take(path, told_by(log)) == ""
    assert path.read_text().startswith(whole)
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("damage", ["{}\n", "[1]\n", "nonsense\n", "\n"])
def test_what_posse_did_not_write_is_refused(damage: str, log: Path, path: Path) -> None:
    assert take(path, told_by(log)) == ""
    path.write_text(damage + path.read_text())
    with pytest.raises(InputError, match=r"ledgers\.witness, line 1, is not posse's"):
        Witness(path, SIGNERS[1])


def test_where_nothing_can_be_written_it_compares_with_what_it_knows(log: Path, path: Path) -> None:
    witness = Witness(path, SIGNERS[1])
    path.mkdir()
    assert witness.take(0, KEYS[0], told_by(log)) == ""
    assert witness.trouble == f"{path} cannot be written: Is a directory"
    ledger_of(log).unlink()
    assert "does not go on" in witness.take(0, KEYS[0], told_by(log))


def test_the_file_grows_with_ledgers_and_not_with_runs(log: Path, path: Path) -> None:
    """And the last of each ledger is compared as before it was made shorter."""
    other = log.with_name("other") / log.name
    other.parent.mkdir()
    other.write_text("arm,reward\n0,0.5\n1,0.5\n")
    assert take(path, told_by(other, 1), 1) == ""
    early = log.with_name("early")
    for _ in range(20):
        assert take(path, told_by(log)) == ""
        assert len(path.read_text().splitlines()) <= 10
    shutil.copy(ledger_of(log), early)
    for _ in range(10):
        assert take(path, told_by(log)) == ""
    Witness(path, SIGNERS[1])
    shutil.copy(early, ledger_of(log))
    assert "does not go on" in take(path, told_by(log))
    assert take(path, told_by(other, 1), 1) == ""
    ledger_of(other).unlink()
    assert "agent 1's ledger does not go on" in take(path, told_by(other, 1), 1)
