"""What an agent has signed is known before it signs, whatever became of its journal."""

from pathlib import Path

import pytest

from posse.durable.journal import Journal
from posse.errors import DiskTrouble, PosseError
from posse.gates.signatures import SignedRegister
from posse.protocol.signing import Signer, public_of

SECRET = bytes(range(32))
PLACE = bytes(7)


def signer(path: Path, run: bytes = b"today", *, leaves: bool = True) -> Signer:
    """One whose signatures leave the process at once, or never."""
    register = SignedRegister(path)
    register.make()

    def claim(*what: bytes) -> None:
        register.claim(*what)
        if leaves:
            register.commit()

    return Signer(SECRET, {0: public_of(SECRET)}, run, claim)


def test_a_restarted_agent_signs_the_same_again_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "journal.signed"
    first, later = (signer(path).state(b"means", bytes([n]) + PLACE, b"0.5") for n in (0, 1))
    again = signer(path)
    assert again.state(b"means", b"\x00" + PLACE, b"0.5") == first
    assert again.state(b"means", b"\x01" + PLACE, b"0.5") == later
    for n in (0, 1):
        with pytest.raises(PosseError, match=r"journal\.signed: .* something else at this place"):
            signer(path).state(b"means", bytes([n]) + PLACE, b"0.6")
    assert signer(path, b"tomorrow").state(b"means", b"\x00" + PLACE, b"0.6")


def test_what_nobody_has_seen_may_be_another_after_a_restart(tmp_path: Path) -> None:
    """A kill comes between a signature and the journal's commit, so the content may change."""
    path = tmp_path / "signed"
    first = signer(path, leaves=False)
    first.state(b"means", PLACE, b"0.5")
    with pytest.raises(PosseError, match="something else at this place"):
        first.state(b"means", PLACE, b"0.6")
    signer(path).state(b"means", PLACE, b"0.6")
    with pytest.raises(PosseError, match="something else at this place"):
        signer(path).state(b"means", PLACE, b"0.5")


def test_of_a_kind_that_is_signed_once_in_a_run_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "signed"
    signer(path).sign(b"masking key", b"k")
    signer(path).sign(b"masking key", b"k")
    with pytest.raises(PosseError, match="something else"):
        signer(path).sign(b"masking key", b"l")


def test_what_cannot_be_entered_is_not_signed(tmp_path: Path) -> None:
    (tmp_path / "signed").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskTrouble, match="so nothing is signed"):
        signer(tmp_path / "signed")
    assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "other").write_bytes(b"no database" * 100)
    with pytest.raises(DiskTrouble):
        signer(tmp_path / "other")


def test_it_goes_with_its_journal_and_a_copy_of_that_signs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent.journal"

    def opened() -> Journal:
        register = SignedRegister(tmp_path / "agent.journal.signed")
        return Journal(path, "agent 0", signed=register)

    def states(journal: Journal, content: bytes) -> bytes:
        assert journal.signed is not None
        return Signer(SECRET, {}, b"today", journal.signed.claim).state(b"means", PLACE, content)

    journal = opened()
    journal.begin("state")
    first = states(journal, b"0.5")
    journal.commit()
    journal.close()
    copied = path.read_bytes()
    journal = opened()
    assert states(journal, b"0.5") == first
    journal.remove()
    assert not list(tmp_path.iterdir())
    path.write_bytes(copied)
    path.chmod(0o600)
    journal = opened()
    with pytest.raises(PosseError, match="is gone, .*its journal is a copy"):
        states(journal, b"0.6")
    journal.close()
