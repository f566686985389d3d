"""CDP-MAB (Li and Song 2022, Algorithm 1): a server averages noisy means and drops arms."""

import numpy as np

from posse.script import *
from posse_systems.li2022.messages import Schedule


class NoisyMeans(Message):
    round: Positive
    means: list[float]


class ActiveArms(Message):
    round: Positive
    arms: tuple[Arm, ...]


class Settings(Parameters):
    horizon: Positive
    epsilon: Epsilon


def schedule_of(me):
    horizon, epsilon = me.parameters.horizon, me.parameters.epsilon
    return Schedule(arms=me.arms, senders=me.agents, horizon=horizon, epsilon=epsilon)


def agent(me):
    horizon = me.parameters.horizon
    schedule = schedule_of(me)
    active, mean, t, r, observed = tuple(range(me.arms)), np.zeros(me.arms), 0, 0, 0
    best = None
    while len(active) > 1:
        r += 1
        before, observed = observed, schedule.observations(r, len(active), observed)
        d = observed - before
        if len(active) * d > horizon - t:
            break
        sums = yield Pull(active, d)
        t += len(active) * d
        scale = schedule.scale(d)
        noisy = yield Noisy(sums / d, 1 / (d * scale), f"round {r}", sensitivity=1 / d)
        mean = (before * mean + d * noisy) / observed
        best = active[int(mean.argmax())]
        yield Send(COORDINATOR, NoisyMeans(r, mean))
        _, left = yield One(ActiveArms, round=r)
        mean = mean[[active.index(k) for k in left.arms]]
        active = left.arms
    times, rest = divmod(horizon - t, len(active))
    if times:
        yield Pull(active, times)
    if rest:
        yield Pull(active[:rest], 1)
    return active[0] if len(active) == 1 else best


def server(me):
    schedule = schedule_of(me)
    active, observed, r, best = tuple(range(me.arms)), 0, 1, None
    while heard := (yield FromAll(NoisyMeans, round=r)):
        observed = schedule.observations(r, len(active), observed)
        average = sum(np.array(told.means) / len(heard) for told in heard.values())
        best = active[int(average.argmax())]
        active = schedule.survivors(r, active, observed, average, len(heard))
        yield Broadcast(ActiveArms(r, active))
        r += 1
    return "identified" if len(active) == 1 else "horizon", best


def claim(context):
    epsilon = context.agents * context.parameters.epsilon
    why = "Each reward is in one noisy mean."
    return Claim(change=OneReward(), mechanism="laplace", epsilon=epsilon, formula="Mε", proof=why)


hears = {"to_agents": (ActiveArms,), "to_server": (NoisyMeans,)}
bounds = {"claim": claim, "unit_interval": UnitInterval()}
SYSTEM = system("cdp-script", agent, server, Settings, **hears, **bounds)
