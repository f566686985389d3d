"""Systems in which some agents tell half of their neighbours one story and half another.

`system = "posse_arena.equivocators:of.private-ucb"` is `private-ucb` in which the last agents, an
eighth, equivocate: each plays its role twice. One machine has the agent's own rewards and speaks to
the first half of its neighbours; the other is told 0 of the best arm and 1 of all others, and
speaks to the rest. So an equivocator says nothing that an honest agent might not say, and no
message by itself gives it away.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posse import SpecError
from posse.experiments import find_system
from posse.extend import (
    COORDINATOR,
    AgentContext,
    AgentEffects,
    AgentEvent,
    Broadcast,
    Finish,
    Mesh,
    MeshWithServer,
    Network,
    Pull,
    Pulled,
    Received,
    RemoteProtocolError,
    RunSpec,
    Send,
    System,
)
from posse_arena.problems import liars

_BEST = "posse_arena.best"


@dataclass
class TwoFaced:
    """An agent that plays its role twice; `honest` are the neighbours that hear the true one."""

    truth: Any
    lie: Any
    honest: frozenset[int]
    others: frozenset[int]
    best: int
    ended: bool = False

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        effects = self._said(self.truth.handle(event, now), self.honest)
        if not self.ended and not isinstance(event, Pulled):
            effects += self._lied(event, now)
        return effects

    def _lied(self, event: AgentEvent, now: float) -> list[Any]:
        """What the lying machine sends; its orders are carried out at once, by invented rewards."""
        try:
            done = list(self.lie.handle(event, now))
        except RemoteProtocolError:
            if isinstance(event, Received):
                return []
            raise
        messages = (
            one for one in done if isinstance(one, Broadcast | Send) and not _to_server(one)
        )
        effects = self._said(messages, self.others)
        self.ended = any(isinstance(one, Finish) for one in done)
        for order in done:
            if isinstance(order, Pull):
                sums = np.array([float(arm != self.best) for arm in order.arms]) * order.times
                effects += self._lied(Pulled(order.arms, order.times, sums), now)
        return effects

    def _said(self, effects: Iterable[Any], to: frozenset[int]) -> list[Any]:
        """The same effects, except that neighbours other than these hear nothing."""
        said: list[Any] = []
        for effect in effects:
            if isinstance(effect, Broadcast):
                said += [Send(neighbour, effect.message) for neighbour in sorted(to)]
            elif not isinstance(effect, Send) or effect.to in to or _to_server(effect):
                said.append(effect)
        return said


def _to_server(effect: Any) -> bool:
    return isinstance(effect, Send) and effect.to == COORDINATOR


def two_faced(system: System) -> System:
    """The same system with equivocators; `SpecError` if its agents have no neighbours."""
    shape = system.shape
    if not isinstance(shape, Mesh | MeshWithServer):
        raise SpecError(
            "system", f"{system.name} has no neighbours to whom agents might equivocate"
        )
    wiring, make = shape.wiring, shape.agent.make

    def network(spec: RunSpec, parameters: Any, run: int) -> Network:
        laid = wiring.network(spec, parameters, run)
        best = int(np.atleast_2d(np.array(spec.arms.means)).mean(axis=0).argmax())  # type: ignore[union-attr]
        for knowledge in laid.knowledge[-liars(spec.agents.count) :]:
            knowledge[_BEST] = best
        return laid

    def made(context: AgentContext) -> Any:
        truth = make(context)
        if _BEST not in context.knowledge:
            return truth
        half = (len(context.neighbours) + 1) // 2
        return TwoFaced(
            truth,
            make(context),
            frozenset(context.neighbours[:half]),
            frozenset(context.neighbours[half:]),
            context.knowledge[_BEST],
        )

    # liars are told the best arm besides, which the system's own type would refuse
    wired = replace(wiring, network=network, broadcasts=False, told=dict[str, Any])
    lying = replace(shape, agent=replace(shape.agent, make=made), wiring=wired)
    return replace(system, shape=lying)


class _Of:
    """Systems by their names as attributes; one of `posse_arena.module:NAME` takes several."""

    def __init__(self, said: tuple[str, ...] = ()) -> None:
        self._said = said

    def __getattr__(self, part: str) -> Any:
        said = (*self._said, part)
        return two_faced(find_system(".".join(said), [])) if _ends(said) else _Of(said)


def _ends(said: tuple[str, ...]) -> bool:
    """Whether a name is whole."""
    return ":" in said[-1] or (len(said) == 1 and said[0] != "posse_arena")


of = _Of()
