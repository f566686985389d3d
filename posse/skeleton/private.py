"""Federated epsilon-greedy with noisy sums: what leaves an agent protects each of its rewards."""

import numpy as np

from posse.script import *


class NoisySums(Message):
    sums: PerArm


class NoisyBest(Message):
    arm: Arm


class PrivateSettings(Parameters):
    rounds: Positive = 20
    explore: Positive = 20
    exploit: Positive = 50
    epsilon: Epsilon = 1.0


def agent(me):
    for number in range(me.parameters.rounds):
        sums = yield Pull(range(me.arms), me.parameters.explore)
        noisy = yield Noisy(sums, me.parameters.epsilon, f"round {number}")
        yield Send(COORDINATOR, NoisySums(noisy))
        _, best = yield NoisyBest
        yield Pull([best.arm], me.parameters.exploit)
    return best.arm


def server(me):
    totals = np.zeros(me.arms)
    for _ in range(me.parameters.rounds):
        heard = yield FromAll(NoisySums)
        totals += sum(np.array(message.sums) for message in heard.values())
        yield Broadcast(NoisyBest(totals.argmax()))
    draws = me.parameters.rounds * me.agents
    noise = 1 / me.parameters.epsilon / me.parameters.explore
    rewards = draws * me.parameters.explore
    for arm, mean in enumerate(totals / rewards):
        yield Note(released(arm, mean, rewards, me.arms, look=1, laplace=noise, draws=draws))
    return totals.argmax()


def claim(context):
    why = "An explored reward in [0, 1] is in one noisy sum; what is exploited is not used."
    return Claim(
        change=OneReward(), mechanism="laplace", epsilon=context.parameters.epsilon, proof=why
    )


SYSTEM = system(
    "NAME",
    agent,
    server,
    PrivateSettings,
    to_agents=(NoisyBest,),
    to_server=(NoisySums,),
    claim=claim,
    unit_interval=UnitInterval(),
    field=Field(),
)
