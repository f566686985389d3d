"""The sources that this machine hands to its hosts; see `posse.hosts.sources`."""

from collections.abc import Callable
from functools import partial

from posse.arms import ArmsSpec, RealArms
from posse.arms.csv import CsvArms
from posse.durable.lab import LabLedger
from posse.durable.ledger import Ledger, Wall
from posse.hosts.sources import NO_RESOURCES, ResourceMeter, Sources
from posse.hosts.spending import NOT_KEPT, Spending
from posse.protocol.signing import Signer
from posse.wire.world import HERE, World

SignerOf = Callable[[int, bytes], Signer | None]


def of_this_machine(
    stamp: Callable[[], int],
    resources: ResourceMeter = NO_RESOURCES,
    signer: SignerOf = lambda agents, name: None,
    world: World = HERE,
) -> Sources:
    """The operating system's clock and randomness, arms as the run file has them, and `stamp`."""
    return Sources(
        clock=world.monotonic_ns,
        stamp=stamp,
        wall=world.wall,
        randbits=world.randbits,
        noise=world.noise,
        arms=world.arms,
        resources=resources,
        signer=signer,
        spending=partial(_ledger, world.wall),
        entering=partial(_lab_ledger, world.wall),
    )


def ahead_by(offset: int, clock: Callable[[], int]) -> Callable[[], int]:
    """A clock that is `offset` nanoseconds ahead of this one."""
    return (lambda: clock() + offset) if offset else clock


def _ledger(wall: Wall, arms: ArmsSpec, base: str, rank: int) -> Spending:
    """The ledger beside an agent's data; simulated rewards cost nothing and have none."""
    if not isinstance(arms, RealArms):
        return NOT_KEPT
    path, data = arms.ledger(base, rank)
    return Ledger(path, data, wall)


def _lab_ledger(wall: Wall, arms: ArmsSpec, base: str, rank: int) -> Spending:
    """The ledger beside a log; nobody knows what the user's own arms are in the lab."""
    if not isinstance(arms, CsvArms):
        return NOT_KEPT
    path, data = arms.ledger(base, rank)
    return LabLedger(path, data, wall)
