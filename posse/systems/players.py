"""Players that share arms and collide (Tossou and Dimitrakakis 2015)."""

from collections.abc import Callable
from functools import partial

from posse.agent.hybrid import HybridNodes, HybridSums
from posse.agent.players import (
    Counter,
    RandomPlayer,
    TdfsPlayer,
    Ucb,
    UcbPrivate,
    UcbPrivateBound,
)
from posse.agent.tree import HonakerSums, TreeSums
from posse.arms import LabMeans, known_means
from posse.arms.csv import CsvArms
from posse.claims import players as claims
from posse.coordinator.players import Medium
from posse.errors import SpecError
from posse.protocol.machine import AgentMachine, ServerMachine
from posse.protocol.players import (
    TO_MEDIUM,
    TO_PLAYER,
    PlayerParameters,
    PrivateTdfsParameters,
    TdfsParameters,
    one_sample,
)
from posse.results.players import PLAYERS
from posse.spec.runfile import RunSpec
from posse.systems.base import Field, Loss, System, UnitInterval, advise_deviation
from posse.systems.context import AgentContext, CoordinatorContext, making
from posse.systems.shapes import AgentRole, ServerRole, SharedArms
from posse.theory import players as theory
from posse.theory.bounds import undrawn

PAPER = "Tossou and Dimitrakakis 2015"


def _check(spec: RunSpec, parameters: PlayerParameters) -> None:
    players, arms = spec.agents.count, spec.arms.arm_count()
    if players > arms:
        raise SpecError(
            "agents.count", f"is {players}: more players than the {arms} arms they share; add arms"
        )
    if (known := known_means(spec.arms)) is not None and _differ(known):
        raise SpecError(
            "arms.means",
            "differ between players, but players share the arms; give one list of means",
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
            "names a file per agent, but players share the arms, from which the coordinator draws; "
            "give one file",
        )
    p = parameters
    if isinstance(p, PrivateTdfsParameters) and p.counter != "hybrid" and p.split != "half":
        raise SpecError(
            "parameters.split",
            f"is '{p.split}', which divides ε between the two parts of the hybrid mechanism, but "
            f"the counter '{p.counter}' has one part; delete it",
        )
    offsets = getattr(parameters, "offsets", "agreed")
    if not isinstance(offsets, str):
        _check_offsets(offsets, players)


def _differ(arms: LabMeans) -> bool:
    means = arms.means
    if isinstance(means, list):
        return isinstance(means[0], list) and any(row != means[0] for row in means)
    return means.differ


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


def _tdfs(context: AgentContext, index: Ucb) -> AgentMachine:
    p: TdfsParameters = context.parameters
    player = context.make(TdfsPlayer, players=context.agents, index=index)
    if p.offsets == "found":
        player.draws = context.draws
    else:
        agreed = range(1, context.agents + 1) if p.offsets == "agreed" else p.offsets
        player.offset = int(agreed[context.rank])
    return player


def _ucb(context: AgentContext) -> AgentMachine:
    return _tdfs(context, Ucb(context.arms))


def _private_bound(context: AgentContext) -> AgentMachine:
    sums = [_counter(context, 1) for _ in range(context.arms)]
    return _tdfs(context, context.make(UcbPrivateBound, sums=sums))


def _private(context: AgentContext) -> AgentMachine:
    return _tdfs(context, context.make(UcbPrivate, sums=_counter(context, context.arms)))


def _counter(context: AgentContext, streams: int) -> Counter:
    """A private counter for so many streams of rewards."""
    p: PrivateTdfsParameters = context.parameters
    kinds: dict[str, Callable[..., Counter]] = {
        "hybrid": HybridNodes if context.field else HybridSums,
        "tree": TreeSums,
        "honaker": HonakerSums,
    }
    return context.make(kinds[p.counter], streams=streams)


def _medium(context: CoordinatorContext) -> ServerMachine:
    shared = one_sample(context.parameters, field=context.field)
    winners = context.ties
    return context.make(Medium, players=context.agents, shared_sample=shared, winners=winners)


_MEDIUM = ServerRole(_medium, TO_MEDIUM)
_system = partial(
    System,
    clocks=("slots",),
    field=Field(),
    check=_check,
    results=PLAYERS,
    loss=Loss(
        "The others keep their turns, so that the arms of the missing stay free when it would have "
        "been theirs, and regret counts them as lost; what is claimed of the others' rewards holds."
    ),
)

SYSTEMS = (
    _system(
        name="tdfs-ucb",
        title="players take turns on the best arms, no privacy",
        paper=f"{PAPER}, section 3.1",
        parameters=TdfsParameters,
        shape=SharedArms(AgentRole(_ucb, TO_PLAYER), _MEDIUM),
        claim=claims.nothing,
        advise=advise_deviation,
        bound=undrawn("No bound is drawn: Theorem 6 is about the private forms."),
        one_form=True,
    ),
    _system(
        name="tdfs-private-bound",
        title="noisy sums, and a term for the noise in the index",
        paper=f"{PAPER}, Algorithm 1",
        parameters=PrivateTdfsParameters,
        shape=SharedArms(AgentRole(_private_bound, TO_PLAYER), _MEDIUM),
        bound=theory.with_bound,
        claim=claims.private_sums,
        unit_interval=UnitInterval(),
    ),
    _system(
        name="tdfs-private",
        title="noisy sums that all move in every slot",
        paper=f"{PAPER}, Algorithm 2",
        parameters=PrivateTdfsParameters,
        shape=SharedArms(AgentRole(_private, TO_PLAYER), _MEDIUM),
        bound=theory.without_bound,
        one_form=True,
        claim=claims.private_sums,
        unit_interval=UnitInterval(),
    ),
    _system(
        name="random-player",
        title="baseline: a uniform arm in each slot",
        paper=f"{PAPER}, section 4",
        parameters=PlayerParameters,
        shape=SharedArms(AgentRole(making(RandomPlayer), TO_PLAYER), _MEDIUM),
        bound=undrawn("No bound is drawn: a random player's regret grows with time for ever."),
        one_form=True,
        claim=claims.silence,
    ),
)
