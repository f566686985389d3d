"""Players that share arms and collide (Tossou and Dimitrakakis 2015)."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import msgspec
import numpy as np

from posse.seam.arms import CsvArms, LabMeans, known_means
from posse.seam.machines import AgentMachine, ServerMachine
from posse.seam.messages import FloatArray, Message
from posse.seam.noise import (
    TIMING,
    Claim,
    ClaimContext,
    HonakerSums,
    HybridNodes,
    HybridSums,
    OneReward,
    TreeSums,
    unprotected,
)
from posse.seam.results import (
    Bound,
    Detail,
    Estimate,
    Figure,
    Lines,
    NoBoundError,
    Results,
    RunRecord,
    Standing,
    positive,
    require_law,
    run_means,
    undrawn,
)
from posse.seam.steps import Stepped
from posse.seam.system import (
    AgentContext,
    AgentRole,
    CoordinatorContext,
    Field,
    Loss,
    MessageReader,
    Named,
    RunSpec,
    ServerRole,
    SharedArms,
    SpecError,
    System,
    UnitInterval,
    advise_deviation,
    making,
    read_fields,
)
from posse_systems.tossou2015.agent import (
    ContinualCounter,
    RandomPlayer,
    TdfsPlayer,
    Ucb,
    UcbPrivate,
    UcbPrivateBound,
)
from posse_systems.tossou2015.medium_steps import RandomSteps
from posse_systems.tossou2015.messages import (
    TO_MEDIUM,
    TO_PLAYER,
    CollisionsRow,
    DismissedRow,
    OffsetRow,
    PlayerParameters,
    PrivateTdfsParameters,
    RewardsRow,
    TdfsParameters,
    jain,
    one_sample,
)
from posse_systems.tossou2015.private_steps import UcbPrivateBoundSteps, UcbPrivateSteps
from posse_systems.tossou2015.server import Medium
from posse_systems.tossou2015.steps import TdfsSteps

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


def _make_tdfs(context: AgentContext, index: Ucb) -> AgentMachine:
    p: TdfsParameters = context.parameters
    player = context.make(TdfsPlayer, players=context.agents, index=index)
    if p.offsets == "found":
        player.draws = context.draws
    else:
        agreed = range(1, context.agents + 1) if p.offsets == "agreed" else p.offsets
        player.offset = int(agreed[context.rank])
    return player


def _make_ucb(context: AgentContext) -> AgentMachine:
    return _make_tdfs(context, Ucb(context.arms))


def _make_private_bound(context: AgentContext) -> AgentMachine:
    sums = [_make_counter(context, 1) for _ in range(context.arms)]
    return _make_tdfs(context, context.make(UcbPrivateBound, sums=sums))


def _make_private(context: AgentContext) -> AgentMachine:
    return _make_tdfs(context, context.make(UcbPrivate, sums=_make_counter(context, context.arms)))


def _make_counter(context: AgentContext, streams: int) -> ContinualCounter:
    """A private counter for this many streams of rewards."""
    p: PrivateTdfsParameters = context.parameters
    kinds: dict[str, Callable[..., ContinualCounter]] = {
        "hybrid": HybridNodes if context.field else HybridSums,
        "tree": TreeSums,
        "honaker": HonakerSums,
    }
    return context.make(kinds[p.counter], streams=streams)


def _make_medium(context: CoordinatorContext) -> ServerMachine:
    shared = one_sample(context.parameters, field=context.field)
    winners = context.ties
    return context.make(Medium, players=context.agents, shared_sample=shared, winners=winners)


_ALL = "whoever sees all choices and collisions"
_ARMS = "The coordinator keeps the arms, sees every reward and is trusted with them."

_TOSSOU = 1.0 + 1.0 / math.log(2.0)
"""The factor by which the authors' split overspends: it uses ε in both parts, and ln for log2."""

_PARTS = {
    "half": "A sample is in one number of the logarithmic mechanism and at most log2(T_0) nodes of "
    "the binary one, ε/2 each (Chan, Shi and Song 2011)",
    "tossou": "A sample is in one number of the logarithmic mechanism, which costs ε, and at most "
    "log2(T_0) nodes of scale ln(T_0)/ε",
    "tree": "A sample is in one node of each of the ⌊log2 T⌋ + 1 levels, of scale "
    "(⌊log2 T⌋ + 1)/ε (Chan, Shi and Song 2011, Algorithm 2; Honaker 2015)",
}

claim_nothing = unprotected(f"Choices follow raw rewards. {_ARMS}", "pulls")


def claim_silence(context: ClaimContext) -> Claim:
    """The random player."""
    return Claim(
        change=OneReward(),
        mechanism="silence",
        epsilon=0.0,
        adversary=_ALL,
        sees="pulls",
        note=_ARMS,
        proof="Choices do not depend on rewards.",
        uncovered=TIMING,
    )


def claim_private_sums(context: ClaimContext) -> Claim:
    """UCB-Private and UCB-Private-Bound.

    Against all choices the number is M ε if players that collide see one sample, because it then
    enters up to M players' sums (Corollary 3). It is ε if each player has a sample of its own.
    """
    p: PrivateTdfsParameters = context.parameters
    per_arm, formula, notes = p.epsilon, "", [_ARMS]
    parts = _PARTS["tree" if p.counter != "hybrid" else p.split]
    if p.split == "tossou":
        per_arm, formula = _TOSSOU * p.epsilon, "(1 + 1/ln 2) ε"
        notes.append(f"With this split the sums cost {_TOSSOU:.3f} ε, not the ε claimed.")
    number = per_arm
    if not one_sample(p, field=context.field):
        shown = "each sample is one player's, and players learn of the others' choices alone"
    else:
        shown = "a shared sample is in the sums of up to M players (Corollary 3)"
        number, formula = context.agents * per_arm, f"M {formula or 'ε'}"
        # by its collisions (offsets that are found), or by which samples of an arm are left
        notes.append(
            "One player's choices alone are no better protected: they depend on the choices of "
            "others, who may have seen the same sample."
        )
    return Claim(
        change=OneReward(),
        mechanism="hybrid" if p.counter == "hybrid" else "tree",
        epsilon=number,
        formula=formula,
        unit="the value of one sample, its arm and place fixed",
        adversary=_ALL,
        sees="pulls",
        holds=p.split == "half",
        note=" ".join(notes),
        proof=f"{parts}. Choices are functions of the noisy sums, over any horizon; {shown}.",
        uncovered=TIMING,
    )


Plays = Callable[[float, FloatArray], FloatArray]
"""τ^D for a gap Δ, up to each of the times t."""


def plays_with_bound(*, epsilon: float, players: int, as_printed: bool) -> Plays:
    """Lemma 4, for UCB-Private-Bound, at the best λ_0 in (0, 1):

        1 + max((8 log t / (Δ λ_0 ε))^2.25, 8 log t / (λ_0² Δ²)) / M + 2π² / (3 M²).

    The paper prints λ_0 in both terms, so the best is 1 (`as_printed`). Equation 24 of its proof
    gives 1 - λ_0 in the first term, which is used otherwise.
    """
    exponents = np.array([1.0]) if as_printed else np.linspace(0.01, 0.99, 99)
    rest = exponents if as_printed else 1 - exponents

    def plays(gap: float, t: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(t, 1.0))[..., None]
        noise = (8 * logs / (gap * rest * epsilon)) ** 2.25
        chance = 8 * logs / (exponents * gap) ** 2
        most: FloatArray = np.maximum(noise, chance).min(axis=-1)
        return 1 + most / players + 2 * np.pi**2 / (3 * players**2)

    return plays


def plays_without_bound(*, epsilon: float, players: int) -> Plays:
    """Lemma 7, for UCB-Private:

    1 + max(18 (7 + 4 sqrt 3) log⁴ t / ε², 8 log t / Δ²) / M + 4 (1 + log t) / M².
    """

    def plays(gap: float, t: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(t, 1.0))
        noise = 18 * (7 + 4 * np.sqrt(3)) / epsilon**2 * logs**4
        pulls: FloatArray = (
            1 + np.maximum(noise, 8 * logs / gap**2) / players + 4 * (1 + logs) / players**2
        )
        return pulls

    return plays


def fair_sharing_regret(
    means: FloatArray, t: FloatArray, *, players: int, plays: Plays
) -> FloatArray:
    """Theorem 6: M Σ_p Σ_{j <= p} Σ_{a: μ_a < μ_σ(j)} τ^D_{a,σ(j)} μ_σ(p), p and j from 1 to M."""
    order = np.sort(means)[::-1]
    t = np.asarray(t, dtype=float)
    total = np.zeros(t.shape)
    missed = np.zeros(t.shape)
    for p in range(players):
        for mean in order[order < order[p]]:
            missed = missed + plays(float(order[p] - mean), t)
        total = total + missed * order[p]
    return players * total


def bound_with_bound(spec: RunSpec, parameters: PrivateTdfsParameters, run: int) -> Bound:
    """Theorem 6 with the plays of Lemma 4."""
    plays = plays_with_bound(
        epsilon=parameters.epsilon,
        players=spec.agents.count,
        as_printed=spec.variant == "printed",
    )
    return _bound_fair_sharing(spec, parameters, run, plays, "Lemma 4")


def bound_without_bound(spec: RunSpec, parameters: PrivateTdfsParameters, run: int) -> Bound:
    """Theorem 6 with the plays of Lemma 7."""
    plays = plays_without_bound(epsilon=parameters.epsilon, players=spec.agents.count)
    return _bound_fair_sharing(spec, parameters, run, plays, "Lemma 7")


def _bound_fair_sharing(
    spec: RunSpec, parameters: PrivateTdfsParameters, run: int, plays: Plays, lemma: str
) -> Bound:
    require_law(spec)
    means = run_means(spec, run)
    if parameters.counter != "hybrid":
        raise NoBoundError("Theorem 6 is about the hybrid mechanism.")
    best = np.sort(means)[::-1][: spec.agents.count]
    if positive(-np.diff(best)).size + 1 < best.size:
        raise NoBoundError(
            f"two of the {best.size} best arms are level, so that players may rank them "
            "differently and collide for ever, which Theorem 6 does not count."
        )
    return Bound(
        label="Theorem 6",
        regret=lambda t: fair_sharing_regret(means, t, players=spec.agents.count, plays=plays),
        note=f"{PAPER}, Theorem 6 with the constants of {lemma}. It says something only where it "
        "is below T times the sum of the M largest means.",
    )


class Players(msgspec.Struct, kw_only=True):
    """Collisions, rewards and fairness; curves are [[slot, total or index so far], …].

    Rewards and what is computed from them are None in the field.
    """

    reward_per_player: list[float] | None = None
    jain_index: float | None = None
    collisions_per_player: list[int]
    collisions: int
    collision_curve: list[list[int | float]]
    fairness_curve: list[list[float | None]] | None = None


class PlayersDetail(Detail, omit_defaults=True):
    """`players` is None if no slot was played to its end."""

    players: Players | None = None

    seeks: ClassVar[str] = "nothing: players play to the end"

    def lines(self, run: RunRecord) -> Lines:
        """What players earned, how evenly, and how often they collided."""
        if self.players is None:
            return []
        collisions = ("collisions", f"{self.players.collisions:,}, all players together")
        if (earned := self.players.reward_per_player) is None:
            return [collisions]
        jain_index = self.players.jain_index
        fair = "" if jain_index is None else f"; Jain's index {jain_index:.3f} (1: all alike)"
        return [("rewards", f"{min(earned):,.0f} to {max(earned):,.0f} a player{fair}"), collisions]


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    collisions, rewards = CollisionsRow.select(record.log), RewardsRow.select(record.log)
    if not collisions:
        record.detail = PlayersDetail()
        return
    per_player = list(collisions[-1][1].player)
    players = Players(
        collisions_per_player=per_player,
        collisions=sum(per_player),
        collision_curve=[[slot, sum(row.player)] for slot, row in collisions],
    )
    if rewards:
        players.reward_per_player = list(rewards[-1][1].player)
        players.jain_index = jain(players.reward_per_player)
        players.fairness_curve = [[slot, jain(list(row.player))] for slot, row in rewards]
    record.detail = PlayersDetail(players)


def _show_progress(standing: Standing) -> Sequence[str]:
    rows = standing.log.get(CollisionsRow.table)
    met = [f"{sum(rows[-1][1:]):,.0f} collisions"] if rows else []
    return [standing.time(), *met]


def _collisions(run: RunRecord, arms: int) -> list[tuple[float, float]]:
    return [(slot, sum(row.player)) for slot, row in CollisionsRow.select(run.log)]


PLAYERS = Results(
    progress=_show_progress,
    log=(RewardsRow, CollisionsRow, DismissedRow, OffsetRow, Estimate),
    detail=PlayersDetail,
    complete=_complete,
    figures=(
        Figure(
            name="collisions",
            title="Collisions",
            style="line",
            values=_collisions,
            y="collisions so far",
        ),
    ),
)


class PlayersReader(MessageReader):
    """Other players do not see what a player got from the shared arms."""

    def view(self, message: Message) -> Named:
        return read_fields(message, without=("sample", "payoff"))


_MEDIUM = ServerRole(_make_medium, TO_MEDIUM)
_system = partial(
    System,
    clocks=("slots",),
    field=Field(),
    check=_check,
    results=PLAYERS,
    reader=PlayersReader,
    loss=Loss(
        "The others keep their turns, so that the arms of the missing stay free when it would have "
        "been theirs, and regret counts them as lost; what is claimed of the others' rewards holds."
    ),
)

TDFS_UCB = _system(
    name="tdfs-ucb",
    title="players take turns on the best arms, no privacy",
    paper=f"{PAPER}, section 3.1",
    parameters=TdfsParameters,
    shape=SharedArms(AgentRole(Stepped(_make_ucb, TdfsSteps), TO_PLAYER), _MEDIUM),
    claim=claim_nothing,
    advise=advise_deviation,
    bound=undrawn("No bound is drawn: Theorem 6 is about the private forms."),
    one_form=True,
)

TDFS_PRIVATE_BOUND = _system(
    name="tdfs-private-bound",
    title="noisy sums, and a term for the noise in the index",
    paper=f"{PAPER}, Algorithm 1",
    parameters=PrivateTdfsParameters,
    shape=SharedArms(
        AgentRole(Stepped(_make_private_bound, UcbPrivateBoundSteps), TO_PLAYER), _MEDIUM
    ),
    bound=bound_with_bound,
    claim=claim_private_sums,
    unit_interval=UnitInterval(),
)

TDFS_PRIVATE = _system(
    name="tdfs-private",
    title="noisy sums that all move in every slot",
    paper=f"{PAPER}, Algorithm 2",
    parameters=PrivateTdfsParameters,
    shape=SharedArms(AgentRole(Stepped(_make_private, UcbPrivateSteps), TO_PLAYER), _MEDIUM),
    bound=bound_without_bound,
    one_form=True,
    claim=claim_private_sums,
    unit_interval=UnitInterval(),
)

RANDOM_PLAYER = _system(
    name="random-player",
    title="baseline: a uniform arm in each slot",
    paper=f"{PAPER}, section 4",
    parameters=PlayerParameters,
    shape=SharedArms(AgentRole(Stepped(making(RandomPlayer), RandomSteps), TO_PLAYER), _MEDIUM),
    bound=undrawn("No bound is drawn: a random player's regret grows with time for ever."),
    one_form=True,
    claim=claim_silence,
)
