"""Federated epsilon-greedy: agents explore a little, and follow the best arm of all."""

import numpy as np

from posse.script import *


class Sums(Message):
    sums: PerArm


class Best(Message):
    arm: Arm


class Settings(Parameters):
    rounds: Positive = 20
    explore: Positive = 2
    exploit: Positive = 50


def agent(me):
    for _ in range(me.parameters.rounds):
        sums = yield Pull(range(me.arms), me.parameters.explore)
        yield Send(COORDINATOR, Sums(sums))
        _, best = yield Best
        yield Pull([best.arm], me.parameters.exploit)
    return best.arm


def server(me):
    totals = np.zeros(me.arms)
    for _ in range(me.parameters.rounds):
        heard = yield FromAll(Sums)
        totals += sum(np.array(message.sums) for message in heard.values())
        yield Broadcast(Best(totals.argmax()))
    return totals.argmax()


claim = "Sums of rewards are sent as they are."
hears = {"to_agents": (Best,), "to_server": (Sums,)}
SYSTEM = system("NAME", agent, server, Settings, **hears, claim=claim)
