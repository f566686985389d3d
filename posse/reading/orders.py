"""What a coordinator signed that it ordered: against the result, and against what agents kept."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from posse.gates.decode import Packed, Undecodable
from posse.gates.signatures import kept_in
from posse.hosts.agent_setup import AgentSetup
from posse.measure.numbers import counted, named
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.orders import KIND, Order
from posse.protocol.signing import HASH_BYTES, Signer
from posse.protocol.wire import Codec, read_header
from posse.results.record import RunRecord

NAME = "coordinator.orders"
"""The file in a folder of results."""

_CODEC = Codec((*control.TO_JOINING, *control.TO_AGENT))
_SETUP: Packed[AgentSetup] = Packed(AgentSetup)


class Chain(NamedTuple):
    """What the coordinator told agent `rank` in one session; `fault` says why it is no chain."""

    rank: int
    orders: list[Order]
    told: list[Message]
    setup: AgentSetup | None
    fault: str


Chains = dict[tuple[bytes, int], Chain]
"""By name and rank."""


def chains_in(path: Path, keys: Mapping[int, bytes]) -> Chains:
    """The chains in a file, checked by the coordinator's key; `InputError` if it is none."""
    checker = Signer(None, keys, b"")
    orders = (
        Order(chain, place, digest + signature, frame)
        for chain, place, digest, signature, frame in kept_in(path, KIND)
    )
    return {key: _chain(key[1], [*group], checker) for key, group in groupby(orders, _whose)}


def of_run(chains: Chains, run: str) -> Chains:
    """The chains of the run of this name, and those that are none."""
    return {
        key: chain
        for key, chain in chains.items()
        if chain.fault or (chain.setup is not None and chain.setup.signed_name.hex() == run)
    }


def _whose(order: Order) -> tuple[bytes, int]:
    return order.chain, int.from_bytes(order.place[:4], "little", signed=True)


def _chain(rank: int, orders: list[Order], checker: Signer) -> Chain:
    before, fault, setup = b"", "", None
    told: list[Message] = []
    for last, order in zip([None, *orders], orders, strict=False):
        try:
            if last is not None and last.place == order.place:
                checker.check_statement(COORDINATOR, KIND, order.place, order.statement)
                fault = _two(rank, last, order)
                break
            order.check(checker, before)
            message = _CODEC.decode(read_header(order.frame).plane, order.frame)
            if isinstance(message, control.Configure):
                setup = _SETUP.read(message.setup)
        except (RemoteProtocolError, Undecodable) as error:
            fault = f"order {len(told) + 1} to agent {rank} does not hold: {error}"
            break
        told.append(message)
        before = order.statement[:HASH_BYTES]
    return Chain(rank, orders, told, setup, fault)


def _two(rank: int, one: Order, other: Order) -> str:
    return (
        f"the coordinator signed two orders to agent {rank} for one place of a run, which proves "
        f"that it lied: {one.statement.hex()} and {other.statement.hex()}"
    )


def faults(chains: Chains, record: RunRecord, asked: tuple[Any, ...]) -> Iterator[str]:
    """What is wrong with a result's orders.

    `asked`: system, variant, agents and parameters, as the result has them.
    """
    begun = Counter[int]()
    for chain in chains.values():
        if chain.fault or (setup := chain.setup) is None:
            yield chain.fault
            continue
        if (setup.system, setup.variant, setup.agents, setup.parameters) != asked:
            yield f"agent {chain.rank} was ordered another run than the result has"
        for message in chain.told:
            begun[chain.rank] += isinstance(message, control.Begin)
            if isinstance(message, control.Gone):
                known = record.exhausted if message.exhausted else record.dismissed
                if message.agent not in known:
                    yield f"agent {chain.rank} was told falsely that agent {message.agent} is gone"
    if odd := [rank for rank in range(len(record.answers)) if begun[rank] != 1]:
        yield f"{named(odd)}: there is not one order by which the run begins"


def compared(chains: Chains, kept: Chains) -> Iterator[tuple[bool, str]]:
    """Of each chain that an agent kept, whether the result has the same, in a sentence."""
    for key, ours in kept.items():
        shown = {order.place: order for order in chains[key].orders} if key in chains else {}
        pairs = [(order, shown.get(order.place)) for order in ours.orders]
        other = [(one, two) for one, two in pairs if two and two.statement != one.statement]
        lacking = sum(two is None for _, two in pairs)
        if ours.fault or other:
            yield False, ours.fault or _two(ours.rank, *other[0])
        elif lacking:
            yield False, f"agent {ours.rank} keeps {counted(lacking, 'order')} the result lacks"
        else:
            yield True, f"agent {ours.rank} keeps the same {counted(len(pairs), 'order')}"
