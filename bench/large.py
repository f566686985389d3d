"""Many agents in engine `memory`, against a plain simulation of the same algorithm by arrays.

A yardstick has the law of its system and no messages, no accounts and no streams of each agent.
"""

import math
import sys
import time
import tracemalloc
from typing import Any

import numpy as np

from bench.memory import seconds
from bench.tables import hold, run_file, show
from posse.engines import memory
from posse.plan import prepare
from posse.protocol.arrays import FloatArray
from posse.protocol.federated import CdpParameters, RoundRow, Schedule
from posse.protocol.mase import DpMaseParameters, epoch_length, epoch_radius, votes_to_remove
from posse.results.record import RunRecord

SIZES = (1_000, 10_000, 100_000)
MEANS = (0.9, 0.3, 0.3, 0.3, 0.3)
MOST_TIMES, MOST_EXPONENT, MOST_KB = 60, 1.05, 20


def dp_mase(
    parameters: DpMaseParameters, means: FloatArray, agents: int, random: np.random.Generator
) -> tuple[int, int]:
    """DP-MASE (`corrected`, uniform activity): the arm found, and the votes counted until then.

    The agent whose epoch ends next decides and begins another. All epochs that end before the
    earliest end of the epochs that follow them are computed together.
    """
    arms, p = len(means), parameters
    needed = votes_to_remove(p, arms, "corrected")
    left = np.ones((agents, arms), dtype=bool)
    alive = np.ones(arms, dtype=bool)
    epoch = np.ones(agents, dtype=np.int64)
    length = np.full(agents, epoch_length(arms, 1, p.beta, p.epsilon))
    due = random.gamma(length)
    voted, counted = np.zeros(arms, dtype=np.int64), 0
    while np.isfinite(due).any():
        order = np.argsort(due)[: np.isfinite(due).sum()]
        pulls = length[order, None]
        rewards = random.binomial(pulls, means[None], (len(order), arms)) / pulls
        rewards += random.laplace(0.0, 1.0 / (p.epsilon * pulls), rewards.shape)
        soonest = math.inf
        for place, n in enumerate(order.tolist()):
            if due[n] > soonest:
                break  # its turn comes after an epoch that is not in this order
            k = int(left[n].sum())
            width = 2 * epoch_radius(k, int(epoch[n]), p.beta, p.epsilon, int(length[n]))
            noisy = np.where(left[n], rewards[place], -math.inf)
            losers = left[n] & (noisy.max() - noisy > width)
            voted += losers
            counted += int(losers.sum())
            for arm in np.flatnonzero(losers & alive & (voted >= needed)):
                if alive.sum() > 1:
                    alive[arm] = False
            if alive.sum() == 1:
                return int(alive.argmax()), counted
            remaining = left[n] & ~losers
            left[n] = remaining & alive
            if remaining.sum() == 1 or left[n].sum() <= 1:
                due[n] = math.inf
                continue
            epoch[n] += 1
            length[n] = epoch_length(int(left[n].sum()), int(epoch[n]), p.beta, p.epsilon)
            due[n] += random.gamma(length[n])
            soonest = min(soonest, float(due[n]))
    return -1, counted


def cdp_mab(
    parameters: CdpParameters, means: FloatArray, agents: int, random: np.random.Generator
) -> tuple[int, int]:
    """CDP-MAB (all upload, `printed` noise): the arm found, and the observations of each arm."""
    p, active = parameters, tuple(range(len(means)))
    schedule = Schedule(arms=len(means), senders=agents, horizon=p.horizon, epsilon=p.epsilon)
    average = np.zeros((agents, len(means)))
    observed = slots = 0
    for r in range(1, p.horizon + 1):
        total = schedule.observations(r, len(active), observed)
        new = total - observed
        slots += new * len(active)
        if slots > p.horizon:
            break
        columns = list(active)
        mean = random.binomial(new, means[columns], (agents, len(active))) / new
        mean += random.laplace(0.0, schedule.scale(new), mean.shape)
        average[:, columns] = (observed * average[:, columns] + new * mean) / total
        shared = average[:, columns].mean(axis=0)
        active = schedule.survivors(r, active, total, shared, agents)
        observed = total
        if len(active) == 1:
            return active[0], observed
    return active[int(average[:, list(active)].mean(axis=0).argmax())], observed


CASES: dict[str, tuple[Any, dict[str, float]]] = {
    "dp-mase": (dp_mase, {"delta": 0.05, "epsilon": 0.25, "beta": 0.5}),
    "cdp-mab": (cdp_mab, {"horizon": 1_000, "epsilon": 0.5}),
}
"""By system its yardstick, and the parameters of both."""


def raw(system: str, agents: int, means: tuple[float, ...] = MEANS) -> dict[str, Any]:
    """The run file of a case."""
    parameters = CASES[system][1]
    return run_file(system, agents, means, parameters=parameters, engine={"kind": "memory"})


def yardstick(
    system: str, agents: int, seed: int = 1, means: tuple[float, ...] = MEANS
) -> tuple[int, int]:
    """What the array simulation of a case gives."""
    simulate, _ = CASES[system]
    parameters = prepare(raw(system, 100)).parameters
    arm, count = simulate(parameters, np.array(means), agents, np.random.default_rng(seed))
    return arm, count


def _kilobytes(system: str, agents: int) -> float:
    """The most memory of a run at once, for each agent."""
    plan = prepare(raw(system, agents))
    tracemalloc.start()
    memory.run(plan, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1_000 / agents


HARDER, FEW = (0.8, 0.6, 0.3), 12


def _apart(system: str, runs: int = 40) -> float:
    """How far the means of what both count lie apart, in standard errors, with a few agents."""
    plan = prepare(raw(system, FEW, HARDER))
    ours = [_count(memory.run(plan, number)) for number in range(runs)]
    plain = [yardstick(system, FEW, seed, HARDER)[1] for seed in range(10 * runs)]
    error = math.sqrt(np.var(ours) / len(ours) + np.var(plain) / len(plain))
    distance = abs(float(np.mean(ours) - np.mean(plain)))
    return distance / error if error else distance


def _count(record: RunRecord) -> float:
    """The votes counted, or the observations of each arm."""
    if "votes" in record.log:
        return len(record.log["votes"])
    rows = RoundRow.of(record.log)
    return rows[-1][1].observations if rows else 0


def main(sizes: tuple[int, ...] = SIZES) -> None:
    for system in CASES:
        rows, taken = [], []
        kilobytes = _kilobytes(system, sizes[0])
        for agents in sizes:
            ours = seconds(raw(system, agents))
            began = time.process_time()
            yardstick(system, agents)
            plain = time.process_time() - began
            taken.append((agents, ours, ours / plain))
            rows.append([f"{agents:,}", f"{ours:.2f}", f"{plain:.3f}", f"{ours / plain:.0f}"])
            sys.stdout.flush()
        show(f"{system}, processor seconds", ["agents", "in memory", "numpy alone", "ratio"], rows)
        (few, low, _), (many, high, ratio) = taken[0], taken[-1]
        exponent = math.log(high / low) / math.log(many / few)
        hold(f"{system}, {many:,} agents, times numpy alone", ratio, MOST_TIMES, most=True)
        hold(f"{system}, standard errors from numpy alone", _apart(system), 4, most=True)
        hold(f"{system}, growth in N", exponent, MOST_EXPONENT, most=True)
        hold(f"{system}, kB an agent of {few:,}", kilobytes, MOST_KB, most=True)
