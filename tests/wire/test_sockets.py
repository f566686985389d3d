"""What posse decides about ZeroMQ's sockets."""

import pytest
import zmq

from posse.errors import PosseError
from posse.wire.sockets import bound, end, monitored
from tests.support.remote import until


def test_a_context_that_does_not_end_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    context = zmq.Context()
    keeps_it = context.socket(zmq.PAIR)
    end(context, within=0.05)
    assert "did not end within 0.05 s" in caplog.text
    keeps_it.close()
    until(lambda: context.closed, "the end of the context")


def test_a_monitor_takes_no_name_of_one_that_is_still_taken_down() -> None:
    """Whose file descriptor the socket has."""
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        with context.socket(zmq.PAIR) as last:
            last.bind(f"inproc://monitor.s-{socket.FD}")
            monitor = monitored(socket, zmq.EVENT_CONNECTED)
        socket.disable_monitor()
        monitor.close(0)


def test_a_socket_listens_at_the_first_address_that_this_machine_has() -> None:
    gone = "tcp://192.0.2.1:4000"  # nobody's (RFC 5737)
    with zmq.Context() as context:
        with context.socket(zmq.PULL) as inbox:
            assert bound(inbox, gone, "tcp://127.0.0.1:*").startswith("tcp://127.0.0.1:")
        with pytest.raises(PosseError, match=f"{gone} cannot be bound: this machine has no such"):
            bound(context.socket(zmq.PULL), gone)
