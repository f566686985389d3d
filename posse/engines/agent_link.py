"""The coordinator's end of its links: to the agent of one rank, over whatever connection it has."""

import zmq

from posse.durable.session import SessionBroken, SessionFull
from posse.engines.roster import Member
from posse.engines.router import Router
from posse.errors import RunFailed
from protocol import control
from protocol.machine import COORDINATOR
from protocol.message import Message
from protocol.wire import NO_RUN, encode


class NotReading(RunFailed):
    """An agent does not read what it is sent."""


class AgentLink:
    """See the module's text. `members` are those who joined, by rank."""

    def __init__(self, router: Router, members: dict[int, Member], rank: int) -> None:
        self._router = router
        self._members = members
        self._rank = rank

    def send(self, data: bytes, /) -> None:
        """See `Link`; `NotReading` if the agent does not read."""
        member = self._members[self._rank]
        try:
            numbered = member.session.wrap(data)
            if member.connection >= 0:
                self._router.send(member.identity, numbered)
        except (zmq.Again, SessionFull):
            raise NotReading(f"agent {self._rank} does not read what it is sent") from None
        except zmq.ZMQError:
            pass  # its connection is gone, which will be said; the frame is kept

    def resume(self, taken: int) -> None:
        """The agent has a new connection, and took so many frames: send it the rest."""
        member = self._members[self._rank]
        message: Message = control.Resumed(member.session.taken)
        try:
            member.session.resume(taken)
        except SessionBroken:
            message = control.Unknown()
        self._router.reply(member.identity, outside_runs(message))
        self.answer()

    def answer(self) -> None:
        """Send what the session wants sent; what does not get through is asked for again."""
        member = self._members[self._rank]
        for data in member.session.replies:
            self._router.reply(member.identity, data)
        member.session.replies.clear()


def outside_runs(message: Message) -> bytes:
    """A frame that belongs to no run."""
    return encode(message, run=NO_RUN, source=COORDINATOR, sequence=0, now=0.0, sent=0)
