"""Figure 2 of Tossou and Dimitrakakis 2015: regret over time, and when learning begins."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from posse.papers.checks import Above, Falling, bounded, decide
from posse.papers.experiment import Experiment
from posse.papers.points import Point, by_line
from posse.papers.sample import Sample, regret, regret_at
from posse.papers.statements import Finding, Measured, claim, ours, verdict
from posse.papers.tossou.setting import RANDOM_PACE, run

_UCB, _PRIVATE, _BOUND, _RANDOM = "UCB", "UCB-Private", "UCB-Private-Bound", "random"
_T = 100_000
_SYSTEMS = {
    _RANDOM: "random-player",
    _BOUND: "tdfs-private-bound",
    _PRIVATE: "tdfs-private",
    _UCB: "tdfs-ucb",
}


def _lines(
    players: int, epsilon: float, horizon: int, panel: str = "", collision: int = 1
) -> list[Point]:
    """The four curves of a panel."""
    model = {} if collision == 1 else {"collision": collision}
    noise = {"epsilon": epsilon}
    return by_line({
        f"{panel}{name}": run(
            system, players, horizon, **(noise if "private" in system else {}), **model
        )
        for name, system in _SYSTEMS.items()
    })  # fmt: skip


def _one_player(epsilon: float, with_one: bool) -> Callable[[bool], list[Point]]:
    def points(quick: bool) -> list[Point]:
        found = _lines(1, epsilon, _T)
        if with_one:
            found += _lines(1, 1.0, _T, "as in (a), ε = 1: ")
        return found

    return points


def _three_players(epsilon: float) -> Callable[[bool], list[Point]]:
    def points(quick: bool) -> list[Point]:
        horizon = 20_000 if quick else _T
        return [
            point
            for model in (1, 2)
            for point in _lines(3, epsilon, horizon, f"collision model {model}: ", model)
        ]

    return points


@dataclass(frozen=True)
class Logarithmic:
    """Over its last doubling of time a line grows by no more than over the doubling before.

    c log t grows by the same amount each time, c log^2.25 t at T = 10^5 by 8 % more; 10 % are
    allowed. t^a grows by the factor 2^a.
    """

    lines: tuple[str, ...]

    def __call__(self, measured: Measured) -> Finding:
        said, clear, over = [], 0, 0
        for line in self.lines:
            samples = measured.runs[line, 0.0]
            last = float((samples[0].curve or [[0.0, 0.0]])[-1][0])
            steps = [
                (regret_at(s, last) - regret_at(s, last / 2),
                 regret_at(s, last / 2) - regret_at(s, last / 4))
                for s in samples
            ]  # fmt: skip
            excess, half = bounded([new - 1.1 * old for new, old in steps])
            clear += excess + half <= 0
            over += excess - half > 0
            new, old = np.mean(steps, axis=0)
            said.append(f"{line} {new / old:.2f}")
        return Finding(
            answer=decide(len(self.lines), clear, over),
            said=f"growth over the last doubling to the one before: {', '.join(said)}",
        )


def begins(sample: Sample) -> float:
    """When regret falls below nine tenths of a random player's, of one player; ∞ if never."""
    times, found = np.array(sample.curve).T
    below = (found < 0.9 * RANDOM_PACE * times) & (times >= 100)
    return float(times[below.argmax()]) if below.any() else inf


@dataclass(frozen=True)
class BeginsLater:
    """A line begins to learn more than `factor` times as late as another, in the median run."""

    late: str
    early: str
    factor: float

    def __call__(self, measured: Measured) -> Finding:
        late, early = (
            float(np.median([begins(s) for s in measured.runs[line, 0.0]]))
            for line in (self.late, self.early)
        )
        return verdict(
            late > self.factor * early,
            f"regret below .9 of random from slot {late:,.0f} on, at ε = 1 from {early:,.0f}",
        )


_figure = partial(
    Experiment,
    x_label="time (slots)",
    y_label="regret",
    shape="curves",
    metric=regret,
)
_ALL = (_UCB, _PRIVATE, _BOUND)


def _relations(letter: str, epsilon: float) -> Experiment:
    models = ("collision model 1: ", "collision model 2: ")
    return _figure(
        f"tossou-2{letter}", f"Figure 2 ({letter})", f"Regret of 3 players, ε = {epsilon:g}",
        points=_three_players(epsilon),
        repeat=(6, 100),
        assumed="T = 10⁵, quick 20,000 (the paper's axis is lost); the paper does not say which "
        "of its two collision models it ran.",
        statements=tuple(
            claim(f"{model.rstrip(': ')}: the relationships between the algorithms remain the "
                  "same (UCB, then UCB-Private, then UCB-Private-Bound)", "4",
                  Falling((f"{model}{_BOUND}", f"{model}{_PRIVATE}", f"{model}{_UCB}")))
            for model in models
        ),
    )  # fmt: skip


EXPERIMENTS = (
    _figure(
        "tossou-2a", "Figure 2 (a)", "Regret of 1 player, ε = 1",
        points=_one_player(1.0, with_one=False),
        repeat=(5, 100),
        assumed="T = 10⁵ (the paper's axis is lost).",
        statements=(
            claim("the regret of all three algorithms is logarithmic", "4", Logarithmic(_ALL)),
            ours("privacy costs regret", Above((_PRIVATE, _BOUND), (_UCB,))),
            ours("UCB-Private is better than UCB-Private-Bound", Falling((_BOUND, _PRIVATE))),
            ours("all learn: they lie below the random player", Above((_RANDOM,), _ALL)),
        ),
    ),
    _figure(
        "tossou-2b", "Figure 2 (b)", "Regret of 1 player, ε = .1",
        points=_one_player(0.1, with_one=True),
        repeat=(5, 100),
        assumed="T = 10⁵ (the paper's axis is lost; at 20,000 slots nobody has begun to learn).",
        statements=(
            claim("UCB-Private takes a long time before it starts learning (here: five times as "
                  "long as at ε = 1)", "4",
                  BeginsLater(_PRIVATE, f"as in (a), ε = 1: {_PRIVATE}", 5)),
            claim("UCB-Private-Bound takes a long time before it starts learning", "4",
                  BeginsLater(_BOUND, f"as in (a), ε = 1: {_BOUND}", 5)),
            ours("by T = 10⁵ both have begun: they lie below the random player",
                 Above((_RANDOM,), (_PRIVATE, _BOUND))),
        ),
    ),
    _relations("c", 1.0),
    _relations("d", 0.1),
)  # fmt: skip
