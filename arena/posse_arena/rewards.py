"""Rewards that an adversary has changed, as arms of kind `python`.

`target = "posse_arena.rewards:liars_hard"` are the arms of problem "hard" under the adversary
"liars". The seed is the instance.
"""

from functools import partial

import numpy as np

from posse.extend import FloatArray
from posse_arena.problems import CORRUPTED, PROBLEMS, Adversary, Problem, liars

MOST = 50_000
"""Pulls of one agent after which a run among adversaries is given up."""


class Changed:
    """One agent's Bernoulli rewards, as the adversary lets the agent see them.

    `left` is what the corruption may still add up to.
    """

    def __init__(
        self, adversary: Adversary, problem: Problem, agent: int, agents: int, seed: int
    ) -> None:
        table = problem.table(agents, seed)
        self.means = table[agent]
        self.best = int(table.mean(axis=0).argmax())
        self.draws = np.random.default_rng([seed, agent])
        self.lies = adversary == "liars" and agent >= agents - liars(agents)
        self.left = CORRUPTED if adversary == "corruption" else 0
        self.pulled = 0

    def pull(self, arm: int, count: int) -> FloatArray:
        """`count` rewards of an arm; an error after `MOST`, for a liar may never be sure."""
        self.pulled += count
        if self.pulled > MOST:
            raise RuntimeError(f"no answer after {MOST:,} pulls of one agent")
        rewards: FloatArray = (self.draws.random(count) < self.means[arm]).astype(float)
        if self.lies:
            return 1 - rewards
        wanted = float(arm != self.best)
        changed = np.flatnonzero(rewards != wanted)[: self.left]
        rewards[changed] = wanted
        self.left -= len(changed)
        return rewards


def target(adversary: Adversary, problem: str) -> str:
    """The name of the arms in a run file."""
    return f"{adversary}_{problem.replace('-', '_')}"


_KINDS: tuple[Adversary, ...] = ("liars", "corruption")
globals().update({
    target(adversary, name): partial(Changed, adversary, problem)
    for adversary in _KINDS
    for name, problem in PROBLEMS.items()
})  # fmt: skip
