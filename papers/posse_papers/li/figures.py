"""The settings of section VII of Li and Song 2022 as run files, and Figures 4 to 12."""

from functools import partial
from math import log1p
from typing import Any

import numpy as np

from posse.experiments import prepare
from posse.extend import FloatArray
from posse_papers.checks import (
    about,
    about_ratio,
    above,
    against,
    bounded,
    equal,
    falling,
    ratio,
    right,
    trend,
    within,
)
from posse_papers.experiment import (
    Axes,
    Computation,
    Experiment,
    Lines,
    along,
    bars,
    curves,
    run_file,
)
from posse_papers.sample import cost, cost_of_a_round, regret
from posse_papers.statements import Finding, Measured, claim, ours, over
from posse_papers.worlds import shaped

ARMS: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 100}}
_MEANS = {"random": "uniform", "count": 10, "low": 0.1, "high": 0.9}
CENTRED: dict[str, Any] = {"kind": "bernoulli", "means": _MEANS}
HETEROGENEOUS: dict[str, Any] = {"kind": "bernoulli", "means": {**_MEANS, "spread": 0.1}}
T = 100_000
LONG = 1_000_000
M = 50
ASSUMED = "T is not printed: 10⁵. M = 50, K = 100, means U[0, 1]."
INSTANCE = 4
"""The seed of the usual instance of the R-round forms, which must be told the smallest gap."""
_INSTANCES = (INSTANCE, 5, 6)
SILENT = 1e9
"""An ε at which there is no noise to speak of."""


def cdp(agents: int = M, arms: dict[str, Any] = ARMS, **parameters: Any) -> dict[str, Any]:
    """CDP-MAB; ε = 1 if nothing else is said."""
    return run_file("cdp-mab", agents, arms, {"horizon": T, "epsilon": 1.0, **parameters})


def ddp(topology: dict[str, Any], **more: Any) -> dict[str, Any]:
    """DDP-MAB over a graph."""
    return {**cdp(**more), "system": "ddp-mab", "topology": topology}


def hdp(parts: list[dict[str, Any]], agents: int = 100, **more: Any) -> dict[str, Any]:
    """HDP-MAB over components, c1 = 50, c2 = 1."""
    return {
        **cdp(agents, c1=50.0, c2=1.0, **more),
        "system": "hdp-mab",
        "topology": {"kind": "components", "components": parts},
    }


def parts(kind: str, *sizes: int, **more: Any) -> list[dict[str, Any]]:
    """Components of one kind."""
    return [{"kind": kind, "count": size, **more} for size in sizes]


def instance(seed: int = INSTANCE) -> tuple[dict[str, Any], FloatArray]:
    """An instance of the R-round forms: its arms, and their gaps Δ_k in order."""
    means = {"random": "uniform", "count": 100, "seed": seed}
    drawn = np.sort(np.random.default_rng(seed).uniform(0.0, 1.0, 100))[::-1]
    return {"kind": "bernoulli", "means": means}, drawn[0] - drawn


def in_rounds(max_rounds: int, seed: int = INSTANCE, **parameters: Any) -> dict[str, Any]:
    """CDP-MAB in at most R rounds on an instance, told its smallest gap; T = 10^6 by default."""
    arms, gaps = instance(seed)
    return cdp(arms=arms, **{
        "max_rounds": max_rounds, "gap": float(gaps[1]), "horizon": LONG, **parameters
    })  # fmt: skip


def unlimited() -> dict[str, Any]:
    """CDP-MAB on that instance without a limit on its rounds; T = 10^6."""
    return cdp(arms=instance()[0], horizon=LONG)


GRAPHS: dict[str, dict[str, Any]] = {
    "complete": {"kind": "complete"},
    "star": {"kind": "star"},
    "ring": {"kind": "ring"},
    "random": {"kind": "erdos-renyi", "p": 0.1},
}
CASES = {
    "case 1: five complete": parts("complete", 20, 20, 20, 20, 20),
    "case 2: unequal": parts("complete", 53, 24, 10, 6, 7),
    "case 3: one complete": parts("complete", 100),
    "case 4: five random": parts("erdos-renyi", 20, 20, 20, 20, 20, p=0.3),
    "case 5: five stars": parts("star", 20, 20, 20, 20, 20),
    "case 6: alone": parts("single", 100),
}
"""Table II. Case 2 is printed as 63, 24, 10, 6, 7, which sums to 110; 53 is taken."""


_EPSILONS = {"ε=0.1": 0.1, "ε=0.3": 0.3, "ε=0.5": 0.5, "ε=1": 1.0}


def _figure_4(noise: str) -> Lines:
    epsilons = _EPSILONS | {"no noise": SILENT}
    return {line: cdp(epsilon=epsilon, noise=noise) for line, epsilon in epsilons.items()}


_HORIZONS = {"T = 10⁴": 10_000, "T = 10⁶": LONG}
_READINGS: dict[str, dict[str, Any]] = {
    "each agent by itself, ε": {"noise": "per_agent"},
    "shared, half honest, ε": {"noise": "shared", "honest": 0.5},
    "shared, all honest, ε": {"noise": "shared", "honest": 1.0},
    "as printed, M ε": {"noise": "printed"},
}
_TWENTY: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 20}}
_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
_ROUNDS = {f"R={rounds}": rounds for rounds in (2, 3, 4, 5)}


def _figure_7(quick: bool) -> Lines:
    shares = (0.2, 0.6, 1.0) if quick else _SHARES
    limited = along(lambda rounds, p: in_rounds(rounds, participation=p), _ROUNDS, shares)
    return {**limited, "without a limit": {1.0: unlimited()}}


_STRUCTURES = {"homogeneous": CENTRED, "heterogeneous": HETEROGENEOUS}


@against(lambda line: [shaped("a regret that flattens as log t", line, lambda s: log1p(1e4 * s))])
def linear(measured: Measured, line: str) -> Finding:
    """Once the own best arm is found: the last quarter costs .9 of the one before or more."""
    third, last = measured.grown(line, LONG / 2, 0.75 * LONG, LONG)
    rest, half = bounded(list(last - 0.9 * third), measured.error)
    said = f"third quarter {third.mean():,.0f}, last quarter {last.mean():,.0f}"
    return Finding(within(rest - half, rest + half, least=0), said)


_with_server = partial(
    Experiment, axes=curves("time (slots)", "regret"), metric=regret, repeat=(12, 100),
    variants=("corrected",),
)  # fmt: skip


def by_edges(case: str) -> float:
    """c2 |E| + c1 Q, every edge of a component once, with c1 = 50 and c2 = 1."""
    graph = prepare({**hdp(CASES[case]), "seed": 1}).spec.graph(0)
    return float(graph.size + 50 * len(graph.components))


def by_links(agents: int) -> float:
    """c2 d_G Σ d_i / 2 of Theorem 3, a complete graph, c2 = 1."""
    return agents * (agents - 1) / 2


_SENT, _EDGES = "by the proof: ", "by edges: "
_DECENTRAL = "Theorem 3: case 3"
_SIMILAR = [f"{_SENT}{name}" for name in CASES][:3]
_COSTS = {"1: five complete": 345, "2: unequal": 345, "3: one complete": 149, "5: five stars": 345,
          "6: alone": 5000}  # fmt: skip


_COUNTED = {"by the proof of Theorem 4": _SENT, "by edges": _EDGES}
"""How the cost of a round may be counted."""


def _cases(count: str) -> list[str]:
    return [f"{count}{name}" for name in CASES]


def _decentral(count: str) -> str:
    """The line that case 3, "the fully decentralised setting", is compared as."""
    return _DECENTRAL if count == _SENT else _cases(count)[2]


_COST_CLAIMS = (
    claim("the cost gradually increases from case 1 to 2 to 3", "VII-C1",
          over(lambda counted: falling(*_cases(counted)[2::-1]), counted=_COUNTED)),
    claim("of cases 1, 4 and 5 the stars (5) cost least", "VII-C1",
          over(lambda counted: above(_cases(counted)[:4:3], _cases(counted)[4]),
               counted=_COUNTED)),
    claim("cases 1 and 5 cost significantly less than the centralised case 6", "VII-C1",
          over(lambda counted: above(_cases(counted)[5], _cases(counted)[:5:4]),
               counted=_COUNTED)),
    claim("and than the fully decentralised case 3", "VII-C1, VI-B3",
          over(lambda counted: above(_decentral(counted), _cases(counted)[:5:4]),
               counted=_COUNTED)),
)  # fmt: skip


def _figure_12(quick: bool) -> Lines:
    groups, size = (4, 10) if quick else (5, 20)
    alike: dict[str, Any] = {"arms": HETEROGENEOUS, "agents": groups * size}
    return {
        "CDP-MAB": cdp(**alike),
        "HDP-MAB": hdp(parts("ring", *[size] * groups), **alike),
        "DDP-MAB": ddp(GRAPHS["ring"], **alike),
    }


_UNEQUAL = {"kind": "bernoulli", "means": [[0.6, 0.4]] * 53 + [[0.45, 0.55]] * 47}
"""The large component likes arm 0, four small ones arm 1; on average arm 0 is better."""


_figure = partial(Experiment, axes=curves("time (slots)", "regret"), metric=regret)


EXPERIMENTS = (
    _with_server(
        "li-4", "Figure 4", "Regret of CDP-MAB against ε",
        claim("regret increases as ε decreases: .1, .3, .5, 1 from the top", "VII-A1, Remark 1",
              falling(*_EPSILONS)),
        claim("ε = 1 indicates the non-private case", "VII-A1", about("no noise", "ε=1")),
        lines=_figure_4("printed"),
        assumed=ASSUMED,
    ),
    _with_server(
        "li-4-per-agent", "", "Regret of CDP-MAB against ε, noise for each agent by itself",
        ours("the order of Figure 4", falling(*_EPSILONS)),
        ours("ε = 1 is about no noise", about("no noise", "ε=1")),
        lines=_figure_4("per_agent"),
        assumed=f"{ASSUMED} Noise Lap(1/(ε d)): ε is each agent's own level, where the printed "
        "noise gives it M ε.",
    ),
    _with_server(
        "li-shared", "", "Regret of CDP-MAB by where its noise is added",
        ours("at ε for each agent, shared noise costs less regret than noise by itself; the more "
             "agents are honest the less; most is saved by M ε for ε", falling(*_READINGS)),
        ours("shared noise, half of the agents honest, costs less than noise by itself", over(
            lambda at_most: ratio(("shared, half honest, ε", 0.0),
                                  ("each agent by itself, ε", 0.0), 0.0, at_most),
            at_most=(0.5, 2 / 3, 0.8),
        )),
        lines={
            line: cdp(arms=_TWENTY, horizon=20_000, epsilon=0.5, **noise)
            for line, noise in _READINGS.items()
        },
        repeat=(10, 100),
        assumed="T = 20,000, K = 20, means U[0, 1], M = 50, ε = .5, δ' = 10⁻⁶. The server reads "
        "each agent's means, with shared noise the sum over all agents alone.",
    ),
    _with_server(
        "li-5", "Figure 5", "Partial participation",
        claim("regret at T decreases as p increases", "VII-A2", trend("CDP-MAB", -1)),
        lines={"CDP-MAB": {p: cdp(participation=p) for p in _SHARES}},
        axes=Axes("participation p", "regret"),
        assumed=f"{ASSUMED} ε = 1.",
    ),
    _with_server(
        "li-6", "Figure 6", "At most R rounds of communication",
        claim("regret decreases as R increases", "VII-A2",
              over(lambda instance, horizon: trend(f"instance {instance}, {horizon}", -1),
                   instance=_INSTANCES, horizon=(*_HORIZONS,))),
        claim("the regrets at R = 4 and 5 are almost the same", "VII-A2",
              over(lambda instance, horizon, within: ratio(
                  (f"instance {instance}, {horizon}", 4), (f"instance {instance}, {horizon}", 5),
                  1 / (1 + within), 1 + within),
                   instance=_INSTANCES, horizon=(*_HORIZONS,), within=(0.1, 0.25))),
        lines={
            f"instance {instance:g}, {name}": {
                rounds: in_rounds(rounds, instance, horizon=horizon) for rounds in _ROUNDS.values()
            }
            for instance in _INSTANCES for name, horizon in _HORIZONS.items()
        },
        axes=Axes("rounds R", "regret"),
        assumed="Neither the instance nor T is printed: three instances, whose smallest gap is "
        "told, and T = 10⁴, at which log(T) ≈ 4 as the text has it, and 10⁶; ε = 1.",
    ),
    _with_server(
        "li-7", "Figure 7", "Rounds and participation together",
        claim("a clear trade-off of cost and regret: less regret with every round more", "VII-A2",
              falling(*_ROUNDS)),
        claim("and less regret with more participation", "VII-A2", trend(_ROUNDS, -1)),
        claim("R = 5, p = 1: the regret is close to that of Figure 4 at ε = 1", "VII-A2",
              about_ratio(("R=5", 1.0), ("without a limit", 1.0))),
        claim("R = 5, p = 1: close to the largest cost", "VII-A2",
              about_ratio(("R=5", 1.0), ("without a limit", 1.0), metric=cost)),
        lines=_figure_7,
        axes=Axes("participation p", "regret"), repeat=(4, 100),
        assumed="T = 10⁶; one instance, whose smallest gap is told; ε = 1.",
    ),
    _with_server(
        "li-8", "Figure 8", "Together or alone, homogeneous and heterogeneous rewards",
        claim("CDP-MAB's regret is similar under both structures", "VII-A3",
              about("CDP-MAB, homogeneous", "CDP-MAB, heterogeneous")),
        claim("homogeneous: it reaches 1/M of the single agents'", "VII-A3",
              about_ratio(("single-MAB, homogeneous", 0.0), ("CDP-MAB, homogeneous", 0.0), 5.0)),
        claim("heterogeneous: a single agent cannot converge, its regret is linear in the exploit "
              "phase", "VII-A3",
              linear("single-MAB, heterogeneous")),
        lines={
            f"{system}, {name}": {**cdp(5, arms, horizon=LONG), "system": system.lower()}
            for name, arms in _STRUCTURES.items()
            for system in ("CDP-MAB", "single-MAB")
        },
        repeat=(150, 1000),
        assumed="T = 10⁶; M = 5, K = 10; global means U[.1, .9], own offsets U[-.1, .1] centred.",
    ),
    _figure(
        "li-10", "Figure 10", "DDP-MAB over different graphs",
        claim("star and fully-connected achieve the smallest regrets, the ring a larger one",
              "VII-B1", above("ring", ("star", "complete")), "corrected"),
        claim("their performances are close to the centralised setting", "VII-B1",
              about("CDP-MAB", ("complete", "star")), "corrected"),
        claim("the star has the smallest communication cost", "VII-B1",
              above(("complete", "ring"), "star", metric=cost), "corrected"),
        lines=lambda quick: {
            "CDP-MAB": cdp(),
            **{name: ddp(graph) for name, graph in GRAPHS.items() if not quick or name != "random"},
        },
        repeat=(8, 100),
        assumed=f"{ASSUMED} ε = 1, c2 = 1. Printed: line 9 of Algorithm 3 averages ŷ, the text ȳ.",
    ),
    Experiment(
        "li-11", "Figure 11, section VI-B3", "HDP-MAB: cost of a round in six cases",
        claim("cases 1, 2 and 3 achieve similar per-agent regrets", "VII-C1",
              about(_SIMILAR[0], _SIMILAR[1:], regret), "corrected"),
        *_COST_CLAIMS,
        claim("a round costs c2 Σ sd(i, SA_q) + c1 Q", "Theorem 4, proof",
              equal({f"{_SENT}case {name}": cost for name, cost in _COSTS.items()})),
        lines={f"{_SENT}{name}": hdp(case) for name, case in CASES.items()}
        | {f"{_EDGES}{name}": Computation(by_edges, name) for name in CASES}
        | {_DECENTRAL: Computation(by_links, 100)},
        axes=bars("cost per round"), repeat=(2, 100), metric=cost_of_a_round,
        assumed="M = 100, c1 = 50, c2 = 1, T = 10⁵; case 2 is printed as 63, 24, 10, 6, 7, which "
        "sums to 110; 53, 24, 10, 6, 7 is taken. By the proof of Theorem 4 the cost is that of "
        "each mean's way to its sink, which is what is sent; by edges that of every edge once. The "
        "text calls case 3 the fully decentralised setting, whose cost is Theorem 3's.",
    ),
    _figure(
        "li-12", "Figure 12", "Three structures under heterogeneous rewards",
        claim("CDP-MAB achieves the smallest regret, then the hybrid, then the decentralised",
              "VII-C2, Corollary 3", falling("DDP-MAB", "HDP-MAB", "CDP-MAB"), "corrected"),
        lines=_figure_12, repeat=(6, 100),
        assumed=f"M = 100 as five rings of 20, or one of 100 (quick: 40 as four of 10, or one); "
        f"K = 10, global means U[.1, .9], own offsets U[-.1, .1] centred; T = {T:,}.",
    ),
    _figure(
        "li-unequal", "Corollary 3, Algorithm 5",
        "Components of unequal size under heterogeneous rewards",
        claim("the server observes the true means without bias: it finds the best arm",
              "Corollary 3, proof", right(0.05)),
        lines={"HDP-MAB": hdp(CASES["case 2: unequal"], arms=_UNEQUAL)},
        axes=bars("regret"), repeat=(6, 100),
        assumed="Case 2; 53 agents with means .6, .4, the others with .45, .55, so that arm 0 is "
        "better on average. Line 14 of Algorithm 5 weighs each component alike (printed); "
        "corrected: by its size.",
    ),
)  # fmt: skip
