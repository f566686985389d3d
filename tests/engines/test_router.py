"""The coordinator's socket: what its monitor tells."""

import contextlib
import socket
import tempfile

from posse.engines.events import Rejected
from posse.engines.router import Router
from tests.support.remote import until


def rejected(router: Router) -> bool:
    return any(isinstance(event, Rejected) for event in router.connections())


def test_who_goes_away_in_the_handshake_over_ipc_is_one_sentence() -> None:
    """A path has no port by which to look up where a connection came from."""
    with tempfile.TemporaryDirectory() as folder:
        router = Router(f"ipc://{folder}/hub", 5.0, 0.02, None, 1, dict)
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as stranger:
            stranger.connect(f"{folder}/hub")
            stranger.sendall(b"\xff")
        try:
            until(lambda: rejected(router), "that it is told of")
        finally:
            router.close(flush=False)
