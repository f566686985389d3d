"""What this process's sessions sent of their own, as the rows of a report."""

from posse.measure.traffic import CONFIRMATION, RESENT
from posse.protocol.control import LinkCount
from posse.protocol.message import Plane
from posse.protocol.wire import HEADER
from posse.wire.resources import ProcessResources
from posse.wire.session import ENVELOPE_BYTES, Session

FRAME = bytes(100)
CONTROL = int(Plane.CONTROL)


def test_resent_frames_and_bare_confirmations_are_counted_apart_from_a_runs_begin_on() -> None:
    near, far = Session(), Session()
    ends = [(4, near), (-1, far)]
    meter = ProcessResources(lambda: ends)
    near.wrap(FRAME)
    near.reconnected()  # before the run
    meter.begin()
    assert meter.links(2) == []
    near.wrap(FRAME)
    near.reconnected()
    far.confirm()
    assert meter.links(2) == [
        LinkCount(2, 4, CONTROL, RESENT, 2, 2 * (100 - HEADER.size), 2 * (100 + ENVELOPE_BYTES)),
        LinkCount(2, -1, CONTROL, CONFIRMATION, 1, 0, ENVELOPE_BYTES),
    ]


def test_a_session_that_began_within_the_run_is_counted_from_its_begin() -> None:
    ends = [(4, Session())]
    ends[0][1].confirm()
    meter = ProcessResources(lambda: ends)
    meter.begin()
    ends[0] = (4, Session())
    ends[0][1].confirm()
    assert [row.messages for row in meter.links(2)] == [1]
