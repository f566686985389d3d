"""One numpy generator per (seed, run, agent, purpose)."""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What randomness is used for. Different purposes never share a stream."""

    ACTIVITY = 0
    REWARDS = 1
    NOISE = 2
    CORRUPTION = 3
    TIES = 4
    INSTANCE = 5
    GRAPH = 6
    PROTOCOL = 7
    SIGNATURE = 8


def generator(seed: int, run: int, rank: int, purpose: Purpose) -> np.random.Generator:
    """The lab's generator of agent `rank` (-1: the coordinator) for one purpose in one run."""
    key = (run, rank + 1, int(purpose))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
