"""MASE (Rio et al. 2023, Algorithm 1): agents eliminate arms and vote, enough votes drop an arm."""

import numpy as np

from posse.script import *


class Vote(Message):
    arms: tuple[Arm, ...]


class Eliminated(Message):
    arms: tuple[Arm, ...]


class Settings(Parameters):
    delta: float = 0.05
    beta: float = 0.5


def agent(me):
    left, t, sums = np.arange(me.arms), 0, np.zeros(me.arms)

    def bound(turns):
        return 2 * np.sqrt(turns * np.log(me.arms * turns**2 / me.parameters.beta))

    def acts(rewards):
        totals = sums[left, None] + rewards.cumsum(axis=1)
        turns = np.arange(t + 1, t + 1 + rewards.shape[1])
        return totals.max(axis=0) - totals.min(axis=0) >= bound(turns)

    while len(left) > 1:
        rewards = yield PullUntil(left, acts)
        sums[left] += rewards.sum(axis=1)
        t += rewards.shape[1]
        if rewards.size and (behind := sums[left].max() - sums[left] >= bound(t)).any():
            yield Send(COORDINATOR, Vote(left[behind]))
            left = left[~behind]
        for _, told in (yield Pending(Eliminated)):
            left = left[~np.isin(left, told.arms)]
    return left[0] if len(left) else None


def server(me):
    needed = np.ceil(np.log(me.parameters.delta) / np.log(me.parameters.beta))
    left, voters = set(range(me.arms)), [set() for _ in range(me.arms)]
    while len(left) > 1:
        try:
            sender, vote = yield Vote
        except NobodyLeft:
            return "no_consensus", min(left, key=lambda k: len(voters[k]))
        for k in vote.arms:
            voters[k].add(sender)
        gone = sorted(k for k in left if len(voters[k]) >= needed)[: len(left) - 1]
        if gone:
            left -= set(gone)
            yield Broadcast(Eliminated(gone))
    yield Finish("identified", left.pop())


claim = "Votes follow raw rewards."
hears = {"to_agents": (Eliminated,), "to_server": (Vote,), "clocks": ("virtual", "wall")}
SYSTEM = system("mase-script", agent, server, Settings, **hears, claim=claim)
