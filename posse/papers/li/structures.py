"""Figures 10 to 12 of Li and Song 2022: graphs, components, and heterogeneous rewards."""

from functools import partial
from typing import Any

from posse.papers.checks import above, alike, equal, falling, right
from posse.papers.experiment import Computation, Experiment, Lines, bars, curves
from posse.papers.li.setting import ASSUMED, CASES, GRAPHS, HETEROGENEOUS, T, cdp, ddp, hdp, parts
from posse.papers.sample import cost, cost_of_a_round, regret
from posse.papers.statements import Statement, claim
from posse.plan import prepare


def by_edges(case: str) -> float:
    """c2 |E| + c1 Q, every edge of a component once, with c1 = 50 and c2 = 1."""
    graph = prepare({**hdp(CASES[case]), "seed": 1}).spec.graph(0)
    return float(graph.size + 50 * len(graph.components))


_SENT, _EDGES = "by the proof: ", "by edges: "
_SIMILAR = [f"{_SENT}{name}" for name in CASES][:3]
_COSTS = {"1: five complete": 345, "2: unequal": 345, "3: one complete": 149, "5: five stars": 345,
          "6: alone": 5000}  # fmt: skip


def _costs(start: str) -> list[Statement]:
    """What is said of the cost, in one way of counting it."""
    one, two, three, four, five, six = (f"{start}{name}" for name in CASES)
    return [
        claim(f"{start}the cost gradually increases from case 1 to 2 to 3", "VII-C1",
              falling(three, two, one)),
        claim(f"{start}of cases 1, 4 and 5 the stars (5) cost least", "VII-C1",
              above((one, four), five)),
        claim(f"{start}cases 1 and 5 cost significantly less than the centralised case 6",
              "VII-C1", above(six, (one, five))),
        claim(f"{start}and than the fully decentralised case 3", "VII-C1",
              above(three, (one, five))),
    ]  # fmt: skip


def _figure_12(quick: bool) -> Lines:
    groups, size = (4, 10) if quick else (5, 20)
    of: dict[str, Any] = {"arms": HETEROGENEOUS, "agents": groups * size}
    return {
        "CDP-MAB": cdp(**of),
        "HDP-MAB": hdp(parts("ring", *[size] * groups), **of),
        "DDP-MAB": ddp(GRAPHS["ring"], **of),
    }


_UNEQUAL = {"kind": "bernoulli", "means": [[0.6, 0.4]] * 53 + [[0.45, 0.55]] * 47}
"""The large component likes arm 0, four small ones arm 1; on average arm 0 is better."""


_figure = partial(Experiment, axes=curves("time (slots)", "regret"), metric=regret)

EXPERIMENTS = (
    _figure(
        "li-10", "Figure 10", "DDP-MAB over different graphs",
        claim("star and fully-connected achieve the smallest regrets, the ring a larger one",
              "VII-B1", above("ring", ("star", "complete")), "corrected"),
        claim("their performances are close to the centralised setting (here: within 5 %)",
              "VII-B1", alike("CDP-MAB", ("complete", "star"), 0.05), "corrected"),
        claim("the star has the smallest communication cost", "VII-B1",
              above(("complete", "ring"), "star", metric=cost), "corrected"),
        lines=lambda quick: {
            "CDP-MAB": cdp(),
            **{name: ddp(of) for name, of in GRAPHS.items() if not quick or name != "random"},
        },
        repeat=(16, 100),
        assumed=f"{ASSUMED} ε = 1, c2 = 1. Printed: line 9 of Algorithm 3 averages ŷ, the text ȳ.",
    ),
    Experiment(
        "li-11", "Figure 11", "HDP-MAB: cost of a round in six cases",
        claim("cases 1, 2 and 3 achieve similar per-agent regrets (here: within 5 %)", "VII-C1",
              alike(_SIMILAR[0], _SIMILAR[1:], 0.05, regret), "corrected"),
        *_costs(_SENT),
        *_costs(_EDGES),
        claim("a round costs c2 Σ sd(i, SA_q) + c1 Q", "Theorem 4, proof",
              equal({f"{_SENT}case {name}": cost for name, cost in _COSTS.items()})),
        lines={f"{_SENT}{name}": hdp(of) for name, of in CASES.items()}
        | {f"{_EDGES}{name}": Computation(by_edges, name) for name in CASES},
        axes=bars("cost per round"), repeat=(8, 100), metric=cost_of_a_round,
        assumed="M = 100, c1 = 50, c2 = 1, T = 10⁵; case 2 is printed as 63, 24, 10, 6, 7, which "
        "sums to 110; 53, 24, 10, 6, 7 is taken. By the proof of Theorem 4 the cost is that of "
        "each mean's way to its sink, which is what is sent; by edges that of every edge once.",
    ),
    _figure(
        "li-12", "Figure 12", "Three structures under heterogeneous rewards",
        claim("CDP-MAB achieves the smallest regret, then the hybrid, then the decentralised",
              "VII-C2, Corollary 3", falling("DDP-MAB", "HDP-MAB", "CDP-MAB"), "corrected"),
        lines=_figure_12, repeat=(30, 100),
        assumed=f"M = 100 as five rings of 20, or one of 100 (quick: 40 as four of 10, or one); "
        f"K = 10, global means U[.1, .9], own offsets U[-.1, .1] centred; T = {T:,}.",
    ),
    _figure(
        "li-unequal", "Corollary 3, Algorithm 5",
        "Components of unequal size under heterogeneous rewards",
        claim("the server observes the true means without bias: it finds the best arm",
              "Corollary 3, proof", right(0.05)),
        lines={"HDP-MAB": hdp(CASES["case 2: unequal"], arms=_UNEQUAL)},
        axes=bars("regret"), repeat=(12, 100),
        assumed="Case 2; 53 agents with means .6, .4, the others with .45, .55, so that arm 0 is "
        "better on average. Line 14 of Algorithm 5 weighs each component alike (printed); "
        "corrected: by its size.",
    ),
)  # fmt: skip
