"""What a process asks of this machine."""

import socket
import threading

import zmq

from posse.wire.world import HERE


def test_a_connection_is_shut_by_its_descriptor_or_by_a_copy() -> None:
    for copied in (True, False):
        near, far = socket.socketpair()
        copy = near.dup() if copied else None
        HERE.shut(near.fileno(), copy)
        assert far.recv(1) == b""
        for end in (near, far, copy):
            if end is not None:
                end.close()
    HERE.shut(1 << 20, None)  # closed meanwhile


def test_a_watchman_does_not_hold_up_who_starts_it() -> None:
    seen = threading.Event()
    HERE.watchman("watches", seen.set)
    assert seen.wait(10)


def test_this_machines_sockets_are_zeromqs_own() -> None:
    context = HERE.context()
    assert isinstance(context, zmq.Context)
    HERE.end(context)
    assert context.closed


def test_memory_is_told_in_bytes() -> None:
    peak, proportional = HERE.memory()
    assert peak > 1 << 20
    assert proportional > 0
