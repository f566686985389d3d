"""The sources that this machine hands to its hosts; see `posse.hosts.sources`."""

import secrets
from collections.abc import Callable
from time import monotonic_ns

from posse.arms import ArmsSpec
from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.durable.ledger import Ledger
from posse.hosts.sources import NO_RESOURCES, ResourceMeter, Sources
from posse.hosts.spending import NOT_KEPT, Spending
from posse.protocol.signing import Signer
from posse.security.noise import FieldNoise

SignerOf = Callable[[int, bytes], Signer | None]


def of_this_machine(
    stamp: Callable[[], int],
    resources: ResourceMeter = NO_RESOURCES,
    signer: SignerOf = lambda agents, name: None,
) -> Sources:
    """The operating system's clock and randomness, arms as the run file has them, and `stamp`."""
    return Sources(
        clock=monotonic_ns,
        stamp=stamp,
        randbits=secrets.randbits,
        noise=FieldNoise,
        arms=lambda spec, context: spec.build(context),
        resources=resources,
        signer=signer,
        spending=_ledger,
    )


def ahead_by(offset: int) -> Callable[[], int]:
    """A clock that is `offset` nanoseconds ahead of this machine's."""
    return (lambda: monotonic_ns() + offset) if offset else monotonic_ns


def _ledger(arms: ArmsSpec, base: str, rank: int) -> Spending:
    """The ledger beside an agent's data; simulated rewards cost nothing and have none."""
    return Ledger(*arms.ledger(base, rank)) if isinstance(arms, CsvArms | PythonArms) else NOT_KEPT
