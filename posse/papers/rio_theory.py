"""Rio et al. 2023: the propositions checked by numbers; the adversary; clipped rewards."""

import math
from typing import Any

import numpy as np

from posse.measure.confidence import wilson
from posse.papers.base import (
    Computation,
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    above,
    bounded,
    right,
    value,
)
from posse.papers.rio import PAPER, PROBLEM_1, PROBLEM_2
from posse.report.numbers import number
from posse.results.record import RunRecord
from posse.theory.mase import rounds_of_votes, samples_of_epochs
from protocol.mase import VoteRow, threshold

_ARMS = 10


def _corrupted(agents: int, xi: float) -> dict[str, Any]:
    return {
        "system": "corrupted-elimination",
        "agents": {"count": agents},
        "arms": PROBLEM_1,
        "parameters": {"xi": xi, "eta": 0.9, "delta": 0.05},
    }


def _adversary(quick: bool) -> list[Point]:
    xis = (0.0, 0.05, 0.1)
    return [Point(line="adversary", x=xi, run=_corrupted(64, xi)) for xi in xis]


def success(record: RunRecord) -> float:
    """How likely an adversary who sees one agent's votes names the best arm, on average.

    It guesses evenly among the arms that the agent has not voted against; arm 0 is the best.
    """
    voted: dict[int, set[int]] = {agent: set() for agent in range(len(record.answers))}
    for _, vote in VoteRow.of(record.log):
        voted[vote.agent].add(vote.arm)
    chances = [0.0 if 0 in arms else 1 / (_ARMS - len(arms)) for arms in voted.values()]
    return sum(chances) / len(chances)


def _at_most(limit: float, line: str, x: float, text: str) -> Statement:
    def check(measured: Measured) -> Finding:
        mean, half = bounded(measured.values(line, x))
        answer: Any = "undecided"
        if mean + half <= limit:
            answer = "borne out"
        elif mean - half > limit:
            answer = "not borne out"
        return Finding(
            answer=answer, evidence=f"{number(mean)} ± {number(half)}; claimed {number(limit)}"
        )

    return Statement(text=text, check=check)


def wrong_votes(record: RunRecord) -> float:
    """Agents that voted against the best arm, arm 0."""
    return float(len({vote.agent for _, vote in VoteRow.of(record.log) if vote.arm == 0}))


def majority(variant: Any, generator: Any, agents: int, beta: float, delta: float) -> Any:
    """P(Bin(N, β) >= M): some M of N agents err together, if each does with probability β."""
    from scipy.stats import binom  # noqa: PLC0415

    return {"value": float(binom.sf(threshold(delta, beta) - 1, agents, beta))}


def _votes(quick: bool) -> list[Point]:
    run = {
        "system": "dp-mase",
        "agents": {"count": 64},
        "arms": PROBLEM_1,
        "parameters": {"epsilon": 0.25, "beta": 0.5, "delta": 0.05},
    }
    return [
        *(
            Point(line=f"β = {beta:g}, some M of N", x=n, run=Computation(majority, n, beta, 0.05))
            for beta in (0.3, 0.5, 0.8)
            for n in (64, 256, 1024)
        ),
        Point(line="measured, agents that err", x=64, run=run),
    ]


def _failure_metric(record: RunRecord) -> float | None:
    if record.status == "computed":
        return value(record)
    return wrong_votes(record) / len(record.answers)


def _product_bound(measured: Measured) -> Finding:
    lines = [line for line in measured.lines() if line.startswith("β")]
    said, broken = [], False
    for line in lines:
        for x in measured.places(line):
            tail = measured.values(line, x)[0]
            broken = broken or tail > 0.05
            said.append(f"{line} (N = {x:g}): {tail:.3g}")
    return Finding(
        answer="not borne out" if broken else "borne out",
        evidence="; ".join(said) + "; wanted at most δ = .05",
    )


def _measured_failure(measured: Measured) -> Finding:
    records = measured.runs["measured, agents that err", 64]
    wrong = int(sum(wrong_votes(record) for record in records))
    agents = sum(len(record.answers) for record in records)
    low, high = wilson(wrong, agents)
    answer: Any = "undecided"
    if high <= 0.031:
        answer = "borne out"
    elif low > 0.031:
        answer = "not borne out"
    return Finding(
        answer=answer,
        evidence=f"{wrong} of {agents:,} agents voted against the best arm: probability "
        f"{low:.2%} to {high:.2%}; β is 50%, and .031 would do for M = 5 of N = 64",
    )


def degenerate(variant: Any, generator: Any, a: int, xi: float) -> Any:
    """(1 - I_ξ(a+1, M)) δ η_ξ^a of Proposition 5.2, at K = 10, η = .9, δ = .05."""
    from scipy.special import betainc  # noqa: PLC0415

    eta = 1 - 0.1 / (1 - xi) ** 9
    votes = threshold(0.05, eta)
    return {"value": float((1 - betainc(a + 1, votes, xi)) * 0.05 * eta**a)}


def _degenerate_points(quick: bool) -> list[Point]:
    return [
        Point(line=f"ξ = {xi:g}", x=a, run=Computation(degenerate, a, xi))
        for xi in (0.05, 0.1)
        for a in (1, 10, 100, 1000)
    ]


def _vanishes(measured: Measured) -> Finding:
    last = {line: measured.values(line, 1000)[0] for line in measured.lines()}
    gone = all(tail < 1e-9 for tail in last.values())
    return Finding(
        answer="not borne out" if gone else "borne out",
        evidence="; ".join(f"{line}: {tail:.2g} at a = 1000" for line, tail in last.items())
        + ": the minimum over a, which the proposition takes, is 0",
    )


SAMPLES, AGENTS = 1700, 64


def ordered(variant: Any, generator: np.random.Generator, votes: int) -> Any:
    """Rounds until any M of N agents have been active T_η times, one run.

    An agent's T_η-th activation comes after a Gamma(T_η) time of rate 1/N.
    """
    times = np.sort(generator.gamma(SAMPLES, size=(400, AGENTS)), axis=1)[:, votes - 1]
    return {"value": float(np.median(times)) * AGENTS}


def given(variant: Any, generator: Any, votes: int) -> Any:
    """Proposition 5.3's rounds, a = 1/2."""
    return {"value": rounds_of_votes(SAMPLES, AGENTS, votes, 0.5)}


def exact(variant: Any, generator: Any, votes: int) -> Any:
    """The T by which M of N agents, any, have T_η activations with probability 1/2."""
    from scipy.optimize import brentq  # noqa: PLC0415
    from scipy.special import gammainc  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    def excess(rounds: float) -> float:
        done = float(gammainc(SAMPLES, rounds / AGENTS))
        return float(binom.sf(votes - 1, AGENTS, done)) - 0.5

    return {"value": float(brentq(excess, SAMPLES * AGENTS / 2, SAMPLES * AGENTS * 2))}


def _rounds_points(quick: bool) -> list[Point]:
    lines = {"printed: M given agents": given, "any M of N": exact, "simulated": ordered}
    return [
        Point(line=line, x=votes, run=Computation(of, votes))
        for line, of in lines.items()
        for votes in (11, 18, 29)
    ]


def _loose(measured: Measured) -> Finding:
    ratios = {
        votes: measured.values("printed: M given agents", votes)[0]
        / measured.values("any M of N", votes)[0]
        for votes in (11, 18, 29)
    }
    return Finding(
        answer="borne out" if max(ratios.values()) <= 1.01 else "not borne out",
        evidence="; ".join(f"M = {m}: {100 * (r - 1):.1f}% too many" for m, r in ratios.items()),
    )


def _simulated(measured: Measured) -> Finding:
    said, inside = [], True
    for votes in (11, 18, 29):
        mean, half = bounded(measured.values("simulated", votes))
        wanted = measured.values("any M of N", votes)[0]
        inside = inside and abs(mean - wanted) <= half + 0.001 * wanted
        said.append(f"M = {votes}: {mean:,.0f} ± {half:,.0f}, computed {wanted:,.0f}")
    return Finding(answer="borne out" if inside else "not borne out", evidence="; ".join(said))


def growth(variant: Any, generator: Any, form: str, exponent: int) -> Any:
    """The proof's activations of one agent over an O(.), at β = 10^-exponent, ε = .1, Δ = .1."""
    beta, epsilon, gap, arms = 10.0**-exponent, 0.1, 0.1, 10
    logs = math.log(arms / beta) + math.log(math.log(1 / gap))
    powers = 1 / gap**2 + 1 / (epsilon * gap)
    rate = logs * powers if form == "product" else logs + powers
    return {"value": samples_of_epochs(gap, arms, beta, epsilon) / rate}


def _growth_points(quick: bool) -> list[Point]:
    return [
        Point(line=form, x=exponent, run=Computation(growth, form, exponent))
        for form in ("product", "sum")
        for exponent in (1, 3, 10, 30, 100)
    ]


def _stays(line: str) -> Any:
    def check(measured: Measured) -> Finding:
        values = [measured.values(line, x)[0] for x in measured.places(line)]
        ratio = max(values) / min(values)
        return Finding(
            answer="borne out" if ratio < 2 else "not borne out",
            evidence=f"The proof's count over the {line} varies by the factor {ratio:.2f} from "
            "β = 10^-1 to 10^-100",
        )

    return check


def _clipped(quick: bool) -> list[Point]:
    clipped = {**PROBLEM_2, "clip": [10.0, 11.5]}
    run = {
        "system": "dp-mase",
        "agents": {"count": 64},
        "arms": clipped,
        "parameters": {"epsilon": 0.25, "beta": 0.5, "delta": 0.05},
    }
    return [
        Point(line="DP-MASE, clipped", x=0, run=run),
        Point(
            line="INDEPENDENT, clipped",
            x=0,
            run={**run, "system": "independent", "parameters": {"delta": 0.05}},
        ),
    ]


EXPERIMENTS = (
    Experiment(
        name="rio-adversary",
        paper=PAPER,
        figure="Theorem 5.1",
        title="Who sees one agent's votes guesses the best arm",
        x_label="ξ",
        y_label="adversary's success",
        points=_adversary,
        limit=0.1,
        repeat=(8, 40),
        metric=success,
        keep_log=True,
        assumed="N = 64, Problem 1, η = .9. The adversary guesses evenly among the arms that one "
        "agent has not voted against, all agents in turn.",
        statements=tuple(
            _at_most(0.1, "adversary", xi,
                     f"ξ = {xi:g}: whoever sees an agent's votes names the best arm with "
                     "probability at most 1 - η = .1.")
            for xi in (0.0, 0.05, 0.1)
        ),
    ),
    Experiment(
        name="rio-votes",
        paper=PAPER,
        figure="Propositions 4.2 and 5.2",
        title="How likely M agents err together",
        x_label="number of agents N",
        y_label="probability",
        points=_votes,
        limit=0.05,
        repeat=(10, 100),
        metric=_failure_metric,
        keep_log=True,
        log_x=True,
        assumed="δ = .05, M = ⌈log δ / log β⌉ = 3, 5, 14. Measured: DP-MASE, ε = .25, Problem 1.",
        statements=(
            Statement(text="β^M <= δ bounds the probability that M votes are wrong, if each "
                      "agent's test fails with probability β.", check=_product_bound),
            Statement(text="The guarantee holds all the same, because tests fail far less often "
                      "than β: below the .031 that M = 5 of N = 64 votes need.",
                      check=_measured_failure),
        ),
    ),
    Experiment(
        name="rio-min",
        paper=PAPER,
        figure="Proposition 5.2",
        title="The failure bound of Corrupted Elimination",
        x_label="a",
        y_label="(1 - I_ξ(a+1, M)) δ η_ξ^a",
        points=_degenerate_points,
        repeat=(1, 1),
        metric=value,
        log_x=True,
        log_y=True,
        assumed="K = 10, η = .9, δ = .05.",
        statements=(
            Statement(text="The minimum over a of (1 - I_ξ(a+1, M)) δ η_ξ^a is a failure "
                      "probability that says something.", check=_vanishes),
        ),
    ),
    Experiment(
        name="rio-rounds",
        paper=PAPER,
        figure="Proposition 5.3",
        title="Rounds until M agents have done their share",
        x_label="votes M",
        y_label="rounds, median",
        points=_rounds_points,
        repeat=(20, 100),
        metric=value,
        assumed="T_η = 1700 activations, N = 64, a = 1/2; M = 11, 18, 29 are those of ξ = .1, .05 "
        "and 0 at η = .9.",
        statements=(
            above("Proposition 5.3 bounds the rounds from above.", "printed: M given agents",
                  "simulated"),
            Statement(text="It is exact to 1%.", check=_loose),
            Statement(text="The exact count, any M of N agents, is what a simulation finds.",
                      check=_simulated),
        ),
    ),
    Experiment(
        name="rio-product",
        paper=PAPER,
        figure="Proposition 4.3",
        title="The activations of one agent of DP-MASE",
        x_label="log10(1/β)",
        y_label="the proof's count over the O(.)",
        points=_growth_points,
        repeat=(1, 1),
        metric=value,
        log_y=True,
        assumed="K = 10, ε = .1, Δ = .1; the count is Σ_e R(e, K).",
        statements=(
            Statement(text="It is O of the product (log(K/β) + log log(1/Δ)) (1/Δ² + 1/(εΔ)), as "
                      "the proof has it.", check=_stays("product")),
            Statement(text="It is O of their sum (the other reading of the print).",
                      check=_stays("sum")),
        ),
    ),
    Experiment(
        name="rio-clipped",
        paper=PAPER,
        figure="Figure 3",
        title="DP-MASE on Problem 2, its rewards clipped",
        x_label="",
        y_label="rounds",
        points=_clipped,
        repeat=(40, 100),
        shape="bars",
        assumed="N = 64, deviation .5, rewards clipped to [10, 11.5] and mapped onto "
        "[0, 1], so that gaps are divided by 1.5 and more; ε = .25.",
        statements=(
            above("Collaboration pays: INDEPENDENT needs more rounds than DP-MASE.",
                  "INDEPENDENT, clipped", "DP-MASE, clipped"),
            right("The best arm is found with probability at least .95.", 0.05),
        ),
    ),
)  # fmt: skip
