"""Esfandiari, Mirrokni and Schneider 2022: estimates, assignments, and how regret grows."""

from typing import Any

import numpy as np

from coordinator.decomposition import at_random, by_flow, greedy
from posse.papers.base import (
    Answer,
    Computation,
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    bounded,
    numbers,
    slope,
    value,
)
from posse.papers.esfandiari import PAPER
from protocol.anonymous import estimates, roster, schedule_length

_C = 5
_SIZES = (6, 8, 11)


def _members(size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Means of a group's members, evenly in [.1, .9]."""
    return np.linspace(0.1, 0.9, size)


def estimate(variant: Any, generator: np.random.Generator, size: int, what: str) -> dict[str, Any]:
    """The estimate R_G - R_G^s of a group's first member: its mean error, or its variance."""
    trials, group, means = 4000, tuple(range(size)), _members(size)
    sums = np.array([
        generator.binomial(1, means[list(roster(step, group))], (trials, len(roster(step, group))))
        .sum(axis=1)
        for step in range(schedule_length(_C))
    ])  # fmt: skip
    first = np.array([estimates(column, size)[0] for column in sums.T.astype(float)])
    if what == "variance":
        return {"value": float(first.var(ddof=1))}
    return {"value": float(first.mean() - means[0])}


def _estimate_points(quick: bool) -> list[Point]:
    return [
        Point(line=what, x=size, run=Computation(estimate, size, what))
        for what in ("error", "variance")
        for size in _SIZES
    ]


def _variance(size: int) -> float:
    """p_s (1 - p_s) + 2 Σ_others p (1 - p) for the first member."""
    spread = _members(size) * (1 - _members(size))
    return float(spread[0] + 2 * spread[1:].sum())


def _matches(line: str, wanted: Any) -> Any:
    """Whether the means are what is wanted: inside the interval at 95%, all sizes together.

    With three sizes each interval is widened to 98.3% (Bonferroni) by the factor 1.3.
    """

    def check(measured: Measured) -> Finding:
        said, clear = [], True
        for size in _SIZES:
            mean, half = bounded(measured.values(line, size))
            clear = clear and abs(mean - wanted(size)) <= 1.3 * half
            said.append(f"|G| = {size}: {mean:.4f} ± {half:.4f}, wanted {wanted(size):.4g}")
        answer: Answer = "borne out" if clear else "not borne out"
        return Finding(answer=answer, evidence="; ".join(said))

    return check


def decompose(
    variant: Any, generator: np.random.Generator, name: str, users: int, arms: int, demand: int
) -> dict[str, Any]:
    """A random instance: assignments over α D + N K + 1, and the least estimates over D/|A_i|."""
    while True:
        alive = generator.random((users, arms)) < 0.7
        alive[np.arange(users), generator.integers(arms, size=users)] = True
        if (alive.sum(axis=0) > _C).all():
            break
    match name:
        case "greedy":
            found = greedy(alive, demand, _C, generator)
        case "random":
            found = at_random(alive, demand, _C, generator)
        case _:
            found = by_flow(alive, demand, _C, None, generator)
    informed = np.zeros((users, arms))
    for assignment in found.assignments:
        counts = np.bincount(assignment.arms, minlength=arms)
        useful = counts[assignment.arms] > _C
        informed[np.arange(users), assignment.arms] += assignment.copies * useful
    share = informed / (demand / alive.sum(axis=1, keepdims=True))
    return {
        "value": float(found.length) / (found.ratio * demand + users * arms + 1),
        "informed": float(share[alive].min()),
        "ratio": found.ratio,
    }


def _decompose_points(quick: bool) -> list[Point]:
    return [
        Point(line=name, x=users, run=Computation(decompose, name, users, 4, 2000))
        for name in ("greedy", "random", "lp")
        for users in (60, 120)
    ]


def _informs(*lines: str) -> Any:
    def check(measured: Measured) -> Finding:
        least = {
            line: min(numbers(r)["informed"] for x in measured.places(line)
                      for r in measured.runs[line, x])
            for line in lines
        }  # fmt: skip
        fine = all(share >= 1 - 1e-9 for share in least.values())
        return Finding(
            answer="borne out" if fine else "not borne out",
            evidence="; ".join(f"{line}: at least {share:.3f} D/|A_i|"
                               for line, share in least.items()),
        )  # fmt: skip

    return check


def _counts(measured: Measured) -> Finding:
    most = {
        line: max(max(measured.values(line, x)) for x in measured.places(line))
        for line in ("greedy", "lp")
    }
    fine = all(share <= 1 for share in most.values())
    return Finding(
        answer="borne out" if fine else "not borne out",
        evidence="; ".join(f"{line}: at most {share:.2f}" for line, share in most.items())
        + " of α D + N K + 1",
    )


def _growth_run(system: str, horizon: int, group_size: int) -> dict[str, Any]:
    return {
        "system": system,
        "agents": {"count": 48},
        "arms": {
            "kind": "bernoulli",
            "means": {"random": "uniform", "count": 3, "per_agent": True},
        },
        "parameters": {"horizon": horizon, "group_size": group_size},
    }


_HORIZONS = (10_000, 100_000, 1_000_000)


def _growth_points(quick: bool) -> list[Point]:
    return [
        Point(line=system, x=horizon, run=_growth_run(system, horizon, _C))
        for system in ("anonymous", "explore-then-commit")
        for horizon in _HORIZONS
    ]


_GROUPS = (3, 5, 10)


def _group_points(quick: bool) -> list[Point]:
    return [
        Point(line=system, x=size, run=_growth_run(system, 100_000, size))
        for system in ("anonymous", "explore-then-commit")
        for size in _GROUPS
    ]


EXPERIMENTS = (
    Experiment(
        name="esfandiari-estimates",
        paper=PAPER,
        figure="Lemma 2",
        title="Estimates from sums over groups",
        x_label="size of the group",
        y_label="mean error, variance",
        points=_estimate_points,
        repeat=(20, 100),
        metric=value,
        assumed="C = 5; the members' means lie evenly in [.1, .9], the first member's is .1.",
        statements=(
            Statement(text="R_G - R_G^s is unbiased at every size of the group.",
                      check=_matches("error", lambda size: 0.0)),
            Statement(text="Its variance is p_s(1-p_s) + 2 Σ p(1-p), so that it grows with the "
                      "group.", check=_matches("variance", _variance)),
        ),
    ),
    Experiment(
        name="esfandiari-decomposition",
        paper=PAPER,
        figure="Decomposition problem",
        title="Assignments that serve a demand",
        x_label="users N",
        y_label="assignments over α D + N K + 1",
        points=_decompose_points,
        limit=1.0,
        repeat=(5, 50),
        metric=value,
        assumed="K = 4, C = 5, D = 2,000; every arm is alive for a user with probability .7.",
        statements=(
            Statement(text="Greedy (α = K) and LP need at most α D + N K + 1 assignments.",
                      check=_counts),
            Statement(text="Greedy and LP give every user D/|A_i| estimates of every alive arm.",
                      check=_informs("greedy", "lp")),
            Statement(text="And so does random, by at most 2 D assignments.",
                      check=_informs("random")),
        ),
    ),
    Experiment(
        name="esfandiari-horizon",
        paper=PAPER,
        figure="Theorems 1 and 2",
        title="How regret grows with time",
        x_label="rounds T",
        y_label="regret of all users",
        points=_growth_points,
        repeat=(3, 20),
        metric=lambda record: record.regret,
        log_x=True,
        log_y=True,
        assumed="N = 48, K = 3, C = 5; T = 10^4, 10^5, 10^6; learning rates .02 and .2.",
        agreement=_growth_run("explore-then-commit", 300, 5),
        statements=(
            slope("Algorithm 1: as T^(1/2).", "anonymous", 0.35, 0.65),
            slope("Explore-then-commit: as T^(2/3).", "explore-then-commit", 0.57, 0.77),
        ),
    ),
    Experiment(
        name="esfandiari-groups",
        paper=PAPER,
        figure="Theorems 1 to 3",
        title="How regret grows with the size of the groups",
        x_label="anonymity C",
        y_label="regret of all users",
        points=_group_points,
        repeat=(6, 20),
        metric=lambda record: record.regret,
        log_x=True,
        log_y=True,
        assumed="N = 48, K = 3, T = 10^5; C = 3, 5, 10; the bounds are C (upper) and C^(1/2) "
        "(lower) for Algorithm 1, C^(2/3) for explore-then-commit.",
        agreement=_growth_run("explore-then-commit", 300, 5),
        statements=(
            slope("Algorithm 1: between C^(1/2) and C.", "anonymous", 0.5, 1.0),
            slope("Explore-then-commit: at most as C^(2/3).", "explore-then-commit", 0.0, 0.67),
        ),
    ),
)  # fmt: skip
