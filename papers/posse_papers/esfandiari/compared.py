"""The decomposition with the fewest assignments, for few arms (Esfandiari et al. 2022, 3.4.3)."""

from collections.abc import Iterable
from functools import partial
from itertools import combinations
from operator import truediv
from typing import Any

import numpy as np

from posse_papers.checks import Row, at_most, check, weighed, within
from posse_papers.esfandiari.figures import C
from posse_papers.experiment import Axes, Computation, along, computed
from posse_papers.statements import Finding, Measured, claim, ours
from posse_papers.worlds import beside, multiplied
from posse_systems.algorithms import by_flow, greedy

_ARMS, _DEMAND = 3, 2000
_FEWEST, _KINDS = "the fewest", ("greedy", "lp")


def batched_graph(cluster: int, generator: np.random.Generator) -> Any:
    """Which arms are alive for each user: each is the best one of `cluster` users, and so alive."""
    users = _ARMS * cluster
    alive = generator.random((users, _ARMS)) < 0.7
    alive[np.arange(users), np.arange(users) % _ARMS] = True
    return alive


def fewest(alive: Any) -> float:
    """The least number of C-anonymous assignments over D, in fractions: α of the polytope P.

    For each set S of arms weights y_S(i, j) >= 0 of the users' edges and μ_S >= 0 with
    Σ_j y_S(i, j) <= μ_S, Σ_i y_S(i, j) >= (C + 1) μ_S for j in S and Σ_S y_S(i, j) >= 1/|A_i|; the
    least Σ_S μ_S. Each y_S / μ_S is a mixture of assignments, for the constraints are a flow's.
    """
    from scipy.optimize import linprog  # noqa: PLC0415

    users, arms = alive.shape
    sets = [set(s) for n in range(1, arms + 1) for s in combinations(range(arms), n)]
    edges = [(k, i, j) for k, s in enumerate(sets) for i in range(users) for j in s if alive[i, j]]
    columns, rows, least = len(edges) + len(sets), [], []

    def row(weights: dict[int, float], at_least: float) -> None:
        rows.append(weights)
        least.append(at_least)

    for k, s in enumerate(sets):
        mu = len(edges) + k
        own = [(n, i, j) for n, (owner, i, j) in enumerate(edges) if owner == k]
        for user in range(users):
            row({mu: 1.0} | {n: -1.0 for n, i, _ in own if i == user}, 0.0)
        for arm in s:
            row({mu: -(C + 1.0)} | {n: 1.0 for n, _, j in own if j == arm}, 0.0)
    for user, arm in zip(*np.nonzero(alive), strict=True):
        served = {n: 1.0 for n, (_, i, j) in enumerate(edges) if (i, j) == (user, arm)}
        row(served, 1 / float(alive[user].sum()))
    matrix = np.zeros((len(rows), columns))
    for number, weights in enumerate(rows):
        matrix[number, list(weights)] = list(weights.values())
    cost = np.r_[np.zeros(len(edges)), np.ones(len(sets))]
    return float(linprog(cost, A_ub=-matrix, b_ub=-np.array(least)).fun)


@check
def fewer(measured: Measured, kinds: Iterable[str], fewest: str) -> Finding:
    """On each graph one kind needs at most as many assignments as others, but for rounding."""
    rows: list[Row] = []
    for kind in kinds:
        for x in measured.places(kind):
            worst = max(measured.paired(truediv, (fewest, x), (kind, x)))
            said = f"{kind} at {x:g}: at most {worst:.3f} of it"
            rows.append((1 - worst, said, within(worst, worst, most=1.001)))
    return weighed(rows)


def assignments(kind: str, cluster: int, *, generator: np.random.Generator) -> float:
    """Assignments over D on a random graph, the same for each kind: the fewest, or as needed."""
    alive = batched_graph(cluster, generator)
    if kind == _FEWEST:
        return fewest(alive)
    decompose = greedy if kind == "greedy" else partial(by_flow, cluster_size=cluster)
    return decompose(alive, _DEMAND, C, generator=generator).length / _DEMAND


EXPERIMENTS = (
    computed(
        "esfandiari-fewest", "Lemma 3, open problem 1", "The fewest assignments, K = 3",
        claim("Lemma 3's decomposition needs no more assignments than the others", "3.4.3",
              fewer(_KINDS, _FEWEST), wrong=multiplied("twice as many", _FEWEST, 2.0)),
        ours("at U = C + 1 it needs 1.2 D at most, where the LP's block for each arm needs 3 D",
             at_most(_FEWEST, 1.2, C + 1, every=True),
             wrong=beside("the LP's blocks", {_FEWEST: "lp"})),
        lines=along(partial(Computation, assignments), (_FEWEST, *_KINDS), (6, 12, 24)),
        axes=Axes("users per cluster U", "assignments over D"), repeat=(6, 50),
        assumed="K = 3, C = 5, D = 2,000, N = 3 U; an arm is alive for a user with probability .7, "
        "and its own best arm always. The fewest by a linear program over every set of arms, "
        "of which there are 2^K - 1; assignments are counted in fractions.",
    ),
)  # fmt: skip
