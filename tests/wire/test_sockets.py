"""What posse decides about ZeroMQ's sockets."""

import pytest
import zmq

from posse.errors import PosseError
from posse.protocol.wire import MAX_FRAME
from posse.wire.sockets import bound, configure, end, monitored
from tests.support.remote import until


def test_a_context_that_does_not_end_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    context = zmq.Context()
    keeps_it = context.socket(zmq.PAIR)
    end(context, within=0.05)
    assert "did not end within 0.05 s" in caplog.text
    keeps_it.close()
    until(lambda: context.closed, "the end of the context")


def test_a_frame_larger_than_any_of_posses_ends_its_connection_unread() -> None:
    with zmq.Context() as context, context.socket(zmq.PULL) as inbox:
        configure(inbox, 10.0)
        port = bound(inbox, "tcp://127.0.0.1:*")
        with context.socket(zmq.PUSH) as hostile, context.socket(zmq.PUSH) as honest:
            for socket, size in ((hostile, MAX_FRAME + 1), (honest, MAX_FRAME)):
                monitor = monitored(socket, zmq.EVENT_DISCONNECTED)
                socket.setsockopt(zmq.LINGER, 0)
                socket.connect(port)
                socket.send(bytes(size))
                assert monitor.poll(10_000 if socket is hostile else 0) == (socket is hostile)
                socket.disable_monitor()
                monitor.close(0)
            assert len(inbox.recv()) == MAX_FRAME


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
