"""UCB1 and DP-UCB-INT, alone, by hand."""

import math

import numpy as np

from agent.lone import LoneUcb, PrivateLoneUcb
from agent.noise import SeededNoise
from protocol.machine import Disclose, Finish, Pull, Pulled, Started


def _pull(machine, rewards):
    effects = machine.handle(Started(), 0.0)
    chosen = []
    while isinstance(effects[-1], Pull):
        arm = effects[-1].arms[0]
        chosen.append(arm)
        effects = machine.handle(Pulled((arm,), 1, np.array([rewards[arm]])), 0.0)
    return chosen, effects[-1]


def test_ucb1_by_hand() -> None:
    chosen, end = _pull(LoneUcb(2, 40, np.random.default_rng(0)), [1.0, 0.0])
    n, s = [0, 0], [0.0, 0.0]
    for t, arm in enumerate(chosen, start=1):
        if t > 2:
            index = [s[k] / n[k] + math.sqrt(2 * math.log(t) / n[k]) for k in (0, 1)]
            assert index[arm] == max(index)
        n[arm] += 1
        s[arm] += [1.0, 0.0][arm]
    assert end == Finish("horizon", 0)
    assert len(chosen) == 40


def test_dp_ucb_int_draws_once_per_release_and_printed_in_every_slot() -> None:
    def releases(variant):
        machine = PrivateLoneUcb(
            2,
            60,
            np.random.default_rng(0),
            epsilon=0.2,
            variant=variant,
            noise=SeededNoise(np.random.default_rng(1)),
        )
        disclosed = []
        effects = machine.handle(Started(), 0.0)
        while isinstance(effects[-1], Pull):
            arm = effects[-1].arms[0]
            effects = machine.handle(Pulled((arm,), 1, np.array([float(arm)])), 0.0)
            disclosed += [e.release for e in effects if isinstance(e, Disclose)]
        return machine.pulls, disclosed

    pulls, once = releases("corrected")
    assert len(once) == sum(int(n) // 5 for n in pulls)
    assert len({(r.block, r.sensitivity) for r in once}) == len(once)
    _, again = releases("printed")
    assert len({(r.block, r.sensitivity) for r in again}) < len(again)
