"""Best-arm identification with private communications (Rio et al. 2023) and its baselines."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from posse.seam.arms import RandomMeans, known_means
from posse.seam.machines import AgentMachine, ServerMachine
from posse.seam.noise import (
    ALL_MESSAGES,
    TIMING,
    Claim,
    ClaimContext,
    Losses,
    Neighbours,
    released,
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
    counted,
    positive,
    run_means,
    shared_gaps,
)
from posse.seam.steps import Stepped
from posse.seam.system import (
    ALONE,
    AgentContext,
    AgentRole,
    Alone,
    CoordinatorContext,
    Field,
    LabOnly,
    Loss,
    RunSpec,
    ServerRole,
    SpecError,
    Star,
    System,
    UnitInterval,
    advise_deviation,
    making,
)
from posse_systems.rio2023.agent import DpMaseVoter, MaseVoter, RawSender
from posse_systems.rio2023.mase_steps import MaseStep
from posse_systems.rio2023.messages import (
    TO_AGENT,
    BaselineParameters,
    CorruptedParameters,
    DpMaseParameters,
    Eliminated,
    EliminationRow,
    MaseParameters,
    Sample,
    Vote,
    VoteRow,
    epoch_length,
    epoch_radius,
    local_failure,
    successive_elimination_radius,
    votes_to_remove,
)
from posse_systems.rio2023.server import CentralEliminator, MaseTally
from posse_systems.rio2023.steps import DpMaseStep

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
    advice, known = advise_deviation(spec, parameters), known_means(spec.arms)
    if known is None or isinstance(known.means, RandomMeans):
        return advice
    means = run_means(spec, 0)
    best = means.max()
    ties = np.count_nonzero(means == best)
    if ties == 1:
        return advice
    return [
        *advice,
        f"arms.means: {ties} arms share the best mean, {best:.4g}: the run may never end, or names "
        "any of them; make one arm the best",
    ]


def _advise_corrupted(spec: RunSpec, parameters: CorruptedParameters) -> list[str]:
    advice = _advise(spec, parameters)
    agents, xi = spec.agents.count, parameters.xi
    needed = votes_to_remove(parameters, spec.arms.arm_count(), spec.variant)
    if xi and agents * (1 - xi) < needed + 2 * math.sqrt(agents * xi * (1 - xi)):
        advice.append(
            f"parameters.xi = {xi}: so many votes are withheld that {agents} agents may not reach "
            f"{needed}; the run may end as no_consensus"
        )
    return advice


def _make_voter(context: AgentContext) -> AgentMachine:
    p = context.parameters
    failure = local_failure(p, context.arms, context.variant)
    eager = not (isinstance(p, CorruptedParameters) and context.variant == "printed")
    return context.make(MaseVoter, failure=failure, xi=getattr(p, "xi", 0.0), eager=eager)


def _make_lone_voter(context: AgentContext) -> AgentMachine:
    return context.make(MaseVoter, failure=context.parameters.delta, votes=False)


def _make_tally(context: CoordinatorContext) -> ServerMachine:
    needed = votes_to_remove(context.parameters, context.arms, context.variant)
    return context.make(MaseTally, needed=needed)


claim_nothing = unprotected("Votes follow raw rewards.")

claim_raw_rewards = unprotected("Every raw reward is sent.")

claim_silence = unprotected(
    "No agent sends anything before its end, which tells of its rewards, as does the arm it found; "
    "whoever sees its pulls learns more."
)


def claim_private_votes(context: ClaimContext) -> Claim:
    """DP-MASE."""
    p: DpMaseParameters = context.parameters
    pulls = epoch_length(context.arms, 1, p.beta, p.epsilon)
    # arm 0's lead misses the first epoch's vote by two scales of the noise
    lead = 2 * epoch_radius(context.arms, 1, p.beta, p.epsilon, pulls) - 2 / (p.epsilon * pulls)
    return released(
        epsilon=p.epsilon,
        losses=Losses(laplace=((p.epsilon, 1),)),
        adversary=ALL_MESSAGES,
        proof="A reward is in the window of one epoch, whose mean it moves by at most 1/R and "
        "which is noised once, by Lap(1/(ε R)). Windows are disjoint. Votes, the lengths of epochs "
        "and the end are functions of noisy means and of votes (Rio et al. 2023, Proposition 4.1).",
        uncovered=f"the pulls themselves; which agent is active; {TIMING}",
        worst=(Neighbours(levels=(lead - 1 / pulls, 0.0)),),
    )


def claim_withheld_votes(context: ClaimContext) -> Claim:
    """Corrupted Elimination."""
    p: CorruptedParameters = context.parameters
    return Claim(
        mechanism="randomized-response",
        unit="the best arm",
        adversary="whoever reads one agent's votes",
        sees="agent",
        guess=1 - p.eta,
        holds=False,
        note=(
            f"Claimed: such an adversary names the best arm with probability at most "
            f"{1 - p.eta:.3g}. The proof bounds the adversary by a guarantee made for "
            "the agent and ignores guessing among the arms without a vote."
        ),
        uncovered="every reward: no differential privacy is claimed; what several "
        "agents' votes tell together",
    )


def samples_of_elimination(gap: float, arms: int, failure: float) -> int:
    """T_η: samples of each arm after which successive elimination has dropped an arm of gap Δ.

    The least t from which on 4 sqrt(log(K t²/η) / t) <= Δ. If every estimate is within one radius
    of its mean, estimates of arms whose means differ by Δ then differ by at least two radii.
    """

    def wide(t: int) -> bool:
        return 4 * float(successive_elimination_radius(float(t), arms, failure)) > gap

    # the radius grows only below t = e sqrt(η/K), before any arm can leave
    high = 4
    while wide(high):
        high *= 2
    first = high // 2 + 1
    return first + bisect_left(range(first, high), True, key=lambda t: not wide(t))


def samples_of_epochs(gap: float, arms: int, beta: float, epsilon: float) -> int:
    """T_β: activations after which an agent of DP-MASE has dropped an arm of gap Δ.

    Σ_e R(e, K) up to e = ⌊log2(1/Δ)⌋ + 1. R makes both radii at most Δ_e / 8, so an arm leaves in
    the first epoch with Δ_e = 2^-e < Δ (a gap above 1 in epoch 1). Rio et al. 2023, Proposition 4.3
    before its O(.).
    """
    last = max(1, math.floor(math.log2(1 / gap) + 1e-9) + 1)
    return sum(epoch_length(arms, epoch, beta, epsilon) for epoch in range(1, last + 1))


def rounds_of_votes(samples: int, agents: int, votes: int, confidence: float) -> float:
    """Rounds after which M given agents of N have each been active T_η times, with probability a.

    N P^-1(T_η, a^(1/M)), with P the regularised lower incomplete gamma function, because the
    activations of equally active agents are Poisson processes of rate 1/N. Rio et al. 2023,
    Proposition 5.3.
    """
    from scipy.special import gammaincinv  # noqa: PLC0415

    return agents * float(gammaincinv(samples, confidence ** (1 / votes)))


_PROOF = (
    "The constants are those of the proof; {name} itself is an O(.). It takes every agent's test "
    "to be right, and the votes of {votes} given agents, where any {votes} would do."
)


def _smallest_gap(spec: RunSpec, run: int) -> float:
    gaps = shared_gaps(spec, run)
    worse = positive(gaps)
    if ties := gaps.size - worse.size - 1:
        raise NoBoundError(
            f"{ties + 1} arms share the best mean, so that none need ever be found to be the best."
        )
    return float(worse.min())


def bound_votes(spec: RunSpec, parameters: MaseParameters | CorruptedParameters, run: int) -> Bound:
    """Rounds of all agents (Proposition 5.3) for one agent's activations (4.3's or Féraud's)."""
    p, arms = parameters, spec.arms.arm_count()
    gap = _smallest_gap(spec, run)
    if len(set(spec.agents.activity.rates(spec.agents.count))) > 1:
        raise NoBoundError("Proposition 5.3 is about equally active agents.")
    if isinstance(p, CorruptedParameters) and p.xi:
        raise NoBoundError(
            "the proof of Proposition 5.3 does not account for the votes that are withheld."
        )
    failure, votes = local_failure(p, arms, spec.variant), votes_to_remove(p, arms, spec.variant)
    if isinstance(p, DpMaseParameters):
        samples, name = samples_of_epochs(gap, arms, p.beta, p.epsilon), "Proposition 4.3"
    else:
        samples, name = samples_of_elimination(gap, arms, failure), "Proposition 5.3"
    return Bound(
        label=f"{name}: {1 - p.delta:.0%} of runs have ended",
        rounds=rounds_of_votes(samples, spec.agents.count, votes, 1 - p.delta),
        note=_PROOF.format(name=name, votes=votes),
    )


def bound_central(spec: RunSpec, parameters: BaselineParameters, run: int) -> Bound:
    """Rounds of successive elimination on the rewards of all agents."""
    gap = _smallest_gap(spec, run)
    samples = samples_of_elimination(gap, spec.arms.arm_count(), parameters.delta)
    return Bound(
        label=f"successive elimination: {1 - parameters.delta:.0%} of runs have ended",
        rounds=float(samples),
        note="Even-Dar, Mannor and Mansour 2006: 4 sqrt(log(K t²/δ) / t) is below the gap.",
    )


def bound_independent(spec: RunSpec, parameters: BaselineParameters, run: int) -> Bound:
    """Rounds of successive elimination by every agent alone."""
    gap = _smallest_gap(spec, run)
    samples = samples_of_elimination(gap, spec.arms.arm_count(), parameters.delta)
    return Bound(
        label="successive elimination, all agents",
        rounds=float(spec.agents.count * samples),
        note=f"Each of {spec.agents.count} agents ends by {samples:,} activations with probability "
        f"{1 - parameters.delta:.0%} (Even-Dar, Mannor and Mansour 2006).",
    )


class ServerDetail(Detail):
    """For a server that eliminates arms; its log holds everything there is to tell."""

    def lines(self, run: RunRecord) -> Lines:
        """How many votes were counted, how many arms eliminated, and whether a lot decided."""
        votes = Counter(row.arm for _, row in VoteRow.select(run.log))
        gone = {row.arm for _, row in EliminationRow.select(run.log)}
        removed = f"{counted(len(gone), 'arm')} removed"
        if not votes:
            return [("arms", removed)]
        lines = [("votes", f"{votes.total():,} counted, {removed}")]
        left = [votes[arm] for arm in range(len(run.pulls_per_arm)) if arm not in gone]
        if run.status == "no_consensus" and (tied := left.count(min(left, default=0))) > 1:
            lines.append(("lot", f"drew arm {run.best_arm} of {tied} with as few votes against it"))
        return lines


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    record.detail = ServerDetail()
    if record.best_arm is None and record.used_up:
        record.status = "exhausted"


def _complete_independent(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    answers = set(record.answers) - {None}
    if answers:
        record.status = "identified" if len(answers) == 1 else "no_consensus"
    elif record.used_up:
        record.status = "exhausted"


def _show_eliminations(standing: Standing) -> Sequence[str]:
    gone = len(standing.log.get(EliminationRow.table, ()))
    return [standing.arms_left(standing.arms - gone), standing.time()]


def _show_votes(standing: Standing) -> Sequence[str]:
    left, time = _show_eliminations(standing)
    return [left, f"{len(standing.log.get(VoteRow.table, ())):,} votes", time]


def _show_agents_done(standing: Standing) -> Sequence[str]:
    return [f"{standing.finished} of {standing.agents} agents done", standing.time()]


def _votes(run: RunRecord, arms: int) -> list[tuple[float, float]]:
    return [(now, row.arm) for now, row in VoteRow.select(run.log)]


def _eliminations(run: RunRecord, arms: int) -> list[tuple[float, float]]:
    return [(now, row.arm) for now, row in EliminationRow.select(run.log)]


def _arms_left(run: RunRecord, arms: int) -> list[tuple[float, float]]:
    gone = sorted(now for now, _ in EliminationRow.select(run.log))
    return [(now, arms - count) for count, now in enumerate([0.0, *gone])]


_LEFT = Figure(name="arms-left", title="Arms left", style="steps", values=_arms_left, y="arms left")
_VOTED = Figure(
    name="votes",
    title="Votes and eliminations",
    style="points",
    values=_votes,
    crosses=_eliminations,
    y="arm",
    caption="a dot is a vote against the arm, a cross the moment it left for everybody; on the "
    "right the votes against it.",
)
VOTES = Results(
    log=(VoteRow, EliminationRow),
    progress=_show_votes,
    complete=_complete,
    detail=ServerDetail,
    figures=(_VOTED, _LEFT),
)
CENTRAL_RESULTS = Results(
    log=(EliminationRow, Estimate),
    progress=_show_eliminations,
    complete=_complete,
    detail=ServerDetail,
    figures=(_LEFT,),
)
INDEPENDENT_RESULTS = Results(progress=_show_agents_done, complete=_complete_independent)


_system = partial(System, clocks=("virtual", "wall"), advise=_advise)
_voting = partial(
    _system,
    check=_check_votes,
    bound=bound_votes,
    results=VOTES,
    loss=Loss(
        "No arm leaves by fewer votes than without a loss, and what the missing voted counts: the "
        "answer holds as claimed.",
        "continue",
    ),
)

MASE = _voting(
    name="mase",
    title="votes of successive eliminations, no privacy",
    paper=f"{PAPER}, Algorithm 1",
    parameters=MaseParameters,
    shape=Star(
        AgentRole(Stepped(_make_voter, MaseStep), TO_AGENT), ServerRole(_make_tally, (Vote,))
    ),
    field=Field(),
    claim=claim_nothing,
)

DP_MASE = _voting(
    name="dp-mase",
    title="votes of differentially private successive eliminations",
    paper=f"{PAPER}, Algorithm 2",
    parameters=DpMaseParameters,
    shape=Star(
        AgentRole(Stepped(making(DpMaseVoter), DpMaseStep), TO_AGENT),
        ServerRole(_make_tally, (Vote,)),
    ),
    field=Field(),
    claim=claim_private_votes,
    unit_interval=UnitInterval(unless_printed=True),
)

CORRUPTED_ELIMINATION = _voting(
    name="corrupted-elimination",
    title="votes withheld at random (xi = 0 is Féraud's)",
    paper=f"{PAPER}, Algorithm 3",
    parameters=CorruptedParameters,
    shape=Star(
        AgentRole(Stepped(_make_voter, MaseStep), TO_AGENT), ServerRole(_make_tally, (Vote,))
    ),
    field=Field("nothing"),
    claim=claim_withheld_votes,
    advise=_advise_corrupted,
)

CENTRAL = _system(
    name="central",
    title="baseline: every raw reward goes to the coordinator",
    paper=f"{PAPER}, section 6",
    parameters=BaselineParameters,
    shape=Star(
        AgentRole(making(RawSender), (Eliminated,)),
        ServerRole(making(CentralEliminator), (Sample,)),
    ),
    field=Field(),
    claim=claim_raw_rewards,
    one_form=True,
    bound=bound_central,
    results=CENTRAL_RESULTS,
    loss=Loss("The samples that the missing sent count: the answer holds as claimed.", "continue"),
)

INDEPENDENT = _system(
    name="independent",
    title="baseline: every agent alone",
    paper=f"{PAPER}, section 6",
    parameters=BaselineParameters,
    shape=Alone(_make_lone_voter),
    field=LabOnly("sends nothing, and its end alone would reveal something of an agent's rewards"),
    claim=claim_silence,
    one_form=True,
    bound=bound_independent,
    results=INDEPENDENT_RESULTS,
    loss=ALONE,
)
