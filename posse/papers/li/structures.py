"""Figures 10 to 12 of Li and Song 2022: graphs, components, and heterogeneous rewards."""

from functools import partial
from typing import Any

from posse.papers.checks import Above, Alike, Falling
from posse.papers.experiment import Experiment
from posse.papers.li.setting import ASSUMED, CASES, GRAPHS, T, cdp, ddp, hdp, parts
from posse.papers.limits import Equal, Right
from posse.papers.points import Computation, Point, always, by_line
from posse.papers.sample import cost, cost_of_a_round, regret, value_or
from posse.papers.statements import Statement, claim
from posse.plan import prepare


def _figure_10(quick: bool) -> list[Point]:
    names = ("complete", "star", "ring") if quick else tuple(GRAPHS)
    return by_line({"CDP-MAB": cdp(), **{name: ddp(GRAPHS[name]) for name in names}})


def by_edges(variant: Any, generator: Any, case: str) -> dict[str, Any]:
    """c2 |E| + c1 Q, every edge of a component once, with c1 = 50 and c2 = 1."""
    spec = prepare({**hdp(CASES[case]), "seed": 1}).spec
    graph = spec.graph(0)
    return {"value": float(graph.size + 50 * len(graph.components))}


_SENT, _EDGES = "by the proof: ", "by edges: "


def _costs(start: str) -> list[Statement]:
    """What is said of the cost, in one way of counting it."""
    case = {name[5]: f"{start}{name}" for name in CASES}
    way = start.rstrip(": ")
    return [
        claim(f"{way}: the cost gradually increases from case 1 to 2 to 3", "VII-C1",
              Falling((case["3"], case["2"], case["1"]))),
        claim(f"{way}: of cases 1, 4 and 5 the stars (5) cost least", "VII-C1",
              Above((case["1"], case["4"]), (case["5"],))),
        claim(f"{way}: cases 1 and 5 cost significantly less than the centralised case 6",
              "VII-C1", Above((case["6"],), (case["1"], case["5"]))),
        claim(f"{way}: and than the fully decentralised case 3", "VII-C1",
              Above((case["3"],), (case["1"], case["5"]))),
    ]  # fmt: skip


_HETEROGENEOUS: dict[str, Any] = {
    "kind": "bernoulli",
    "means": {"random": "uniform", "count": 10, "low": 0.1, "high": 0.9, "spread": 0.1},
}


def _figure_12(quick: bool) -> list[Point]:
    groups = (4, 10) if quick else (5, 20)
    agents = groups[0] * groups[1]
    of: dict[str, Any] = {"arms": _HETEROGENEOUS, "agents": agents}
    return by_line({
        "CDP-MAB": cdp(**of),
        "HDP-MAB": hdp(parts("ring", *[groups[1]] * groups[0]), **of),
        "DDP-MAB": ddp(GRAPHS["ring"], **of),
    })  # fmt: skip


_UNEQUAL = {"kind": "bernoulli", "means": [[0.6, 0.4]] * 53 + [[0.45, 0.55]] * 47}
"""The large component likes arm 0, four small ones arm 1; on average arm 0 is better."""


_figure = partial(Experiment, y_label="regret", metric=regret)

EXPERIMENTS = (
    _figure(
        "li-10", "Figure 10", "DDP-MAB over different graphs",
        x_label="time (slots)",
        points=_figure_10,
        repeat=(16, 100),
        shape="curves",
        assumed=f"{ASSUMED} ε = 1, c2 = 1. Printed: line 9 of Algorithm 3 averages ŷ, the text ȳ.",
        statements=(
            claim("star and fully-connected achieve the smallest regrets, the ring a larger one",
                  "VII-B1", Above(("ring",), ("star", "complete")), "corrected"),
            claim("their performances are close to the centralised setting (here: within 5 %)",
                  "VII-B1", Alike(("CDP-MAB", "complete", "star"), 0.05), "corrected"),
            claim("the star has the smallest communication cost", "VII-B1",
                  Above(("complete", "ring"), ("star",), metric=cost), "corrected"),
        ),
    ),
    Experiment(
        "li-11", "Figure 11", "HDP-MAB: cost of a round in six cases",
        y_label="cost per round",
        points=always({f"{_SENT}{name}": hdp(of) for name, of in CASES.items()}
                      | {f"{_EDGES}{name}": Computation(by_edges, name) for name in CASES}),
        repeat=(8, 100),
        shape="bars",
        metric=value_or(cost_of_a_round),
        assumed="M = 100, c1 = 50, c2 = 1, T = 10⁵; case 2 is printed as 63, 24, 10, 6, 7, which "
        "sums to 110; 53, 24, 10, 6, 7 is taken. By the proof of Theorem 4 the cost is that of "
        "each mean's way to its sink, which is what is sent; by edges that of every edge once.",
        statements=(
            claim("cases 1, 2 and 3 achieve similar per-agent regrets (here: within 5 %)",
                  "VII-C1", Alike(tuple(f"{_SENT}{name}" for name in list(CASES)[:3]), 0.05,
                                  metric=regret), "corrected"),
            *_costs(_SENT),
            *_costs(_EDGES),
            claim("a round costs c2 Σ sd(i, SA_q) + c1 Q", "Theorem 4, proof",
                  Equal({f"{_SENT}{name}": cost_ for name, cost_ in (
                      ("case 1: five complete", 345), ("case 2: unequal", 345),
                      ("case 3: one complete", 149), ("case 5: five stars", 345),
                      ("case 6: alone", 5000))})),
        ),
    ),
    _figure(
        "li-12", "Figure 12", "Three structures under heterogeneous rewards",
        x_label="time (slots)",
        points=_figure_12,
        repeat=(30, 100),
        shape="curves",
        assumed=f"M = 100 as five rings of 20, or one of 100 (quick: 40 as four of 10, or one); "
        f"K = 10, global means U[.1, .9], own offsets U[-.1, .1] centred; T = {T:,}.",
        statements=(
            claim("CDP-MAB achieves the smallest regret, then the hybrid, then the decentralised",
                  "VII-C2, Corollary 3", Falling(("DDP-MAB", "HDP-MAB", "CDP-MAB")), "corrected"),
        ),
    ),
    _figure(
        "li-unequal", "Corollary 3, Algorithm 5",
        "Components of unequal size under heterogeneous rewards",
        points=always({"HDP-MAB": hdp(CASES["case 2: unequal"], arms=_UNEQUAL)}),
        repeat=(12, 100),
        shape="bars",
        assumed="Case 2; 53 agents with means .6, .4, the others with .45, .55, so that arm 0 is "
        "better on average. Line 14 of Algorithm 5 weighs each component alike (printed); "
        "corrected: by its size.",
        statements=(
            claim("the server observes the true means without bias: it finds the best arm",
                  "Corollary 3, proof", Right(0.05)),
        ),
    ),
)  # fmt: skip
