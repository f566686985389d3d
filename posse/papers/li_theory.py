"""Li and Song 2022: rounds, costs, noise and conditions of the theorems, by numbers."""

import math
from typing import Any

import networkx as nx
import numpy as np

from agent.federated import CdpAgent
from agent.noise import SeededNoise
from coordinator.federated import HdpServer
from posse.measure.confidence import wilson
from posse.papers.audit import seed
from posse.papers.base import (
    SEED,
    Answer,
    Computation,
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    below_theory,
    bounded,
    numbers,
    value,
)
from posse.papers.li import PAPER
from posse.plan import prepare
from posse.results.record import RunRecord
from posse.systems import get_system
from posse.systems.context import CoordinatorContext
from posse.theory.bounds import mean_gaps, positive
from posse.theory.federated import elimination_rounds
from protocol.federated import Active, HdpParameters, Means, Schedule
from protocol.machine import COORDINATOR, Pull, Pulled, Received, Send, Started
from topologies import graphs

_M = 50


def _cdp(noise: str) -> dict[str, Any]:
    return {
        "system": "cdp-mab",
        "agents": {"count": _M},
        "arms": {"kind": "bernoulli", "means": {"random": "uniform", "count": 10}},
        "parameters": {"horizon": 1_000_000, "epsilon": 1.0, "noise": noise},
    }


_NOISES = ("printed", "per_agent")


def rounds(record: RunRecord) -> float:
    """Rounds of communication."""
    return float(record.communication.rounds or 0)


def _rounds_points(quick: bool) -> list[Point]:
    return [Point(line=noise, x=0, run=_cdp(noise)) for noise in _NOISES]


def _few_rounds(measured: Measured) -> Finding:
    said, over, total = [], 0, 0
    for noise in _NOISES:
        plan = prepare({**_cdp(noise), "seed": SEED, "variant": measured.variant})
        closest = math.inf
        for record in measured.runs[noise, 0]:
            gaps = mean_gaps(plan.spec, record.run)
            assert gaps is not None
            limit = elimination_rounds(float(positive(gaps).min()))
            over += rounds(record) > limit
            total += 1
            closest = min(closest, limit - rounds(record))
        said.append(f"{noise}: at least {closest:g} rounds to spare")
    return Finding(
        answer="not borne out" if over else "borne out",
        evidence=f"In {total - over} of {total} runs; " + "; ".join(said),
    )


def _costs(measured: Measured) -> Finding:
    records = [record for noise in _NOISES for record in measured.runs[noise, 0]]
    fits = sum(record.communication.cost == 25.0 * _M * rounds(record) for record in records)
    return Finding(
        answer="borne out" if fits == len(records) else "not borne out",
        evidence=f"Exactly so in {fits} of {len(records)} runs",
    )


_ROUNDS = (1, 2, 3, 4, 5)
_FEW = 10


def noise_of(variant: Any, generator: np.random.Generator, r: int, what: str) -> dict[str, Any]:
    """Round r's averages of ten agents' means, all rewards of equal mean; K = 100, ε = .1.

    "deviation": that of the average of the noise, over sqrt(2r) / (M^1.5 ε S(r)).
    "event": how many averages of Bernoulli(1/2) rewards lie farther than C(r) from 1/2.
    """
    epsilon, arms = 0.1, 100
    schedule = Schedule(arms=arms, senders=_FEW, horizon=10**12, epsilon=epsilon)
    noise, everything = SeededNoise(seed(generator)), tuple(range(arms))
    means = np.zeros((_FEW, arms))
    observed = 0
    for agent in range(_FEW):
        machine = CdpAgent(arms, schedule, noise)
        effects = machine.handle(Started(), 0.0)
        for step in range(1, r + 1):
            (pull,) = (e for e in effects if isinstance(e, Pull))
            sums = np.zeros(arms)
            if what == "event":
                sums = generator.binomial(pull.times, 0.5, arms).astype(float)
            answered = machine.handle(Pulled(pull.arms, pull.times, sums), 0.0)
            (sent,) = (e.message for e in answered if isinstance(e, Send))
            assert isinstance(sent, Means)
            means[agent] = np.frombuffer(sent.means, dtype="<f8")
            observed = machine.observed
            if step < r:
                effects = machine.handle(Received(COORDINATOR, Active(step + 1, everything)), 0.0)
    average = means.mean(axis=0)
    if what == "event":
        far = np.abs(average - 0.5) > schedule.radius(r, arms, observed)
        return {"value": float(far.mean()), "hits": int(far.sum()), "of": arms}
    told = math.sqrt(2 * r) / (_FEW**1.5 * epsilon * observed)
    return {"value": float(np.sqrt((average**2).mean())) / told}


def _noise_points(quick: bool) -> list[Point]:
    return [
        Point(line=what, x=r, run=Computation(noise_of, r, what))
        for what in ("deviation", "event")
        for r in _ROUNDS
    ]


def _as_told(measured: Measured) -> Finding:
    said, fits = [], True
    for r in _ROUNDS:
        # the mean square is unbiased, so it is the squares that are averaged
        squares = [v**2 for v in measured.values("deviation", r)]
        mean, half = bounded(squares)
        fits = fits and abs(mean - 1) <= 1.4 * half
        said.append(f"r = {r}: {mean:.3f} ± {half:.3f}")
    return Finding(
        answer="borne out" if fits else "not borne out",
        evidence="Variance over what is stated: "
        + "; ".join(said)
        + " (five intervals together: each widened by 1.4)",
    )


def _never_far(measured: Measured) -> Finding:
    records = [record for r in _ROUNDS for record in measured.runs["event", r]]
    far = sum(int(numbers(record)["hits"]) for record in records)
    low, high = wilson(far, sum(int(numbers(record)["of"]) for record in records))
    answer: Answer = "borne out" if high <= 0.001 else "undecided"
    if low > 0.001:
        answer = "not borne out"
    return Finding(
        answer=answer,
        evidence=f"{far} of {sum(numbers(r)['of'] for r in records):,} averages were farther: "
        f"probability {low:.3%} to {high:.3%}; below .1% is wanted",
    )


def slots(variant: Any, generator: np.random.Generator, agents: int, which: str) -> Any:
    """The diameter of a random 4-regular graph over log M / log(1/λ2), by either reading of λ2."""
    graph = graphs.regular(agents, 4, generator)
    made = nx.empty_graph(agents)
    made.add_edges_from(graph.edges())
    values = np.sort(np.linalg.eigvalsh(nx.to_numpy_array(made) / 4))
    second = float(values[-2]) if which == "adjacency" else float(1 - values[-2])
    return {"value": graph.diameter / (math.log(agents) / math.log(1 / second))}


_KINDS: dict[str, Any] = {"star": graphs.star, "ring": graphs.ring, "complete": graphs.complete}
_LINKS: dict[str, Any] = {
    "star": lambda m: 2 * (m - 1),
    "ring": lambda m: m * m / 2,
    "complete": lambda m: m * (m - 1) / 2,
}
_DELAYS: dict[str, Any] = {
    "star": lambda m: 1,
    "ring": lambda m: m // 2 - 1,
    "complete": lambda m: 0,
}


def links(variant: Any, generator: Any, kind: str, agents: int) -> Any:
    """d_G |E|, and the delay d_G - 1."""
    graph = _KINDS[kind](agents)
    return {"value": float(graph.diameter * graph.size), "delay": graph.diameter - 1}


_SIZES = (10, 50, 100)


def _graph_points(quick: bool) -> list[Point]:
    return [
        *(
            Point(line=kind, x=m, run=Computation(links, kind, m))
            for kind in _KINDS
            for m in _SIZES
        ),
        *(
            Point(line=f"4-regular, {which}", x=m, run=Computation(slots, m, which))
            for which in ("adjacency", "Laplacian")
            for m in _SIZES
        ),
    ]


def _table(measured: Measured) -> Finding:
    wrong = [
        f"{kind}, M = {m}"
        for kind in _KINDS
        for m in _SIZES
        if measured.values(kind, m)[0] != _LINKS[kind](m)
        or numbers(measured.runs[kind, m][0])["delay"] != _DELAYS[kind](m)
    ]
    return Finding(
        answer="not borne out" if wrong else "borne out",
        evidence=f"Other than stated: {', '.join(wrong)}" if wrong else
        f"Exactly so for all three at M = {', '.join(map(str, _SIZES))}",
    )  # fmt: skip


def _regular(which: str) -> Any:
    line = f"4-regular, {which}"

    def check(measured: Measured) -> Finding:
        most = {m: max(measured.values(line, m)) for m in _SIZES}
        return Finding(
            answer="borne out" if max(most.values()) <= 1 else "not borne out",
            evidence="d_G over the bound, at most: "
            + "; ".join(f"{ratio:.2f} at M = {m}" for m, ratio in most.items()),
        )

    return check


_FORMS: dict[str, Any] = {
    "4 log T / (3 log pM)": lambda t, p: 4 * math.log(t) / (3 * math.log(p * _M)),
    "log T / log pM": lambda t, p: math.log(t) / math.log(p * _M),
    "2 log T / log M": lambda t, p: 2 * math.log(t) / math.log(_M),
    "3 log T / (4 log M)": lambda t, p: 3 * math.log(t) / (4 * math.log(_M)),
    "2 log T / log(M p^1.5)": lambda t, p: 2 * math.log(t) / math.log(_M * p**1.5),
}


def no_loss(variant: Any, generator: Any, form: str, p: float) -> Any:
    """T^(2/R) / p^1.5 over M at the R that a form of the condition asks for, T = 10^6, M = 50.

    At most 1: neither the rounds nor the participation cost more than a constant.
    """
    horizon = 1e6
    return {"value": horizon ** (2 / _FORMS[form](horizon, p)) / p**1.5 / _M}


_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)


def _loss_points(quick: bool) -> list[Point]:
    return [
        Point(line=form, x=p, run=Computation(no_loss, form, p)) for form in _FORMS for p in _SHARES
    ]


def _suffices(form: str) -> Any:
    def check(measured: Measured) -> Finding:
        most = {p: measured.values(form, p)[0] for p in _SHARES}
        return Finding(
            answer="borne out" if max(most.values()) <= 1 + 1e-9 else "not borne out",
            evidence="; ".join(f"{ratio:,.3g} at p = {p:g}" for p, ratio in most.items())
            + " (at most 1 is wanted)",
        )

    return check


_COMPONENTS = {"1: five equal": (20,) * 5, "2: unequal": (53, 24, 10, 6, 7)}


def averaging(variant: Any, generator: Any, case: str) -> Any:
    """Variance of the server's average over that of the mean of all M agents: M Σ w_q² / M_q."""
    sizes = _COMPONENTS[case]
    agents = sum(sizes)
    role = get_system("hdp-mab").server
    assert role is not None
    server = role.make(
        CoordinatorContext(
            agents=agents,
            arms=2,
            parameters=HdpParameters(horizon=1000, epsilon=1.0),
            variant=variant,
            knowledge={"sinks": list(enumerate(sizes))},
            generator=lambda purpose: np.random.default_rng(0),
        )
    )
    assert isinstance(server, HdpServer)
    return {"value": agents * sum(server.weights[q] ** 2 / m for q, m in enumerate(sizes))}


def _weight_points(quick: bool) -> list[Point]:
    return [Point(line=case, x=0, run=Computation(averaging, case)) for case in _COMPONENTS]


def _no_worse(measured: Measured) -> Finding:
    found = {case: measured.values(case, 0)[0] for case in _COMPONENTS}
    return Finding(
        answer="borne out" if max(found.values()) < 1 + 1e-9 else "not borne out",
        evidence="; ".join(f"case {case}: {ratio:.2f}" for case, ratio in found.items())
        + " times the variance of the mean of all agents",
    )


EXPERIMENTS = (
    Experiment(
        name="li-rounds",
        paper=PAPER,
        figure="Theorem 2",
        title="Rounds and cost of CDP-MAB",
        x_label="noise",
        y_label="rounds of communication",
        points=_rounds_points,
        repeat=(20, 100),
        shape="bars",
        metric=rounds,
        assumed="M = 50, K = 10, means U[0, 1], T = 10^6, ε = 1; every run has its own instance.",
        agreement={**_cdp("printed"), "agents": {"count": 4},
                   "parameters": {"horizon": 3000, "epsilon": 1.0}},
        statements=(
            Statement(text="At most ⌈log2(1/Δ) + 1⌉ rounds.", check=_few_rounds),
            Statement(text="The cost is c1 M for each round.", check=_costs),
            below_theory("Regret is below the proof's sum over the arms.", "printed", 0,
                         _cdp("printed")),
        ),
    ),
    Experiment(
        name="li-noise",
        paper=PAPER,
        figure="Lemma 1, event E_R",
        title="The noise of an average, and how often it is too large",
        x_label="round r",
        y_label="deviation over the stated; share beyond C(r)",
        points=_noise_points,
        repeat=(20, 100),
        metric=value,
        assumed="M = 10, K = 100, ε = .1, no arm is dropped; T = 10^12 only in the logarithms.",
        statements=(
            Statement(text="The noise of ȳ_k has deviation sqrt(2r) / (M^1.5 ε S(r)).",
                      check=_as_told),
            Statement(text="ȳ_k is within C(r) of the mean but for a probability below .1%.",
                      check=_never_far),
        ),
    ),
    Experiment(
        name="li-graphs",
        paper=PAPER,
        figure="Table I",
        title="Links and delays of graphs",
        x_label="agents M",
        y_label="links of a round, or ratio",
        points=_graph_points,
        repeat=(5, 20),
        metric=value,
        log_x=True,
        log_y=True,
        assumed="Regular graphs of degree 4, drawn at random.",
        statements=(
            Statement(text="A round uses 2(M-1), M²/2 and M(M-1)/2 links on star, ring and "
                      "complete graph, and delays by 1, M/2 - 1 and 0 slots.", check=_table),
            Statement(text="On regular graphs d_G <= log M / log(1/λ2), λ2 the second eigenvalue "
                      "of the normalised adjacency matrix.", check=_regular("adjacency")),
            Statement(text="And with that of the Laplacian, as the footnote has it.",
                      check=_regular("Laplacian")),
        ),
    ),
    Experiment(
        name="li-weights",
        paper=PAPER,
        figure="Algorithm 3",
        title="The server's average over components",
        x_label="case",
        y_label="variance over that of the mean of all",
        points=_weight_points,
        limit=1.0,
        repeat=(1, 1),
        shape="bars",
        metric=value,
        assumed="The weights are those that HDP-MAB's server holds: M_q/M corrected, 1/Q printed.",
        statements=(
            Statement(text="The server's average is as good as the mean of all M agents.",
                      check=_no_worse),
        ),
    ),
    Experiment(
        name="li-no-loss",
        paper=PAPER,
        figure="Remarks on R and p",
        title="When few rounds and few agents cost nothing",
        x_label="participation p",
        y_label="T^(2/R) / (p^1.5 M)",
        points=_loss_points,
        limit=1.0,
        repeat=(1, 1),
        metric=value,
        log_y=True,
        assumed="M = 50, T = 10^6. The last form is the solution of T^(2/R) / p^1.5 <= M.",
        statements=tuple(
            Statement(text=f"R >= {form} rounds lose nothing.", check=_suffices(form))
            for form in _FORMS
        ),
    ),
)  # fmt: skip
