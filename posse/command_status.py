"""`posse status`: ask a coordinator how it is."""

import json
import sys
from typing import Any

import msgspec
import zmq
from rich.console import Console
from rich.table import Table

from posse.engines.gate import connect_with
from posse.engines.sockets import configure
from posse.errors import RunFailed
from posse.keys import AgentKeys
from protocol import control
from protocol.errors import RemoteProtocolError
from protocol.wire import Codec, encode, read_header

_ANSWER = Codec((control.Status, control.Refused))


def ask(endpoint: str, keys: AgentKeys | None, wait: float) -> dict[str, Any]:
    """The coordinator's status, or `RunFailed` if it does not say within `wait` seconds."""
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    configure(socket, wait)
    socket.setsockopt(zmq.LINGER, 0)
    if keys is not None:
        connect_with(socket, keys.own.public, keys.own.secret, keys.coordinator)
    try:
        socket.connect(endpoint)
        socket.send(encode(control.Ask(), run=0, source=-1, sequence=0, now=0.0, sent=0))
        if not socket.poll(int(wait * 1000)):
            raise RunFailed(
                f"{endpoint} did not answer for {wait:g} s: there is no coordinator, or it has "
                "another key than coordinator.key_secret"
            )
        frame = socket.recv()
        message = _ANSWER.decode(read_header(frame), frame)
    except (zmq.ZMQError, RemoteProtocolError) as error:
        raise RunFailed(f"{endpoint} was not understood: {error}") from None
    finally:
        socket.close()
        context.term()
    assert isinstance(message, control.Status)
    document: dict[str, Any] = msgspec.json.decode(message.document)
    return document


def show(endpoint: str, keys: AgentKeys | None, wait: float, *, as_json: bool) -> int:
    """Print it."""
    status = ask(endpoint, keys, wait)
    if as_json:
        json.dump(status, sys.stdout)
        print()
        return 0
    table = Table(box=None, pad_edge=False)
    table.add_column("agent")
    table.add_column("")
    for rank in range(status["agents"]):
        heard = status["heard_seconds_ago"].get(str(rank))
        waited = ", waited for" if rank in status["waiting_for"] else ""
        said = "not here" if heard is None else f"heard {heard:.1f} s ago"
        table.add_row(str(rank), said + waited)
    console = Console()
    going = "a run is going on" if status["running"] else "no run is going on"
    console.print(
        f"{status['arrived']} of {status['agents']} agents are here, {going}, "
        f"{status['runs_completed']} complete"
    )
    console.print(table)
    if status["refused"]:
        console.print("refused: " + ", ".join(f"{n} {r}" for r, n in status["refused"].items()))
    return 0
