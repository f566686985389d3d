"""What Rio et al. 2023 prove and say of rounds, of votes that err, and of what votes give away."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
import numpy as np

from posse.extend import FloatArray, Pulled, Send, Started
from posse_papers.audit import AUDITED, audit, audits, mechanisms, own_noise, spends
from posse_papers.checks import (
    above,
    above_zero,
    against,
    alike,
    at_most,
    bounded,
    check,
    exponent,
    falling,
    matches,
    rate,
    ratio,
    right,
    weighed,
)
from posse_papers.experiment import Axes, Computation, Experiment, Runs, along, bars, computed
from posse_papers.rio.figures import ASSUMED, DELTA, PROBLEMS, XIS, agents, corrupted, dp, run
from posse_papers.sample import Metric, Sample, messages
from posse_papers.statements import Finding, Measured, Mutant, claim, ours, over, verdict
from posse_papers.worlds import beside, multiplied, with_runs
from posse_systems.algorithms import (
    ActivitySpec,
    Csv,
    DpMaseVoter,
    corrupted_failure,
    epoch_length,
    epoch_radius,
    rounds_of_votes,
    samples_of_epochs,
    threshold,
)

_N, _BETA, _EPSILON = 256, 0.5, 0.25
_SAMPLES = samples_of_epochs(0.2, 10, _BETA, _EPSILON)
"""T(β) with the proof's constants."""


def slowest_voter(gamma: float) -> float:
    """1/p*, p* the probability of the M-th most likely of N = 256 agents, P(n) ∝ n^-γ."""
    rates = ActivitySpec(kind="power", gamma=gamma).rates(_N)
    return float(1 / sorted(rates)[-threshold(DELTA, _BETA)])


def at_most_rounds(line: str, x: float) -> float:
    """Equation 8: (T(β) + log(1/δ) / (4 p*)) / p*, 1/p* = x."""
    return x * (_SAMPLES + x * math.log(1 / DELTA) / 4)


def promised(slowest: float, share: float = 1.0) -> float:
    """(1 - δ) (1 - I_{1-p*}(T - T(β), 1 + T(β)))^M at a share of the T of equation 8.

    1/p* = `slowest`.
    """
    from scipy.special import betainc  # noqa: PLC0415

    last = share * at_most_rounds("", slowest)
    late = float(betainc(last - _SAMPLES, 1 + _SAMPLES, 1 - 1 / slowest))
    return (1 - DELTA) * (1 - late) ** threshold(DELTA, _BETA)


_SLOWEST = {gamma: slowest_voter(gamma) for gamma in (0.0, 0.2, 0.4, 0.6, 0.8)}
_PROMISED = "(1 − δ)(1 − I)^M"
_SHARES = {_PROMISED: 1.0, "in 1 % more rounds": 1.01, "in 1 % fewer rounds": 0.99}


def last_voter(slowest: float) -> float:
    """The M-th most likely agent's probability over that of the least likely one."""
    gamma = next(gamma for gamma, x in _SLOWEST.items() if x == slowest)
    return float(1 / (min(ActivitySpec(kind="power", gamma=gamma).rates(_N)) * slowest))


_ALL_AGENTS = multiplied("waiting for the least active agent", "DP-MASE", last_voter)
_CLIPPED = {"arms": {**PROBLEMS[2], "clip": [10.0, 11.5]}}


def growth(form: str, exponent: int) -> float:
    """The proof's activations of one agent over the T(β) of one form, at β = 10^-exponent."""
    beta, epsilon, gap, arms = 10.0**-exponent, 0.1, 0.1, 10
    confidence, repeats = math.log(arms / beta), math.log(math.log(1 / gap))
    powers = 1 / gap**2 + 1 / (epsilon * gap)
    letter = confidence + repeats * powers
    rate = letter if form == "to the letter" else (confidence + repeats) * powers
    return samples_of_epochs(gap, arms, beta, epsilon) / rate


@check
def stays(measured: Measured, line: str) -> Finding:
    """A line varies by less than a factor 2 from its first place to its last."""
    values = [measured.values(line, x)[0] for x in measured.places(line)]
    ratio = max(values) / min(values)
    return verdict(ratio < 2, f"over it the proof's count varies by the factor {ratio:.2f}")


SAMPLES, AGENTS = 1700, 64
_VOTES = {0.1: 11, 0.05: 18, 0.0: 29}
"""M by ξ at η = .9, from log η_ξ."""


def simulated(votes: int, *, generator: np.random.Generator) -> float:
    """Rounds until any M of N agents have been active T_η times, the median of 400 runs.

    An agent's T_η-th activation comes after a Gamma(T_η) time of rate 1/N.
    """
    times = np.sort(generator.gamma(SAMPLES, size=(400, AGENTS)), axis=1)[:, votes - 1]
    return float(np.median(times)) * AGENTS


def formula(votes: int) -> float:
    """Proposition 5.3's rounds, α = 1/2."""
    return rounds_of_votes(SAMPLES, AGENTS, votes, 0.5)


def exact(votes: int) -> float:
    """The T by which M of N agents, any, have T_η activations with probability 1/2."""
    from scipy.optimize import brentq  # noqa: PLC0415
    from scipy.special import gammainc  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    def rest(t: float) -> float:
        return float(binom.sf(votes - 1, AGENTS, gammainc(SAMPLES, t / AGENTS))) - 0.5

    return float(brentq(rest, 0.5 * SAMPLES * AGENTS, 2 * SAMPLES * AGENTS))


_MODEL, _ALGORITHM = "its model, simulated", "Corrupted Elimination"
_COMPUTED = {"Proposition 5.3": formula, "any M of N": exact, _MODEL: simulated}


_BETAS = {f"β = {beta:g}": beta for beta in (0.3, 0.5, 0.8)}
_RUN, _CORRUPTED = "DP-MASE, share of agents that err", "Corrupted Elimination, the same"
_RIGHT = {"DP-MASE": _RUN, "Corrupted Elimination": _CORRUPTED}
_ONE_VOTE = {line: f"{line}, one vote" for line in _RIGHT.values()}


def majority(agents: int, wrong: float, votes: int) -> float:
    """P(Bin(N, p) >= M): some M of N agents vote wrongly, if each does with probability p."""
    from scipy.stats import binom  # noqa: PLC0415

    return float(binom.sf(votes - 1, agents, wrong))


def erred(sample: Sample) -> float:
    """The share of agents that voted against the best arm, arm 0."""
    wrong, agents = wrong_agents(sample)
    return wrong / agents


def wrong_agents(sample: Sample) -> tuple[int, int]:
    """How many agents voted against the best arm, of how many."""
    wrong = {int(agent) for _, agent, arm in sample.log.get("votes", []) if int(arm) == 0}
    return len(wrong), len(sample.answers)


_ETA, _ARMS = 0.9, 10
_XIS, _ALPHAS = (0.05, 0.1), (1, 10, 100, 1000)
_M = threshold(DELTA, _ETA)
"""M of the proof of Proposition 5.2, from log η."""


def _local(xi: float) -> float:
    """η_ξ."""
    return corrupted_failure(_ETA, xi, _ARMS, DELTA, "printed")


def bound(xi: float, a: int) -> float:
    """(1 - I_ξ(a+1, M)) δ η_ξ^a of Proposition 5.2."""
    from scipy.special import betainc  # noqa: PLC0415

    return float((1 - betainc(a + 1, _M, xi)) * DELTA * _local(xi) ** a)


def in_its_model(xi: float) -> float:
    """Some M of 64 agents err, each with probability η_ξ, and their votes are sent."""
    return majority(64, _local(xi) * (1 - xi), _M)


def minimum(line: str, a: float) -> float:
    """The least of the bounds that are tried, for the ξ that a line names."""
    return min(bound(float(line.partition("= ")[2]), a) for a in _ALPHAS)


def success(sample: Sample) -> float:
    """How likely an adversary who sees one agent's votes names the best arm, on average.

    It guesses evenly among the arms that the agent has not voted against; arm 0 is the best.
    """
    voted: dict[int, set[int]] = {agent: set() for agent in range(len(sample.answers))}
    for _, agent, arm in sample.log.get("votes", []):
        voted[int(agent)].add(int(arm))
    chances = [0.0 if 0 in arms else 1 / (_ARMS - len(arms)) for arms in voted.values()]
    return sum(chances) / len(chances)


def first_vote(voter: DpMaseVoter, windows: Iterable[tuple[int, FloatArray]]) -> int | None:
    """The epoch in which an agent with two arms first votes, given the pulls and sums of each."""
    voter.handle(Started(), 0.0)
    for epoch, (pulls, sums) in enumerate(windows, 1):
        effects = voter.handle(Pulled((0, 1), pulls, sums), 0.0)
        if any(isinstance(effect, Send) for effect in effects):
            return epoch
    return None


def success_of(watched: int) -> Metric:
    """As `success`, of an adversary who sees the votes of `watched` agents.

    It guesses evenly among the arms with the fewest votes of these. Agents are watched in groups of
    neighbouring ranks.
    """

    def found(sample: Sample) -> float:
        votes = np.zeros((len(sample.answers), _ARMS))
        for _, agent, arm in sample.log.get("votes", []):
            votes[int(agent), int(arm)] = 1
        groups = votes.reshape(-1, watched, _ARMS).sum(axis=1)
        least = groups == groups.min(axis=1, keepdims=True)
        return float((least[:, 0] / least.sum(axis=1)).mean())

    return found


def in_step(measured: Measured, many: int, shift: int) -> Measured:
    """As if each agent voted as one of its group, the n-th, so that the others tell nothing more.

    Which one differs from group to group.
    """

    def alike(sample: Sample) -> Sample:
        voted: dict[int, list[float]] = {}
        for _, agent, arm in sample.log.get("votes", []):
            voted.setdefault(int(agent), []).append(arm)
        votes = [
            [0.0, float(agent), arm]
            for agent in range(len(sample.answers))
            for arm in voted.get((agent // many + shift) * 7 % len(sample.answers), [])
        ]
        return msgspec.structs.replace(sample, log={"votes": votes})

    return with_runs(
        measured, {place: [*map(alike, runs)] for place, runs in measured.runs.items()}
    )


def _votes_alike(xi: float, few: int, many: int) -> Iterable[Mutant]:
    yield Mutant(
        "agents that vote alike",
        lambda measured: (in_step(measured, many, shift) for shift in range(40)),
        null=True,
    )


@against(_votes_alike)
def more(measured: Measured, xi: float, few: int, many: int) -> Finding:
    """Who watches `many` agents succeeds more often than who watches `few`."""
    one, other = (measured.values("adversary", xi, success_of(n)) for n in (few, many))
    difference = bounded([b - a for a, b in zip(one, other, strict=True)], measured.error)
    said = f"{few}: {np.mean(one):.3f}, {many}: {np.mean(other):.3f}"
    return weighed([above_zero(*difference, said)])


def cost_of_steps(kind: str, steps: int) -> float:
    """The ε of a reward that is in this many releases, over the ε = .01 of one."""
    one = 0.01
    match kind:
        case "basic":
            return float(steps)
        case "tree":
            return math.log2(steps)
    return steps * math.tanh(one / 2) + math.sqrt(2 * steps * math.log(1e6))


_COMPOSED = ("basic", "advanced", "tree")


def divergence(epsilon: float, p: float, q: float) -> float:
    """inf_z kl(z, q) + ε |p - z|, of Bernoulli means (arXiv 2510.17348, d_ε); kl(p, q) for ε = ∞.

    The derivative is zero where z is ε away from q in log-odds; from there on privacy is dearer.
    """
    odds = math.log(q / (1 - q))
    far = 1 / (1 + math.exp(-(odds + (epsilon if p > q else -epsilon))))
    z = min(p, far) if p > q else max(p, far)
    return z * math.log(z / q) + (1 - z) * math.log((1 - z) / (1 - q)) + _times(epsilon, abs(p - z))


def _times(epsilon: float, distance: float) -> float:
    return epsilon * distance if distance else 0.0


def private_bound(epsilon: float, means: Sequence[float] | None = None) -> float:
    """T_ε kl(δ, 1 - δ) / K: rounds of one pull an arm that any ε-private method needs.

    T_ε⁻¹ = max_w min_a inf_x w_1 d_ε(μ_1, x) + w_a d_ε(μ_a, x); the best weights make all arms'
    costs equal, to y for w_1 = 1. With ε = ∞ it is what any method needs (Garivier and Kaufmann
    2016, whose Theorem 5 finds y in this way).
    """
    from scipy.optimize import brentq, minimize_scalar  # noqa: PLC0415

    best, *others = sorted(means or _MEANS, reverse=True)

    def least(bound: Callable[[float], float], low: float, high: float) -> float:
        return float(
            minimize_scalar(
                bound, bounds=(low, high), method="bounded", options={"xatol": 1e-9}
            ).fun
        )

    def cost(weight: float, mean: float) -> float:
        return least(
            lambda x: divergence(epsilon, best, x) + weight * divergence(epsilon, mean, x),
            mean, best,
        )  # fmt: skip

    def total(y: float) -> float:
        weights = {m: brentq(lambda w, m=m: cost(w, m) - y, 0, 1e9) for m in {*others}}
        return float(1 + sum(weights[m] for m in others)) / y

    most = min(divergence(epsilon, best, m) for m in others)
    pulls = divergence(math.inf, DELTA, 1 - DELTA) * least(total, 0, 0.999 * most)
    return pulls / (1 + len(others))


def chance_bound(epsilon: float) -> float:
    """What any method needs, whatever its ε."""
    del epsilon
    return private_bound(math.inf)


_MEANS: list[float] = PROBLEMS[1]["means"]
_KL, _TV = "at least, by chance alone", "at least, by privacy"


Change = Literal["value", "taken out", "moved"]
_SHORT = 2.0
"""How many scales of the noise the two epochs are from S."""


def logs(epsilon: float, change: Change | None) -> list[FloatArray]:
    """Two arms' rows, as they are and with arm 0's first row changed.

    Arm 0 leads in the first window by so much that a vote is likely, in the second by so little
    that none is. Without that row, a 1, its first window has a 1 less and its second a 1 more; put
    before arm 1's rows, it does the same to these with the other sign.
    """
    one, two = (epoch_length(2, epoch, _BETA, epsilon) for epoch in (1, 2))
    lead, behind = (
        2 * pulls * epoch_radius(2, epoch, _BETA, epsilon, pulls) + sign * _SHORT / epsilon
        for epoch, pulls, sign in ((1, one, 1), (2, two, -1))
    )
    first = np.full(one, (lead - 1) / (one - 1))
    second = np.full(two, (behind + 1) / (two - 1))
    first[0], second[0] = 1.0, 0.0
    better = np.concatenate([first, second, [1.0]])
    worse = np.zeros(one + two)
    worse[-1] = 1.0
    match change:
        case "value":
            better[0] = 0.0
        case "taken out":
            better = better[1:]
        case "moved":
            better, worse = better[1:], np.concatenate([better[:1], worse])
    return [better, worse]


def votes(
    trials: int, epsilon: float, change: Change, *, variant: Any, generator: np.random.Generator
) -> dict[str, Any]:
    """The votes of DP-MASE's first two epochs. S: none in the first, one in the second."""
    noise = own_noise(generator)
    pulls = [epoch_length(2, epoch, _BETA, epsilon) for epoch in (1, 2)]
    windows = {}
    for changed in (False, True):
        log = Csv(logs(epsilon, change if changed else None), False, generator)
        windows[changed] = [(times, log.totals((0, 1), times)) for times in pulls]

    def release(changed: bool) -> bool:
        voter = DpMaseVoter(2, _BETA, epsilon, variant, noise)
        return first_vote(voter, windows[changed]) == 2

    return audit(trials, release, epsilon)


_CHANGES = {
    "another value in its place": "value",
    "the row taken out": "taken out",
    "the row moved to the other arm": "moved",
}


_watched = partial(
    Experiment,
    lines={"adversary": {xi: corrupted(64, xi) for xi in XIS}},
    axes=Axes("ξ", "adversary's success"),
    repeat=(3, 40),
    metric=success,
    keep_log=True,
    assumed="N = 64, Problem 1, η = .9. The adversary guesses evenly among the arms that one "
    "agent has not voted against, all agents in turn, when the run is over; who sees several, "
    "among those with the fewest votes.",
)
_SHORTER = beside("1 % fewer rounds", {_PROMISED: "in 1 % fewer rounds"})

EXPERIMENTS = (
    Experiment(
        "rio-epsilon", "section 6.2", "Sample complexity of DP-MASE against ε",
        claim("a significant increase for ε below .1", "6.2",
              over(lambda to, times: ratio(("DP-MASE", to), ("DP-MASE", 0.1), times, math.inf),
                   to=(0.025, 0.05), times=(1.25, 1.5, 2.0))),
        claim("relatively stable for larger ε: from .1 to 1", "6.2",
              over(lambda within: ratio(("DP-MASE", 0.1), ("DP-MASE", 1.0), 1 / (1 + within),
                                        1 + within), within=(0.1, 0.25, 0.5))),
        lines={
            "DP-MASE": {e: dp(256, e) for e in (0.025, 0.05, 0.1, 0.25, 0.5, 1.0)},
            **{
                line: {e: Computation(bound, e) for e in (0.025, 0.05, 0.1, 0.25, 0.5, 1.0)}
                for line, bound in {_KL: chance_bound, _TV: private_bound}.items()
            },
        },
        axes=Axes("ε", "rounds", "xy"), repeat=(5, 100),
        assumed="Problem 1, N = 256, β = .5. Two lower bounds on the pulls that any method with "
        "confidence .95 needs in expectation, over K = 10 pulls a round: T kl(δ, 1 - δ), T by kl, "
        "and for ε-private ones by d_ε of arXiv 2510.17348 (by its abstract, our derivation).",
    ),
    Experiment(
        "rio-active", "Proposition 4.3", "Rounds of DP-MASE against the M-th most active agent",
        claim("scales with 1/p*: one waits for the M-th most frequent agent", "4.2",
              over(lambda within: exponent("DP-MASE", 1 - within, 1 + within),
                   within=(0.1, 0.2, 0.3)), "corrected"),
        claim("at most T(β)/p* + log(1/δ)/4p*², the constants of the proof",
              "Proposition 4.3, equation 8", at_most("DP-MASE", at_most_rounds),
              wrong=_ALL_AGENTS),
        lines={"DP-MASE": {
            slowest: dp(_N, _EPSILON, activity={"kind": "power", "gamma": gamma})
            for gamma, slowest in _SLOWEST.items()
        }},
        axes=Axes("1/p*", "rounds", "xy"), repeat=(10, 100), variants=("corrected",),
        assumed="Problem 1, N = 256, M = 5, ε = .25; P(n) ∝ n^-γ, γ = 0, .2, .4, .6, .8. "
        "Printed, by λ > M, one waits for one agent more.",
    ),
    computed(
        "rio-promise", "Proposition 4.3", "How likely its bound is promised to hold",
        ours("with probability 1/2 at least where all agents are equally active",
             at_most(_PROMISED, 0.5, _SLOWEST[0.0], sign=-1), wrong=_SHORTER),
        ours("whatever their activity", at_most(_PROMISED, 0.5, sign=-1), wrong=_SHORTER),
        ours("whatever their activity in 1 % more rounds",
             at_most("in 1 % more rounds", 0.5, sign=-1),
             wrong=beside("1 % fewer rounds", {"in 1 % more rounds": "in 1 % fewer rounds"})),
        lines=along(lambda share, x: Computation(promised, x, share), _SHARES, _SLOWEST.values()),
        axes=Axes("1/p*", "probability", "x"),
        assumed="At the T of equation 8 taken as an equality, which is an O(.) in the "
        "proposition, in the setting of rio-active, where T is 26 times as many "
        "rounds as it takes and more.",
    ),
    Experiment(
        "rio-messages", "", "Messages to the coordinator, Problem 1",
        ours("DP-MASE sends less than Corrupted Elimination, and that less than CENTRAL",
             falling("CENTRAL", "Corrupted ξ=0", "DP-MASE ε=0.1")),
        lines=lambda quick: {
            "DP-MASE ε=0.1": {n: dp(n, 0.1) for n in agents(quick)},
            "Corrupted ξ=0": {n: corrupted(n, 0.0) for n in agents(quick)},
            "CENTRAL": {n: run("central", n) for n in agents(quick)},
        },
        axes=Axes("number of agents N", "messages from agents", "xy"), repeat=(5, 20),
        metric=messages,
        assumed=f"{ASSUMED} The paper defines no cost of communication.",
    ),
    Experiment(
        "rio-clipped", "", "DP-MASE on Problem 2, its rewards clipped",
        ours("clipped, collaboration still beats INDEPENDENT",
             above("INDEPENDENT, clipped", "DP-MASE, clipped")),
        ours("and the best arm is found with probability at least .95", right(0.05)),
        lines={
            "DP-MASE, clipped": dp(64, 0.25) | _CLIPPED,
            "INDEPENDENT, clipped": run("independent", 64) | _CLIPPED,
        },
        axes=bars("rounds"), repeat=(10, 100),
        assumed="N = 64, deviation .5, rewards clipped to [10, 11.5] and mapped onto [0, 1], so "
        "that gaps are divided by 1.5 and more; ε = .25.",
    ),
    computed(
        "rio-samples", "Proposition 4.3", "The activations of one agent of DP-MASE",
        claim("T(β) = log(K/β) + log log(1/Δ) (1/Δ² + 1/(εΔ)), but for a constant",
              "Proposition 4.3", stays("to the letter")),
        ours("with brackets, (log(K/β) + log log(1/Δ)) (1/Δ² + 1/(εΔ)), it is",
             stays("product"),
             wrong=beside("without the brackets", {"product": "to the letter"})),
        lines=along(partial(Computation, growth), ("product", "to the letter"),
                   (1, 3, 10, 30, 100)),
        axes=Axes("log10(1/β)", "the proof's count over T(β)", "y"),
        assumed="K = 10, ε = .1, Δ = .1; the count is Σ_e R(e, K). A pair of brackets is missing "
        "in T(β) wherever the paper prints it: a slip of the pen.",
    ),
    Experiment(
        "rio-rounds", "Proposition 5.3", "Rounds until M agents have done their share",
        claim("the rounds are approximately N Q⁻¹(T(η_ξ), 1 − α^(1/M))", "Proposition 5.3",
              over(lambda of, within: alike(of, "Proposition 5.3", within),
                   of={"the algorithm": _ALGORITHM, "its model": _MODEL},
                   within=(0.1, 1 / 3)), "corrected"),
        ours("the formula is an upper bound of its model: it waits for M given agents, where any M "
             "will do", above("Proposition 5.3", _MODEL), "corrected"),
        ours("the exact count, any M of N agents, is what a simulation finds",
             matches(_MODEL, lambda line, votes: exact(int(votes)), slack=0.001),
             "corrected", beside("M given agents", {_MODEL: "Proposition 5.3"})),
        # the corrected form takes M from log η_ξ, as the proposition does
        lines={
            **along(Computation, _COMPUTED, _VOTES.values()),
            _ALGORITHM: {m: Runs(corrupted(AGENTS, xi), variants=("corrected",))
                         for xi, m in _VOTES.items()},
            "one agent's T_η": {AGENTS: Runs(run("independent", AGENTS, delta=0.9),
                                             variants=("corrected",))},
        },
        axes=Axes("votes M", "rounds (median)"), repeat=(10, 200),
        assumed=f"T_η = {SAMPLES} activations, about what an agent alone takes (it is only sure to "
        f"end by 8,170), N = {AGENTS}, α = 1/2, Problem 1; M = 11, 18, 29 are those of ξ = .1, .05 "
        "and 0 at η = .9.",
    ),
    Experiment(
        "rio-failure", "Proposition 4.2", "How likely M agents err together",
        claim("M wrong votes have at most the probability β^M <= δ, if each agent errs with "
              "probability β", "Proposition 4.2, proof", at_most(_BETAS, DELTA)),
        claim("the best arm is returned with confidence 1 − δ = .95", "6, Proposition 4.2",
              over(lambda system: right(DELTA, system), system=_RIGHT),
              wrong=beside("one vote in place of M", _ONE_VOTE)),
        ours("agents err so seldom (.031 is enough for M = 5 of N = 64) that it holds all the same",
             rate(_RUN, 0.031, happened=wrong_agents)),
        lines={
            **along(lambda beta, n: Computation(majority, n, beta, threshold(DELTA, beta)), _BETAS,
                   (64, 256, 1024)),
            _RUN: {64: dp(64, 0.25)},
            _CORRUPTED: {64: corrupted(64, 0.05)},
            _ONE_VOTE[_RUN]: {64: dp(64, 0.25, delta=_BETA)},
            _ONE_VOTE[_CORRUPTED]: {64: corrupted(64, 0.05, delta=_ETA)},
        },
        axes=Axes("number of agents N", "probability", "x"), repeat=(80, 200), limit=DELTA,
        metric=erred, keep_log=True,
        assumed="δ = .05, M = ⌈log δ / log β⌉ = 3, 5, 14. Measured: Problem 1; DP-MASE, ε = .25; "
        "Corrupted Elimination, ξ = .05, η = .9. One vote: δ = β, or η.",
    ),
    computed(
        "rio-minimum", "Proposition 5.2", "The failure bound of Corrupted Elimination",
        claim("the failure probability is at most min_α (1 − I_ξ(α+1, M)) δ η_ξ^α",
              "Proposition 5.2", at_most([f"its model, ξ = {xi:g}" for xi in _XIS], minimum)),
        lines={line: run for xi in _XIS for line, run in (
            (f"the bound, ξ = {xi:g}", {a: Computation(bound, xi, a) for a in _ALPHAS}),
            (f"its model, ξ = {xi:g}", {1: Computation(in_its_model, xi)}),
        )},
        axes=Axes("α", "(1 − I_ξ(α+1, M)) δ η_ξ^α", "xy"),
        assumed="K = 10, η = .9, δ = .05, M = 29 from log η, as the proof has it. Its model: each "
        "of N = 64 agents errs with probability η_ξ, and its vote is sent with probability 1 − ξ. "
        "The minimum over all α is 0.",
    ),
    _watched(
        "rio-adversary", "Proposition 5.1", "Who sees one agent's votes guesses the best arm",
        *(
            claim(f"ξ = {xi:g}: from an agent's messages nobody infers the best arm with a "
                  "probability above 1 − η = .1", "Proposition 5.1",
                  at_most("adversary", 0.1, xi))
            for xi in XIS
        ),
        limit=0.1,
    ),
    _watched(
        "rio-coalition", "section 3.2.2", "Who sees the votes of several agents",
        *(
            claim(f"ξ = {xi:g}: the guarantee weakens with the agents that are watched", "3.2.2",
                  over(lambda watched, xi=xi: more(xi, 1, watched), watched=(2, 4, 8)))
            for xi in XIS
        ),
    ),
    computed(
        "rio-naive", "section 4.1", "A noisy mean at every step",
        claim("the privacy cost scales linearly with T", "Section 4.1",
              over(lambda composition: exponent(composition, 0.9, 1.1), composition=_COMPOSED)),
        lines=along(partial(Computation, cost_of_steps), _COMPOSED, (100, 1000, 10_000)),
        axes=Axes("rewards T", "ε of all steps over that of one", "xy"), repeat=(3, 3),
        assumed="Computed: a reward is in T noisy means of ε = .01 each. Basic composition adds "
        "them, advanced composition (δ' = 10⁻⁶) their squares, a tree has log2 T nodes.",
    ),
    audits(
        "rio-rows", "", "What a row of a log costs under DP-MASE",
        ours("ε covers another value in its place", spends("another value in its place")),
        ours("it covers a row that is taken out", spends("the row taken out")),
        ours("it covers a row that is moved to another arm",
             spends("the row moved to the other arm")),
        lines=mechanisms({line: (votes, 1.0, change) for line, change in _CHANGES.items()}),
        assumed=f"{AUDITED} Two arms, ε = 1, two epochs, rows used in their order. A row that goes "
        "shifts all that come after it, so that the sum of every later window moves too.",
    ),
)  # fmt: skip
