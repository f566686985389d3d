"""Many agents in engine `memory`, against a plain simulation of the same algorithm by arrays.

A yardstick has the law of its system and no messages, no accounts and no streams of each agent.
"""

import importlib
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
from posse.results.record import RunRecord
from posse.topologies.graphs import Graph
from posse_systems.dubey2020.messages import (
    PrivateParameters,
    confidence_bonus,
    exploration_slots,
    noise_scale,
    release_counts,
)
from posse_systems.esfandiari2022.messages import AnonymousParameters
from posse_systems.li2022.messages import CdpParameters, DdpParameters, RoundRow, Schedule
from posse_systems.rio2023.messages import (
    DpMaseParameters,
    MaseParameters,
    epoch_length,
    epoch_radius,
    successive_elimination_radius,
    votes_to_remove,
)

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


def mase(
    parameters: MaseParameters, means: FloatArray, agents: int, random: np.random.Generator
) -> tuple[int, int]:
    """MASE (`corrected`): the arm found, and the votes counted until then.

    In each sweep every agent that is not done is active once, and all test; their votes are counted
    in random order. posse draws who is active, so this is the law but for the order of activations.
    """
    arms, p = len(means), parameters
    needed = votes_to_remove(p, arms, "corrected")
    sums, left = np.zeros((agents, arms)), np.ones((agents, arms), dtype=bool)
    alive, voted, counted = np.ones(arms, dtype=bool), np.zeros(arms, dtype=np.int64), 0
    t = 0
    while (left.sum(axis=1) > 1).any():
        t += 1
        sums += random.random(sums.shape) < means
        width = 2 * float(successive_elimination_radius(float(t), arms, p.beta))
        estimates = np.where(left, sums / t, -math.inf)
        losers = left & (estimates.max(axis=1, keepdims=True) - estimates >= width)
        for n in random.permutation(np.flatnonzero(losers.any(axis=1))).tolist():
            against = losers[n] & alive  # who acts after an arm is out knows it
            voted += against
            counted += int(against.sum())
            for arm in np.flatnonzero(against & (voted >= needed)):
                alive[arm] = alive.sum() == 1
            if alive.sum() == 1:
                return int(alive.argmax()), counted
        left &= ~losers & alive
    return -1, counted


def private_ucb(
    parameters: PrivateParameters,
    means: FloatArray,
    agents: int,
    random: np.random.Generator,
    graph: Graph,
) -> tuple[int, int]:
    """`private-ucb` (`corrected`, γ = 1, equal degrees): the arm pulled most, the best's pulls."""
    p, arms, rows = parameters, len(means), np.arange(agents)
    near = np.array(graph.neighbours)
    due, scale = np.zeros(p.horizon + 1, dtype=bool), np.zeros(p.horizon + 1)
    for n in release_counts(p.epsilon, p.v, p.horizon):
        due[n], scale[n] = True, noise_scale(n, p.v)
    pulls, sums = np.zeros((agents, arms), dtype=np.int64), np.zeros((agents, arms))
    told = np.zeros((agents, 2, arms))  # the counts and sums last released
    for t in range(1, p.horizon + 1):
        if t <= exploration_slots(arms, p.epsilon):
            arm = np.full(agents, (t - 1) % arms)
        else:
            N, known = np.moveaxis(told + told[near].sum(axis=1), 1, 0)
            index = known / np.maximum(N, 1) + confidence_bonus(math.log(t), np.maximum(N, 1))
            index[N == 0] = math.inf
            arm = index.argmax(axis=1)
        sums[rows, arm] += random.random(agents) < means[arm]
        pulls[rows, arm] += 1
        n = pulls[rows, arm]
        who = np.flatnonzero(due[n])
        arm, n = arm[who], n[who]
        told[who, 0, arm] = n
        told[who, 1, arm] = sums[who, arm] + n * random.laplace(0.0, scale[n])
    in_all = pulls.sum(axis=0)
    return int(in_all.argmax()), int(in_all[means.argmax()])


def ddp_mab(
    parameters: DdpParameters,
    means: FloatArray,
    agents: int,
    random: np.random.Generator,
    graph: Graph,
) -> tuple[int, int]:
    """DDP-MAB (`corrected`): the arm found, and the pulls of the best."""
    p, active, best = parameters, tuple(range(len(means))), int(means.argmax())
    schedule = Schedule(arms=len(means), senders=agents, horizon=p.horizon, epsilon=p.epsilon)
    average, travel = np.zeros((agents, len(means))), max(0, graph.diameter - 1)
    observed = slots = pulled = 0
    answers = np.zeros(agents, dtype=np.int64)
    for r in range(1, p.horizon + 1):
        total = schedule.observations(r, len(active), observed)
        new, columns = total - observed, list(active)
        if len(active) == 1 or slots + new * len(active) > p.horizon:
            break
        mean = random.binomial(new, means[columns], (agents, len(active))) / new
        mean += random.laplace(0.0, schedule.scale(new), mean.shape)
        average[:, columns] = (observed * average[:, columns] + new * mean) / total
        observed, slots = total, slots + new * len(active) + travel
        answers = np.array(columns)[average[:, columns].argmax(axis=1)]
        pulled += new * agents * (best in active)
        if slots > p.horizon:
            slots -= travel
            return active[0], pulled + (p.horizon - slots) * int((answers == best).sum())
        pulled += travel * int((answers == best).sum())
        shared = average[:, columns].mean(axis=0)
        active = schedule.survivors(r, active, total, shared, agents)
    rest = p.horizon - slots
    turns, more = divmod(rest, len(active))
    mine = active.index(best) if best in active else len(active)
    pulled += agents * (turns * (best in active) + (mine < more))
    return active[0], pulled


def anonymous(
    parameters: AnonymousParameters, means: FloatArray, agents: int, random: np.random.Generator
) -> tuple[int, int]:
    """Anonymous bandits: posse's own learner on drawn sums, without keys and masks; the regret.

    It is the one that posse-papers draws the paper's figures by, which must be installed.
    """
    run = raw("anonymous", agents)
    run["arms"] = run["arms"] | {"means": [means.tolist()] * agents}
    plain = importlib.import_module("posse_papers.esfandiari.plain")
    return int(means.argmax()), int(plain.played(run, generator=random)["value"])


_REGULAR = {"topology": {"kind": "regular", "degree": 4}}

CASES: dict[str, tuple[Any, dict[str, Any], tuple[int, ...]]] = {
    "dp-mase": (dp_mase, {"delta": 0.05, "epsilon": 0.25, "beta": 0.5}, SIZES),
    "mase": (mase, {"delta": 0.05, "beta": 0.5}, SIZES),
    "cdp-mab": (cdp_mab, {"horizon": 1_000, "epsilon": 0.5}, SIZES),
    "private-ucb": (private_ucb, {"horizon": 100, "gamma": 1, "epsilon": 0.5}, (250, 1_000)),
    "ddp-mab": (ddp_mab, {"horizon": 1_000, "epsilon": 0.5}, (250, 1_000)),
    "anonymous": (anonymous, {"horizon": 10_000, "group_size": 5}, (60, 250)),
}
"""By system its yardstick, the parameters of both, and the numbers of agents.

Those of the last three are few, because each agent knows something of every other: what it last
said, its means, its public key. Memory or messages then grow with N².
"""

_ON_A_GRAPH = ("private-ucb", "ddp-mab")


def raw(system: str, agents: int, means: tuple[float, ...] = MEANS) -> dict[str, Any]:
    """The run file of a case."""
    more = _REGULAR if system in _ON_A_GRAPH else {}
    engine = {"kind": "memory"}
    return run_file(system, agents, means, parameters=CASES[system][1], engine=engine, **more)


def yardstick(
    system: str, agents: int, seed: int = 1, means: tuple[float, ...] = MEANS
) -> tuple[float, tuple[int, int]]:
    """The processor seconds of a case's array simulation, and what it gives."""
    plan = prepare(raw(system, 12 if system in _ON_A_GRAPH else 100))
    given: list[Any] = [plan.parameters, np.array(means), agents, np.random.default_rng(seed)]
    if system in _ON_A_GRAPH:
        graph = prepare(raw(system, agents)).spec.graph(0)
        assert graph.diameter  # measured before the clock starts, as it is kept for all runs
        given.append(graph)
    began = time.process_time()
    arm, count = CASES[system][0](*given)
    return time.process_time() - began, (arm, count)


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
    plain = [yardstick(system, FEW, seed, HARDER)[1][1] for seed in range(10 * runs)]
    error = math.sqrt(np.var(ours) / len(ours) + np.var(plain) / len(plain))
    distance = abs(float(np.mean(ours) - np.mean(plain)))
    return distance / error if error else distance


def _count(record: RunRecord) -> float:
    """What the yardstick counts: votes, the observations of each arm, pulls of the best, regret."""
    if "votes" in record.log:
        return len(record.log["votes"])
    if rows := RoundRow.select(record.log):
        return rows[-1][1].observations
    if "commit" in record.log:
        return record.regret or 0.0
    return (record.pulls_per_arm or [0])[0]


def main(systems: tuple[str, ...] = tuple(CASES)) -> None:
    """Show each system's times beside its yardstick's, and hold the bars at its largest size."""
    for system in systems:
        rows, taken = [], []
        sizes = CASES[system][2]
        kilobytes = _kilobytes(system, sizes[0])
        for agents in sizes:
            ours = seconds(raw(system, agents))
            plain, _ = yardstick(system, agents)
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
