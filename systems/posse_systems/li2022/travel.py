"""How means travel in a network: the real exchanges, which exchange once.

Who sends what to whom depends on the graph alone, and its length on the round and on |I|.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
import numpy as np

from posse.seam.machines import Received, Send
from posse.seam.messages import Message
from posse.seam.steps import Crowd, Sent, measure_payloads
from posse.seam.system import Network
from posse_systems.li2022.exchange import Exchange
from posse_systems.li2022.messages import Data, ExchangedRow, Hop


def travel(kind: type[Exchange], network: Network) -> "Travel":
    """How means travel by this kind of exchange."""
    told = msgspec.msgpack.encode((network.neighbours, network.knowledge))
    return Travel(*_exchanged(_Laid(kind, told, network)))


class Travel:
    """The messages of an exchange in `slots`, and in which `rounds` of how many arms they went.

    `links` has how many links each agent counts. `ways` has of messages between two agents, of one
    kind and with the means of as many agents: the link, of how many agents, how many messages, and
    their bytes in round 1 without means.
    """

    def __init__(self, slots: int, links: Sequence[int], ways: Sequence["_Way"]) -> None:
        self.slots, self.links, self.ways = slots, links, ways
        self.rounds: list[tuple[int, int]] = []

    def note(self, crowd: Crowd, r: int, arms: int) -> None:
        """Note an exchange in round r over this many arms."""
        if self.slots:
            crowd.note(*(ExchangedRow(r, self.slots, links) for links in self.links))
            self.rounds.append((r, arms))

    def sent(self, agents: int) -> list[list[Sent]]:
        """What each agent sent its neighbours in all rounds."""
        sizes: defaultdict[_Link, list[int]] = defaultdict(lambda: [0, 0])
        for link, origins, count, bare in self.ways if self.rounds else ():
            of_link = sizes[link]
            of_link[0] += count * len(self.rounds)
            of_link[1] += bare * len(self.rounds)
            of_link[1] += count * sum(_more(r, 8 * k * origins) for r, k in self.rounds)
        sent: list[list[Sent]] = [[] for _ in range(agents)]
        for (source, target, kind), counts in sizes.items():
            sent[source].append(Sent(kind, (target,), *counts))
        return sent


_Link = tuple[int, int, type[Message]]
_Way = tuple[_Link, int, int, int]


@lru_cache(maxsize=1 << 12)
def _more(r: int, means: int) -> int:
    """The bytes by which a message is longer in round r, with this many bytes of means."""
    filled, bare = ((r, bytes(means)), (1, b"")) if means else (r, 1)
    return len(msgspec.msgpack.encode(filled)) - len(msgspec.msgpack.encode(bare))


@dataclass(frozen=True)
class _Laid:
    """An exchange in a network, which are equal if what agents are `told` is."""

    kind: type[Exchange]
    told: bytes
    network: Network = field(compare=False)


@lru_cache(maxsize=8)
def _exchanged(laid: _Laid) -> tuple[int, list[int], list[_Way]]:
    """Exchange once: the slots, each agent's links, and the messages; see `Travel`."""
    near, told = laid.network.neighbours, laid.network.knowledge
    exchanges = [laid.kind(n, len(near), near[n], told[n]) for n in range(len(near))]
    for exchange in exchanges:
        exchange.begin(1, np.zeros(1))
    sent: defaultdict[tuple[_Link, int], list[Message]] = defaultdict(list)
    slots = exchanges[0].slots or 0
    for _ in range(slots):
        wire = deque(
            (rank, effect) for rank, exchange in enumerate(exchanges) for effect in exchange.open()
        )
        while wire:
            source, send = wire.popleft()
            assert isinstance(send, Send)
            bare = message = send.message
            origins = 0
            if isinstance(message, Data | Hop):
                origins, bare = len(message.origins), msgspec.structs.replace(message, means=b"")
            sent[(source, send.to, type(message)), origins].append(bare)
            answer = exchanges[send.to].receive(Received(source, message))
            wire.extend((send.to, effect) for effect in answer)
    ways = [(*which, len(bare), measure_payloads(bare)) for which, bare in sent.items()]
    return slots, [exchange.links for exchange in exchanges], ways
