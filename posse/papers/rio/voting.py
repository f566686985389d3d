"""Votes that err, and what votes give away: Propositions 4.2, 5.1 and 5.2 of Rio et al. 2023."""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from agent.mase import DpMaseVoter
from posse.arms.csv import Csv
from posse.papers.audit import ASSUMED, audit, audits, mechanisms, own_noise, spends
from posse.papers.checks import at_most, rate, right
from posse.papers.experiment import Axes, Computation, Experiment, along, computed
from posse.papers.rio.figures import DELTA, XIS, corrupted, dp
from posse.papers.sample import Sample
from posse.papers.statements import claim, ours
from protocol.machine import FloatArray, Pulled, Send, Started
from protocol.mase import corrupted_failure, epoch_length, epoch_radius, threshold

_BETAS = {f"β = {beta:g}": beta for beta in (0.3, 0.5, 0.8)}
_RUN = "DP-MASE, share of agents that err"


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
_VOTES = threshold(DELTA, _ETA)
"""M of the proof of Proposition 5.2, from log η."""


def _local(xi: float) -> float:
    """η_ξ."""
    return corrupted_failure(_ETA, xi, _ARMS, DELTA, "printed")


def bound(xi: float, a: int) -> float:
    """(1 - I_ξ(a+1, M)) δ η_ξ^a of Proposition 5.2."""
    from scipy.special import betainc  # noqa: PLC0415

    return float((1 - betainc(a + 1, _VOTES, xi)) * DELTA * _local(xi) ** a)


def in_its_model(xi: float) -> float:
    """Some M of 64 agents err, each with probability η_ξ, and their votes are sent."""
    return majority(64, _local(xi) * (1 - xi), _VOTES)


def minimum(line: str, a: float) -> float:
    """The least of the bounds that are tried, for the ξ that a line names."""
    return min(bound(float(line.partition("= ")[2]), a) for a in _ALPHAS)


_BETA = 0.5


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


EXPERIMENTS = (
    Experiment(
        "rio-failure", "Proposition 4.2", "How likely M agents err together",
        claim("M wrong votes have at most the probability β^M <= δ, if each agent errs with "
              "probability β", "Proposition 4.2, proof", at_most(_BETAS, DELTA)),
        claim("DP-MASE fails with probability at most δ", "Proposition 4.2", right(DELTA, _RUN)),
        ours("agents err so seldom (.031 is enough for M = 5 of N = 64) that it holds all the same",
             rate(_RUN, 0.031, of=wrong_agents)),
        lines={
            **along(lambda beta, n: Computation(majority, n, beta, threshold(DELTA, beta)), _BETAS,
                   (64, 256, 1024)),
            _RUN: {64: dp(64, 0.25)},
        },
        axes=Axes("number of agents N", "probability", "x"), repeat=(80, 200), limit=DELTA,
        metric=erred, keep_log=True,
        assumed="δ = .05, M = ⌈log δ / log β⌉ = 3, 5, 14. Measured: DP-MASE, ε = .25, Problem 1.",
    ),
    computed(
        "rio-minimum", "Proposition 5.2", "The failure bound of Corrupted Elimination",
        claim("the failure probability is at most min_α (1 − I_ξ(α+1, M)) δ η_ξ^α",
              "Proposition 5.2", at_most([f"its model, ξ = {xi:g}" for xi in _XIS], minimum)),
        lines={line: of for xi in _XIS for line, of in (
            (f"the bound, ξ = {xi:g}", {a: Computation(bound, xi, a) for a in _ALPHAS}),
            (f"its model, ξ = {xi:g}", {1: Computation(in_its_model, xi)}),
        )},
        axes=Axes("α", "(1 − I_ξ(α+1, M)) δ η_ξ^α", "xy"),
        assumed="K = 10, η = .9, δ = .05, M = 29 from log η, as the proof has it. Its model: each "
        "of N = 64 agents errs with probability η_ξ, and its vote is sent with probability 1 − ξ. "
        "The minimum over all α is 0.",
    ),
    Experiment(
        "rio-adversary", "Proposition 5.1", "Who sees one agent's votes guesses the best arm",
        *(
            claim(f"ξ = {xi:g}: from an agent's messages nobody infers the best arm with a "
                  "probability above 1 − η = .1", "Proposition 5.1",
                  at_most("adversary", 0.1, xi))
            for xi in XIS
        ),
        lines={"adversary": {xi: corrupted(64, xi) for xi in XIS}},
        axes=Axes("ξ", "adversary's success"), repeat=(8, 40), limit=0.1,
        metric=success, keep_log=True,
        assumed="N = 64, Problem 1, η = .9. The adversary guesses evenly among the arms that one "
        "agent has not voted against, all agents in turn, when the run is over.",
    ),
    audits(
        "rio-rows", "", "What a row of a log costs under DP-MASE",
        ours("ε covers another value in its place", spends("another value in its place")),
        ours("it covers a row that is taken out", spends("the row taken out")),
        ours("it covers a row that is moved to another arm",
             spends("the row moved to the other arm")),
        lines=mechanisms({line: (votes, 1.0, change) for line, change in _CHANGES.items()}),
        assumed=f"{ASSUMED} Two arms, ε = 1, two epochs, rows used in their order. A row that goes "
        "shifts all that come after it, so that the sum of every later window moves too.",
    ),
)  # fmt: skip
