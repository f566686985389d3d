"""Tossou and Dimitrakakis 2015: how often the bound on a noisy sum fails, and what it starves."""

import math
from typing import Any

import numpy as np

from agent.hybrid import HybridSums
from agent.noise import SeededNoise
from posse.measure.confidence import wilson
from posse.papers.audit import seed
from posse.papers.base import (
    Answer,
    Computation,
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    cannot,
    numbers,
    value,
)
from posse.papers.tossou import ARMS, PAPER
from posse.results.record import RunRecord

_DELTA = 0.05
_PLACES = (7, 20, 100, 500, 1500)
_STREAMS = 2000
_TREES = (4, 64, 1024)


def missed(
    variant: Any, generator: np.random.Generator, constant: float, length: int
) -> dict[str, Any]:
    """How often the sum of n rewards is off by more than c (1/ε) log^1.5(n) log(1/δ); ε = 1."""
    sums = HybridSums(_STREAMS, 1.0, "half", SeededNoise(seed(generator)))
    error = np.zeros(_STREAMS)
    for _ in range(length):
        error = sums.insert(0, 0.0)
    bound = constant * math.log(length) ** 1.5 * math.log(1 / _DELTA)
    hits = int((np.abs(error) > bound).sum())
    return {"value": hits / _STREAMS, "hits": hits}


def nodes(variant: Any, generator: Any, size: int) -> dict[str, Any]:
    """The most nodes of a binary mechanism of horizon T0 that one item enters, plus the doubling.

    Node at τ: the items τ - 2^i + 1 to τ, i the lowest set bit of τ; τ = T0 is the next doubling.
    """
    entered = np.zeros(size + 1, dtype=int)
    for tau in range(1, size):
        entered[tau - (tau & -tau) + 1 : tau + 1] += 1
    return {"value": float(entered.max() + 1)}


def _coverage_points(quick: bool) -> list[Point]:
    return [
        Point(line=f"constant {c:g}", x=n, run=Computation(missed, c, n))
        for c in (1.0, 3.0)
        for n in _PLACES
    ]


def _parts_points(quick: bool) -> list[Point]:
    return [Point(line="parts of an item", x=t, run=Computation(nodes, t)) for t in _TREES]


def _covers(line: str) -> Any:
    def check(measured: Measured) -> Finding:
        said, inside, outside = [], 0, 0
        for n in _PLACES:
            records = measured.runs[line, n]
            hits = sum(int(numbers(record)["hits"]) for record in records)
            low, high = wilson(hits, len(records) * _STREAMS)
            inside += high <= _DELTA
            outside += low > _DELTA
            said.append(f"n = {n}: {low:.1%} to {high:.1%}")
        answer: Answer = "undecided"
        if outside:
            answer = "not borne out"
        elif inside == len(_PLACES):
            answer = "borne out"
        return Finding(answer=answer, evidence="Missed at " + "; ".join(said) + "; wanted 5%")

    return check


def _parts(measured: Measured) -> Finding:
    found = {t: measured.values("parts of an item", t)[0] for t in _TREES}
    right = all(parts <= math.log2(t) + 1 for t, parts in found.items())
    return Finding(
        answer="borne out" if right else "not borne out",
        evidence="; ".join(f"T0 = {t}: {parts:g} of {math.log2(t) + 1:g}"
                           for t, parts in found.items()),
    )  # fmt: skip


_BEST = 5


def best_pulls(record: RunRecord) -> float:
    """How often the best arm was pulled."""
    return float(record.pulls_per_arm[_BEST])


def _starved_points(quick: bool) -> list[Point]:
    return [
        Point(
            line="best arm",
            x=epsilon,
            times=times,
            run={
                "system": "tdfs-private-bound",
                "agents": {"count": 1},
                "arms": ARMS,
                "parameters": {"horizon": 3000 if quick else 20_000, "epsilon": epsilon},
            },
        )
        # at ε = 1 few runs starve, and it takes many to say how few
        for epsilon, times in ((0.1, 1), (1.0, 5))
    ]


def _never(epsilon: float, share: float) -> Any:
    """Runs in which the best arm was pulled once, against a share of all runs."""

    def check(measured: Measured) -> Finding:
        records = measured.runs["best arm", epsilon]
        starved = sum(best_pulls(record) <= 1 for record in records)
        low, high = wilson(starved, len(records))
        answer: Answer = "undecided"
        if high <= share:
            answer = "borne out"
        elif low > share:
            answer = "not borne out"
        return Finding(
            answer=answer,
            evidence=f"In {starved} of {len(records)} runs the best arm was pulled once: "
            f"probability {low:.1%} to {high:.1%}",
        )

    return check


EXPERIMENTS = (
    Experiment(
        name="tossou-bound",
        paper=PAPER,
        figure="Theorem 2",
        title="How often the bound on a noisy sum fails",
        x_label="rewards n",
        y_label="share of sums beyond the bound",
        points=_coverage_points,
        limit=0.05,
        repeat=(5, 20),
        metric=value,
        log_x=True,
        log_y=True,
        assumed="Hybrid mechanism, ε = 1 split in half, δ = .05; the bound is c (1/ε) log^1.5(n) "
        "log(1/δ), whose constant is not printed.",
        statements=(
            Statement(text="With the constant 1 a sum is beyond the bound with probability at most "
                      "δ = .05.", check=_covers("constant 1")),
            Statement(text="With the constant 3 it is.", check=_covers("constant 3")),
            cannot("Theorem 6 bounds the regret.", "It is an O(.) in T and ε; there is no number "
                   "to compare with."),
        ),
    ),
    Experiment(
        name="tossou-parts",
        paper=PAPER,
        figure="Theorem 1",
        title="Noisy parts that one reward is in",
        x_label="horizon of the tree T0",
        y_label="parts",
        points=_parts_points,
        repeat=(1, 1),
        metric=value,
        log_x=True,
        assumed="Counted by the definition of the binary mechanism.",
        statements=(
            Statement(text="A reward is in at most log2(T0) + 1 noisy parts.", check=_parts),
        ),
    ),
    Experiment(
        name="tossou-starved",
        paper=PAPER,
        figure="UCB-Private-Bound",
        title="An arm whose first noise is very negative",
        x_label="ε",
        y_label="pulls of the best arm",
        points=_starved_points,
        repeat=(80, 100),
        metric=best_pulls,
        log_x=True,
        assumed="One player, T = 20,000 (quick: 3,000). The printed term is 0 at n = 1, where the "
        "noise is not.",
        statements=(
            Statement(text="The best arm does not starve at ε = .1: it is pulled again in 95% of "
                      "the runs.", check=_never(0.1, 0.05)),
            Statement(text="Nor at ε = 1.", check=_never(1.0, 0.05)),
        ),
    ),
)  # fmt: skip
