"""Theorems, corollaries, remarks, Table I and the privacy of Li and Song 2022."""

import math
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from posse.extend import (
    COORDINATOR,
    AgentEffects,
    FloatArray,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from posse_papers.audit import AUDITED, audit, audits, counted, mechanisms, own_noise, spends
from posse_papers.checks import about, against, at_most, check, equal, matches, rate, under_theory
from posse_papers.experiment import Axes, Computation, Experiment, Lines, along, bars, computed
from posse_papers.li.figures import (
    GRAPHS,
    LONG,
    cdp,
    ddp,
    hdp,
    in_rounds,
    instance,
    parts,
    unlimited,
)
from posse_papers.sample import communications, cost, cost_of_a_round, regret
from posse_papers.statements import Finding, Measured, Mutant, claim, ours, over, verdict
from posse_papers.worlds import beside, by_chance, multiplied, plan_of, with_runs, world
from posse_systems.algorithms import (
    Active,
    CdpAgent,
    Graph,
    Means,
    Schedule,
    SharedNoise,
    elimination_rounds,
    from_edges,
    mean_gaps,
    positive,
    regular,
    ring,
    star,
    uploaders,
)

_TEN: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 10}}
_M = 50
_SHARES = {"p=1": 1.0, "p=0.6": 0.6}
_ROUNDS, _MANY = (2, 3, 4, 5), (8, 12)
"""R, and those at which T^(2/R) is less than M."""
FREE = cdp(arms=_TEN, horizon=LONG, noise="printed")


def one_round_more(measured: Measured) -> Measured:
    """As if each run had taken one round of communication more."""
    return with_runs(measured, {
        point: [
            msgspec.structs.replace(run, communications=(run.communications or 0) + 1)
            for run in runs
        ]
        for point, runs in measured.runs.items()
    })  # fmt: skip


@against(lambda line: [world("one round more in each run", one_round_more)])
def few_rounds(measured: Measured, line: str) -> Finding:
    """Every run takes at most ⌈log2(1/Δ) + 1⌉ rounds, Δ the smallest gap of its instance."""
    spec = plan_of(measured, line).spec
    spare = []
    for number, sample in enumerate(measured.runs[line, 0.0]):
        limit = elimination_rounds(float(positive(mean_gaps(spec, number)).min()))
        if sample.communications is None:
            raise ValueError(f"run {number} of {line} did not count its rounds")
        spare.append(limit - sample.communications)
    under = sum(rest >= 0 for rest in spare)
    said = f"in {under} of {len(spare)} runs; at least {min(spare)} to spare"
    return verdict(under == len(spare), said)


def equation_26(line: str, x: float) -> float:
    """M Σ_k Δ_k n_k with the proof's constants, ε = 1, the one instance and T = 10^6:

    n_k = max(96 log(R²KT) / (p Δ_k² Δ^(2/R)), 16 R sqrt(6 log(R²KT)) / (√M p^1.5 ε Δ_k Δ^(1/R)))
    over M.
    """
    p, arms = _SHARES[line], 100
    gaps = instance()[1][1:]
    logs, least = math.log(x**2 * arms * LONG), float(gaps[0])
    chance = 96 * logs / (p * gaps**2 * least ** (2 / x))
    noise = 16 * x * math.sqrt(6 * logs) / (math.sqrt(_M) * p**1.5 * gaps * least ** (1 / x))
    return float((gaps * np.maximum(chance, noise)).sum())


@check
def times_more(measured: Measured, lines: Iterable[str]) -> Finding:
    """The regret is at most min(M, T^(2/R) / p^1.5) times that without a limit."""
    free = measured.mean("without a limit", 0.0)[0]
    limited = at_most(
        lines, lambda line, x: float(free * min(_M, LONG ** (2 / x) / _SHARES[line] ** 1.5))
    )
    return limited(measured)


def _whatever(measured: Measured) -> Measured:
    """As if every limit on the rounds cost M times the regret without one."""
    free = measured.mean("without a limit", 0.0)[0]
    times = dict.fromkeys(measured.reached("p=1"), (0.0, _M * free))
    other = copy(measured)
    other.changed = {**measured.changed, **times}
    return other


_TWENTY = 20
_LINKS_OF: dict[str, Any] = {
    "complete": lambda m: m * (m - 1) / 2,
    "star": lambda m: 2 * (m - 1),
    "ring": lambda m: m * m / 2,
}
"""d_G Σ d_i / 2 of graphs of M, as Table I has it."""
_LINKS = {kind: float(links(_TWENTY)) for kind, links in _LINKS_OF.items()}


def _free_and_cut(over: Callable[..., Any], links: dict[str, Any]) -> Lines:
    """Without a limit and in three rounds, the latter with a server too."""
    twenty = partial(over, agents=_TWENTY, arms=_TEN)
    cut = {"max_rounds": 3, "gap": 0.05}
    return {
        **{name: twenty(graph) for name, graph in links.items()},
        **{f"{name}, R = 3": twenty(graph, **cut) for name, graph in links.items()},
        "CDP-MAB, R = 3": cdp(_TWENTY, _TEN, **cut),
    }


_PARTS = {
    "four complete": (parts("complete", 5, 5, 5, 5), 1),
    "four stars": (parts("star", 5, 5, 5, 5), 2),
    "four rings": (parts("ring", 5, 5, 5, 5), 2),
}


def _round_at_most(name: str, less: int) -> float:
    """c2 M max_q (d_q - `less`) + c1 Q with c1 = 50, c2 = 1, Q = 4."""
    return float(_TWENTY * (_PARTS[name][1] - less) + 50 * 4)


_CUT_GRAPHS, _CUT_PARTS = ([f"{name}, R = 3" for name in names] for names in (_LINKS, _PARTS))


def _central_links(lines: Iterable[str]) -> Mutant:
    return beside("every agent has a link to the server", dict.fromkeys(lines, "CDP-MAB, R = 3"))


def _idle_delays(delays: dict[str, int]) -> Mutant:
    """As if in each slot of the delays of three rounds every agent lost as much as it can."""

    def instead(measured: Measured) -> Measured:
        other = copy(measured)
        other.runs = dict(measured.runs)
        for line, slots in delays.items():
            other.runs[line, 0.0] = [
                msgspec.structs.replace(run, regret=(run.regret or 0.0) + 3 * _TWENTY * slots)
                for run in measured.runs["CDP-MAB, R = 3", 0.0]
            ]
        return other

    return world("M R regret in each slot of delay", instead)


_theorem = partial(Experiment, axes=bars("regret"), metric=regret, repeat=(10, 100))


_MORE = 50
_FEW, _ARMS, _EPSILON = 10, 100, 0.1


def answer(
    agent: CdpAgent, effects: AgentEffects, sums: Callable[[int], FloatArray]
) -> tuple[FloatArray, int]:
    """The means that an agent sends when n pulls of its arms give these sums, and n."""
    (pull,) = (e for e in effects if isinstance(e, Pull))
    answered = agent.handle(Pulled(pull.arms, pull.times, sums(pull.times)), 0.0)
    (sent,) = (e.message for e in answered if isinstance(e, Send))
    assert isinstance(sent, Means)
    return np.frombuffer(sent.means, dtype="<f8"), pull.times


def averages(
    generator: np.random.Generator, r: int, mean: float
) -> tuple[FloatArray, int, Schedule]:
    """Round r's averages of ten agents' means, all rewards of this mean; S(r); the schedule."""
    schedule = Schedule(arms=_ARMS, senders=_FEW, horizon=10**12, epsilon=_EPSILON)
    noise, everything = own_noise(generator), tuple(range(_ARMS))
    means = np.zeros((_FEW, _ARMS))
    observed = 0
    for number in range(_FEW):
        agent = CdpAgent(_ARMS, schedule, noise)
        effects = agent.handle(Started(), 0.0)
        for step in range(1, r + 1):
            means[number], _ = answer(
                agent, effects, lambda n: generator.binomial(n, mean, _ARMS).astype(float)
            )
            observed = agent.observed
            if step < r:
                effects = agent.handle(Received(COORDINATOR, Active(step + 1, everything)), 0.0)
    return means.mean(axis=0), observed, schedule


def deviation(r: int, *, generator: np.random.Generator) -> float:
    """The deviation of the averages of the noise alone, over sqrt(2r) / (M^1.5 ε S(r))."""
    average, observed, _ = averages(generator, r, 0.0)
    printed = math.sqrt(2 * r) / (_FEW**1.5 * _EPSILON * observed)
    return float(np.sqrt((average**2).mean()) / printed)


def event(r: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """How many averages of Bernoulli(1/2) rewards lie farther than C(r) from 1/2."""
    average, observed, schedule = averages(generator, r, 0.5)
    far = int((np.abs(average - 0.5) > schedule.radius(r, _ARMS, observed)).sum())
    return {"value": far / _ARMS, "hits": far, "of": _ARMS}


def first_message(
    trials: int,
    agents: int,
    epsilon: float,
    reading: Any,
    claimed: float,
    *,
    generator: np.random.Generator,
) -> dict[str, Any]:
    """The first means that an agent of CDP-MAB sends. S: the mean exceeds the larger true one."""
    noise = own_noise(generator)
    schedule = Schedule(arms=2, senders=agents, horizon=10_000, epsilon=epsilon, noise=reading)

    def release(changed: bool) -> bool:
        agent = CdpAgent(2, schedule, noise)
        sums = np.array([float(changed), 0.0])
        means, pulls = answer(agent, agent.handle(Started(), 0.0), lambda n: sums)
        return bool(means[0] > 1 / pulls)

    return audit(trials, release, claimed)


def shared_sum(
    trials: int, agents: int, epsilon: float, delta: float, *, generator: np.random.Generator
) -> dict[str, Any]:
    """What the server reads of an arm and a round with shared noise, if half the agents are honest.

    The others add nothing and tell it their sums, so that the sum of the honest agents' noisy sums
    is left. S: it exceeds the larger true one by two deviations. Gaussian noise of such a δ' hides
    far more than ε in all but the rarest cases, so that it takes `_MORE` times as many releases.
    """
    noise = own_noise(generator)
    shared = SharedNoise(agents, epsilon, delta, honest=0.5, precision=16)
    trials *= _MORE

    def hits(reward: float) -> int:
        total = np.zeros(trials, dtype=np.int64)
        for agent in range(shared.honest_agents):
            mine = shared.to_integers(np.full(trials, reward if agent == 0 else 0.0))
            total += noise.discrete_gaussian(mine, shared.share)
        return int((total > shared.sensitivity + 2 * shared.deviation).sum())

    return counted(hits(1.0), hits(0.0), trials, epsilon, delta)


_SIZES = (10, 50, 100)
_RING, _BIPARTITE = "ring, Laplacian", "K_M/2,M/2, adjacency"
_CHUNG = {"4-regular, Chung": "4-regular", "all but one, Chung": "all but one"}
_ALMOST = "all but one, without the 1"


def _regular(kind: str, agents: int, generator: np.random.Generator) -> Graph:
    """A regular graph; "all but one": each agent has an edge to all others but one."""
    half = agents // 2
    if kind == "ring":
        return ring(agents)
    if kind == "4-regular":
        return regular(agents, 4, generator)
    pairs = combinations(range(agents), 2)
    if kind == "bipartite":
        return from_edges(agents, ((i, j) for i, j in pairs if i < half <= j))
    return from_edges(agents, ((i, j) for i, j in pairs if j - i != half))


def bound_on_distance(
    agents: int, kind: str, reading: str, *, generator: np.random.Generator
) -> float:
    """A bound on the diameter of a regular graph over the diameter, by a reading of λ2.

    log M / log(1/λ2) with the second smallest eigenvalue of the Laplacian over d ("Laplacian"), the
    second largest of the adjacency matrix over d ("second"), or the second largest absolute value
    of that ("absolute"); "Chung": ⌊log(M - 1) / log(1/λ)⌋ + 1 with the last (Chung 1989).
    """
    graph = _regular(kind, agents, generator)
    falling = np.linalg.eigvalsh(graph.adjacency() / graph.degrees[0])[::-1]
    eigenvalue = float({"Laplacian": 1 - falling[1], "second": falling[1]}.get(
        reading, np.abs(falling[1:]).max()))  # fmt: skip
    if eigenvalue < 1e-9:
        return 0.0
    inverse = math.log(1 / eigenvalue)
    if reading == "Chung":
        return (math.floor(math.log(agents - 1) / inverse) + 1) / graph.diameter
    return math.log(agents) / inverse / graph.diameter


_GAPS = {"Δ = .5": 0.5, "Δ = .1": 0.1}


def delay_factor(rounds: int, gap: float) -> float:
    """(1 - Δ) / (1 - Δ^(1/R)) + R/T of equation 33, at T = 10^6."""
    factor: float = (1 - gap) / (1 - gap ** (1 / rounds))
    return factor + rounds / LONG


def waiting(kind: str, agents: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """The regret of the delay slots over 2M (d_G - 1), K = 100, ε = 1, T = 10^5, in plain numbers.

    In a slot of the delay of round r every agent pulls the arm of its own largest ȳ; then all
    average and eliminate. "all arms": the same if agents pulled any of all arms evenly.
    """
    arms, horizon = 100, 100_000
    graph = {"star": star, "ring": ring}[kind](agents)
    delay = graph.diameter - 1
    schedule = Schedule(arms=arms, senders=agents, horizon=horizon, epsilon=1.0)
    means = generator.uniform(0, 1, arms)
    gaps = means.max() - means
    active, kept = np.arange(arms), np.zeros((agents, arms))
    observed, used, lost, r = 0, 0, 0.0, 0
    while len(active) > 1:
        r += 1
        total = schedule.observations(r, len(active), observed)
        new = total - observed
        used += len(active) * new + delay
        if used > horizon:
            break
        latest = generator.binomial(new, means[active], (agents, len(active))) / new
        latest = latest + generator.laplace(0, schedule.scale(new), latest.shape)
        kept[:, active] = (observed * kept[:, active] + new * latest) / total
        observed = total
        lost += delay * float(gaps[active[kept[:, active].argmax(axis=1)]].sum())
        average = kept[:, active].mean(axis=0)
        active = np.array(schedule.survivors(r, tuple(active), observed, average, agents))
    return {
        "value": lost / (2 * agents * delay),
        "regret": lost,
        "all arms": r * float(gaps.mean()) / 2,
    }


def _all_arms(measured: Measured) -> Measured:
    other = copy(measured)
    other.runs = {
        point: [
            msgspec.structs.replace(run, numbers={"value": run.numbers["all arms"]}) for run in runs
        ]
        for point, runs in measured.runs.items()
    }
    return other


_FORMS: dict[str, Any] = {
    "4 log T / (3 log pM)": lambda t, p, m: 4 * math.log(t) / (3 * math.log(p * m)),
    "log T / log pM": lambda t, p, m: math.log(t) / math.log(p * m),
    "2 log T / log M": lambda t, p, m: 2 * math.log(t) / math.log(m),
    "2 log T / log(M p^1.5)": lambda t, p, m: 2 * math.log(t) / math.log(m * p**1.5),
}
_AGENTS = 50


def loss(form: str, p: float) -> float:
    """T^(2/R) / p^1.5 over M at the R that a form of the condition asks for, T = 10^6, M = 50.

    At most 1: R rounds lose no more than no communication would, M times.
    """
    horizon = 1e6
    rounds = _FORMS[form](horizon, p, _AGENTS)
    return float(horizon ** (2 / rounds) / p**1.5 / _AGENTS)


EXPERIMENTS = (
    _theorem(
        "li-theorem-1", "Theorem 1", "Rounds, cost and regret of CDP-MAB",
        claim("at most ⌈log(1/Δ) + 1⌉ rounds (log to the base 2)", "Theorem 1, proof",
              few_rounds("CDP-MAB")),
        claim("a communication cost of c1 M for each round", "Theorem 1",
              equal({"CDP-MAB": 25.0 * _M}, cost_of_a_round)),
        claim("regret below the proof's sum over the arms", "Theorem 1, equation 22",
              under_theory("CDP-MAB"), wrong=by_chance("CDP-MAB")),
        lines={"CDP-MAB": FREE},
        axes=bars("rounds of communication"), metric=communications, repeat=(30, 100),
        variants=("corrected",),
        assumed="M = 50, K = 10, means U[0, 1], T = 10⁶, ε = 1; every run has its own instance. "
        "The sum is of the first line of equation 22, whose third has 16 for 128.",
    ),
    _theorem(
        "li-theorem-2", "Theorem 2", "CDP-MAB in R rounds with partial participation",
        claim("a communication cost of c1 ⌈pM⌉ R (runs that identify an arm before may save "
              "rounds: at most)", "Theorem 2",
              at_most(_SHARES, lambda line, rounds: 25 * uploaders(_M, _SHARES[line]) * rounds,
                      metric=cost),
              wrong=beside("all agents take part", {"p=0.6": "p=1"})),
        claim("regret below the proof's sum over the arms", "Theorem 2, equation 26",
              over(lambda participation, rounds: at_most(participation, equation_26, rounds),
                   participation=(*_SHARES,), rounds=_ROUNDS),
              wrong=by_chance(_SHARES)),
        claim("min(M, T^(2/R)/p^1.5) times the regret without a limit at most", "I, Theorem 2, "
              "equations 8, 27, Remark 2", times_more("p=1"),
              wrong=(by_chance("p=1"), world("M times, whatever R", _whatever))),
        lines={
            **along(lambda p, rounds: in_rounds(rounds, participation=p),
                    {"p=0.6": 0.6}, _ROUNDS),
            "p=1": {rounds: in_rounds(rounds) for rounds in (*_ROUNDS, *_MANY)},
            "without a limit": unlimited(),
        },
        axes=Axes("rounds R", "regret", "y"), variants=("corrected",),
        assumed="M = 50, K = 100, one instance whose smallest gap is told, T = 10⁶, ε = 1, c1 = "
        "25. R = 2 with p = .6 and less does not end before T. T^(2/R) is below M from R = 8 on.",
    ),
    _theorem(
        "li-theorem-3", "Theorem 3, Corollary 1, Table I",
        "Cost and regret of DDP-MAB, without a limit and in three rounds",
        claim("a round costs c2 d_G Σ d_i / 2: 2(M − 1), M²/2 and M(M − 1)/2 on star, ring and "
              "complete graph", "Theorem 3, Table I", equal(_LINKS, cost_of_a_round)),
        *(
            claim(f"{kind}: regret below the proof's sum with the delay's share",
                  "Theorem 3, equations 22, 29", under_theory(kind), wrong=by_chance(kind))
            for kind in _LINKS
        ),
        claim("R rounds: a cost of c2 d_G R Σ d_i / 2 at most", "Corollary 1",
              at_most(_CUT_GRAPHS, lambda line, x: 3 * _LINKS[line.partition(",")[0]],
                      metric=cost),
              wrong=beside("every pair of agents has a link",
                              dict.fromkeys(_CUT_GRAPHS[1:], "complete, R = 3"))),
        claim("R rounds: the regret is that of CDP-MAB and O(M (d_G − 1))",
              "Corollary 1, 31", about("CDP-MAB, R = 3", _CUT_GRAPHS),
              wrong=_idle_delays({"ring, R = 3": 9, "star, R = 3": 1})),
        lines=_free_and_cut(ddp, {kind: GRAPHS[kind] for kind in _LINKS}),
        variants=("corrected",),
        assumed="M = 20, K = 10, T = 10⁵, ε = 1, c2 = 1; in three rounds the smallest gap is told "
        "to be .05.",
    ),
    _theorem(
        "li-theorem-4", "Theorem 4, Corollary 2",
        "Cost and regret of HDP-MAB, without a limit and in three rounds",
        claim("a round costs at most c2 M max d_G + c1 Q", "Theorem 4",
              at_most(_PARTS, lambda line, x: _round_at_most(line, 0), metric=cost_of_a_round),
              wrong=_central_links(_PARTS)),
        *(
            claim(f"{name}: regret below the proof's sum with the delay's share",
                  "Theorem 4, equations 22, 34", under_theory(name), "corrected", by_chance(name))
            for name in _PARTS
        ),
        claim("R rounds: a cost of O(c2 M max (d_G − 1) + c1 Q) R", "Corollary 2",
              over(lambda constant: at_most(
                  _CUT_PARTS, lambda line, x: constant * _round_at_most(line.partition(",")[0], 1),
                  metric=cost_of_a_round), constant=(1.0, 1.25)),
              wrong=_central_links(_CUT_PARTS)),
        claim("R rounds: the regret is that of CDP-MAB and O(M max d_G)",
              "Corollary 2, equation 11", about("CDP-MAB, R = 3", _CUT_PARTS),
              wrong=_idle_delays({"four rings, R = 3": 2, "four stars, R = 3": 2})),
        lines=_free_and_cut(hdp, {name: graph for name, (graph, _) in _PARTS.items()}),
        assumed="M = 20 in four components of five, K = 10, T = 10⁵, ε = 1, c1 = 50, c2 = 1; in "
        "three rounds the smallest gap is told to be .05. Of complete components a round costs "
        "c2 (M − Q) + c1 Q, which no constant makes of Corollary 2's c1 Q.",
    ),
    audits(
        "li-audit", "", "How much privacy CDP-MAB with other noise spends",
        ours("with noise for each agent by itself its messages are ε-private",
             spends("noise per agent, ε")),
        ours("with shared noise the sum that the server reads is (ε, δ')-private, even if half of "
             "the agents tell it theirs", spends("shared noise, (ε, δ')")),
        lines=mechanisms({
            "noise per agent, ε": (first_message, 4, 0.5, "per_agent", 0.5),
            "shared noise, (ε, δ')": (shared_sum, 4, 0.5, 1e-6),
        }),
        assumed=f"{AUDITED} M = 4, ε = .5, the first message of one agent. With shared noise (δ' "
        "= 10⁻⁶, half of the agents honest) the server reads a sum over all, no message of one.",
    ),
    computed(
        "li-noise", "Theorem 1, event E_R",
        "The noise of an average, and how often it is too large",
        claim("ȳ_k is within C(r) of the mean but for a small probability",
              "Theorem 1, equations 13, 15, 19, 20", over(
                  lambda probability: rate("beyond C(r)", probability, pooled=True),
                  probability=(0.001, 0.01))),
        ours("the noise of ȳ_k has deviation sqrt(2r) / (M^1.5 ε S(r))",
             # the mean square is unbiased where its root is not
             matches("deviation", 1.0, widened=1.4, metric=lambda one: one.numbers["value"] ** 2),
             wrong=multiplied("without the factor √r", "deviation", lambda r: r**-0.5)),
        lines=along(Computation, {"deviation": deviation, "beyond C(r)": event}, (1, 2, 3, 4, 5)),
        axes=Axes("round r", "deviation over the computed; share beyond C(r)"), repeat=(20, 100),
        assumed="M = 10, K = 100, ε = .1, no arm is dropped; T = 10¹² only in the logarithms. "
        "Fact 2 of the proof needs P_r = log(8Kr²T) < M, which fails at M = 5 and at M = 10.",
    ),
    computed(
        "li-graphs", "Table I", "The diameter of a regular graph by its eigenvalues",
        claim("d_G <= log M / log(1/λ2), λ2 of the Laplace matrix (on rings, d = 2)", "Table I",
              at_most(_RING, 1.0, sign=-1)),
        ours("the same with the second largest eigenvalue of the normalised adjacency matrix (on "
             "complete bipartite graphs, d = M/2)", at_most(_BIPARTITE, 1.0, sign=-1)),
        ours("d_G <= ⌊log(M − 1) / log(1/λ)⌋ + 1, λ the second largest absolute eigenvalue "
             "(Chung 1989)", at_most(_CHUNG, 1.0, sign=-1),
             wrong=beside("the same without rounding and the 1",
                             {"all but one, Chung": _ALMOST})),
        lines={
            line: {m: Computation(bound_on_distance, m, kind, reading) for m in _SIZES}
            for line, kind, reading in (
                (_RING, "ring", "Laplacian"),
                (_BIPARTITE, "bipartite", "second"),
                *((line, kind, "Chung") for line, kind in _CHUNG.items()),
                (_ALMOST, "all but one", "absolute"),
            )
        },
        axes=Axes("agents M", "bound over the diameter", "x"), repeat=(5, 20), limit=1.0,
        assumed="The footnote says the second largest eigenvalue of the Laplacian, which is above "
        "1, so that the logarithm is negative and nothing is bounded; the second smallest is taken "
        "here. Both matrices are divided by the degree. All but one: each agent has an edge to all "
        "others but one.",
    ),
    computed(
        "li-equation-33", "Corollary 1, equation 33", "The factor of the delay's regret",
        claim("(1 − Δ)/(1 − Δ^(1/R)) + R/T <= 1", "equation 33", at_most(_GAPS, 1.0)),
        ours("it is at least R (1 − Δ)/ln(1/Δ), so that it grows as R at a fixed gap",
             at_most(_GAPS, lambda line, r: r * (1 - _GAPS[line]) / math.log(1 / _GAPS[line]),
                     sign=-1),
             wrong=multiplied("no growth with R", _GAPS, lambda r: 1 / r)),
        lines=along(lambda gap, r: Computation(delay_factor, r, gap), _GAPS, (1, 2, 5, 10)),
        axes=Axes("rounds R", "factor"), limit=1.0,
        assumed="T = 10⁶, in R/T alone.",
    ),
    computed(
        "li-delays", "Theorem 3, equation 29", "The regret of the slots in which means travel",
        claim("at most 2M (d_G − 1) (1 − Δ), O(M (d_G − 1))", "Theorem 3, equations 9, 29",
              at_most(("star", "ring"), 1.0),
              wrong=world("agents that pull all arms evenly", _all_arms)),
        lines={kind: Computation(waiting, kind, _AGENTS) for kind in ("star", "ring")},
        axes=bars("over 2M (d_G − 1)"), repeat=(20, 200), limit=1.0,
        assumed="M = 50, K = 100, means U[0, 1], T = 10⁵, ε = 1; in plain numbers, without "
        "messages.",
    ),
    computed(
        "li-no-loss", "Remarks 2, 3 and 5", "When R rounds are not worse than no communication",
        claim("T^(2/R)/p^1.5 <= M for R >= 4 log T / (3 log pM)", "Remark 2",
              at_most("4 log T / (3 log pM)", 1.0)),
        claim("T^(2/R)/p <= M for R >= log T / log pM (at p = 1)", "appendix C",
              at_most("log T / log pM", 1.0, where=1.0)),
        claim("DDP-MAB and HDP-MAB (p = 1): T^(2/R) <= M for R >= 2 log T / log M",
              "Remarks 3 and 5", at_most("2 log T / log M", 1.0, where=1.0),
              wrong=beside("half the rounds", {"2 log T / log M": "log T / log pM"})),
        ours("T^(2/R)/p^1.5 <= M for R >= 2 log T / log(M p^1.5)",
             at_most("2 log T / log(M p^1.5)", 1.0),
             wrong=beside("Remark 2's rounds",
                             {"2 log T / log(M p^1.5)": "4 log T / (3 log pM)"})),
        lines=along(partial(Computation, loss), _FORMS.keys(), (0.2, 0.4, 0.6, 0.8, 1.0)),
        axes=Axes("participation p", "T^(2/R) / (p^1.5 M)", "y"), limit=1.0,
        assumed="M = 50, T = 10⁶. The last form is the solution of T^(2/R) / p^1.5 <= M.",
    ),
)  # fmt: skip
