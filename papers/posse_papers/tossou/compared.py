"""Liu and Zhao's own fair sharing (2010), which Tossou and Dimitrakakis 2015 change."""

from math import inf, log
from typing import Any

import msgspec
import numpy as np

from posse_papers.checks import above, against, bounded, within
from posse_papers.experiment import Computation, Experiment, bars
from posse_papers.sample import regret
from posse_papers.statements import Finding, Measured, ours
from posse_papers.tossou.figures import MEANS, run
from posse_papers.worlds import with_runs, world

_PLAYERS, _SLOTS = 3, 20_000


class LaiRobbins:
    """Lai and Robbins' policy for Bernoulli arms, on the arms of one mini-sequence.

    The leader has the best mean of those arms with at least a share 1/(2N) of the pulls. In step s
    the arm s mod N is pulled if its upper bound, the largest λ with n KL(mean, λ) <= log s, exceeds
    the leader's mean; else the leader is.
    """

    def __init__(self, arms: tuple[int, ...]) -> None:
        self.arms = arms
        self.step = 0
        self.pulls = dict.fromkeys(arms, 0)
        self.sums = dict.fromkeys(arms, 0.0)

    def choose(self) -> int:
        """The arm of the next step."""
        turn = self.arms[self.step % len(self.arms)]
        if self.step < len(self.arms):
            return turn
        least = self.step / (2 * len(self.arms))
        often = [arm for arm in self.arms if self.pulls[arm] >= least]
        leader = max(often, key=lambda arm: self.sums[arm] / self.pulls[arm])
        best, n = self.sums[leader] / self.pulls[leader], self.pulls[turn]
        mean = self.sums[turn] / n
        return turn if mean >= best or n * divergence(mean, best) <= log(self.step) else leader

    def learn(self, arm: int, reward: float) -> None:
        """Take a reward."""
        self.step += 1
        self.pulls[arm] += 1
        self.sums[arm] += reward


def divergence(p: float, q: float) -> float:
    """KL(p, q) of Bernoulli laws, p < q; infinite at q = 1."""
    if q >= 1:
        return inf
    found = (1 - p) * log((1 - p) / (1 - q))
    return found + p * log(p / q) if p else found


def fair_sharing(horizon: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """The regret of Liu and Zhao's players, with agreed offsets, under collision model 1.

    A player that targets the j-th best arm removes the j - 1 that it last played as better ones. It
    keeps a policy for the rest, of what it saw in the slots with these removed alone.
    """
    everything = tuple(range(len(MEANS)))
    policies: list[dict[Any, LaiRobbins]] = [{} for _ in range(_PLAYERS)]
    ranked = [list(everything[:_PLAYERS]) for _ in range(_PLAYERS)]
    best = sum(sorted(MEANS, reverse=True)[:_PLAYERS])
    lost, curve = 0.0, {0.0: 0.0}
    draws = generator.random((horizon, _PLAYERS))
    for t in range(1, horizon + 1):
        played = set()
        for player in range(_PLAYERS):
            rank = (t - 1 + player) % _PLAYERS
            removed = tuple(sorted(ranked[player][:rank]))
            if (rank, removed) not in policies[player]:
                rest = tuple(arm for arm in everything if arm not in removed)
                policies[player][rank, removed] = LaiRobbins(rest)
            policy = policies[player][rank, removed]
            arm = policy.choose()
            policy.learn(arm, float(draws[t - 1, player] < MEANS[arm]))
            ranked[player][rank] = arm
            played.add(arm)
        lost += best - sum(MEANS[arm] for arm in played)
        if t % (horizon // 4) == 0:
            curve[float(t)] = lost
    return {"value": lost, "quarters": list(curve.values())}


def _by_root(measured: Measured) -> Measured:
    return with_runs(measured, {
        point: [
            msgspec.structs.replace(run, numbers={
                **run.numbers,
                "quarters": [run.numbers["value"] * (n / 4) ** 0.5 for n in range(5)],
            }) if "quarters" in run.numbers else run
            for run in runs
        ]
        for point, runs in measured.runs.items()
    })  # fmt: skip


@against(lambda line: [world("growth as T^½", _by_root)])
def flattens(measured: Measured, line: str) -> Finding:
    """The last doubling of time costs at most a tenth more than the one before; t^a 2^a times."""
    quarters = np.array([sample.numbers["quarters"] for sample in measured.runs[line, 0.0]])
    second, later = quarters[:, 2] - quarters[:, 1], quarters[:, 4] - quarters[:, 2]
    more, half = bounded(list(later - 1.1 * second), measured.error)
    said = f"second quarter {second.mean():,.0f}, last half {later.mean():,.0f}"
    return Finding(within(more - half, more + half, most=0.0), said)


_OWN, _UCB = "Liu and Zhao's own", "TDFS with UCB1"

EXPERIMENTS = (
    Experiment(
        "tossou-fair-sharing", "", "Fair sharing with Lai and Robbins' policy, and with UCB1",
        ours("with UCB1, and without removing better arms, it has less regret", above(_OWN, _UCB)),
        ours("Liu and Zhao's own is logarithmic, as a doubling of time costs no more than before",
             flattens(_OWN)),
        lines={
            _OWN: Computation(fair_sharing, _SLOTS),
            _UCB: run("tdfs-ucb", _PLAYERS, _SLOTS),
        },
        axes=bars("regret"), metric=regret, repeat=(10, 50),
        variants=("corrected",),
        assumed="M = 3, the arms of section 4, T = 20,000, agreed offsets, collision model 1, no "
        "privacy.",
    ),
)  # fmt: skip
