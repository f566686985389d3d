"""The sources of everything that a host reads besides frames: time, randomness and rewards.

A host is deterministic. The same inputs in the same order (frames with their senders, steps, timers
that fired) and the same answers of its `Sources` give the same state and the same frames, byte for
byte. So a journal of both can restore a host by replay. Nothing else in `posse/hosts`,
`posse/clocks` and the machines' rooms reads a clock, the operating system's randomness, a file or
a user's arms.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from posse.arms import Arms, ArmsContext, ArmsSpec, ChangingMeans, known_means
from posse.arms.persons import Persons
from posse.hosts.spending import Spending, keep_none
from posse.measure.regret import ArmCosts, MovingRegret, Regret
from posse.protocol.arrays import FloatArray
from posse.protocol.control import LinkCount, ResourceUse
from posse.protocol.machine import COORDINATOR
from posse.protocol.noise import Noise
from posse.protocol.signing import Signer, public_of
from posse.seeds import Purpose, generator

Same = TypeVar("Same")

SECRET_BITS = 256
"""Bits of a key."""


class ResourceMeter:
    """Measures the resources of a host's process; this one measures nothing: agents share it."""

    def begin(self) -> None:
        """Start measuring: a run begins."""

    def used(self) -> ResourceUse:
        """The resources used since `begin`."""
        return ResourceUse(0.0, 0, 0)

    def links(self, source: int) -> list[LinkCount]:
        """What the sessions of host `source` resent and confirmed since `begin`."""
        return []


NO_RESOURCES = ResourceMeter()


Left = tuple[tuple[int, ...], dict[str, Any]]
"""An agent's neighbours, and what it knows of the graph."""

FeaturesOf = Callable[[int], FloatArray]
"""The features of all arms that are seen in a slot, shape (arms, features)."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Time, randomness and rewards, as an engine passes them to a host.

    `clock`     a steady clock, in nanoseconds
    `stamp`     the clock for delays, stamped on frames, in nanoseconds; 0 if nobody measures them
    `wall`      the date and time, in seconds since 1970, for ledgers
    `randbits`  that many random bits from the operating system, for the field
    `noise`     makes the field's noise; the lab's noise follows from the seed
    `arms`      builds an agent's arms, or those that all share
    `resources` measures the agent's process
    `signer`    makes the signer of an agent with keys, from the number of agents and the run's name
    `real_noise` the lab draws its noise from `noise` too, as audits do
    `spending`  opens an agent's ledger in the field, from its arms, the run file's folder, its rank
    `entering`  opens the ledger in which a run of the lab is entered, if its rewards are real
    `common`    what is the same for all agents of a run, by name; None if each has its own process
    `together`  all hosts of the run live in this process, and its engine hands over messages
    `carried`   whether frames are carried; steps over arrays only count them
    `noted`     takes what happens to a coordinator's host besides frames, for its journal
    `stepped`   is told of each step of an agent's host, for its journal; None without one
    `acted`     is told when an agent's own arms gave rewards, which may be slow; None: nobody is
    `features`  what agent `rank` sees of its arms before a pull, from what the run file has
    `left`      what an agent's own run file says that it is told when these members are left
    `arrived`   records when a frame came to an agent's host, or reads it back; None without journal
    """

    clock: Callable[[], int]
    stamp: Callable[[], int]
    randbits: Callable[[int], int]
    noise: Callable[[], Noise]
    arms: Callable[[ArmsSpec, ArmsContext], Arms]
    wall: Callable[[], float] = lambda: 0.0
    resources: ResourceMeter = NO_RESOURCES
    signer: Callable[[int, bytes], Signer | None] = lambda agents, name: None
    spending: Callable[[ArmsSpec, str, int], Spending] = keep_none
    entering: Callable[[ArmsSpec, str, int], Spending] = keep_none
    common: dict[str, Any] | None = None
    together: bool = False
    carried: bool = True
    real_noise: bool = False
    noted: Callable[[str, int, bytes], object] = lambda what, whom, payload: None
    stepped: Callable[[], None] | None = None
    acted: Callable[[], None] | None = None
    features: Callable[[int, FeaturesOf], FeaturesOf] = lambda rank, contexts: contexts
    arrived: Callable[[int], int] | None = None
    left: Callable[[int, Collection[int]], Left | None] = lambda rank, members: None

    def coarse(self) -> "Sources":
        """For the field: clocks in whole milliseconds, to hide how long computations take."""
        return replace(self, clock=in_milliseconds(self.clock), stamp=in_milliseconds(self.stamp))


def in_milliseconds(clock: Callable[[], int]) -> Callable[[], int]:
    """A clock in nanoseconds that advances in whole milliseconds."""
    return lambda: clock() // 1_000_000 * 1_000_000


@dataclass(frozen=True)
class Chance:
    """The randomness of one host in one run.

    In the lab it follows from `seed`, `run` and `rank`. In the `field` the operating system seeds
    it, whatever these are, so nothing repeats.
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
        """A stream that is the same for all hosts of a run in the lab."""
        return self._generator(COORDINATOR, purpose)

    def instance(self) -> np.random.Generator:
        """The stream that all agents of a run draw its means from, anew at each call."""
        return self.common(Purpose.INSTANCE)

    def secret(self, purpose: Purpose) -> bytes:
        """32 bytes for a key."""
        if self.field:
            return self.sources.randbits(SECRET_BITS).to_bytes(SECRET_BITS // 8, "little")
        return self.generator(purpose).bytes(32)

    def signer(self, agents: int, name: bytes, *, sign: bool) -> Signer | None:
        """The signer of this host, which also verifies the others; None if nobody signs.

        In the field an agent with keys always signs. In the lab all do if `sign`, with keys that
        follow from the seed.
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

    def arms(self, spec: ArmsSpec, agents: int, base: str, persons: Persons | None = None) -> Arms:
        """The host's own arms; `base` is the run file's folder, `persons` are its `[privacy]`'s."""
        context = ArmsContext(
            rank=self.rank,
            agents=agents,
            run=self.run,
            seed=self.seed,
            base=base,
            rewards=self.generator(Purpose.REWARDS),
            instance=self.instance,
            once=self.once,
            persons=persons,
        )
        return self.sources.arms(spec, context)

    def spending(self, spec: ArmsSpec, base: str) -> Spending:
        """The ledger of the host's rewards."""
        opens = self.sources.spending if self.field else self.sources.entering
        return opens(spec, base, self.rank)

    def means(self, spec: ArmsSpec, agents: int) -> FloatArray | None:
        """The means of every agent, shape (agents, arms); None if they are unknown."""
        known = known_means(spec)
        if known is None:
            return None
        return self.once("means", lambda: known.table(agents, self.instance()))

    def regret(
        self, spec: ArmsSpec, agents: int, against: Literal["average", "own"]
    ) -> dict[str, Regret]:
        """The measures of the host's regret; none if means are unknown.

        If `against` is "own", "regret" is measured against the host's own means. Otherwise it is
        against the average over the agents, with "regret_local" against its own if they differ.
        Where means change, it is against the host's own.
        """
        if isinstance(spec, ChangingMeans):
            return {"regret": MovingRegret(spec.means_at(self.common(Purpose.INSTANCE), self.rank))}
        table = self.means(spec, agents)
        if table is None:
            return {}
        own = table[self.rank]
        if against == "own":
            return {"regret": Regret(ArmCosts(own))}
        average = self.once("average of means", lambda: ArmCosts(table.mean(axis=0)))
        differ = self.once("means differ", lambda: bool((table != table[0]).any()))
        return {"regret": Regret(average)} | (
            {"regret_local": Regret(ArmCosts(own))} if differ else {}
        )

    def once(self, name: str, make: Callable[[], Same]) -> Same:
        """Make what all agents of a run compute alike, once if they share this process."""
        common = self.sources.common
        if common is None:
            return make()
        if name not in common:
            common[name] = make()
        same: Same = common[name]
        return same

    def _generator(self, rank: int, purpose: Purpose) -> np.random.Generator:
        if self.field:
            return np.random.default_rng(self.sources.randbits(128))
        return generator(self.seed, self.run, rank, purpose)
