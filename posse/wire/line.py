"""A session whose process keeps a journal: what it takes is recorded."""

from posse.durable.journal import FRAME, Journal
from posse.wire.session import ENVELOPE_BYTES, Session


def take(journal: Journal, end: int, session: Session, data: bytes) -> bytes | None:
    """As `session.take`, and record `data`, but only as far as it changed the session."""
    before = session.taken + session.confirmed
    frame = session.take(data)
    if frame is not None:
        journal.add(FRAME, end, data)
    elif session.taken + session.confirmed != before:
        journal.add(FRAME, end, data[:ENVELOPE_BYTES])
    return frame


def taken_again(session: Session, data: bytes) -> bytes | None:
    """The frame that a session takes again; it answers nothing, as that is done already."""
    frame = session.take(data)
    session.replies.clear()
    return frame
