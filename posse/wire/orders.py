"""The two ends of a link over which a coordinator signs its orders; see `posse.protocol.orders`.

What is signed, and what was received, is kept in a file that outlives the run's journal.
"""

from collections.abc import Callable

from posse.errors import PosseError
from posse.gates.signatures import SignedRegister
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.orders import KIND, Order, is_order, opened, place_of, sealed
from posse.protocol.signing import Signer
from posse.wire.line import Interceptor, Line, Transmit
from posse.wire.session import Session

Signs = tuple[Signer, SignedRegister | None]
"""A coordinator's signer, and what keeps what it signs."""


class SigningLine(Line):
    """The coordinator's end of the link to agent `end`; `chain` is its name before the first order.

    `book` keeps what is signed; the journal's commit writes it before it leaves.
    """

    __slots__ = ("_book", "_chain", "_signer")

    def __init__(
        self,
        end: int,
        transmit: Transmit,
        interceptor: Interceptor,
        signer: Signer,
        book: SignedRegister | None,
        chain: bytes,
    ) -> None:
        super().__init__(end, Session(), transmit, interceptor)
        self._signer, self._book, self._chain = signer, book, chain

    def send(self, frame: bytes) -> None:
        if is_order(frame):
            session = self.session
            place = place_of(self.end, session.sent + 1)
            order, frame, session.said = sealed(
                self._signer, session.said or self._chain, place, frame
            )
            _keep(self._book, order)
        super().send(frame)


class CheckingLine(Line):
    """An agent's end: it gives out what the coordinator signed, in its order, and keeps it."""

    __slots__ = ("_book", "_checker", "_who")

    def __init__(
        self,
        end: int,
        transmit: Transmit,
        interceptor: Interceptor,
        checker: Signer,
        book: SignedRegister | None,
        who: Callable[[], tuple[int, bytes]],
    ) -> None:
        super().__init__(end, Session(), transmit, interceptor, up=False)
        self._checker, self._book, self._who = checker, book, who

    def receive(self, data: bytes) -> bytes | None:
        frame = super().receive(data)
        return None if frame is None else self.checked(frame)

    def checked(self, frame: bytes) -> bytes:
        """A frame from the coordinator without its seal; `PosseError` if that is wrong."""
        session, (rank, incarnation) = self.session, self._who()
        place = place_of(rank, session.taken)
        try:
            order, frame, session.said = opened(
                self._checker, session.said, incarnation, place, frame
            )
        except RemoteProtocolError as error:
            raise PosseError(
                "the coordinator's order is not signed by the key that this agent's "
                f"coordinator.key has, or not in its place ({error}); ask its operator whether it "
                "is posse's own"
            ) from None
        if order is not None:
            _keep(self._book, order)
            if self._book is not None:
                self._book.commit()
        return frame


def _keep(book: SignedRegister | None, order: Order) -> None:
    if book is not None:
        book.keep(order.chain, KIND, order.place, order.statement, order.frame)
