"""What comes of an agent that signs two values for one round, and tells each side one of them."""

from typing import Any

import numpy as np
import pytest

from posse.errors import RunFailed
from posse.hosts.endpoint import Endpoint
from posse.protocol.control import Contradicted
from posse.protocol.errors import Equivocation, RemoteProtocolError
from posse.protocol.machine import Received, Send
from posse.protocol.message import Message
from posse.protocol.signing import HASH_BYTES, hash_of
from posse.protocol.wire import pack_floats
from posse.results.record import RunRecord
from posse_systems.li2022.comparison import Comparison
from posse_systems.li2022.exchange import Exchange
from posse_systems.li2022.messages import Data, Held, Stated
from tests.support.signing import RING, require_proof, run_signed, signers, states_anew

ODD = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
"""Both sides' values first meet in the last slot, between agents 2 and 3."""
TRIANGLE = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 4], [3, 5], [4, 5]]


class Liar:
    """Agent 0, which tells each neighbour of `lies` other means, and all that follows from them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lies: dict[int, float]) -> None:
        self.lies = lies
        self.exchange: Exchange | None = None
        begin, send = Exchange.begin, Endpoint.send

        def begins(exchange: Exchange, *given: Any) -> None:
            begin(exchange, *given)
            if exchange.rank == 0:
                self.exchange = exchange

        def sends(endpoint: Endpoint, to: int, message: Message, now: float) -> None:
            if endpoint.name == 0 and isinstance(message, Contradicted):
                return  # it does not show its own guilt
            send(endpoint, to, self.told(to, message) if endpoint.name == 0 else message, now)

        monkeypatch.setattr(Exchange, "begin", begins)
        monkeypatch.setattr(Endpoint, "send", sends)

    def told(self, to: int, message: Message) -> Message:
        exchange = self.exchange
        if to not in self.lies or exchange is None or exchange.signer is None:
            return message
        row = exchange.rows[0] + self.lies[to]
        place = exchange.round.to_bytes(8, "little")
        statements = exchange.statements | {
            0: states_anew(exchange.signer, b"means", place, pack_floats(row))
        }
        if isinstance(message, Data) and 0 in message.origins:
            rows = exchange.rows.copy()
            rows[0] = row
            signed = b"".join(statements[origin][HASH_BYTES:] for origin in message.origins)
            means = pack_floats(rows[list(message.origins)]) + signed
            return Data(message.round, message.slot, message.origins, means)
        held = [statements[origin] for origin in sorted(exchange.has)]
        if isinstance(message, Held):
            return Held(message.round, hash_of(b"".join(s[:HASH_BYTES] for s in held)))
        return Stated(message.round, b"".join(held)) if isinstance(message, Stated) else message


def run(edges: list[list[int]], exchange: str, on_missing: str = "continue") -> RunRecord:
    parameters = {"epsilon": 1.0, "horizon": 20_000, "exchange": exchange}
    return run_signed("ddp-mab", edges, on_missing, **parameters)


@pytest.mark.inside
@pytest.mark.parametrize("exchange", ["gis", "flooding", "gossip"])
@pytest.mark.parametrize(
    ("edges", "lies"),
    [(RING, {1: 0.5, 5: -0.5}), (ODD, {1: 0.5}), (TRIANGLE, {1: 0.5, 2: -0.5})],
    ids=["ring", "odd ring", "triangle"],
)
def test_the_origin_is_dismissed_by_proof_and_the_others_go_on(
    edges: list[list[int]], lies: dict[int, float], exchange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = Liar(monkeypatch, lies)
    record = run(edges, exchange)
    assert record.dismissed == {0: "equivocation"}
    assert record.answers == [None, *[0] * (len(record.answers) - 1)]
    assert liar.exchange is not None
    assert liar.exchange.signer is not None
    require_proof(record, liar.exchange.signer, b"means")


@pytest.mark.inside
def test_a_run_that_needs_all_ends_by_the_origins_name_and_no_relays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Liar(monkeypatch, {1: 0.5})
    with pytest.raises(RunFailed, match="agent 0 told others different things") as failed:
        run(RING, "flooding", "end")
    assert "refused what" not in str(failed.value)


def two() -> tuple[Exchange, Exchange]:
    """Neighbours 1 and 2 with agent 0's means, which differ."""
    found = []
    for rank in (1, 2):
        origin = Exchange(0, 3, signer=signers(3)[0])
        origin.begin(1, np.array([0.25 * rank, 0.5]))
        exchange = Exchange(rank, 3, (3 - rank,), signer=signers(3)[rank])
        exchange.begin(1, np.array([0.5, 0.5]))
        exchange.unpack(origin.pack((0,)), (0,))
        exchange.has.add(0)
        found.append(exchange)
    return found[0], found[1]


def test_who_holds_otherwise_is_shown_all_statements() -> None:
    one, other = two()
    other.has, one.has = {0}, {0}
    here, there = Comparison(), Comparison()
    (sent,) = here.open(one)
    assert isinstance(sent, Send)
    there.receive(Received(1, sent.message), other)
    held, stated = there.open(other)
    assert isinstance(held, Send)
    assert isinstance(stated, Send)
    (answer,) = here.receive(Received(2, held.message), one)
    assert isinstance(answer, Send)
    assert not here.over
    with pytest.raises(Equivocation) as found:
        here.receive(Received(2, stated.message), one)
    assert found.value.proof.origin == 0
    with pytest.raises(Equivocation):
        there.receive(Received(1, answer.message), other)


def test_a_neighbour_that_makes_up_a_difference_is_to_blame_itself() -> None:
    one, other = two()
    other.has, one.has = {0}, {0}
    here = Comparison()
    here.open(one)
    here.receive(Received(2, Held(1, bytes(32))), one)
    with pytest.raises(RemoteProtocolError, match="conflict: statements that do not fit"):
        here.receive(Received(2, Stated(1, one.statements[0])), one)
    with pytest.raises(RemoteProtocolError, match="duplicate"):
        here.receive(Received(2, Held(1, here.own)), one)
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        here.receive(Received(2, Held(2, here.own)), one)
