"""The two ends of a link over which orders are signed, their files, and what a restart does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from posse.durable.journal import Journal
from posse.errors import PosseError
from posse.gates.signatures import SignedRegister, kept_in
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.orders import DRAWN, KIND, chain_of
from posse.protocol.signing import Signer, public_of
from posse.wire.line import Interceptor
from posse.wire.links import outside_runs
from posse.wire.orders import CheckingLine, SigningLine
from posse.wire.session import SessionState, content

SECRET, WHO = bytes(range(32)), b"process!"


class Coordinator:
    """Its end of the link to agent 2, with a journal; `came` has what the socket got."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        """Begin, or go on after a kill; the session is as it was when the journal began."""
        self.came: list[bytes] = []
        book = SignedRegister(self.folder / "coordinator.orders", lasts=True)
        self.journal = Journal(self.folder / "coordinator.journal", "it", signed=book)
        through = Interceptor(self.journal)

        def transmit(data: bytes, flags: int = 0) -> None:
            if through.intercept((2,), data):
                self.came.append(data)

        chain = chain_of(bytes(DRAWN), WHO)
        signer = Signer(SECRET, {}, b"", book.claim)
        self.line = SigningLine(2, transmit, through, signer, book, chain)

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.line.send(outside_runs(message))


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    made = Coordinator(tmp_path)
    yield made
    made.journal.close()


def agents_end(book: SignedRegister | None, key: bytes = SECRET) -> CheckingLine:
    checker = Signer(None, {COORDINATOR: public_of(key)}, b"")
    return CheckingLine(
        COORDINATOR, lambda data, flags=0: None, Interceptor(), checker, book, lambda: (2, WHO)
    )


def hears(line: CheckingLine, data: list[bytes]) -> list[bytes]:
    return [frame for one in data if (frame := line.receive(one)) is not None]


CONFIGURED = control.Configure(2, b"setup")
SAID = [CONFIGURED, control.Begin(0, 0), control.Gone(1), control.Goodbye(0), control.Gone(3)]


def test_what_decides_is_signed_and_kept_at_both_ends(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    coordinator.say(*SAID)
    book = SignedRegister(tmp_path / "agent.orders", lasts=True)
    heard = hears(agents_end(book), coordinator.came)
    assert heard == [outside_runs(message) for message in SAID]
    assert heard == [content(data) for data in coordinator.came]
    book.close()
    coordinator.journal.close()
    ours, theirs = (
        list(kept_in(tmp_path / f"{who}.orders", KIND)) for who in ("coordinator", "agent")
    )
    assert ours == theirs
    assert [frame for *_, frame in ours] == [frame for frame in heard if b"Goodbye" not in frame]
    assert {run for run, *_ in ours} == {chain_of(bytes(DRAWN), WHO)}
    assert [int.from_bytes(place[4:]) for _, place, *_ in ours] == [1, 2, 3, 5]


def test_a_coordinator_that_was_killed_signs_the_same_again_and_nothing_else(
    coordinator: Coordinator,
) -> None:
    coordinator.say(CONFIGURED)
    coordinator.journal.begin("state")
    before = coordinator.line.session.state
    coordinator.say(control.Gone(1))
    first = coordinator.came
    coordinator.journal.close()
    coordinator.start()
    coordinator.line.session.restore(SessionState(*before))
    coordinator.say(control.Gone(1))
    assert coordinator.came == first[1:]
    coordinator.journal.close()
    coordinator.start()
    coordinator.line.session.restore(before)
    with pytest.raises(PosseError, match="has signed something else at this place"):
        coordinator.say(control.Gone(3))
    assert coordinator.came == []


def test_its_file_outlives_the_journal(coordinator: Coordinator, tmp_path: Path) -> None:
    coordinator.say(CONFIGURED)
    coordinator.journal.begin("state")
    coordinator.journal.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["coordinator.orders"]
    assert (tmp_path / "coordinator.orders").stat().st_mode & 0o777 == 0o600


def test_an_agent_believes_no_other_key_and_nothing_unsigned(coordinator: Coordinator) -> None:
    coordinator.say(*SAID)
    with pytest.raises(PosseError, match=r"not signed by the key .* coordinator\.key has"):
        hears(agents_end(None, bytes(32)), coordinator.came)
    line = agents_end(None)
    hears(line, coordinator.came[:2])
    line.checked(outside_runs(control.Moved(1, "tcp://here:1")))
    for message in (control.Gone(1), CONFIGURED, control.Stop()):
        with pytest.raises(PosseError, match="not signed"):
            line.checked(outside_runs(message))


def test_an_agent_that_was_killed_goes_on_in_the_chain(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    coordinator.say(*SAID)
    book = SignedRegister(tmp_path / "agent.orders", lasts=True)
    line = agents_end(book)
    hears(line, coordinator.came[:2])
    before = line.session.state
    hears(line, coordinator.came[2:])
    book.close()
    book = SignedRegister(tmp_path / "agent.orders", lasts=True)
    again = agents_end(book)
    again.session.restore(before)
    assert hears(again, coordinator.came[2:]) == [outside_runs(message) for message in SAID[2:]]
    book.close()
    assert len(list(kept_in(tmp_path / "agent.orders", KIND))) == 4
