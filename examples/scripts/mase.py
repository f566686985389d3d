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
    left, t, sums = set(range(me.arms)), 0, np.zeros(me.arms)
    while len(left) > 1:
        arms = sorted(left)
        sums[arms] += yield Pull(arms, 1)
        t += 1
        radius = np.sqrt(np.log(me.arms * t**2 / me.parameters.beta) / t)
        behind = sums[arms].max() - sums[arms] >= 2 * radius * t
        if behind.any():
            yield Send(COORDINATOR, Vote(np.array(arms)[behind].tolist()))
        left -= set(np.array(arms)[behind].tolist())
        for _, told in (yield Pending(Eliminated)):
            left -= set(told.arms)
    return left.pop() if left else None


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
