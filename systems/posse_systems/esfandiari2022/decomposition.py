"""Decompositions of a batch's demand into assignments (Esfandiari et al. 2022, section 3.4).

A decomposition of demand D covers every user i and every arm j alive for it: in at least D / |A_i|
assignments, i plays j together with C or more other users, enough to form a group. It has ratio α
if it needs at most α·D + N·K + 1 assignments.

`greedy`  for each arm, D times all users for whom it is alive; α = K
`random`  every user plays a random arm of A_i; α = 1 up to logarithms
`by_flow` a fractional assignment per block of arms, decomposed by flow; α = number of blocks
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posse.seam.messages import BoolArray, IntArray
from posse_systems.esfandiari2022.flow import whole_points

_INT64_ROOM = 1 << 40
_DRAWS_AT_ONCE = 64
_GREEDY_DRAWS = 8
_RANDOM_DRAWS = 40
_TURNS = 1024


@dataclass(frozen=True)
class Assignment:
    """The arm of each user (-1: none), shape (N,), to be played `copies` times."""

    arms: IntArray
    copies: int


@dataclass
class Decomposition:
    """Assignments, their ratio α, and the arms `unserved` because too few users want them."""

    assignments: list[Assignment] = field(default_factory=list)
    ratio: int = 1
    unserved: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """The number of assignments, counting copies."""
        return sum(assignment.copies for assignment in self.assignments)


def unserved(alive: BoolArray, group_size: int) -> tuple[int, ...]:
    """Arms alive for 1 to C users: too few to form a group."""
    wanted = alive.sum(axis=0)
    return tuple(int(j) for j in np.flatnonzero((wanted > 0) & (wanted <= group_size)))


def random_arms(alive: BoolArray, draws: int, generator: np.random.Generator) -> IntArray:
    """A uniform arm of A_i for every user, shape (draws, N). Every user must have one alive."""
    sizes = alive.sum(axis=1)
    by_index = np.argsort(~alive, axis=1, kind="stable")
    which = (generator.random((draws, len(alive))) * sizes).astype(np.int64)
    arms: IntArray = by_index[np.arange(len(alive)), which]
    return arms


def greedy(
    alive: BoolArray, demand: int, group_size: int, generator: np.random.Generator
) -> Decomposition:
    """For each arm j, D times: all users with j in A_i play j, the others a random arm (M_j).

    The others' arms are redrawn at most 8 times in the D copies. Their estimates are a by-product
    that needs no more draws, and each draw costs every user a report.
    """
    decomposition = Decomposition(ratio=alive.shape[1], unserved=unserved(alive, group_size))
    for j in range(alive.shape[1]):
        if alive[:, j].sum() <= group_size:
            continue
        if alive[:, j].all():
            decomposition.assignments.append(Assignment(np.full(len(alive), j), demand))
            continue
        draws = min(demand, _GREEDY_DRAWS)
        for number, arms in enumerate(random_arms(alive, draws, generator)):
            copies = demand // draws + (number < demand % draws)
            decomposition.assignments.append(Assignment(np.where(alive[:, j], j, arms), copies))
    return decomposition


def at_random(
    alive: BoolArray, demand: int, group_size: int, generator: np.random.Generator
) -> Decomposition:
    """Uniform arms until every pair (user, arm) has its count, at most 2D turns.

    A first pass draws independent turns only to count how many are needed. The second makes about
    40 distinct assignments with equal copies, because each distinct one costs every user a report.
    In it every user cycles through its arms in random order, which plays each arm about as often as
    that many independent turns.
    """

    def until_served(draws: Iterator[IntArray], copies: int, least: int = 0) -> Decomposition:
        """Assignments from `draws` until every pair has its count, in at least `least` turns."""
        decomposition = Decomposition(ratio=1, unserved=unserved(alive, group_size))
        need = np.where(alive, -(-demand // alive.sum(axis=1, keepdims=True)), 0)
        need[:, list(decomposition.unserved)] = 0
        users, left = np.arange(len(alive)), 2 * demand
        while left and (2 * demand - left < least or (need > 0).any()):
            arms, times = next(draws), min(copies, left)
            left -= times
            informative = np.bincount(arms, minlength=alive.shape[1]) > group_size
            need[users, arms] -= times * informative[arms]
            decomposition.assignments.append(Assignment(arms, times))
        return decomposition

    # with 1024 draws each pair's share is within a few percent of 1 / |A_i|, for any D
    turns = until_served(_draw_independently(alive, generator), -(-demand // _TURNS)).length
    return until_served(_draw_cycles(alive, generator), -(-turns // _RANDOM_DRAWS), turns)


def _draw_independently(alive: BoolArray, generator: np.random.Generator) -> Iterator[IntArray]:
    """Endless draws of a uniform arm of A_i for every user, shape (N,)."""
    while True:
        yield from random_arms(alive, _DRAWS_AT_ONCE, generator)


def _draw_cycles(alive: BoolArray, generator: np.random.Generator) -> Iterator[IntArray]:
    """Endless draws in which each user plays all of A_i in a random order, then starts over."""
    users, sizes = np.arange(len(alive)), alive.sum(axis=1)
    place, order = sizes.copy(), np.zeros(alive.shape, dtype=np.int64)
    while True:
        restarting = place == sizes
        drawn = np.where(
            alive[restarting], generator.random((restarting.sum(), alive.shape[1])), 2.0
        )
        order[restarting], place[restarting] = drawn.argsort(axis=1), 0
        yield order[users, place]
        place += 1


def by_flow(
    alive: BoolArray,
    demand: int,
    group_size: int,
    cluster_size: int | None,
    generator: np.random.Generator,
) -> Decomposition:
    """For each block S of arms, split x_ij = 1 / |A_i ∩ S| into whole assignments.

    With blocks S_1 … S_s every pair has x^S_ij >= 1 / |A_i| in its block. So D copies of each
    block serve the demand: α = s. A user without an alive arm in the block plays a random one.
    """
    decomposition = Decomposition(unserved=unserved(alive, group_size))
    groups = blocks(alive, group_size, cluster_size)
    decomposition.ratio = max(len(groups), 1)
    for block in groups:
        x, unit = shares(alive, block)
        for weight, point in whole_points(x, unit):
            arms = np.where(point >= 0, point, random_arms(alive, 1, generator)[0])
            decomposition.assignments.append(Assignment(arms, -(-weight * demand // unit)))
    return decomposition


def blocks(alive: BoolArray, group_size: int, cluster_size: int | None) -> list[tuple[int, ...]]:
    """Blocks of arms whose fractional assignments put at least C + 1 users on each arm.

    If U (`cluster_size`) is known: blocks of ⌊U / (C+1)⌋ arms (one block if that is K or more). If
    U is unknown, or these blocks are infeasible: all arms in one block if that is feasible, else
    each arm goes into the first block that stays feasible with it. Unserved arms are in no block.
    """
    left_out = set(unserved(alive, group_size))
    wanted = [int(j) for j in np.flatnonzero(alive.any(axis=0)) if int(j) not in left_out]
    if cluster_size is not None and (size := cluster_size // (group_size + 1)):
        cut = [tuple(wanted[k : k + size]) for k in range(0, len(wanted), size)]
        if all(_feasible(alive, block, group_size) for block in cut):
            return cut
    if not wanted or _feasible(alive, tuple(wanted), group_size):
        return [tuple(wanted)] if wanted else []
    stacked: list[tuple[int, ...]] = []
    for j in wanted:
        for index, block in enumerate(stacked):
            if _feasible(alive, (*block, j), group_size):
                stacked[index] = (*block, j)
                break
        else:
            stacked.append((j,))
    return stacked


def shares(alive: BoolArray, block: tuple[int, ...]) -> tuple[IntArray, int]:
    """x^S_ij = 1 / |A_i ∩ S| on A_i ∩ S in units of 1 / L, shape (N, K), and L."""
    inside = np.zeros_like(alive)
    inside[:, list(block)] = alive[:, list(block)]
    sizes = inside.sum(axis=1)
    unit = math.lcm(*(int(size) for size in np.unique(sizes) if size))
    # Python's integers where sums of shares could overflow 64 bits
    kind: Any = np.int64 if unit < _INT64_ROOM else object
    share: IntArray = np.array([unit // int(size) if size else 0 for size in sizes], dtype=kind)
    return np.where(inside, share[:, None], 0), unit


def _feasible(alive: BoolArray, block: tuple[int, ...], group_size: int) -> bool:
    """Whether every column of x^S sums to at least C + 1."""
    x, unit = shares(alive, block)
    return bool((x.sum(axis=0)[list(block)] >= (group_size + 1) * unit).all())
