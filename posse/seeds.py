"""One numpy generator per (seed, run, agent, purpose)."""

from enum import IntEnum
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray


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
    """The lab's generator of agent `rank` (-1: the coordinator) for one purpose in one run.

    It is `default_rng(SeedSequence(seed, spawn_key=(run, rank + 1, purpose)))`.
    """
    block, row = divmod(rank + 1, _BLOCK)
    state = _states(seed, run, block)[purpose, row]
    seeded: Any = _Seeded(state)  # numpy takes any ISeedSequence, but its types do not say so
    return np.random.Generator(np.random.PCG64(seeded))


def generators(seed: int, run: int, agents: int, purpose: Purpose) -> list[np.random.Generator]:
    """Those of all agents of a run, in a fraction of the time."""
    if agents < _BLOCK:
        states = _states(seed, run, 0)[purpose, 1 : agents + 1]
    else:
        ranks = np.arange(1, agents + 1, dtype=np.uint32)
        states = _seeded(seed, run, ranks, np.array([purpose], dtype=np.uint32))[0]
    made, seeded = [], cast(Any, _Seeded(states[0]))
    for state in states:
        seeded.state = state
        made.append(np.random.Generator(np.random.PCG64(seeded)))
    return made


_BLOCK = 128
"""Agents whose streams are seeded together, which takes little longer than for one."""


MOST_RUNS = 512
"""Runs whose streams may be asked for in turn without being seeded anew, in 19 MB."""


class _Seeded(ISeedSequence):
    """The state of a `SeedSequence`, computed before."""

    def __init__(self, state: NDArray[np.uint64]) -> None:
        self.state = state

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        assert (n_words, dtype) == (4, np.uint64), "only PCG64 is seeded so"
        return self.state


_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R, _U32 = np.uint32(0xCA01F9DD), np.uint32(0x4973F715), 0xFFFF_FFFF
_SHIFT = np.uint32(16)


def _hashed(
    words: NDArray[np.uint32], constant: int, multiplier: int
) -> tuple[NDArray[np.uint32], int]:
    """Numpy's `hashmix`: the hashed words, and the constant for those after them."""
    following = constant * multiplier & _U32
    hashed = (words ^ np.uint32(constant)) * np.uint32(following)
    return hashed ^ (hashed >> _SHIFT), following


@lru_cache(maxsize=MOST_RUNS)
def _states(seed: int, run: int, block: int) -> NDArray[np.uint64]:
    """What seeds PCG64 by purpose, for `_BLOCK` agents: shape (purposes, _BLOCK, 4)."""
    ranks = np.arange(block * _BLOCK, (block + 1) * _BLOCK, dtype=np.uint32)
    return _seeded(seed, run, ranks, np.array(Purpose, dtype=np.uint32))


def _seeded(
    seed: int, run: int, ranks: NDArray[np.uint32], purposes: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """What seeds PCG64, shape (purposes, ranks, 4); `ranks` are one more than the agents'.

    numpy's `SeedSequence` mixes a key's words into a pool of four, one after the other. All agents
    of a run have the same pool before their rank, so only the rank and the purpose are mixed here.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(run,))
    words = max(4, -(-seed.bit_length() // 32)) + max(1, -(-run.bit_length() // 32))
    constant = _INIT_A * pow(_MULT_A, 4 * words, 1 << 32) & _U32
    pool: list[NDArray[np.uint32]] = list(sequence.pool[:, None, None])
    for key in (ranks, purposes[:, None]):
        for i in range(4):
            hashed, constant = _hashed(key, constant, _MULT_A)
            mixed = _MIX_L * pool[i] - _MIX_R * hashed
            pool[i] = mixed ^ (mixed >> _SHIFT)
    state, constant = np.empty((len(purposes), len(ranks), 8), dtype="<u4"), _INIT_B
    for i in range(8):
        state[..., i], constant = _hashed(pool[i % 4], constant, _MULT_B)
    states: NDArray[np.uint64] = state.view("<u8").astype(np.uint64)
    return states
