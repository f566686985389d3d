"""An agent without arms of its own answers messages, and its time is the message's."""

import pytest

from posse.clocks.pace import SharedPace
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import Finish, Pull, Received
from posse_systems.tossou2015.messages import Outcome
from tests.support.paced import Run, script

NEWS = Received(-1, Outcome(1, 0.5, 0.5, False))


def test_time_is_the_messages_until_the_end() -> None:
    run = Run(script(None, None, Finish("done")))
    paced = SharedPace(run)
    paced.start()
    for now in (1.0, 2.0, 3.0):
        paced.message(NEWS, now)
    paced.step()
    assert [now for _, now in run.told] == [0.0, 1.0, 2.0]
    assert paced.now == 2.0
    assert not paced.under_way
    assert not paced.order


def test_there_is_nothing_to_pull_and_nobody_to_advance() -> None:
    paced = SharedPace(Run(script(Pull((0,), 1))))
    with pytest.raises(LocalProtocolError, match="none of its own to pull"):
        paced.start()
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        paced.advance(1.0)
