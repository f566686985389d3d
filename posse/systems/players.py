"""Players that share arms and collide (Tossou and Dimitrakakis 2015)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from agent.hybrid import HybridNodes, HybridSums
from agent.players import (
    Counter,
    Index,
    RandomPlayer,
    TdfsPlayer,
    Ucb,
    UcbPrivate,
    UcbPrivateBound,
)
from agent.tree import HonakerSums, TreeSums
from coordinator.players import Medium
from posse.arms import LabMeans
from posse.arms.csv import CsvArms
from posse.errors import SpecError
from posse.results.players import PLAYERS
from posse.seeds import Purpose
from posse.spec.runfile import RunSpec
from posse.systems.base import Field, System, UnitInterval
from posse.systems.context import AgentContext, CoordinatorContext
from posse.systems.shapes import AgentRole, ServerRole, SharedArms
from posse.theory.bounds import UNKNOWN_MEANS, Bound, run_means
from posse.theory.players import fair_sharing_regret, plays_with_bound, plays_without_bound
from protocol.machine import AgentMachine, ServerMachine
from protocol.players import (
    TO_MEDIUM,
    TO_PLAYER,
    PlayerParameters,
    PrivateTdfsParameters,
    TdfsParameters,
    Variant,
    deviation_factor,
    privacy_factor,
)
from protocol.privacy import Claim

PAPER = "Tossou and Dimitrakakis 2015"
_SHARE = 1.0 + 1.0 / float(np.log(2.0))


def _check(spec: RunSpec, parameters: PlayerParameters) -> None:
    players, arms = spec.agents.count, spec.arms.arm_count()
    if players > arms:
        raise SpecError(
            "agents.count", f"is {players}: more players than the {arms} arms they share; add arms"
        )
    if isinstance(spec.arms, LabMeans) and _differ(spec.arms):
        raise SpecError(
            "arms.means", "differ between players, who share the arms; give one list of means"
        )
    if parameters.deadline >= spec.engine.deadline:
        raise SpecError(
            "parameters.deadline",
            f"is {parameters.deadline:g} s and must be below engine.deadline "
            f"({spec.engine.deadline:g} s), which ends the run",
        )
    if isinstance(spec.arms, CsvArms) and "{rank}" in spec.arms.path:
        raise SpecError(
            "arms.path",
            "names a file per agent, but players share the arms, and the coordinator draws from "
            "them; give one file",
        )
    p = parameters
    if isinstance(p, PrivateTdfsParameters) and p.counter != "hybrid" and p.split != "half":
        raise SpecError(
            "parameters.split",
            f"is '{p.split}', which divides ε between the two parts of the hybrid mechanism; the "
            f"counter '{p.counter}' has one. Delete it",
        )
    offsets = getattr(parameters, "offsets", "agreed")
    if not isinstance(offsets, str):
        _check_offsets(offsets, players)


def _differ(arms: LabMeans) -> bool:
    means = arms.means
    if isinstance(means, list):
        return isinstance(means[0], list) and any(row != means[0] for row in means)
    return bool(means.spread)


def _check_offsets(offsets: tuple[int, ...], players: int) -> None:
    if len(offsets) != players:
        raise SpecError(
            "parameters.offsets", f"names {len(offsets)} for {players} players; name one each"
        )
    for i, offset in enumerate(offsets):
        if not 1 <= offset <= players:
            raise SpecError(
                f"parameters.offsets[{i}]", f"is {offset}; it must lie in 1 to {players}"
            )
        if offset in offsets[:i]:
            raise SpecError(
                f"parameters.offsets[{i}]",
                f"is {offset}, the offset of player {offsets.index(offset)} too; they would "
                "collide in every slot, so give each player its own",
            )


def _tdfs(context: AgentContext, index: Index) -> AgentMachine:
    p: TdfsParameters = context.parameters
    player = TdfsPlayer(context.agents, context.arms, p.horizon, index)
    if p.offsets == "found":
        player.draws = context.generator(Purpose.PROTOCOL)
    else:
        agreed = range(1, context.agents + 1) if p.offsets == "agreed" else p.offsets
        player.offset = int(agreed[context.rank])
    return player


def _ucb(context: AgentContext) -> AgentMachine:
    return _tdfs(context, Ucb(context.arms))


def _private_bound(context: AgentContext) -> AgentMachine:
    p: PrivateTdfsParameters = context.parameters

    def factor(counter: Counter) -> float:
        if p.counter == "hybrid":
            return privacy_factor(counter.t, context.variant)
        return deviation_factor(counter.deviation, p.epsilon, counter.t)

    index = UcbPrivateBound(context.arms, p.epsilon, partial(_counter, context), factor)
    return _tdfs(context, index)


def _private(context: AgentContext) -> AgentMachine:
    return _tdfs(context, UcbPrivate(context.arms, partial(_counter, context)))


def _counter(context: AgentContext, streams: int) -> Counter:
    """Private sums of so many streams of rewards."""
    p: PrivateTdfsParameters = context.parameters
    match p.counter:
        case "hybrid":
            hybrid = HybridNodes if context.field else HybridSums
            return hybrid(streams, p.epsilon, p.split, context.noise)
        case "tree":
            return TreeSums(streams, p.epsilon, p.horizon, context.noise)
        case "honaker":
            return HonakerSums(streams, p.epsilon, p.horizon, context.noise)


def _random(context: AgentContext) -> AgentMachine:
    p: PlayerParameters = context.parameters
    return RandomPlayer(context.arms, p.horizon, context.generator(Purpose.PROTOCOL))


def _medium(context: CoordinatorContext) -> ServerMachine:
    p: PlayerParameters = context.parameters
    return Medium(
        context.arms,
        context.agents,
        p.horizon,
        p.collision,
        p.shared_sample,
        p.deadline,
        p.on_missing,
        context.generator(Purpose.TIES),
    )


def _no_claim(parameters: PlayerParameters, variant: Variant) -> Claim:
    return Claim(mechanism="none", note="Nothing is claimed.")


def _silent_claim(parameters: PlayerParameters, variant: Variant) -> Claim:
    return Claim(
        mechanism="silence",
        epsilon=0.0,
        adversary="whoever sees all choices and collisions",
        note="Choices do not depend on rewards.",
    )


def _hybrid_claim(parameters: PrivateTdfsParameters, variant: Variant) -> Claim:
    notes = [
        "For one player's choices over any horizon. The coordinator keeps the arms, sees every "
        "reward and is trusted with them."
    ]
    if parameters.offsets == "found":
        notes.append(
            "For its choices given the collisions: offsets found by collisions depend on "
            "the other players' choices."
        )
    elif parameters.shared_sample:
        notes.append(
            "For the choices of all M players together M ε, since players that collide see the "
            "same sample."
        )
    else:
        notes.append(
            "For the choices of all players together as well: each reward is one player's, and "
            "players do not react to each other."
        )
    if parameters.split == "tossou":
        notes.append(
            f"With this split the sums cost {_SHARE:.3f} ε = {_SHARE * parameters.epsilon:.3g}, "
            "not the ε claimed."
        )
    return Claim(
        mechanism="hybrid",
        epsilon=parameters.epsilon,
        unit="one reward of one player",
        adversary="whoever sees all choices and collisions",
        holds=parameters.split == "half",
        note=" ".join(notes),
    )


def _bound_open(spec: RunSpec, parameters: PlayerParameters, run: int) -> Bound:
    return Bound(note="No bound is drawn: Theorem 6 is about the private forms.")


def _bound_private(spec: RunSpec, parameters: PrivateTdfsParameters, run: int) -> Bound:
    """Theorem 6, with the plays of Lemma 4 or of Lemma 7."""
    p, players, means = parameters, spec.agents.count, run_means(spec, run)
    if means is None:
        return UNKNOWN_MEANS
    if p.counter != "hybrid":
        return Bound(note="No bound is drawn: Theorem 6 is about the hybrid mechanism.")
    if spec.system == "tdfs-private":
        lemma, plays = "Lemma 7", plays_without_bound(epsilon=p.epsilon, players=players)
    else:
        printed = spec.variant == "printed"
        lemma = "Lemma 4"
        plays = plays_with_bound(epsilon=p.epsilon, players=players, as_printed=printed)
    return Bound(
        label="Theorem 6",
        regret=lambda t: fair_sharing_regret(means, t, players=players, plays=plays),
        note=f"{PAPER}, Theorem 6 with the constants of {lemma}. It says something only where it "
        "is below T times the sum of the M largest means.",
    )


def _bound_random(spec: RunSpec, parameters: PlayerParameters, run: int) -> Bound:
    return Bound(note="No bound is drawn: a random player's regret grows with time for ever.")


def _system(
    name: str,
    title: str,
    parameters: type[PlayerParameters],
    agent: Callable[[AgentContext], AgentMachine],
    **given: Any,
) -> System:
    return System(
        name=name,
        title=title,
        paper=PAPER,
        parameters=parameters,
        clocks=("slots",),
        shape=SharedArms(
            AgentRole(agent, TO_PLAYER), ServerRole(_medium, TO_MEDIUM, outlives_agents=True)
        ),
        field=Field(),
        check=_check,
        results=PLAYERS,
        **given,
    )


SYSTEMS = {
    system.name: system
    for system in (
        _system(
            "tdfs-ucb",
            "players take turns on the best arms, no privacy",
            TdfsParameters,
            _ucb,
            claim=_no_claim,
            bound=_bound_open,
            one_form=True,
        ),
        _system(
            "tdfs-private-bound",
            "noisy sums, and a term for the noise in the index",
            PrivateTdfsParameters,
            _private_bound,
            bound=_bound_private,
            claim=_hybrid_claim,
            unit_interval=UnitInterval(),
        ),
        _system(
            "tdfs-private",
            "noisy sums that all move in every slot",
            PrivateTdfsParameters,
            _private,
            bound=_bound_private,
            one_form=True,
            claim=_hybrid_claim,
            unit_interval=UnitInterval(),
        ),
        _system(
            "random-player",
            "baseline: a uniform arm in each slot",
            PlayerParameters,
            _random,
            bound=_bound_random,
            one_form=True,
            claim=_silent_claim,
        ),
    )
}
