"""Table I, the delays and the conditions on R of Li and Song 2022, by numbers."""

import math
from functools import partial
from typing import Any

import numpy as np

from posse.papers.checks import at_most, equal
from posse.papers.experiment import Axes, Computation, along, bars, computed
from posse.papers.sample import named
from posse.papers.statements import claim, ours
from protocol.federated import Schedule
from topologies import graphs

_KINDS: dict[str, Any] = {"star": graphs.star, "ring": graphs.ring, "complete": graphs.complete}
_SIZES = (10, 50, 100)
_LINKS: dict[str, Any] = {
    "star": lambda m: 2 * (m - 1),
    "ring": lambda m: m * m / 2,
    "complete": lambda m: m * (m - 1) / 2,
}
_DELAYS = {(kind, m): delay for kind, delay in (("star", 1.0), ("complete", 0.0)) for m in _SIZES}


def links(kind: str, agents: int) -> dict[str, Any]:
    """d_G |E|, and the delay d_G - 1."""
    graph = _KINDS[kind](agents)
    return {"value": float(graph.diameter * graph.size), "delay": float(graph.diameter - 1)}


def distance(agents: int, which: str, *, generator: np.random.Generator) -> float:
    """The diameter of a random 4-regular graph over log M / log(1/λ2), by either reading of λ2.

    The second largest eigenvalue of the adjacency matrix over d, or the second smallest of the
    Laplacian over d: the second largest, which the footnote says, is above 1.
    """
    graph = graphs.regular(agents, 4, generator)
    second = graph.second_eigenvalue()
    if which == "Laplacian":
        second = 1 - second
    return graph.diameter / (math.log(agents) / math.log(1 / second))


def waiting(kind: str, agents: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """The regret of the delay slots over 2M (d_G - 1), K = 100, ε = 1, T = 10^5, in plain numbers.

    In a slot of the delay of round r every agent pulls the arm of its own largest ȳ; then all
    average and eliminate.
    """
    arms, horizon = 100, 100_000
    graph = _KINDS[kind](agents)
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
    return {"value": lost / (2 * agents * delay), "regret": lost}


_FORMS: dict[str, Any] = {
    "4 log T / (3 log pM)": lambda t, p, m: 4 * math.log(t) / (3 * math.log(p * m)),
    "log T / log pM": lambda t, p, m: math.log(t) / math.log(p * m),
    "2 log T / log M": lambda t, p, m: 2 * math.log(t) / math.log(m),
    "3 log T / (4 log M)": lambda t, p, m: 3 * math.log(t) / (4 * math.log(m)),
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
    computed(
        "li-graphs", "Table I", "Links and delays of graphs",
        claim("a round uses 2(M−1), M²/2 and M(M−1)/2 links on star, ring and complete graph",
              "Table I", equal({(kind, m): _LINKS[kind](m) for kind in _KINDS for m in _SIZES})),
        claim("the delay is d_G − 1: O(1) for the star, none for the complete graph", "Table I",
              equal(_DELAYS, named("delay"))),
        claim("the ring's regret has O(M (M − 1)) more (here: its delay is at most M − 1)",
              "Table I", at_most("ring", lambda line, m: m - 1, metric=named("delay"))),
        claim("d-regular: d_G <= log M / log(1/λ2), λ2 of the Laplace matrix", "Table I",
              at_most("4-regular, Laplacian", 1.0)),
        ours("the same with λ2 of the normalised adjacency matrix",
             at_most("4-regular, adjacency", 1.0)),
        lines={
            **along(partial(Computation, links), _KINDS.keys(), _SIZES),
            **along(lambda which, m: Computation(distance, m, which),
                   {f"4-regular, {which}": which for which in ("adjacency", "Laplacian")}, _SIZES),
        },
        axes=Axes("agents M", "links of a round, or ratio", "xy"), repeat=(5, 20),
        assumed="Regular graphs of degree 4, drawn at random. The footnote says the second largest "
        "eigenvalue of the Laplacian, which is above 1, so that the logarithm is negative and "
        "nothing is bounded; the second smallest is taken here. Both matrices are divided by 4.",
    ),
    computed(
        "li-delays", "Theorem 3, equation 29", "The regret of the slots in which means travel",
        claim("at most 2M (d_G − 1) (1 − Δ), O(M (d_G − 1))", "Theorem 3, equation 29",
              at_most(("star", "ring"), 1.0)),
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
              "Remarks 3 and 5", at_most("2 log T / log M", 1.0, where=1.0)),
        claim("p = 1: with R = 3 log T / (4 log M) the regret is still M R_C(T)", "IV-C2",
              at_most("3 log T / (4 log M)", 1.0, where=1.0, sign=-1)),
        ours("T^(2/R)/p^1.5 <= M for R >= 2 log T / log(M p^1.5)",
             at_most("2 log T / log(M p^1.5)", 1.0)),
        lines=along(partial(Computation, loss), _FORMS.keys(), (0.2, 0.4, 0.6, 0.8, 1.0)),
        axes=Axes("participation p", "T^(2/R) / (p^1.5 M)", "y"), limit=1.0,
        assumed="M = 50, T = 10⁶. The last form is the solution of T^(2/R) / p^1.5 <= M.",
    ),
)  # fmt: skip
