"""The contexts from which machines are built."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from posse.arms import Openings
from posse.protocol.arrays import BoolArray, FloatArray
from posse.protocol.machine import OnMissing
from posse.protocol.noise import Noise
from posse.protocol.signing import Signer
from posse.seeds import Purpose
from posse.system.claims import ClaimContext

Made = TypeVar("Made")


_ABSENT = object()


@lru_cache(maxsize=64)
def _required(kind: Any) -> list[str]:
    """The fields of a dataclass that have no default, and the arms that it begins with."""
    return [
        needed.name
        for needed in dataclasses.fields(kind)
        if (needed.init and needed.default is needed.default_factory)  # both are missing
        or needed.name == "candidates"
    ]


@dataclass(frozen=True, kw_only=True)
class _Context(ClaimContext):
    """What the machines of both ends are built from: what their claim depends on, and their own."""

    knowledge: dict[str, Any]
    generator: Callable[[Purpose], np.random.Generator]
    signer: Signer | None = None

    @property
    def ties(self) -> np.random.Generator:
        """The generator that breaks ties."""
        return self.generator(Purpose.TIES)

    @property
    def draws(self) -> np.random.Generator:
        """The generator of the algorithm's own choices."""
        return self.generator(Purpose.PROTOCOL)

    def make(self, kind: Callable[..., Made], **given: Any) -> Made:
        """A dataclass with what is `given`; what else it needs is taken by its name.

        It is looked for here, then among the parameters, which have one name for one thing.
        """
        for name in _required(kind):
            if name not in given:
                ours = getattr(self, name, _ABSENT)
                given[name] = getattr(self.parameters, name) if ours is _ABSENT else ours
        return kind(**given)


@dataclass(frozen=True, kw_only=True)
class AgentContext(_Context):
    """What an agent's machine is built from.

    `neighbours` are ranks, never the graph. `knowledge` is what the system's `Wiring` tells this
    agent about the topology (its next hop to a sink, the delay to wait). `secret` returns 32 bytes
    for a key. In the `field` it comes from the operating system, as do noise and `generator`.
    `signer` is set if agents sign what others pass on.
    `contexts(slot)` are the features of the arms in that slot, shape (arms, features), which is
    seen before the pull; None if arms have none. `openings` says which arms are open in a slot;
    None if all always are.
    """

    rank: int
    neighbours: tuple[int, ...]
    noise: Noise
    secret: Callable[[Purpose], bytes]
    contexts: Callable[[int], FloatArray] | None = None
    openings: Openings | None = None

    def open(self, slot: int) -> BoolArray:
        """Which arms are open before the agent's pull number `slot`, from 0; shape (K,)."""
        return np.ones(self.arms, bool) if self.openings is None else self.openings(slot)


@dataclass(frozen=True, kw_only=True)
class CoordinatorContext(_Context):
    """What a coordinator's machine is built from.

    `on_missing`: what the run file says about the loss of an agent.
    """

    on_missing: OnMissing = "end"


def making(kind: Callable[..., Made], **given: Any) -> Callable[[_Context], Made]:
    """Makes a machine of this kind from its context; see `make`."""
    return lambda context: context.make(kind, **given)
