"""Algorithms 1 and 2 of Dubey and Pentland 2020 as printed, in plain numbers, and their optimum."""

from collections.abc import Sequence
from math import ceil, log

import numpy as np

from posse.extend import FloatArray
from posse_systems.algorithms import release_counts

V = 1.1
"""v of the experiments."""


def drawn_graph(agents: int, p: float, generator: np.random.Generator) -> FloatArray:
    """The adjacency matrix of a connected graph of Erdős and Rényi."""
    while True:
        upper = np.triu(generator.random((agents, agents)) < p, 1)
        near = (upper | upper.T).astype(float)
        if rings(near, agents)[-1].any():
            return near


def rings(near: FloatArray, most: int) -> list[FloatArray]:
    """Who is at the distance 1, 2, … of whom, up to `most` or the diameter.

    Of a graph that is not connected the last ring is empty.
    """
    known = np.eye(len(near), dtype=bool)
    found: list[FloatArray] = []
    while len(found) < most and not known.all():
        ring = ((known.astype(float) @ near) > 0) & ~known
        found.append(ring.astype(float))
        if not ring.any():
            break
        known |= ring
    return found


def spread(
    distances: Sequence[FloatArray],
    share: float,
    epsilon: float,
    means: FloatArray,
    horizon: int,
    generator: np.random.Generator,
) -> float:
    """The group regret. `distances`: who hears whom over 1, 2, … hops, in as many slots.

    A message goes on with the probability `share` at each hop. An agent knows of every other the
    latest message that came.
    """
    agents, arms = len(distances[0]), len(means)
    due = np.zeros(horizon + 1, dtype=bool)
    due[list(release_counts(epsilon, V, horizon, as_printed=True))] = True
    sums, counts, shown = (np.zeros((agents, arms)) for _ in range(3))
    # by hops, of each agent the latest message that came so far: its counts, and those times means
    heard_of = np.hstack(distances).astype(np.float32)
    latest = np.zeros((len(distances), agents, 2 * arms), dtype=np.float32)
    rows, lost = np.arange(agents), 0.0
    for t in range(1, horizon + 1):
        if t <= arms * ceil(1 / epsilon):
            chosen = np.full(agents, (t - 1) % arms)
        else:
            heard = heard_of @ latest.reshape(-1, 2 * arms)
            total = np.maximum(counts + heard[:, :arms], 1e-9)
            index = (sums + heard[:, arms:]) / total + np.sqrt(2 * log(t) / total)
            # ties are broken at random
            chosen = (index + 1e-12 * generator.random(index.shape)).argmax(axis=1)
        lost += float((means.max() - means[chosen]).sum())
        sums[rows, chosen] += generator.random(agents) < means[chosen]
        counts[rows, chosen] += 1
        pulled = counts[rows, chosen]
        released = rows[due[pulled.astype(int)]]
        if len(released):
            arm, n = chosen[released], pulled[released]
            noise = generator.laplace(0.0, n ** (V / 2 - 1))
            shown[released, arm] = sums[released, arm] / n + noise
        for hops in range(len(latest) - 1, 0, -1):
            goes_on = generator.random(agents) < share
            latest[hops, goes_on] = latest[hops - 1, goes_on]
        # an arm whose mean was never released is left out
        known = counts * (shown != 0)
        latest[0, :, :arms], latest[0, :, arms:] = known, known * shown
    return lost


def optimum(agents: int, means: FloatArray, horizon: int, generator: np.random.Generator) -> float:
    """The regret of one agent that pulls M arms at every trial by UCB1 (section 2).

    All M are the arm with the largest index.
    """
    pulls, sums = np.zeros(len(means)), np.zeros(len(means))
    lost = 0.0
    for t in range(1, horizon + 1):
        arm = t - 1
        if t > len(means):
            arm = int((sums / pulls + np.sqrt(2 * log(t) / pulls)).argmax())
        lost += agents * float(means.max() - means[arm])
        pulls[arm] += agents
        sums[arm] += generator.binomial(agents, means[arm])
    return lost


def by_draws(agents: int, means: FloatArray, horizon: int, generator: np.random.Generator) -> float:
    """The same by Thompson's draws: one for each of the M arms of a trial, which may differ."""
    wins, losses = np.ones(len(means)), np.ones(len(means))
    lost = 0.0
    for _ in range(horizon):
        draws = generator.beta(wins, losses, (agents, len(means)))
        chosen = np.bincount(draws.argmax(axis=1), minlength=len(means))
        won = generator.binomial(chosen, means)
        wins, losses = wins + won, losses + chosen - won
        lost += float(chosen @ (means.max() - means))
    return lost


_OPTIMA = {"UCB1": optimum, "Thompson": by_draws}


def private_regret(
    agents: int, p: float, horizon: int, life: int, *, generator: np.random.Generator
) -> float:
    """The group regret of one instance at ε = 1 with means U[0, 1].

    `life` is γ; one that is longer than the diameter counts as that.
    """
    means = generator.uniform(0, 1, 5)
    hops = rings(drawn_graph(agents, p, generator), life)
    return spread(hops, 1.0, 1.0, means, horizon, generator)


def least_regret(
    kind: str, agents: int, horizon: int, low: float, high: float, *,
    generator: np.random.Generator,
) -> float:  # fmt: skip
    """An optimum's regret; with means U[0, 1] on the instance of `private_regret`."""
    return _OPTIMA[kind](agents, generator.uniform(low, high, 5), horizon, generator)


def at_least(horizon: int, *, generator: np.random.Generator) -> float:
    """Theorem 2.1's Σ Δ/D(μ*, μ) ln T on that instance; a limit, which holds for large T."""
    means = generator.uniform(0, 1, 5)
    best, others = means.max(), np.sort(means)[:-1]
    divergence = others * np.log(others / best) + (1 - others) * np.log((1 - others) / (1 - best))
    return float(((best - others) / divergence).sum() * log(horizon))
