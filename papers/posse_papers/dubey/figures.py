"""The setting of section 5 of Dubey and Pentland 2020 as run files, and what is run in it."""

from functools import partial
from typing import Any

from posse_papers.checks import about, above, alike, falling, ratio, trend
from posse_papers.dubey.plain import at_least, least_regret, private_regret
from posse_papers.experiment import Axes, Computation, Experiment, Runs, bars, curves, run_file
from posse_papers.sample import regret
from posse_papers.statements import Choices, claim, ours, over
from posse_papers.worlds import beside

ARMS: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 5}}
MIDDLE: dict[str, Any] = {
    "kind": "bernoulli",
    "means": {"random": "uniform", "count": 5, "low": 0.3, "high": 0.7},
}
HALF_WAY = "diameter/2"
"""γ where nothing else is said, rounded up."""
ASSUMED = (
    "M = 200, p = .1, K = 5 as printed, T = 1000 for all, v = 1.1, γ = diameter/2 rounded up; "
    "quick: M = 30, p = .25, T = 150, a graph of about the same diameter."
)
LIES = "Byzantine agents: all, each reward replaced by 1 with the rate."
REGRET = "regret of all agents"
_ALONE = ("ucb1", "dp-ucb-int")


def sizes(quick: bool) -> tuple[int, float, int]:
    """M, p and T."""
    return (30, 0.25, 150) if quick else (200, 0.1, 1000)


def run(system: str, quick: bool, arms: dict[str, Any] = ARMS, **parameters: Any) -> dict[str, Any]:
    """A system on Erdős and Rényi's graph, or M agents alone."""
    agents, p, horizon = sizes(quick)
    linked = {} if system in _ALONE else {"topology": {"kind": "erdos-renyi", "p": p}}
    return run_file(system, agents, arms, {"horizon": horizon, **parameters}, **linked)


def private(
    quick: bool, epsilon: float, gamma: Any = HALF_WAY, noise_at: str = "source"
) -> dict[str, Any]:
    """Private Multi-Agent UCB."""
    return run("private-ucb", quick, epsilon=epsilon, gamma=gamma, noise_at=noise_at)


def byzantine(
    quick: bool,
    rate: float,
    gamma: Any = HALF_WAY,
    assumed: float | None = None,
    horizon: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Byzantine-Proof Multi-Agent UCB, means U[.3, .7]."""
    does = {"rate": rate, **more}
    asked = {"assumed_contamination": assumed, "horizon": horizon}
    parameters = {name: value for name, value in asked.items() if value is not None}
    return run("byzantine-ucb", quick, MIDDLE, gamma=gamma, contamination=does, **parameters)


def _compared_liars(quick: bool, rate: float, assumed: float, **more: Any) -> dict[str, Any]:
    """The same until T = 100 in the quick form, when regrets have come apart."""
    return byzantine(quick, rate, assumed=assumed, horizon=100 if quick else None, **more)


def _matches(line: str, optima: dict[str, str]) -> Choices:
    """A line is about the optimum, whichever is meant, at γ = diameter."""
    return over(
        lambda optimum, within: ratio((line, _DIAMETER), (optimum, _DIAMETER), 1 / (1 + within),
                                      1 + within),
        optimum=optima, within=(0.1, 0.25, 0.5),
    )  # fmt: skip


_figure = partial(Experiment, axes=curves("time (slots)", REGRET), metric=regret, repeat=(10, 100))
_OPEN = "Cooperative, no privacy"
_DIAMETER = 3.0
_GAMMAS: dict[float, Any] = {1.0: 1, 2.0: HALF_WAY, _DIAMETER: "diameter"}
_PLAIN, _PLAIN_NEAR = (f"in plain numbers: {name}" for name in ("Private ε=1", "γ = 1"))
_PLAIN_BEST, _TRUTHFUL_BEST = (
    {kind: f"{start}optimum by {kind}" for kind in ("UCB1", "Thompson")}
    for start in ("in plain numbers: ", "for Byzantine: ")
)
_IN_PLAIN_NUMBERS = {
    _PLAIN: (Computation(private_regret, 200, 0.1, 1000, 200), 15),
    _PLAIN_NEAR: (Computation(private_regret, 200, 0.1, 1000, 1), 2),
    **{
        line: (Computation(least_regret, kind, 200, 1000, 0.0, 1.0), 15)
        for kind, line in _PLAIN_BEST.items()
    },
    "in plain numbers: Theorem 2.1, a limit": (Computation(at_least, 1000), 15),
}
"""At paper size, and how much more often than the other lines of the quick form."""
_ASSUMED = "M = 30, p = .25, T = 150, means U[.3, .7] (in full M = 200, p = .1, T = 1000)."
_EARLY = "Quick: T = 100."
_UNTRIMMED = (
    "Corrected, an estimator that believes 1/8 or more trims nothing, for its interval never holds "
    "three quarters of the points."
)
_compared = partial(Experiment, axes=bars(REGRET), metric=regret, repeat=(10, 100))


EXPERIMENTS = (
    _figure(
        "dubey-1a", "Figure 1 (a)", "Private cooperation against acting alone",
        claim("ε = 1: better than single-agent UCB1, the non-private benchmark", "5",
              above("UCB1, alone", "Private ε=1"), "printed"),
        claim("ε = .1: better than single-agent UCB1", "5",
              above("UCB1, alone", "Private ε=0.1"), "printed"),
        claim("ε = 1: significantly better than DP-UCB-INT", "5",
              above("DP-UCB-INT ε=1, alone", "Private ε=1"), "printed"),
        claim("ε = .1: significantly better than DP-UCB-INT", "5",
              above("DP-UCB-INT ε=0.1, alone", "Private ε=0.1"), "printed"),
        claim("incurs higher regret than the non-private version", "5",
              above(("Private ε=0.1", "Private ε=1"), _OPEN), "printed"),
        claim("ε = 1 is no privacy: its regret is about the non-private one", "Remark 3",
              about(_OPEN, "Private ε=1"), "printed"),
        lines=lambda quick: {
            "UCB1, alone": run("ucb1", quick),
            "DP-UCB-INT ε=0.1, alone": run("dp-ucb-int", quick, epsilon=0.1),
            "DP-UCB-INT ε=1, alone": run("dp-ucb-int", quick, epsilon=1.0),
            "Private ε=0.1": private(quick, 0.1),
            "Private ε=1": private(quick, 1.0),
            _OPEN: run("cooperative-ucb", quick),
        },
        assumed=ASSUMED,
    ),
    _figure(
        "dubey-1b", "Figure 1 (b)", "Cooperation with byzantine agents",
        claim("a large improvement over single-agent UCB1", "5",
              above("UCB1, alone", ("Byzantine, ε=.001", "Byzantine, ε=0"))),
        claim("with no contamination the performance is better", "5",
              falling("Byzantine, ε=.001", "Byzantine, ε=0")),
        lines=lambda quick: {
            "UCB1, alone": run("ucb1", quick, MIDDLE),
            "Byzantine, ε=.001": byzantine(quick, 1e-3),
            "Byzantine, ε=0": byzantine(quick, 0.0),
        },
        repeat=(6, 100),
        assumed=f"{ASSUMED} {LIES} Means U[.3, .7].",
    ),
    _figure(
        "dubey-1c", "Figure 1 (c)", "How far messages travel",
        claim("private: a sharp decline from γ = 1 to the diameter", "5",
              trend("Private ε=1", -1), "printed"),
        claim("byzantine-proof: the same decline", "5", trend("Byzantine, ε=.001", -1)),
        claim("private: matches the optimal regret at γ = diameter", "5",
              _matches(_PLAIN, _PLAIN_BEST), "printed",
              beside("messages that travel one hop", {_PLAIN: _PLAIN_NEAR})),
        claim("byzantine-proof: matches it too", "5",
              _matches("Byzantine, ε=.001", _TRUTHFUL_BEST)),
        lines=lambda quick: {
            # of the private form the printed one alone judges
            "Private ε=1": {
                x: Runs(private(quick, 1.0, gamma=gamma), variants=("printed",))
                for x, gamma in _GAMMAS.items()
            },
            "Byzantine, ε=.001": {x: byzantine(quick, 1e-3, gamma) for x, gamma in _GAMMAS.items()},
            **{
                line: {_DIAMETER: Runs(plain, times if quick else 1, ("printed",))}
                for line, (plain, times) in _IN_PLAIN_NUMBERS.items()
            },
            **{
                line: {_DIAMETER: Runs(
                    Computation(least_regret, kind, sizes(quick)[0], sizes(quick)[2], 0.3, 0.7), 25
                )}
                for kind, line in _TRUTHFUL_BEST.items()
            },
        },
        axes=Axes("life of a message γ (3: the diameter; 2: half of it, rounded up)", REGRET),
        repeat=(6, 100),
        assumed=f"{ASSUMED} {LIES} Optimum (section 2, Theorem 2.1): one agent that pulls M arms "
        "at every trial, which the paper names without an algorithm: all M the arm with the "
        "largest UCB1 index, or each by a draw of Thompson's. In plain numbers: a simulation of "
        "Algorithms 1 and 2 at M = 200, p = .1, T = 1000, also in the quick form, whose T = 150 is "
        "too early for a ratio.",
    ),
    _figure(
        "dubey-isolated", "Remark 4", "Messages that do not travel",
        claim("γ = 0 is equivalent to M agents in isolation", "Remark 4",
              about("UCB1, alone", "Private, γ = 0"), "printed",
              beside("messages that travel", {"Private, γ = 0": "Private, γ = diameter"})),
        lines=lambda quick: {
            "UCB1, alone": run("ucb1", quick),
            "Private, γ = 0": private(quick, 1.0, gamma=0),
            "Private, γ = diameter": private(quick, 1.0, gamma="diameter"),
        },
        axes=bars(REGRET), variants=("printed",),
        assumed=f"{ASSUMED} Private Multi-Agent UCB, ε = 1; as printed an agent decides by its own "
        "raw sums, so that with γ = 0 nothing noisy reaches it.",
    ),
    _figure(
        "dubey-destination", "Remark 2", "Noise at the source and at the destination",
        *(
            claim(f"ε = {epsilon:g}: the regret is slightly better with noise at the destination",
                  "Remark 2", falling(f"ε={epsilon:g}: noise at the source",
                                      f"ε={epsilon:g}: noise at the destination"), "printed")
            for epsilon in (0.1, 1.0)
        ),
        lines=lambda quick: {
            f"ε={epsilon:g}: noise at the {where}": private(quick, epsilon, noise_at=where)
            for where in ("source", "destination") for epsilon in (0.1, 1.0)
        },
        axes=bars(REGRET), variants=("printed",),
        assumed=f"{ASSUMED} At the destination: one sample of noise for the mean of all that was "
        "heard, anew when more is, of the least scale at which no reward costs more than in its "
        "message at the source.",
    ),
    _compared(
        "dubey-fraction", "section 4.2", "A fraction of the agents is byzantine",
        claim("a fraction f with ε is in expectation as all with f ε", "4.2",
              about("all lie, rate .05", "half of them lie, rate .1")),
        lines=lambda quick: {
            "half of them lie, rate .1":
                _compared_liars(quick, 0.1, 0.05, agents=15 if quick else 100),
            "all lie, rate .05": _compared_liars(quick, 0.05, 0.05),
        },
        repeat=(20, 100),
        assumed=f"{_ASSUMED} {_EARLY}",
    ),
    _compared(
        "dubey-overestimate", "section 4.2", "The contamination is over-estimated",
        claim("if ε is over-estimated the performance remains unchanged", "4.2",
              over(lambda believed, within: alike("believed 0.01", believed, within),
                   believed={".1": "believed 0.1", ".3": "believed 0.3"},
                   within=(0.05, 0.1, 0.25))),
        lines=lambda quick: {
            f"believed {rate:g}": _compared_liars(quick, 0.01, rate) for rate in (0.01, 0.1, 0.3)
        },
        assumed=f"{_ASSUMED} True rate .01; a believed .3 is outside Theorem 4.3's condition. "
        f"{_UNTRIMMED} {_EARLY}",
    ),
    _compared(
        "dubey-relay", "section 4", "Messages corrupted on their way",
        ours("corruption by intermediaries costs less regret than γε at the source",
             falling("at the source, rate 2ε = .3", "by intermediaries, rate ε = .15")),
        lines=lambda quick: {
            "at the source, rate 2ε = .3": byzantine(quick, 0.3, 2, assumed=0.3),
            "by intermediaries, rate ε = .15":
                byzantine(quick, 0.15, 2, form="relay", assumed=0.3),
        },
        repeat=(10, 50),
        assumed=f"{_ASSUMED} γ = 2; the estimator believes .3, beyond Theorem 4.3's condition. The "
        f"paper only says that a message is corrupted with probability γε at most. {_UNTRIMMED}",
    ),
)  # fmt: skip
