"""Anonymous bandits (Esfandiari, Mirrokni and Schneider 2022) and its yardstick."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from posse.seam.machines import AgentMachine, ServerMachine
from posse.seam.masking import UNREADABLE, WORD_BITS, Masker, Settled
from posse.seam.messages import Message
from posse.seam.noise import SERVER, Claim, ClaimContext, silence
from posse.seam.results import (
    Bound,
    Detail,
    Estimate,
    Figure,
    Lines,
    Results,
    RunRecord,
    Standing,
    run_gaps,
    ucb1_regret,
    undrawn,
)
from posse.seam.steps import Stepped
from posse.seam.system import (
    ALONE,
    AgentContext,
    AgentRole,
    Alone,
    CoordinatorContext,
    Field,
    Frames,
    Group,
    Loss,
    MessageReader,
    Purpose,
    RunSpec,
    ServerRole,
    SpecError,
    Star,
    System,
    UnitInterval,
    advise_deviation,
)
from posse_systems.esfandiari2022.agent import AnonymousPlayer, Earnings, ParallelUcb
from posse_systems.esfandiari2022.anonymity import check
from posse_systems.esfandiari2022.decomposition import blocks
from posse_systems.esfandiari2022.learners import (
    AnonymousLearner,
    BatchedElimination,
    ExploreThenCommit,
    effective_horizon,
)
from posse_systems.esfandiari2022.messages import (
    MAX_GROUP_SIZE,
    TO_AGENT,
    TO_COORDINATOR,
    AnonymousParameters,
    Assign,
    BatchRow,
    CommitRow,
    ExpelledRow,
    ExploreThenCommitParameters,
    Forwarded,
    GroupParameters,
    GroupSizeRow,
    ImplausibleRow,
    LostRow,
    NoFeedbackRow,
    ParallelUcbParameters,
    RepeatedRow,
    RewardRow,
    Sealed,
    Sums,
    VanishedRow,
    batches,
    grid,
    largest_sum,
    roster,
    schedule_length,
    sweeps,
)
from posse_systems.esfandiari2022.server import AnonymousServer
from posse_systems.esfandiari2022.steps import AnonymousStep, ParallelSteps

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
            return max(len(blocks(alive, parameters.formed_size, parameters.cluster_size)), 1)


def _horizon(parameters: AnonymousParameters, users: int, arms: int) -> float:
    ratio = _ratio(parameters, users, arms)
    return effective_horizon(parameters.horizon, ratio, parameters.formed_size)


def _check_groups(
    spec: RunSpec, parameters: AnonymousParameters | ExploreThenCommitParameters
) -> None:
    users, size, p = spec.agents.count, parameters.formed_size, parameters
    if p.dropouts and p.aggregation != "masked":
        raise SpecError(
            "parameters.dropouts",
            f"is {p.dropouts}, but only masked sums can do without users; delete it, or set "
            "aggregation = 'masked'",
        )
    if size > MAX_GROUP_SIZE:
        raise SpecError(
            "parameters.dropouts",
            f"is {p.dropouts}, for groups of up to {2 * size + 1} users, and a report has room for "
            f"{2 * MAX_GROUP_SIZE + 1}; lower it",
        )
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
    if p.cluster_size is not None and not p.formed_size + 1 <= p.cluster_size <= users:
        raise SpecError(
            "parameters.cluster_size",
            f"is {p.cluster_size}; a cluster has at least C + 1 = {p.formed_size + 1} users, and "
            f"at most all {users}; delete it if it is not known",
        )
    horizon = _horizon(p, users, arms)
    if batches(horizon) < 2:
        cost = _ratio(p, users, arms) * schedule_length(p.formed_size)
        raise SpecError(
            "parameters.horizon",
            f"is {p.horizon}: no batch fits into it; use at least {4 * cost + 1}",
        )


def _check_sweeps(spec: RunSpec, parameters: ExploreThenCommitParameters) -> None:
    _check_groups(spec, parameters)
    sweep = spec.arms.arm_count() * schedule_length(parameters.formed_size)
    if parameters.horizon < sweep:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but a single sweep lasts {sweep} rounds",
        )


def _advise_anonymous(spec: RunSpec, parameters: AnonymousParameters) -> list[str]:
    p, users, arms = parameters, spec.agents.count, spec.arms.arm_count()
    horizon = _horizon(p, users, arms)
    per_pair = grid(horizon)[-2] / arms
    width = p.learning_rate * (4 * p.formed_size + 1) * math.log(horizon * arms * users)
    if width > per_pair:
        return [
            f"parameters.learning_rate = {p.learning_rate}: even a gap of 1 needs "
            f"{np.ceil(width):,.0f} estimates per user and arm before an arm is dropped, and the "
            f"horizon has room for {np.floor(per_pair):,.0f}; nothing will be eliminated"
        ]
    return []


def _make_player(context: AgentContext) -> AgentMachine:
    private = context.secret(Purpose.PROTOCOL)
    p: GroupParameters = context.parameters
    masker = Masker(context.rank, p.formed_size, private, context.signer, p.dropouts)
    return context.make(AnonymousPlayer, masker=masker, earnings=context.make(Earnings))


def _make_ucb(context: AgentContext) -> AgentMachine:
    return context.make(ParallelUcb, earnings=context.make(Earnings))


def _make_server(
    context: CoordinatorContext, kind: Callable[..., AnonymousLearner], **given: Any
) -> ServerMachine:
    p: GroupParameters = context.parameters
    given |= {"group_size": p.formed_size, "generator": context.draws}
    learner = context.make(kind, users=context.agents, **given)
    given = {"group_size": p.formed_size, "dropouts": p.dropouts, "signer": context.signer}
    return context.make(AnonymousServer, learner=learner, **given)


def _make_eliminator(context: CoordinatorContext) -> ServerMachine:
    p: AnonymousParameters = context.parameters
    horizon = _horizon(p, context.agents, context.arms)
    return _make_server(context, BatchedElimination, horizon=horizon, rate=p.learning_rate)


def _make_explorer(context: CoordinatorContext) -> ServerMachine:
    p: ExploreThenCommitParameters = context.parameters
    count = sweeps(p.horizon, context.arms, context.agents, p.formed_size, p.learning_rate)
    return _make_server(context, ExploreThenCommit, sweeps=count)


TRUST = {
    "masked": (
        "No single report can be read, by the coordinator or by other users, unless all other "
        "members of its sum, at least C - 1, collude.{lying} The coordinator passes on the public "
        "keys: agents with keys sign theirs and believe their own allowlist; without, it is "
        "trusted not to replace them."
    ),
    "sink": (
        "The first member of each group sees every report of its group in the clear, so it is "
        "trusted with them and to add up honestly. The coordinator, which carries the reports "
        "sealed, sees sums only, and without keys it is trusted not to replace the public keys, "
        "which agents with keys sign."
    ),
}

_FORMED = {
    False: "A group has C + 1 to 2C + 1 users",
    True: "A group has C + d + 1 to 2 (C + d) + 1 users, of whom at most d are lost",
}
_SETTLED = (
    "; no self-mask is told before all of a group but d settled for the same survivors, where "
    "n > 2d + 1"
)
_CLOSING = "; the lab's closing report, which measures every user apart"


def _covers_lies(p: AnonymousParameters | ExploreThenCommitParameters) -> bool:
    """Whether a coordinator that lies about who is lost reads no more than one that does not."""
    return p.aggregation == "masked" and p.dropouts < p.group_size


def trust_in(p: AnonymousParameters | ExploreThenCommitParameters) -> str:
    """Who is trusted with what."""
    least = p.group_size - p.dropouts
    lying = (
        f" If the coordinator lies, {least} of them may be enough."
        if p.dropouts and least > 0
        else ""
    )
    return TRUST[p.aggregation].format(lying=lying)


def claim_sums_over_groups(context: ClaimContext) -> Claim:
    """Every observation covers at least C users."""
    p: AnonymousParameters | ExploreThenCommitParameters = context.parameters
    lies = _covers_lies(p)
    return Claim(
        mechanism="aggregation",
        unit=f"each report, in sums over at least {p.group_size} users",
        adversary=f"the coordinator, {SERVER[lies]}",
        sees="coordinator",
        note=f"Every observation adds up at least {p.group_size} users. "
        f"{trust_in(p)} "
        "Syntactic and per round, not differential privacy: a sum of 0 or of the group's size "
        "reveals every member's reward, and the difference of two rounds estimates one member's "
        "mean by design.",
        proof=f"{_FORMED[p.dropouts > 0]}; at most one is left out of a round "
        "(Esfandiari et al. 2022, section 3.1); masks cancel in the sum alone (Bonawitz et al. "
        f"2017){_SETTLED if p.dropouts and lies else ''}.",
        uncovered="every estimated mean of every user and arm, which the coordinator learns across "
        f"rounds; which arm a user plays{'' if context.field else _CLOSING}",
    )


BATCHED = undrawn("No bound is drawn: the paper's is Õ(N C sqrt(α K T)), without constants.")
EXPLORING = undrawn(
    "No bound is drawn: the paper's is Õ(N C^(2/3) K^(1/3) T^(2/3)), without constants."
)


def bound_each_alone(spec: RunSpec, parameters: ParallelUcbParameters, run: int) -> Bound:
    """UCB1's bound, summed over the users."""
    users = [(row.max(), ucb1_regret(row)) for row in run_gaps(spec, run)]
    return Bound(
        label="UCB1's bound, each user alone",
        # UCB1's bound is large for a tiny gap, which costs at most itself in every round
        regret=lambda t: np.sum([np.minimum(bound(t), most * t) for most, bound in users], axis=0),
        note="Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, once for each user's own means.",
    )


_CURVE_POINTS = 200
_ROUNDS = {"slots": "the paper's rounds: each user pulls once in each"}


class AnonymousDetail(Detail, kw_only=True):
    """What the server planned and received, and what users earned: [[round, rewards so far], …].

    `assignments_sent`, `explored_rounds` and `feedback_used` are None if all users ran out of
    rewards before committing. `group_sizes` maps sizes to numbers of groups, `no_feedback` batches
    to the arms without feedback. `vanished` and `expelled` are ranks. In the field `rewards` is
    None.
    """

    batches: list[BatchRow]
    assignments_sent: int | None
    explored_rounds: int | None
    group_sizes: dict[int, int]
    feedback_used: int | None
    no_feedback: dict[int, list[int]]
    vanished: list[int]
    expelled: list[int]
    rewards: list[list[float]] | None
    trust: str

    units: ClassVar[dict[str, str]] = _ROUNDS
    seeks: ClassVar[str] = "an arm for each user"

    def lines(self, run: RunRecord) -> Lines:
        """How many rounds were explored, in groups of which sizes."""
        if self.explored_rounds is None:
            return [("explored", "to the end: all ran out of rewards")]
        sizes = sorted(self.group_sizes)
        groups = f", in groups of {sizes[0]} to {sizes[-1]} users" if sizes else ""
        batches = f" in {len(self.batches)} batches" if self.batches else ""
        explored = f"{self.explored_rounds:,} rounds{batches}{groups}; then each its own arm"
        return [("explored", explored), *_earned_line(self.rewards)]

    @property
    def left_early(self) -> list[int]:
        """Those that answered wrongly, and those that are gone."""
        return [*self.expelled, *self.vanished]


class ParallelDetail(Detail, omit_defaults=True):
    """What all users earned: [[round, rewards so far], …]; None in the field."""

    rewards: list[list[float]] | None = None

    units: ClassVar[dict[str, str]] = _ROUNDS
    seeks: ClassVar[str] = "an arm for each user"

    def lines(self, run: RunRecord) -> Lines:
        """The rewards of all users together."""
        return _earned_line(self.rewards)


def _earned_line(rewards: list[list[float]] | None) -> Lines:
    return [("rewards", f"{rewards[-1][1]:,.0f} of all users")] if rewards else []


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Fill in the record from the server's notes and, in the lab, from those of the users."""
    log = record.log
    without: defaultdict[int, list[int]] = defaultdict(list)
    for _, row in NoFeedbackRow.select(log):
        without[row.batch].append(row.arm)
    committed = [
        (row.assignments, row.explored_rounds, row.feedback_used)
        for _, row in CommitRow.select(log)
    ]
    sent, explored, used = committed[0] if committed else (None, None, None)
    record.detail = AnonymousDetail(
        batches=[row for _, row in BatchRow.select(log)],
        assignments_sent=sent,
        explored_rounds=explored,
        feedback_used=used,
        group_sizes={row.size: row.groups for _, row in GroupSizeRow.select(log)},
        no_feedback=dict(without),
        vanished=[row.user for _, row in VanishedRow.select(log)],
        expelled=[row.user for _, row in ExpelledRow.select(log)],
        rewards=None if spec.mode == "field" else _earned(record, parameters.horizon),
        trust=trust_in(parameters),
    )


def _complete_parallel(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Fill in the record of users that work alone, where each looks for an arm of its own."""
    record.status, record.best_arm = "exhausted" if record.used_up else "horizon", None
    in_lab = spec.mode == "lab"
    record.detail = ParallelDetail(_earned(record, parameters.horizon) if in_lab else None)


def _earned(record: RunRecord, horizon: int) -> list[list[float]]:
    """The rewards of all users over time. It removes the users' notes that it is made from."""
    t = np.linspace(0.0, horizon, _CURVE_POINTS + 1)
    total = np.zeros(len(t))
    for log in record.agent_logs:
        earned = [row for _, row in RewardRow.select(log)]
        log.pop(RewardRow.table, None)
        total += np.interp(
            t, [0.0, *(row.round for row in earned)], [0.0, *(row.total for row in earned)]
        )
    return [[float(time), float(sum_)] for time, sum_ in zip(t, total, strict=True)]


def _show_rounds(standing: Standing) -> Sequence[str]:
    return [standing.time("round")]


def _show_progress(standing: Standing) -> Sequence[str]:
    batches = BatchRow.select(standing.log)
    lines = [f"batch {row.batch}" for _, row in batches[-1:]]
    if standing.log.get(CommitRow.table):
        lines = ["exploration is over"]
    return [*_show_rounds(standing), *lines]


def _rewards(run: RunRecord, arms: int) -> list[tuple[float, float]]:
    rewards = getattr(run.detail, "rewards", None)  # a run under way has none yet
    return [(t, total) for t, total in rewards or ()]


_REWARDS = Figure(
    name="rewards",
    title="Rewards",
    style="line",
    values=_rewards,
    x="time (rounds)",
    y="rewards of all users",
)
ANONYMOUS_RESULTS = Results(
    progress=_show_progress,
    log=(
        BatchRow,
        NoFeedbackRow,
        GroupSizeRow,
        CommitRow,
        ImplausibleRow,
        RepeatedRow,
        LostRow,
        VanishedRow,
        ExpelledRow,
        RewardRow,
        Estimate,
    ),
    detail=AnonymousDetail,
    complete=_complete,
    figures=(_REWARDS,),
)
PARALLEL = Results(
    progress=_show_rounds,
    log=(RewardRow,),
    detail=ParallelDetail,
    complete=_complete_parallel,
    figures=(_REWARDS,),
)


class AnonymousReader(MessageReader):
    """Knows which bytes masks and seals hide, and whose rewards a sum covers."""

    hidden = (*UNREADABLE, Sealed, Forwarded)
    exact = (Sums,)
    forwards = (Settled,)
    grouped = True

    def group(self, message: Message) -> Group | None:
        if not isinstance(message, Assign):
            return None
        return Group(message.number, message.arm, message.group)

    def members(self, group: tuple[int, ...], step: int) -> tuple[int, ...]:
        return roster(step, group)

    def violations(self, frames: Frames) -> list[str]:
        p: AnonymousParameters | ExploreThenCommitParameters = self.parameters
        return check(frames, p.group_size, p.precision, p.dropouts).violations


_PLAYER = AgentRole(Stepped(_make_player, AnonymousStep), TO_AGENT, signs=True)
_system = partial(System, clocks=("slots", "wall"))
_over_groups = partial(
    _system,
    field=Field(),
    claim=claim_sums_over_groups,
    unit_interval=UnitInterval(),
    results=ANONYMOUS_RESULTS,
    reader=AnonymousReader,
    loss=Loss(
        "Groups of the missing were formed anew among the others, with new masks and new rewards; "
        "no sum covers fewer users than claimed.",
        "continue",
    ),
)

ANONYMOUS = _over_groups(
    name="anonymous",
    title="batched elimination per user from sums over groups",
    paper=f"{PAPER}, Algorithm 1",
    parameters=AnonymousParameters,
    shape=Star(_PLAYER, ServerRole(_make_eliminator, TO_COORDINATOR), regret_against="own"),
    check=_check_anonymous,
    advise=_advise_anonymous,
    bound=BATCHED,
)

EXPLORE_THEN_COMMIT = _over_groups(
    name="explore-then-commit",
    title="sweeps of sums over groups, then every user's best arm",
    paper=f"{PAPER}, Algorithm 2",
    parameters=ExploreThenCommitParameters,
    shape=Star(_PLAYER, ServerRole(_make_explorer, TO_COORDINATOR), regret_against="own"),
    one_form=True,
    check=_check_sweeps,
    bound=EXPLORING,
)

PARALLEL_UCB = _system(
    name="parallel-ucb",
    title="yardstick: UCB1 for every user, without anonymity",
    paper=f"{PAPER}, Appendix B",
    parameters=ParallelUcbParameters,
    shape=Alone(Stepped(_make_ucb, ParallelSteps), regret_against="own"),
    field=Field("bare"),
    claim=silence,
    one_form=True,
    advise=advise_deviation,
    bound=bound_each_alone,
    results=PARALLEL,
    loss=ALONE,
)
