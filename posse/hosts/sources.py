"""What reaches a host and does not follow from the frames that it is handed.

A host is deterministic. The same inputs in the same order (frames with their senders, steps, timers
that fired) and the same answers of its `Sources` give the same state and the same frames, byte for
byte, so that whoever writes both down can bring a host back to where it was. Nothing else in
`posse/hosts`, `posse/clocks` and the machines' rooms reads a clock, the operating system's
randomness, a file or a user's arms.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from agent.cohort import Cohort
from agent.noise import Noise
from posse.arms import Arms, ArmsContext, ArmsSpec
from posse.hosts.endpoint import Near
from posse.hosts.spending import NOT_KEPT, Spending
from posse.seeds import Purpose, generator
from protocol.control import LinkCount, Resources
from protocol.machine import COORDINATOR
from protocol.signing import Signer, public_of


class ResourceMeter:
    """What this host's process uses; nothing here, where agents share one."""

    def begin(self) -> None:
        """A run begins."""

    def used(self) -> Resources:
        """Since `begin`."""
        return Resources(0.0, 0, 0)

    def links(self, source: int) -> list[LinkCount]:
        """What the links of host `source` cost since `begin` beside each frame's first time."""
        return []


NO_RESOURCES = ResourceMeter()


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Time, chance and rewards, as an engine hands them to a host.

    `clock`     nanoseconds that pass as time does
    `stamp`     what frames are stamped with to measure delays, nanoseconds; 0 where nobody does
    `randbits`  so many bits from the operating system, in the field
    `noise`     makes the field's noise; the lab's follows from the seed
    `arms`      builds an agent's arms, or those that all share
    `resources` what the agent's process uses
    `signer`    signs for an agent with keys, given the number of agents and the run's name
    `spending`  keeps what the rewards of an agent in the field cost, given the run file's folder
    `cohort`    the agents of a run that live in this process, None where each has its own
    `near`      takes what they send each other and the coordinator there, None where frames do
    """

    clock: Callable[[], int]
    stamp: Callable[[], int]
    randbits: Callable[[int], int]
    noise: Callable[[], Noise]
    arms: Callable[[ArmsSpec, ArmsContext], Arms]
    resources: ResourceMeter = NO_RESOURCES
    signer: Callable[[int, bytes], Signer | None] = lambda agents, name: None
    spending: Callable[[ArmsSpec, str, int], Spending] = lambda arms, base, rank: NOT_KEPT
    cohort: Cohort | None = None
    near: Near | None = None

    def coarse(self) -> "Sources":
        """The same, by clocks in whole milliseconds: no duration of a computation can be read off.

        For the field.
        """
        return replace(self, clock=in_milliseconds(self.clock), stamp=in_milliseconds(self.stamp))


def in_milliseconds(clock: Callable[[], int]) -> Callable[[], int]:
    """A clock in nanoseconds that moves once in a millisecond."""
    return lambda: clock() // 1_000_000 * 1_000_000


@dataclass(frozen=True)
class Chance:
    """The randomness of one host in one run.

    In the lab it follows from `seed`, `run` and `rank`. In the `field` nothing repeats: whatever
    these say, it is seeded by the operating system.
    """

    sources: Sources
    field: bool
    seed: int
    run: int
    rank: int

    def generator(self, purpose: Purpose) -> np.random.Generator:
        """The host's own stream for one purpose."""
        return self._generator(self.rank, purpose)

    def common(self, purpose: Purpose) -> np.random.Generator:
        """The same stream for all hosts of a run of the lab."""
        return self._generator(COORDINATOR, purpose)

    def secret(self, purpose: Purpose) -> bytes:
        """32 bytes for a key."""
        if self.field:
            return self.sources.randbits(256).to_bytes(32, "little")
        return self.generator(purpose).bytes(32)

    def signer(self, agents: int, name: bytes, *, sign: bool) -> Signer | None:
        """Who signs for this host and knows the others' signatures; None where nobody signs.

        In the field an agent with keys always does; in the lab all do if they are to `sign`, by
        keys that follow from the seed.
        """
        if self.field:
            return self.sources.signer(agents, name)
        if not sign:
            return None
        secrets = [
            generator(self.seed, self.run, rank, Purpose.SIGNATURE).bytes(32)
            for rank in range(agents)
        ]
        own = secrets[self.rank] if self.rank >= 0 else None
        return Signer(own, {rank: public_of(s) for rank, s in enumerate(secrets)}, name)

    def _generator(self, rank: int, purpose: Purpose) -> np.random.Generator:
        if self.field:
            return np.random.default_rng(self.sources.randbits(128))
        return generator(self.seed, self.run, rank, purpose)
