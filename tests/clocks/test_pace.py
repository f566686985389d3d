"""An agent without arms of its own answers messages, and its time is the message's."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.clocks.pace import SharedPace
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import Finish, Pull, Received
from posse_systems.tossou2015.messages import Outcome
from tests.support.paced import Run, script

NEWS = Received(-1, Outcome(1, 0.5, 0.5, False))


@given(st.lists(st.floats(0, 1e6), max_size=6), st.integers(1, 6))
@example([1.0, 2.0, 3.0], 3)
def test_time_is_the_messages_until_the_end(times: list[float], ends: int) -> None:
    run = Run(script(*[None] * (ends - 1), Finish("done")))
    paced = SharedPace(run)
    paced.start()
    for now in sorted(times):
        paced.message(NEWS, now)
    paced.step()
    heard = [0.0, *sorted(times)][:ends]
    assert [now for _, now in run.told] == heard
    assert paced.now == heard[-1]
    assert paced.under_way == (len(heard) < ends)
    assert not paced.order


def test_there_is_nothing_to_pull_and_nobody_to_advance() -> None:
    paced = SharedPace(Run(script(Pull((0,), 1))))
    with pytest.raises(LocalProtocolError, match="none of its own to pull"):
        paced.start()
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        paced.advance(1.0)
