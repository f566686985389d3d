"""What an agent has signed is known before it signs, whatever became of its journal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from posse.durable.journal import Journal
from posse.errors import PosseError
from posse.gates.signatures import SignedRegister
from posse.protocol.signing import Signer, public_of
from tests.support.conversations import examples

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


@examples(Path(__file__).with_name("signatures.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
