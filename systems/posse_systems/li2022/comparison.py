"""How neighbours compare what they hold after an exchange, before they decide.

An origin that signed two values for one round can give one to each side of the network, so that no
agent meets both. Here every link compares: each end sends the other a hash of all statements
(`Held`). Where the hashes differ, both ends show the statements themselves (`Stated`), which prove
the origin's guilt (`Equivocation`), or else that of the neighbour.
"""

from dataclasses import dataclass, field

from posse.seam.machines import AgentEffects, Received, Send
from posse.seam.messages import HASH_BYTES, STATEMENT_BYTES, RemoteProtocolError, hash_of
from posse_systems.li2022.exchange import Exchange
from posse_systems.li2022.messages import Held, Stated


@dataclass(slots=True)
class Comparison:
    """One agent's comparison after the exchange of round `round`.

    `own` is the hash of what it holds, b"" before the exchange is over, `heard` what each neighbour
    said so far: one may be ahead by that. Until all are equal it is not `over`.
    """

    round: int = 0
    own: bytes = b""
    over: bool = True
    heard: dict[int, bytes] = field(default_factory=dict)

    def open(self, exchange: Exchange) -> AgentEffects:
        """Send every neighbour the hash of what this agent holds."""
        self._turn_to(exchange)
        self.own = hash_of(_digest(_gather(exchange)))
        self.over = self._agrees(exchange)
        held = Held(self.round, self.own)
        differ = [j for j in sorted(self.heard) if self.heard[j] != self.own]
        shown = [Send(j, Stated(self.round, _gather(exchange))) for j in differ]
        return [*(Send(j, held) for j in exchange.neighbours), *shown]

    def receive(self, event: Received, exchange: Exchange) -> AgentEffects:
        """Take a neighbour's message."""
        message, sender = event.message, event.sender
        assert isinstance(message, (Held, Stated))
        if exchange.signer is None or message.round != exchange.round:
            raise RemoteProtocolError("out-of-turn", f"{type(message).__name__} of {message.round}")
        self._turn_to(exchange)
        if isinstance(message, Held):
            if sender in self.heard:
                raise RemoteProtocolError("duplicate", "a second hash in a round")
            self.heard[sender] = message.digest
            self.over = bool(self.own) and self._agrees(exchange)
            return (
                [Send(sender, Stated(self.round, _gather(exchange)))]
                if self.own not in (b"", message.digest)
                else []
            )
        if not self.own or self.heard.get(sender, self.own) == self.own:
            raise RemoteProtocolError("out-of-turn", "statements that nobody asked for")
        self._judge(self.heard[sender], message.statements, exchange)
        return []

    def _turn_to(self, exchange: Exchange) -> None:
        if self.round != exchange.round:
            self.round, self.own, self.over, self.heard = exchange.round, b"", False, {}

    def _agrees(self, exchange: Exchange) -> bool:
        return all(self.heard.get(j) == self.own for j in exchange.neighbours)

    def _judge(self, digest: bytes, statements: bytes, exchange: Exchange) -> None:
        """Refuse a neighbour's statements that prove an origin's guilt, or the neighbour's own."""
        size = STATEMENT_BYTES
        if len(statements) != size * len(exchange.has) or hash_of(_digest(statements)) != digest:
            raise RemoteProtocolError("conflict", "statements that do not fit their hash")
        for i, origin in enumerate(sorted(exchange.has)):
            exchange.believe(origin, statements[i * size : (i + 1) * size])
        raise RemoteProtocolError("conflict", "another hash of the same statements")


def _gather(exchange: Exchange) -> bytes:
    return b"".join(exchange.statements[origin] for origin in sorted(exchange.has))


def _digest(statements: bytes) -> bytes:
    starts = range(0, len(statements), STATEMENT_BYTES)
    return b"".join(statements[start : start + HASH_BYTES] for start in starts)
