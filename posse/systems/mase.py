"""Best-arm identification with private communications (Rio et al. 2023) and its baselines."""

import math
from functools import partial

import numpy as np

from posse.agent.mase import DpMaseVoter, MaseVoter, RawSender
from posse.arms import known_means
from posse.arms.base import RandomMeans
from posse.claims import mase as claims
from posse.coordinator.mase import CentralEliminator, MaseTally
from posse.errors import SpecError
from posse.protocol.machine import AgentMachine, ServerMachine
from posse.protocol.mase import (
    TO_AGENT,
    BaselineParameters,
    CorruptedParameters,
    DpMaseParameters,
    Eliminated,
    MaseParameters,
    Sample,
    Vote,
    local_failure,
    votes_to_remove,
)
from posse.results.mase import CENTRAL, INDEPENDENT, VOTES
from posse.spec.runfile import RunSpec
from posse.systems.base import ALONE, Field, LabOnly, Loss, System, UnitInterval, advise_deviation
from posse.systems.context import AgentContext, CoordinatorContext, making
from posse.systems.shapes import AgentRole, Alone, ServerRole, Star
from posse.theory import mase as theory
from posse.theory.bounds import run_means

PAPER = "Rio et al. 2023"


def _check_votes(spec: RunSpec, parameters: MaseParameters | CorruptedParameters) -> None:
    arms, agents = spec.arms.arm_count(), spec.agents.count
    if isinstance(parameters, CorruptedParameters):
        eta_xi = local_failure(parameters, arms, spec.variant)
        if eta_xi <= 0:
            raise SpecError(
                "parameters.xi",
                f"is {parameters.xi}: with eta = {parameters.eta} and {arms} arms the printed "
                f"local test never eliminates (eta_xi = {eta_xi:.3g}); lower xi or use "
                'variant = "corrected"',
            )
    needed = votes_to_remove(parameters, arms, spec.variant)
    if agents < needed:
        raise SpecError(
            "agents.count",
            f"is {agents}, but an arm needs {needed} votes to leave; use at least {needed} agents",
        )


def _advise(spec: RunSpec, parameters: BaselineParameters) -> list[str]:
    said, known = advise_deviation(spec, parameters), known_means(spec.arms)
    if known is None or isinstance(known.means, RandomMeans):
        return said
    means = run_means(spec, 0)
    best = means.max()
    ties = np.count_nonzero(means == best)
    if ties == 1:
        return said
    return [
        *said,
        f"arms.means: {ties} arms share the best mean, {best:.4g}: the run may never end, or names "
        "any of them; make one arm the best",
    ]


def _advise_corrupted(spec: RunSpec, parameters: CorruptedParameters) -> list[str]:
    said = _advise(spec, parameters)
    agents, xi = spec.agents.count, parameters.xi
    needed = votes_to_remove(parameters, spec.arms.arm_count(), spec.variant)
    if xi and agents * (1 - xi) < needed + 2 * math.sqrt(agents * xi * (1 - xi)):
        said.append(
            f"parameters.xi = {xi}: so many votes are withheld that {agents} agents may not reach "
            f"{needed}; the run may end as no_consensus"
        )
    return said


def _voter(context: AgentContext) -> AgentMachine:
    p = context.parameters
    failure = local_failure(p, context.arms, context.variant)
    eager = not (isinstance(p, CorruptedParameters) and context.variant == "printed")
    return context.make(MaseVoter, failure=failure, xi=getattr(p, "xi", 0.0), eager=eager)


def _lone_voter(context: AgentContext) -> AgentMachine:
    return context.make(MaseVoter, failure=context.parameters.delta, votes=False)


def _tally(context: CoordinatorContext) -> ServerMachine:
    needed = votes_to_remove(context.parameters, context.arms, context.variant)
    return context.make(MaseTally, needed=needed)


_system = partial(System, clocks=("virtual", "wall"), advise=_advise)
_votes = partial(
    _system,
    check=_check_votes,
    bound=theory.votes,
    results=VOTES,
    loss=Loss(
        "No arm leaves by fewer votes than without a loss, and what the missing voted counts: the "
        "answer holds as claimed.",
        "continue",
    ),
)

SYSTEMS = (
    _votes(
        name="mase",
        title="votes of successive eliminations, no privacy",
        paper=f"{PAPER}, Algorithm 1",
        parameters=MaseParameters,
        shape=Star(AgentRole(_voter, TO_AGENT), ServerRole(_tally, (Vote,))),
        field=Field(),
        claim=claims.nothing,
    ),
    _votes(
        name="dp-mase",
        title="votes of differentially private successive eliminations",
        paper=f"{PAPER}, Algorithm 2",
        parameters=DpMaseParameters,
        shape=Star(AgentRole(making(DpMaseVoter), TO_AGENT), ServerRole(_tally, (Vote,))),
        field=Field(),
        claim=claims.private_votes,
        unit_interval=UnitInterval(unless_printed=True),
    ),
    _votes(
        name="corrupted-elimination",
        title="votes withheld at random (xi = 0 is Féraud's)",
        paper=f"{PAPER}, Algorithm 3",
        parameters=CorruptedParameters,
        shape=Star(AgentRole(_voter, TO_AGENT), ServerRole(_tally, (Vote,))),
        field=Field("nothing"),
        claim=claims.withheld_votes,
        advise=_advise_corrupted,
    ),
    _system(
        name="central",
        title="baseline: every raw reward goes to the coordinator",
        paper=f"{PAPER}, section 6",
        parameters=BaselineParameters,
        shape=Star(
            AgentRole(making(RawSender), (Eliminated,)),
            ServerRole(making(CentralEliminator), (Sample,)),
        ),
        field=Field(),
        claim=claims.raw_rewards,
        one_form=True,
        bound=theory.central,
        results=CENTRAL,
        loss=Loss(
            "The samples that the missing sent count: the answer holds as claimed.", "continue"
        ),
    ),
    _system(
        name="independent",
        title="baseline: every agent alone",
        paper=f"{PAPER}, section 6",
        parameters=BaselineParameters,
        shape=Alone(_lone_voter),
        field=LabOnly(
            "sends nothing, and its end alone would reveal something of an agent's rewards"
        ),
        claim=claims.silence,
        one_form=True,
        bound=theory.independent,
        results=INDEPENDENT,
        loss=ALONE,
    ),
)
