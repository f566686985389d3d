"""Propositions 4.2 and 5.2 of Rio et al. 2023: how likely the best arm is voted out."""

from posse.papers.checks import at_most, rate, right
from posse.papers.experiment import Axes, Computation, Experiment, along, computed
from posse.papers.rio.figures import DELTA, dp
from posse.papers.sample import Sample
from posse.papers.statements import claim, ours
from protocol.mase import corrupted_failure, threshold

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
)  # fmt: skip
