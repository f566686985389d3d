"""What the lab knows of a run by its means: random play's regret, and who found its best arm."""

from typing import Any

import numpy as np

from posse.arms import ChangingMeans, DelayedArms, GaussianArms
from posse.protocol.arrays import FloatArray
from posse.results.record import RunRecord
from posse.results.verdict import UNKNOWN, Truth
from posse.spec.runfile import RunSpec
from posse.system.bounds import MeansUnknownError, means_table
from posse.system.record import System

_SAME = 1e-12


def truth_of(spec: RunSpec, system: System, parameters: Any, record: RunRecord) -> Truth:
    """What is known of a run of the lab; nothing where means are unknown or change."""
    moves = isinstance(spec.arms, ChangingMeans | DelayedArms)
    if spec.mode == "field" or moves or record.regret is None:
        return UNKNOWN
    try:
        means = means_table(spec, record.run)
    except MeansUnknownError:
        return UNKNOWN
    if system.shares_arms:
        return Truth(random_regret=_of_players(spec, means[0], parameters, record))
    own = getattr(system.shape, "regret_against", "average") == "own"
    against = means if own else np.broadcast_to(means.mean(axis=0), means.shape)
    gaps = against.max(axis=1) - against.mean(axis=1)
    random_regret = float(gaps @ np.array(record.pulls_per_agent, dtype=float))
    if not own or len(record.answers) != len(means):
        return Truth(random_regret=random_regret)
    good = sum(
        arm is not None and mine[arm] >= mine.max() - _SAME
        for arm, mine in zip(record.answers, means, strict=True)
    )
    return Truth(random_regret=random_regret, own_best=(int(good), len(means)))


def _of_players(
    spec: RunSpec, means: FloatArray, parameters: Any, record: RunRecord
) -> float | None:
    """Regret of M players that choose among K arms at random, by Tossou's two kinds of collisions.

    Kind 1 pays one of those that collide, so an arm pays unless nobody chose it; kind 2 pays none.
    """
    kind, slots = getattr(parameters, "collision", None), record.slots
    if kind is None or slots is None or isinstance(spec.arms, GaussianArms):
        return None
    agents, arms = spec.agents.count, len(means)
    free = 1 - 1 / arms
    paid = 1 - free**agents if kind == 1 else agents / arms * free ** (agents - 1)
    best = np.sort(means)[::-1][:agents].sum()
    return float(slots * (best - paid * means.sum()))
