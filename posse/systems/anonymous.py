"""Anonymous bandits (Esfandiari, Mirrokni and Schneider 2022) and its yardstick."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from posse.agent.anonymous import AnonymousPlayer, Earnings, ParallelUcb
from posse.agent.masking import Masker
from posse.claims import anonymous as claims
from posse.claims.base import silence
from posse.coordinator.anonymous import AnonymousServer
from posse.coordinator.decomposition import blocks
from posse.coordinator.learners import (
    BatchedElimination,
    ExploreThenCommit,
    Learner,
    effective_horizon,
)
from posse.errors import SpecError
from posse.protocol.anonymous import (
    TO_AGENT,
    TO_COORDINATOR,
    AnonymousParameters,
    ExploreThenCommitParameters,
    ParallelUcbParameters,
    batches,
    grid,
    largest_sum,
    schedule_length,
    sweeps,
)
from posse.protocol.machine import AgentMachine, ServerMachine
from posse.protocol.masking import WORD_BITS
from posse.results.anonymous import ANONYMOUS, PARALLEL
from posse.seeds import Purpose
from posse.spec.runfile import RunSpec
from posse.systems.base import ALONE, Field, Loss, System, UnitInterval, advise_deviation
from posse.systems.context import AgentContext, CoordinatorContext
from posse.systems.shapes import AgentRole, Alone, ServerRole, Star
from posse.theory import anonymous as theory

PAPER = "Esfandiari et al. 2022"


def _ratio(parameters: AnonymousParameters, users: int, arms: int) -> int:
    """α of the first batch, in which every arm is alive for every user."""
    match parameters.decomposition:
        case "greedy":
            return arms
        case "random":
            return 1
        case "lp":
            alive = np.ones((users, arms), dtype=bool)
            return max(len(blocks(alive, parameters.group_size, parameters.cluster_size)), 1)


def _horizon(parameters: AnonymousParameters, users: int, arms: int) -> float:
    ratio = _ratio(parameters, users, arms)
    return effective_horizon(parameters.horizon, ratio, parameters.group_size)


def _check_groups(
    spec: RunSpec, parameters: AnonymousParameters | ExploreThenCommitParameters
) -> None:
    users, size, p = spec.agents.count, parameters.group_size, parameters
    if users < size + 1:
        raise SpecError(
            "agents.count",
            f"is {users}: with fewer than C + 1 = {size + 1} users an observation of C users says "
            "nothing about any one of them, so no algorithm can learn; use more agents or lower "
            "parameters.group_size",
        )
    copies = p.horizon // schedule_length(size) + 1
    largest = largest_sum(size, copies, p.precision)
    if largest >> WORD_BITS:
        raise SpecError(
            "parameters.precision",
            f"is {p.precision}: {2 * size + 1} users with rewards up to 1 over {copies} copies of "
            f"an assignment can add up to 2^{math.log2(largest):.1f}, beyond the {WORD_BITS} bits "
            f"of a sum; use at most {p.precision - (largest >> WORD_BITS).bit_length()}",
        )


def _check_anonymous(spec: RunSpec, parameters: AnonymousParameters) -> None:
    _check_groups(spec, parameters)
    p, users, arms = parameters, spec.agents.count, spec.arms.arm_count()
    if p.cluster_size is not None and not p.group_size + 1 <= p.cluster_size <= users:
        raise SpecError(
            "parameters.cluster_size",
            f"is {p.cluster_size}; a cluster has at least C + 1 = {p.group_size + 1} users, and at "
            f"most all {users}; delete it if it is not known",
        )
    horizon = _horizon(p, users, arms)
    if batches(horizon) < 2:
        cost = _ratio(p, users, arms) * schedule_length(p.group_size)
        raise SpecError(
            "parameters.horizon",
            f"is {p.horizon}: no batch fits into it; use at least {4 * cost + 1}",
        )


def _check_sweeps(spec: RunSpec, parameters: ExploreThenCommitParameters) -> None:
    _check_groups(spec, parameters)
    sweep = spec.arms.arm_count() * schedule_length(parameters.group_size)
    if parameters.horizon < sweep:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but a single sweep lasts {sweep} rounds",
        )


def _advise_anonymous(spec: RunSpec, parameters: AnonymousParameters) -> list[str]:
    p, users, arms = parameters, spec.agents.count, spec.arms.arm_count()
    horizon = _horizon(p, users, arms)
    per_pair = grid(horizon)[-2] / arms
    width = p.learning_rate * (4 * p.group_size + 1) * math.log(horizon * arms * users)
    if width > per_pair:
        return [
            f"parameters.learning_rate = {p.learning_rate}: even a gap of 1 needs "
            f"{np.ceil(width):,.0f} estimates per user and arm before an arm is dropped, and the "
            f"horizon has room for {np.floor(per_pair):,.0f}; nothing will be eliminated"
        ]
    return []


def _player(context: AgentContext) -> AgentMachine:
    private = context.secret(Purpose.PROTOCOL)
    masker = context.make(Masker, private=private, signer=context.signer)
    return context.make(AnonymousPlayer, masker=masker, earnings=context.make(Earnings))


def _ucb(context: AgentContext) -> AgentMachine:
    return context.make(ParallelUcb, earnings=context.make(Earnings))


def _server(
    context: CoordinatorContext, kind: Callable[..., Learner], **given: Any
) -> ServerMachine:
    learner = context.make(kind, users=context.agents, generator=context.draws, **given)
    return context.make(AnonymousServer, learner=learner, signer=context.signer)


def _eliminator(context: CoordinatorContext) -> ServerMachine:
    p: AnonymousParameters = context.parameters
    horizon = _horizon(p, context.agents, context.arms)
    return _server(context, BatchedElimination, horizon=horizon, rate=p.learning_rate)


def _explorer(context: CoordinatorContext) -> ServerMachine:
    p: ExploreThenCommitParameters = context.parameters
    count = sweeps(p.horizon, context.arms, context.agents, p.group_size, p.learning_rate)
    return _server(context, ExploreThenCommit, sweeps=count)


_PLAYER = AgentRole(_player, TO_AGENT, signs=True)
_system = partial(System, clocks=("slots", "wall"))
_over_groups = partial(
    _system,
    field=Field(),
    claim=claims.sums_over_groups,
    unit_interval=UnitInterval(),
    results=ANONYMOUS,
    loss=Loss(
        "Groups of the missing were formed anew among the others, with new masks and new rewards; "
        "no sum covers fewer users than claimed.",
        "continue",
    ),
)

SYSTEMS = (
    _over_groups(
        name="anonymous",
        title="batched elimination per user from sums over groups",
        paper=f"{PAPER}, Algorithm 1",
        parameters=AnonymousParameters,
        shape=Star(_PLAYER, ServerRole(_eliminator, TO_COORDINATOR), regret_against="own"),
        check=_check_anonymous,
        advise=_advise_anonymous,
        bound=theory.BATCHED,
    ),
    _over_groups(
        name="explore-then-commit",
        title="sweeps of sums over groups, then every user's best arm",
        paper=f"{PAPER}, Algorithm 2",
        parameters=ExploreThenCommitParameters,
        shape=Star(_PLAYER, ServerRole(_explorer, TO_COORDINATOR), regret_against="own"),
        one_form=True,
        check=_check_sweeps,
        bound=theory.EXPLORING,
    ),
    _system(
        name="parallel-ucb",
        title="yardstick: UCB1 for every user, without anonymity",
        paper=f"{PAPER}, Appendix B",
        parameters=ParallelUcbParameters,
        shape=Alone(_ucb, regret_against="own"),
        field=Field("bare"),
        claim=silence,
        one_form=True,
        advise=advise_deviation,
        bound=theory.each_alone,
        results=PARALLEL,
        loss=ALONE,
    ),
)
