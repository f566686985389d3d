"""Gossip Thompson sampling: agents tell their neighbours each reward, and count what they hear."""

import numpy as np

from posse.script import *


class Counted(Message):
    pulls: PerArm
    sums: PerArm


class Settings(Parameters):
    horizon: Positive = 200


def agent(me):
    n, s = np.zeros(me.arms), np.zeros(me.arms)
    for _ in range(me.parameters.horizon):
        arm = int(me.draws.beta(1 + s, 1 + n - s).argmax())
        reward = yield Pull([arm], 1)
        pulled, paid = np.eye(me.arms)[arm], reward[0] * np.eye(me.arms)[arm]
        yield Broadcast(Counted(pulled, paid))
        heard = yield FromAll(Counted)
        n += pulled + sum(np.array(told.pulls) for told in heard.values())
        s += paid + sum(np.array(told.sums) for told in heard.values())
    return int((s / np.maximum(n, 1)).argmax())


claim = "Every reward is told to the neighbours."
hears = {"to_agents": (Counted,), "neighbours": True}
SYSTEM = system("gossip-script", agent, None, Settings, **hears, claim=claim)
