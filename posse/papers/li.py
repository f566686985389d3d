"""Li and Song 2022, section VII: federated elimination over three structures."""

from typing import Any

import numpy as np

from posse.papers.base import (
    Answer,
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    alike,
    bounded,
    falling,
    grows,
    regret,
)
from posse.results.record import RunRecord

PAPER = "Li and Song 2022"
ARMS = {"kind": "bernoulli", "means": {"random": "uniform", "count": 100}}
_T = 100_000
_LONG = 1_000_000
_ASSUMED = "T = 10^5 (the paper gives none that its figures could end at); K = 100, means U[0, 1]."
_INSTANCE = 4
"""The seed of the one instance of the R-round form, which must be told the smallest gap."""
_LEAST = {
    "system": "cdp-mab",
    "agents": {"count": 4},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.2]},
    "parameters": {"horizon": 3000, "epsilon": 1.0},
}


def _cdp(agents: int = 50, arms: dict[str, Any] = ARMS, **parameters: Any) -> dict[str, Any]:
    return {
        "system": "cdp-mab",
        "agents": {"count": agents},
        "arms": arms,
        "parameters": {"horizon": _T, "epsilon": 1.0, **parameters},
    }


def _bounded(max_rounds: int, **parameters: Any) -> dict[str, Any]:
    """At most R rounds on one instance, told its smallest gap."""
    means = np.sort(np.random.default_rng(_INSTANCE).uniform(0.0, 1.0, 100))
    arms = {
        "kind": "bernoulli",
        "means": {"random": "uniform", "count": 100, "seed": _INSTANCE},
    }
    gap = float(means[-1] - means[-2])
    return _cdp(arms=arms, max_rounds=max_rounds, gap=gap, horizon=_LONG, **parameters)


def _figure_4(noise: str) -> Any:
    def points(quick: bool) -> list[Point]:
        return [
            Point(line=f"ε={e:g}", x=0, run=_cdp(epsilon=e, noise=noise))
            for e in (0.1, 0.3, 0.5, 1.0)
        ]

    return points


def _figure_5(quick: bool) -> list[Point]:
    return [
        Point(line="p", x=p, run=_cdp(participation=p, epsilon=0.5, noise="per_agent"))
        for p in (0.2, 0.4, 0.6, 0.8, 1.0)
    ]


def _figure_6(quick: bool) -> list[Point]:
    return [
        Point(line=noise, x=rounds, run=_bounded(rounds, noise=noise))
        for noise in ("printed", "per_agent")
        for rounds in (2, 3, 4, 5)
    ]


def _figure_7(quick: bool) -> list[Point]:
    shares = (0.2, 1.0) if quick else (0.2, 0.4, 0.6, 0.8, 1.0)
    return [
        Point(line=f"R={rounds}", x=p, run=_bounded(rounds, participation=p))
        for rounds in (2, 3, 4, 5)
        for p in shares
    ]


def _figure_8(quick: bool) -> list[Point]:
    arms = {
        "kind": "bernoulli",
        "means": {"random": "uniform", "count": 10, "low": 0.1, "high": 0.9, "spread": 0.1},
    }
    single = _cdp(5, arms, horizon=_LONG)
    return [
        Point(line="CDP-MAB", x=0, run=_cdp(5, arms, horizon=_LONG)),
        Point(line="single-MAB", x=0, run={**single, "system": "single-mab"}),
    ]


_GRAPHS: dict[str, dict[str, Any]] = {
    "complete": {"kind": "complete"},
    "star": {"kind": "star"},
    "ring": {"kind": "ring"},
    "random": {"kind": "erdos-renyi", "p": 0.1},
}


def _ddp(topology: dict[str, Any]) -> dict[str, Any]:
    return {**_cdp(), "system": "ddp-mab", "topology": topology}


def _figure_10(quick: bool) -> list[Point]:
    names = ("complete", "star", "ring") if quick else tuple(_GRAPHS)
    return [
        Point(line="CDP-MAB", x=0, run=_cdp()),
        *(Point(line=name, x=0, run=_ddp(_GRAPHS[name])) for name in names),
    ]


def _parts(kind: str, *sizes: int, **more: Any) -> list[dict[str, Any]]:
    return [{"kind": kind, "count": size, **more} for size in sizes]


_CASES = {
    "1: five complete": _parts("complete", 20, 20, 20, 20, 20),
    "2: unequal": _parts("complete", 53, 24, 10, 6, 7),
    "3: one complete": _parts("complete", 100),
    "4: five random": _parts("erdos-renyi", 20, 20, 20, 20, 20, p=0.3),
    "5: five stars": _parts("star", 20, 20, 20, 20, 20),
    "6: alone": _parts("single", 100),
}


def _figure_11(quick: bool) -> list[Point]:
    return [
        Point(
            line=name,
            x=0,
            run={
                **_cdp(100, c1=50.0, c2=1.0),
                "system": "hdp-mab",
                "topology": {"kind": "components", "components": parts},
            },
        )
        for name, parts in _CASES.items()
    ]


def _cost_per_round(record: RunRecord) -> float:
    return float(record.communication.cost or 0) / float(record.communication.rounds or 1)


def _about_m(measured: Measured) -> Finding:
    alone, together = measured.values("single-MAB", 0), measured.values("CDP-MAB", 0)
    ratio = sum(alone) / sum(together)
    over, over_half = bounded([a - 10 * b for a, b in zip(alone, together, strict=True)])
    under, under_half = bounded([2.5 * b - a for a, b in zip(alone, together, strict=True)])
    answer: Answer = "undecided"
    if over > over_half or under > under_half:
        answer = "not borne out"
    elif -over > over_half and -under > under_half:
        answer = "borne out"
    return Finding(
        answer=answer,
        evidence=f"single-MAB / CDP-MAB = {ratio:.1f}; M/2 to 2M would do",
    )


def _links(wanted: dict[str, float]) -> Any:
    def check(measured: Measured) -> Finding:
        found = {}
        for name in wanted:
            costs = [_cost_per_round(record) for record in measured.runs[name, 0]]
            found[name] = sum(costs) / len(costs)
        right = all(abs(found[name] - count) < 0.5 for name, count in wanted.items())
        said = "; ".join(f"{n} {found[n]:,.0f} of {wanted[n]:,.0f}" for n in wanted)
        return Finding(answer="borne out" if right else "not borne out", evidence=said)

    return check


def _exact_costs(measured: Measured) -> Finding:
    wanted = {"1: five complete": 345, "2: unequal": 345, "3: one complete": 149,
              "5: five stars": 345, "6: alone": 5000}  # fmt: skip
    found = {name: measured.mean(name, 0)[0] for name in wanted}
    said = "; ".join(f"{name} {found[name]:,.0f} of {wanted[name]:,}" for name in wanted)
    right = all(abs(found[name] - cost) < 0.5 for name, cost in wanted.items())
    return Finding(answer="borne out" if right else "not borne out", evidence=said)


EXPERIMENTS = (
    Experiment(
        name="li-4",
        paper=PAPER,
        figure="Figure 4",
        title="Regret of CDP-MAB against ε, noise as printed",
        x_label="time (slots)",
        y_label="regret",
        points=_figure_4("printed"),
        repeat=(40, 100),
        shape="curves",
        metric=regret,
        assumed=_ASSUMED,
        agreement=_LEAST,
        statements=(
            falling("Less privacy, less regret: ε = .1, .3, .5, 1 from the top.",
                    "ε=0.1", "ε=0.3", "ε=0.5", "ε=1"),
        ),
    ),
    Experiment(
        name="li-4-per-agent",
        paper=PAPER,
        figure="Figure 4",
        title="Regret of CDP-MAB against ε, noise for each agent by itself",
        x_label="time (slots)",
        y_label="regret",
        points=_figure_4("per_agent"),
        repeat=(40, 100),
        shape="curves",
        metric=regret,
        assumed=f"{_ASSUMED} Noise Lap(1/(ε d)): ε is each agent's own level.",
        agreement=_LEAST,
        statements=(
            falling("Less privacy, less regret: ε = .1, .3, .5, 1 from the top.",
                    "ε=0.1", "ε=0.3", "ε=0.5", "ε=1"),
        ),
    ),
    Experiment(
        name="li-5",
        paper=PAPER,
        figure="Figure 5",
        title="Partial participation",
        x_label="participation p",
        y_label="regret",
        points=_figure_5,
        repeat=(40, 100),
        metric=regret,
        assumed=f"{_ASSUMED} ε = .5 for each agent by itself.",
        agreement=_LEAST,
        statements=(grows("Regret falls as more agents take part.", "p", sign=-1),),
    ),
    Experiment(
        name="li-6",
        paper=PAPER,
        figure="Figure 6",
        title="At most R rounds of communication",
        x_label="rounds R",
        y_label="regret",
        points=_figure_6,
        repeat=(40, 100),
        metric=regret,
        assumed="T = 10^6; one instance, whose smallest gap is told; ε = 1.",
        agreement=_LEAST,
        statements=(
            grows("Regret falls with R (printed noise).", "printed", sign=-1),
            grows("Regret falls with R (noise per agent).", "per_agent", sign=-1),
            Statement(
                text="R = 4 is about as good as R = 5.",
                check=lambda m: _near(m, ("printed", "per_agent"), 4, 5, 0.15),
            ),
        ),
    ),
    Experiment(
        name="li-7",
        paper=PAPER,
        figure="Figure 7",
        title="Rounds and participation together",
        x_label="participation p",
        y_label="regret",
        points=_figure_7,
        repeat=(30, 100),
        metric=regret,
        assumed="T = 10^6; one instance, whose smallest gap is told; ε = 1, noise as printed.",
        agreement=_LEAST,
        statements=(
            falling("More rounds, less regret, at every p.", "R=2", "R=3", "R=4", "R=5"),
            grows("With R = 5 regret falls with p.", "R=5", sign=-1),
        ),
    ),
    Experiment(
        name="li-8",
        paper=PAPER,
        figure="Figure 8",
        title="Together or alone, heterogeneous rewards",
        x_label="time (slots)",
        y_label="regret",
        points=_figure_8,
        repeat=(1000, 1000),
        shape="curves",
        metric=regret,
        assumed="T = 10^6; M = 5, K = 10; global means U[.1, .9], own offsets U[-.1, .1] centred.",
        agreement=_LEAST,
        statements=(
            falling("Together is better than alone.", "single-MAB", "CDP-MAB"),
            Statement(text="By about the number of agents, M = 5.", check=_about_m),
        ),
    ),
    Experiment(
        name="li-10",
        paper=PAPER,
        figure="Figure 10",
        title="DDP-MAB over different graphs",
        x_label="time (slots)",
        y_label="regret",
        points=_figure_10,
        repeat=(24, 100),
        shape="curves",
        metric=regret,
        assumed=f"{_ASSUMED} M = 50, ε = 1.",
        agreement={**_LEAST, "system": "ddp-mab", "topology": {"kind": "ring"}},
        statements=(
            falling("Regret grows with the delay: ring above star above complete.",
                    "ring", "star", "complete"),
            alike("The delay is negligible: all graphs within 5% of CDP-MAB.",
                  "CDP-MAB", "complete", "star", "ring", within=0.05),
            Statement(
                text="A round of GIS uses d_G |E| links: 1225, 98, 1250.",
                check=_links({"complete": 1225, "star": 98, "ring": 1250}),
            ),
        ),
    ),
    Experiment(
        name="li-11",
        paper=PAPER,
        figure="Figure 11",
        title="HDP-MAB: cost of a round in six cases",
        x_label="case",
        y_label="cost per round",
        points=_figure_11,
        repeat=(10, 100),
        shape="bars",
        metric=_cost_per_round,
        assumed="M = 100, c1 = 50, c2 = 1, T = 10^5; case 2 is printed as 63, 24, 10, 6, 7, which "
        "sums to 110; 53, 24, 10, 6, 7 is taken.",
        agreement={
            **_LEAST,
            "system": "hdp-mab",
            "topology": {"kind": "components", "components": _parts("ring", 2, 2)},
        },
        statements=(
            Statement(
                text="The proof's formula c2 Σ sd + c1 Q per round.",
                check=_exact_costs,
            ),
            falling("The figure's order: case 3 above case 2 above case 1.",
                    "3: one complete", "2: unequal", "1: five complete"),
        ),
    ),
)  # fmt: skip


def _near(
    measured: Measured, lines: tuple[str, ...], one: float, other: float, within: float
) -> Finding:
    """Whether two places of each line are within a share of each other."""
    worst, said = 0.0, []
    for line in lines:
        a, b = measured.mean(line, one)[0], measured.mean(line, other)[0]
        worst = max(worst, abs(a - b) / min(a, b))
        said.append(f"{line} {a:,.0f} at {one:g}, {b:,.0f} at {other:g}")
    return Finding(
        answer="borne out" if worst <= within else "not borne out", evidence="; ".join(said)
    )
