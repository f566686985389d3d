"""Private and byzantine-proof cooperation on a graph (Dubey and Pentland 2020), and baselines.

The baselines learn alone (Auer et al. 2002; Tossou and Dimitrakakis 2016; Azize and Basu 2022).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.seam.machines import COORDINATOR, AgentMachine
from posse.seam.messages import SIGNATURE_BYTES, Message
from posse.seam.noise import (
    FARTHEST,
    ITS_PULLS,
    AdversaryView,
    Claim,
    ClaimContext,
    HybridNodes,
    HybridSums,
    Losses,
    OneReward,
    composed,
    laplace_losses,
    released,
    silence,
    slack,
    unprotected,
)
from posse.seam.results import (
    Detail,
    Figure,
    Lines,
    NetworkFacts,
    Results,
    RunRecord,
    counted,
    undrawn,
)
from posse.seam.steps import Stepped
from posse.seam.system import (
    ALONE,
    ITEMS,
    AgentContext,
    AgentRole,
    Alone,
    Field,
    Loss,
    Mesh,
    MessageReader,
    Named,
    Network,
    Purpose,
    RunSpec,
    SpecError,
    Statistic,
    System,
    UnitInterval,
    Wiring,
    advise_deviation,
    along,
    generator,
    making,
)
from posse_systems.dubey2020 import theory
from posse_systems.dubey2020.agent import (
    CooperativeAgent,
    DoublingMeans,
    PrivateMeans,
    SharedMeans,
)
from posse_systems.dubey2020.byzantine import SharedRewards
from posse_systems.dubey2020.byzantine_steps import ByzantineSteps
from posse_systems.dubey2020.corruption import Corruption
from posse_systems.dubey2020.destination import NoiseAtDestination
from posse_systems.dubey2020.flooding import CooperativeLearner, Flood
from posse_systems.dubey2020.lone import AdapUcb, LoneUcb, PrivateLoneUcb
from posse_systems.dubey2020.lone_steps import PrivateLoneSteps
from posse_systems.dubey2020.messages import (
    AdapParameters,
    AloneParameters,
    Bundle,
    ByzantineParameters,
    ContaminatedParameters,
    Contamination,
    CooperativeParameters,
    DuplicatesRow,
    HopsRow,
    PrivateAloneParameters,
    PrivateParameters,
    RobustParameters,
    ToldAgent,
    ToldLiar,
    doubling_counts,
    hops,
    means_record,
    most_liars,
    noise_scale,
    privacy_bound,
    pulls_per_release,
    release_counts,
    reward_record,
)
from posse_systems.dubey2020.private_steps import make_private_steps
from posse_systems.dubey2020.robust import RobustMeans
from posse_systems.dubey2020.robust_steps import RobustSteps
from posse_systems.dubey2020.steps import CooperativeSteps, LoneSteps
from posse_systems.dubey2020.tree_means import TreeMeans
from posse_systems.dubey2020.trimmed import TRIMS_BELOW

PAPER = "Dubey and Pentland 2020"


def _make_agent(
    context: AgentContext,
    kind: Callable[..., CooperativeLearner],
    between: tuple[float, float] | None,
    **given: Any,
) -> AgentMachine:
    """Make an agent with a learner of this kind.

    It refuses what others say if it is not `between` these two numbers.
    """
    learner = context.make(kind, reward_range=between, **given)
    corruption = None
    # lies never replace real rewards, even if the coordinator asks for it
    if (does := context.knowledge.get("contamination")) and not context.field:
        corruption = Corruption(
            msgspec.convert(does, Contamination), context.generator(Purpose.CORRUPTION)
        )
    flood = Flood(
        context.rank,
        context.neighbours,
        context.agents,
        int(context.knowledge["gamma"]),
        learner.message.dtype,
        context.signer,
    )
    return CooperativeAgent(context.parameters.horizon, learner, flood, corruption)


def _range(context: AgentContext) -> tuple[float, float] | None:
    between = context.knowledge.get("reward_range")
    return None if between is None else (between[0], between[1])


def _noisy_range(context: AgentContext, widest: float) -> tuple[float, float] | None:
    """The range of real rewards' means with noise of scale `widest`; None in the lab: no check."""
    return (-FARTHEST * widest, 1 + FARTHEST * widest) if context.field else None


def _make_sharing(context: AgentContext) -> AgentMachine:
    return _make_agent(context, SharedMeans, _range(context), openings=context.openings)


def _make_alone(context: AgentContext) -> AgentMachine:
    return context.make(LoneUcb, openings=context.openings)


def _make_private(context: AgentContext) -> AgentMachine:
    p: PrivateParameters = context.parameters
    kind: type[PrivateMeans] = PrivateMeans
    counts: tuple[int, ...] = ()
    more: dict[str, Any] = {}
    if p.releases == "doubling":
        kind, counts, widest = DoublingMeans, doubling_counts(p.horizon), 1 / p.epsilon
    elif p.releases == "trees":
        # a mean of n has at most 2 log2(n) + 1 numbers of scale 2 max(1, log2 n) / (ε n)
        kind, widest = TreeMeans, 6 / p.epsilon
        more["counter"] = HybridNodes if context.field else HybridSums
    else:
        counts = release_counts(p.epsilon, p.v, p.horizon)
        # the first release has the most noise
        widest = noise_scale(min(counts, default=1), p.v)
        if p.noise_at == "destination" and not context.field:
            # real rewards never leave without noise, even if the coordinator asks for it
            kind = NoiseAtDestination
    return _make_agent(
        context,
        kind,
        _noisy_range(context, widest),
        epsilon=p.epsilon,
        v=p.v,
        variant=context.variant,
        releases=counts,
        **more,
    )


def _make_robust(context: AgentContext) -> AgentMachine:
    p: RobustParameters = context.parameters
    kind: type[PrivateMeans] = DoublingMeans
    arguments = {"epsilon": p.epsilon, "releases": doubling_counts(p.horizon)}
    if p.estimator != "mean":
        kind = RobustMeans
        arguments["liars"] = most_liars(context.knowledge["assumed"], context.agents)
    return _make_agent(context, kind, _noisy_range(context, 1 / p.epsilon), **arguments)


def _make_byzantine(context: AgentContext) -> AgentMachine:
    p: ByzantineParameters = context.parameters
    assumed = context.knowledge["assumed"]
    return _make_agent(
        context, SharedRewards, _range(context), contamination=assumed, winsor=p.winsor
    )


def _lay_network(spec: RunSpec, parameters: Any, run: int, in_unit: bool = False) -> Network:
    """Links along the graph, none if γ = 0; each agent is told γ as a number.

    `in_unit`: if rewards are in [0, 1], so must the means be, unless the run file gives a range.
    """
    graph = spec.graph(run)
    gamma = hops(parameters.gamma, graph.diameter)
    if gamma and max(graph.degrees) == 0:
        gamma = 0
    between = getattr(parameters, "reward_range", None)
    if between is None and in_unit and spec.arms.unit_interval:
        between = (0.0, 1.0)
    shared = {"gamma": gamma} | ({} if between is None else {"reward_range": between})
    knowledge: list[dict[str, Any]] = [dict(shared) for _ in range(spec.agents.count)]
    facts = NetworkFacts(gamma=gamma, gamma_asked=parameters.gamma)
    if isinstance(parameters, ContaminatedParameters):
        liars = [] if spec.mode == "field" else _liars(parameters.contamination, spec, run)
        assumed = parameters.assumed_contamination
        if assumed is None and isinstance(parameters, ByzantineParameters):
            assumed = parameters.contamination.rate
        elif assumed is None:
            assumed = len(liars) / spec.agents.count
        facts.byzantine, facts.assumed_contamination = liars, assumed
        for told_to in knowledge:
            told_to["assumed"] = assumed
        does: dict[str, Any] = msgspec.to_builtins(parameters.contamination)
        del does["agents"]  # a liar must not know the others
        for rank in liars:
            knowledge[rank]["contamination"] = does
    laid = along(graph, knowledge, facts=facts)
    if gamma == 0:
        return Network([()] * spec.agents.count, knowledge, facts=laid.facts)
    return laid


def _liars(contamination: Contamination, spec: RunSpec, run: int) -> list[int]:
    """The ranks of the byzantine agents of one run."""
    count = spec.agents.count

    def draw(number: int) -> list[int]:
        drawn = generator(spec.seed, run, COORDINATOR, Purpose.CORRUPTION)
        ranks: list[int] = drawn.choice(count, number, replace=False).tolist()
        return ranks

    return contamination.liars(count, draw)


def _check_horizon(spec: RunSpec, parameters: AloneParameters) -> None:
    """Refuse a horizon in which not every arm can be tried once."""
    arms = spec.arms.arm_count()
    if parameters.horizon < arms:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but trying each of {arms} arms once takes {arms} slots",
        )


def _check_turns(spec: RunSpec, parameters: PrivateAloneParameters | RobustParameters) -> None:
    """Refuse a horizon that ends before every arm has been released once."""
    turns = spec.arms.arm_count() * pulls_per_release(parameters.epsilon)
    if parameters.horizon < turns:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but with epsilon = {parameters.epsilon} arms are pulled in "
            f"turn for the first {turns} slots; use at least as many, or a larger epsilon",
        )


def _check_alone(spec: RunSpec, parameters: PrivateAloneParameters) -> None:
    _check_horizon(spec, parameters)
    _check_turns(spec, parameters)


def _check_private(spec: RunSpec, parameters: PrivateParameters) -> None:
    _check_horizon(spec, parameters)
    if parameters.releases != "intervals":
        if spec.variant == "printed":
            raise SpecError(
                "parameters.releases",
                f"is '{parameters.releases}', for which the paper has no algorithm; it needs "
                'variant = "corrected"',
            )
        if parameters.noise_at == "destination":
            raise SpecError(
                "parameters.noise_at",
                "is 'destination', which releases nothing; use it with releases = "
                '"intervals" only',
            )
    _check_turns(spec, parameters)
    if spec.mode == "field" and parameters.noise_at != "source":
        raise SpecError(
            "parameters.noise_at",
            "is 'destination', which sends means without noise, for the lab only; delete it",
        )


def _check_contaminated(spec: RunSpec, parameters: ContaminatedParameters) -> None:
    _check_horizon(spec, parameters)
    if spec.mode == "field" and "contamination" in spec.parameters:
        raise SpecError(
            "parameters.contamination",
            "is for the lab only: in the field no agent is told to lie; delete it, and set "
            "assumed_contamination to the share of lies that agents should assume",
        )
    if spec.mode == "field" and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.assumed_contamination",
            "is required in the field, where the true rate of lies is not known; give the share "
            "that agents should assume, for example 0.05",
        )
    count = spec.agents.count
    match parameters.contamination.agents:
        case int(number) if number > count:
            raise SpecError(
                "parameters.contamination.agents", f"is {number}, but there are {count} agents"
            )
        case tuple(named) if named and max(named) >= count:
            raise SpecError(
                "parameters.contamination.agents",
                f"names agent {max(named)}, which does not exist; agents are 0 to {count - 1}",
            )


def _check_range(spec: RunSpec, parameters: CooperativeParameters | ByzantineParameters) -> None:
    between = parameters.reward_range
    if between is not None and not between[0] < between[1]:
        raise SpecError(
            "parameters.reward_range", f"is {list(between)}; it must be [lo, hi] with lo < hi"
        )


def _check_cooperative(spec: RunSpec, parameters: CooperativeParameters) -> None:
    _check_horizon(spec, parameters)
    _check_range(spec, parameters)


def _check_byzantine(spec: RunSpec, parameters: ByzantineParameters) -> None:
    _check_contaminated(spec, parameters)
    contamination = parameters.contamination
    if contamination.rate >= 0.5 and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.contamination.rate",
            f"is {contamination.rate}: no estimator withstands lies in half of the rewards; set "
            "assumed_contamination to the share that agents should assume",
        )
    if contamination.law == "informed":
        raise SpecError(
            "parameters.contamination.law",
            "is 'informed', which lies about means; for single rewards use 'opposite'",
        )
    _check_range(spec, parameters)


def _advise_byzantine(spec: RunSpec, parameters: ByzantineParameters) -> list[str]:
    p, advice = parameters, advise_deviation(spec, parameters)
    believed = p.contamination.rate if p.assumed_contamination is None else p.assumed_contamination
    if spec.variant == "printed" or p.winsor or believed < TRIMS_BELOW:
        return advice
    return [
        *advice,
        f"parameters.assumed_contamination is {believed}: from {TRIMS_BELOW} on nothing is "
        "trimmed, and the plain mean withstands no lies; set winsor = true",
    ]


def _check_robust(spec: RunSpec, parameters: RobustParameters) -> None:
    _check_contaminated(spec, parameters)
    _check_turns(spec, parameters)
    lies = parameters.contamination
    if lies.law == "informed" and 0 < lies.rate < 1:
        raise SpecError(
            "parameters.contamination.rate",
            f"is {lies.rate:g}, but 'informed' lies claim the most pulls possible; a true count "
            "after a lie is lower, and so refused; set rate = 1",
        )
    if lies.rate and lies.agents == "all" and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.contamination.agents",
            "is 'all', but no estimator withstands lies of all agents; say how many lie, or set "
            "assumed_contamination to the share that agents should assume",
        )


_MESSAGES = "whoever reads all messages that carry the agent's means and counts"
_ONCE = (
    "An arm's rewards fall into disjoint batches, whose mean one reward moves by at most 1/n and "
    "which is noised once, by Lap(1/(ε n)). Pulls, counts and the answer are functions of noisy "
    "means ({source})."
)

_ONCE_IN_TREES = (
    "A reward is in one number of its arm's logarithmic mechanism and at most log2(T_0) nodes of "
    "the binary one, ε/2 each (Chan, Shi and Song 2011). Pulls, counts and the answer are "
    "functions of noisy sums."
)

claim_means = unprotected(
    "In every slot each agent's mean reward and number of pulls of every arm are sent as they are. "
    "Two messages of an agent that follow each other give away its reward."
)

claim_rewards = unprotected("Every single reward of every agent is sent as it is, with its arm.")

_claim_destination = unprotected(
    "Means are sent as they are; who receives them is trusted to add the noise."
)


@lru_cache(maxsize=64)
def _compose_schedule(counts: tuple[int, ...], v: float, delta: float) -> tuple[float, Losses]:
    """ε of all possible releases of an arm together; the one after n pulls costs n^(-v/2)."""
    costs, once = np.array(counts, dtype=float) ** (-v / 2), np.ones(len(counts), dtype=np.int64)
    return composed(costs, once, delta), laplace_losses(costs, once)


def claim_private(context: ClaimContext) -> Claim:
    """Private Multi-Agent UCB."""
    p: PrivateParameters = context.parameters
    if p.noise_at == "destination":
        return _claim_destination(context)
    if p.releases == "doubling":
        return claim_robust(context)
    if p.releases == "trees":
        return released(
            mechanism="hybrid", epsilon=p.epsilon, adversary=_MESSAGES, proof=_ONCE_IN_TREES
        )
    if context.variant == "printed":
        return _claim_refuted(
            context,
            p,
            _MESSAGES,
            "messages",
            "Not satisfied as printed: the agent's own raw sums decide its pulls, and their "
            "counts are sent without noise, so that one reward can change a count for certain.",
        )
    return _claim_schedule(
        context, p, release_counts(p.epsilon, p.v, p.horizon), _MESSAGES, "messages"
    )


def claim_robust(context: ClaimContext) -> Claim:
    """Releases in doubling batches; the claim holds whatever follows from them and whoever lies."""
    return released(
        epsilon=context.parameters.epsilon,
        losses=Losses(laplace=((context.parameters.epsilon, 1),)),
        adversary=_MESSAGES,
        proof=_ONCE.format(source="Sajed and Sheffet 2019; Azize and Basu 2022, Lemma 1"),
    )


def _claim_schedule(
    context: ClaimContext,
    p: PrivateAloneParameters,
    counts: tuple[int, ...],
    adversary: str,
    sees: AdversaryView,
) -> Claim:
    """Releases of an arm's mean at fixed numbers of its pulls, whatever the rewards."""
    delta = slack(p.delta_prime, context.agents * p.horizon)
    lemma = privacy_bound(p.epsilon, p.v, p.horizon, delta)
    epsilon, losses = _compose_schedule(counts, p.v, delta)
    return released(
        epsilon=epsilon,
        losses=losses,
        delta=delta,
        formula=f"the whole schedule, composed; epsilon = {p.epsilon:g} is only its rate",
        adversary=adversary,
        sees=sees,
        note=f"Over the whole horizon. Lemma 3.6 of Dubey and Pentland says {lemma:.4g}; epsilon "
        "= 1 is not 'no privacy'.",
        proof="An arm's mean over n rewards is released at fixed n <= T with Lap(n^(v/2 - 1)), so "
        "that all releases there may be cover a reward whatever the rewards are. They are composed "
        "by the distribution of their loss and read at δ' (Zhu, Dong and Wang 2022; Alghamdi et "
        "al. 2023). Pulls, counts and the answer are functions of them.",
    )


def _claim_refuted(
    context: ClaimContext, p: PrivateAloneParameters, adversary: str, sees: AdversaryView, why: str
) -> Claim:
    """A printed claim that does not hold."""
    delta = slack(p.delta_prime, context.agents * p.horizon)
    return Claim(
        change=OneReward(),
        mechanism="laplace",
        epsilon=privacy_bound(p.epsilon, p.v, p.horizon, delta),
        delta=delta,
        formula="as printed, Lemma 3.6",
        adversary=adversary,
        sees=sees,
        holds=False,
        note=why,
    )


def claim_private_means(context: ClaimContext) -> Claim:
    """DP-UCB-INT."""
    p: PrivateAloneParameters = context.parameters
    if context.variant == "printed":
        return _claim_refuted(
            context,
            p,
            ITS_PULLS,
            "pulls",
            "Not satisfied as printed: the noise of an arm that is not pulled is drawn again "
            "in every slot, without bound; see the ledger.",
        )
    f = pulls_per_release(p.epsilon)
    return _claim_schedule(context, p, tuple(range(f, p.horizon + 1, f)), ITS_PULLS, "pulls")


def claim_batched_means(context: ClaimContext) -> Claim:
    """AdaP-UCB."""
    p: AdapParameters = context.parameters
    return released(
        epsilon=p.epsilon,
        losses=Losses(laplace=((p.epsilon, 1),)),
        adversary=ITS_PULLS,
        sees="pulls",
        note="Nothing is sent before the end.",
        proof=_ONCE.format(source="Azize and Basu 2022, Theorem 6"),
    )


class HopDelay(msgspec.Struct):
    """Messages that travelled this many hops, and the slots they took on average."""

    messages: int
    mean_slots: float


class CooperativeDetail(Detail, omit_defaults=True):
    """How many agents answered each arm; in the lab also statistics of their messages.

    `duplicates`: messages that arrived more than once. `delay_by_hops`: keyed by distance in hops.
    """

    answers: dict[str, int]
    duplicates: int | None = None
    duplicates_per_agent: list[int] | None = None
    delay_by_hops: dict[str, HopDelay] | None = None

    def lines(self, run: RunRecord) -> Lines:
        """Each agent's own answer, and how long messages travelled."""
        lines = [("answers", run.answers_said())]
        if self.delay_by_hops:
            far = self.delay_by_hops.items()
            slots = [f"{link.mean_slots:g} over {counted(int(hops), 'hop')}" for hops, link in far]
            lines.append(("delay in slots", ", ".join(slots)))
        return lines


def _complete_alone(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Fill in the record of a run in which every agent has its own answer."""
    answers = Counter(arm for arm in record.answers if arm is not None)
    record.status = "horizon" if not record.exhausted else "exhausted"
    record.detail = CooperativeDetail({str(arm): n for arm, n in sorted(answers.items())})


def _complete_cooperation(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Like `_complete_alone`, with duplicates and delays (in slots, by hops) in the lab."""
    _complete_alone(spec, parameters, record)
    if spec.mode == "field":
        return
    counted: Counter[int] = Counter()
    slots: Counter[int] = Counter()
    duplicates = []
    for log in record.agent_logs:
        duplicates.append(sum(row.messages for _, row in DuplicatesRow.select(log)))
        for _, row in HopsRow.select(log):
            counted[row.distance] += row.messages
            slots[row.distance] += row.slots
    record.detail = msgspec.structs.replace(
        record.detail,
        duplicates=sum(duplicates),
        duplicates_per_agent=duplicates,
        delay_by_hops={str(d): HopDelay(n, slots[d] / n) for d, n in sorted(counted.items())},
    )


def _delays(run: RunRecord, arms: int) -> list[tuple[float, float]]:
    by_hops = getattr(run.detail, "delay_by_hops", None) or {}
    return [(int(hops), delay.mean_slots) for hops, delay in by_hops.items()]


EACH_ALONE = Results(detail=CooperativeDetail, complete=_complete_alone)
COOPERATION = Results(
    log=(DuplicatesRow, HopsRow),
    detail=CooperativeDetail,
    complete=_complete_cooperation,
    figures=(
        Figure(
            name="delay-by-hops",
            title="Delay by distance",
            style="bars",
            values=_delays,
            x="hops",
            y="mean delay (slots)",
        ),
    ),
)


class BundleReader(MessageReader):
    """Reads the records in a bundle, signed or not."""

    exact = forwards = (Bundle,)

    def rows(self, items: bytes) -> NDArray[np.void]:
        """The records of a bundle; none if the bytes are no bundle, or no run file says which."""
        if self.spec is None:
            return np.zeros(0, reward_record())
        rewards = isinstance(self.parameters, ByzantineParameters)
        record = reward_record() if rewards else means_record(self.spec.arms.arm_count())
        signed = np.dtype([*record.descr, ("signature", f"V{SIGNATURE_BYTES}")])
        for form in (record, signed):
            if len(items) % form.itemsize == 0:
                rows = np.frombuffer(items, form)
                if (rows["origin"] < self.spec.agents.count).all():
                    return rows
        return np.zeros(0, record)

    def view(self, message: Message) -> Named:
        """The sender's own record; the others are copies of what their origins sent."""
        if not isinstance(message, Bundle):
            yield from super().view(message)
            return
        yield "slot", message.slot
        rows = self.rows(message.items)
        yield "number of items", len(rows)
        for own in rows[:1]:
            for name in own.dtype.names[3:]:
                if name != "signature":
                    for i, item in enumerate(np.atleast_1d(own[name])[:ITEMS].tolist()):
                        yield f"{name}[{i}]", float(item)

    def statistics(self, message: Message, source: int | None) -> Iterable[Statistic]:
        """The means, whoever forwards them; batches that double release twice after one pull."""
        if isinstance(self.parameters, ByzantineParameters) or not isinstance(message, Bundle):
            return
        doubling = getattr(self.parameters, "releases", "doubling") == "doubling"
        for row in self.rows(message.items):
            for arm, (mean, count) in enumerate(zip(row["means"], row["counts"], strict=True)):
                if math.isfinite(mean):
                    most = 2 if doubling and count == 1 else 1
                    name = f"mean of arm {arm} after {count} pulls"
                    yield Statistic(int(row["origin"]), arm, [float(mean)], name, most)


_WITH_LIARS = Wiring(_lay_network, broadcasts=True, untold=("contamination",), told=ToldLiar)
_cooperation = partial(
    System,
    clocks=("slots",),
    field=Field(),
    results=COOPERATION,
    reader=BundleReader,
    loss=Loss(
        "What the missing said last was used on; the others went on without it. A bound that is "
        "drawn is of the whole graph. What each released costs the same.",
        "continue",
    ),
)
_alone = partial(System, clocks=("slots",), results=EACH_ALONE, loss=ALONE)

PRIVATE_UCB = _cooperation(
    name="private-ucb",
    title="cooperation with noisy means released at intervals",
    paper=f"{PAPER}, Algorithms 1 and 2",
    parameters=PrivateParameters,
    shape=Mesh(
        AgentRole(Stepped(_make_private, make_private_steps), (Bundle,), signs=True),
        Wiring(_lay_network, broadcasts=True, told=ToldAgent),
    ),
    claim=claim_private,
    unit_interval=UnitInterval(),
    check=_check_private,
    bound=theory.bound_private,
)

BYZANTINE_UCB = _cooperation(
    name="byzantine-ucb",
    title="cooperation with single rewards, some of them lies, and a trimmed mean",
    paper=f"{PAPER}, Algorithm 3",
    parameters=ByzantineParameters,
    shape=Mesh(
        AgentRole(Stepped(_make_byzantine, ByzantineSteps), (Bundle,), signs=True), _WITH_LIARS
    ),
    claim=claim_rewards,
    check=_check_byzantine,
    advise=_advise_byzantine,
    bound=theory.bound_byzantine,
)

ROBUST_PRIVATE_UCB = _cooperation(
    name="robust-private-ucb",
    title="cooperation with noisy means, released once, of which some may be lies",
    paper=f"posse's own, after {PAPER}, Remark 6",
    parameters=RobustParameters,
    shape=Mesh(AgentRole(Stepped(_make_robust, RobustSteps), (Bundle,), signs=True), _WITH_LIARS),
    claim=claim_robust,
    one_form=True,
    unit_interval=UnitInterval(),
    check=_check_robust,
    bound=theory.bound_robust,
)

COOPERATIVE_UCB = _cooperation(
    name="cooperative-ucb",
    title="cooperation with means and counts as they are, no privacy",
    paper=f"{PAPER}, section 5",
    parameters=CooperativeParameters,
    shape=Mesh(
        AgentRole(Stepped(_make_sharing, CooperativeSteps), (Bundle,), signs=True),
        Wiring(partial(_lay_network, in_unit=True), broadcasts=True, told=ToldAgent),
    ),
    claim=claim_means,
    one_form=True,
    sleeping=True,
    check=_check_cooperative,
    advise=advise_deviation,
    bound=undrawn("No bound is drawn: the paper states none for the form without privacy."),
)

UCB1 = _alone(
    name="ucb1",
    title="baseline: UCB1, every agent alone",
    paper="Auer et al. 2002",
    parameters=AloneParameters,
    shape=Alone(Stepped(_make_alone, LoneSteps)),
    field=Field("bare"),
    claim=silence,
    one_form=True,
    sleeping=True,
    check=_check_horizon,
    advise=advise_deviation,
    bound=theory.bound_ucb1,
)

DP_UCB_INT = _alone(
    name="dp-ucb-int",
    title="baseline: DP-UCB-INT, every agent alone, private to whoever sees its pulls",
    paper="Tossou and Dimitrakakis 2016",
    parameters=PrivateAloneParameters,
    shape=Alone(Stepped(making(PrivateLoneUcb), PrivateLoneSteps)),
    field=Field(),
    claim=claim_private_means,
    unit_interval=UnitInterval(),
    check=_check_alone,
    bound=undrawn("No bound is drawn: what is known of DP-UCB-INT is O(log T + 1/ε)."),
)

ADAP_UCB = _alone(
    name="adap-ucb",
    title="baseline: AdaP-UCB, every agent alone, each reward in one noisy mean",
    paper="Azize and Basu 2022",
    parameters=AdapParameters,
    shape=Alone(making(AdapUcb)),
    field=Field(),
    claim=claim_batched_means,
    unit_interval=UnitInterval(),
    one_form=True,
    check=_check_horizon,
    bound=theory.bound_adap_ucb,
)
