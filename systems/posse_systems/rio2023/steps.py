"""All agents of one run of DP-MASE at once, equal to their machines; what MASE has in common.

The coordinator's machine is the real one.
"""

from posse.seam.messages import MOST_PULLS
from posse.seam.noise import Release, SeededNoise
from posse.seam.steps import Declined, ManyRuns, Turns, TurnStep
from posse.seam.system import Purpose
from posse_systems.rio2023.messages import (
    Vote,
    epoch_length,
    epoch_radius,
)


class VoteStep(TurnStep):
    """What agents of both have: L_n in `local`, and in `dead` the arms that have left G."""

    def __init__(self, series: ManyRuns) -> None:
        self.p, self.arms, self.variant = series.parameters, series.arms, series.variant
        self.dead: frozenset[int] = frozenset()
        self.noise: dict[int, SeededNoise] = {}

    def carry_out(self, turns: Turns) -> None:
        arms = self.p.candidates or tuple(range(self.arms))
        self.turns, self.local = turns, [arms] * turns.agents
        self.begin()
        while turn := turns.next():
            self.act(*turn)

    def begin(self) -> None:
        """Give all agents their first orders."""
        raise NotImplementedError

    def act(self, rank: int, arms: tuple[int, ...], count: int) -> None:
        """The turn of an agent that has pulled its arms this often."""
        raise NotImplementedError

    def noise_of(self, rank: int) -> SeededNoise:
        """An agent's noise, of which most draw none."""
        if rank not in self.noise:
            self.noise[rank] = SeededNoise(self.turns.generator(rank, Purpose.NOISE))
        return self.noise[rank]

    def vote(self, rank: int, arms: tuple[int, ...]) -> bool:
        """Send a vote against these arms; whether some have left G by it."""
        alive = self.turns.server.alive
        self.turns.send(rank, Vote(arms))
        gone = set(alive) - set(self.turns.server.alive)
        self.dead |= gone
        if gone:
            self.turns.told()
        return bool(gone)


class DpMaseStep(VoteStep):
    """`DpMaseVoter` of every agent; runs with epochs that are too long are declined."""

    def begin(self) -> None:
        self.epochs, self.in_all = [0] * self.turns.agents, [0] * self.turns.agents
        for rank in range(self.turns.agents):
            self.begin_epoch(rank, self.arms)

    def begin_epoch(self, rank: int, arms_for_length: int) -> None:
        """An agent begins an epoch, as long as for this many arms."""
        self.epochs[rank] += 1
        pulls = epoch_length(arms_for_length, self.epochs[rank], self.p.beta, self.p.epsilon)
        self.in_all[rank] += pulls * len(self.local[rank])
        if self.in_all[rank] > MOST_PULLS:
            raise Declined
        self.turns.order(rank, self.local[rank], pulls)

    def act(self, rank: int, arms: tuple[int, ...], count: int) -> None:
        p, turns, scale = self.p, self.turns, 1.0 / count / self.p.epsilon
        sums = turns.sums(rank, arms, count)
        noisy = self.noise_of(rank).noisy(sums / count, 1.0 / count, scale)
        epoch = self.epochs[rank]
        width = 2 * epoch_radius(len(arms), epoch, p.beta, p.epsilon, count)
        losers = tuple(k for k, m in zip(arms, noisy, strict=True) if noisy.max() - m > width)
        turns.disclose(rank, Release("laplace", 1.0 / count, scale, p.epsilon, f"epoch {epoch}"))
        remaining = tuple(k for k in arms if k not in losers)
        self.local[rank] = local = tuple(k for k in remaining if k not in self.dead)
        done = len(remaining) == 1 or len(local) <= 1
        if not done:
            self.begin_epoch(rank, len(remaining if self.variant == "printed" else local))
        if losers:
            self.vote(rank, losers)
        if done:
            last = remaining if len(remaining) == 1 else local
            turns.finish(rank, last[0] if last else None)
