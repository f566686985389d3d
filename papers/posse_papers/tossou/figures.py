"""The experiment of section 4 of Tossou and Dimitrakakis 2015, and its Figure 2."""

from functools import partial
from math import inf, sqrt
from typing import Any

import numpy as np

from posse_papers.checks import above, against, bounded, falling, pm, together, within
from posse_papers.experiment import Experiment, Lines, curves, panels, run_file
from posse_papers.sample import Sample, regret, regret_at
from posse_papers.statements import Finding, Measured, claim, ours, over
from posse_papers.worlds import beside, shaped

MEANS = [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]
ARMS: dict[str, Any] = {"kind": "bernoulli", "means": MEANS}
BEST = 5
RANDOM_PACE = max(MEANS) - sum(MEANS) / len(MEANS)
"""Regret per slot of a single random player."""
HORIZONS = (1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
"""At which bounds are computed."""


def run(system: str, players: int, horizon: int, **parameters: Any) -> dict[str, Any]:
    """M players on the ten arms."""
    return run_file(system, players, ARMS, {"horizon": horizon, **parameters})


_UCB, _PRIVATE, _BOUND, _RANDOM = "UCB", "UCB-Private", "UCB-Private-Bound", "random"
_ALL = (_UCB, _PRIVATE, _BOUND)
_SYSTEMS = {
    _RANDOM: "random-player",
    _BOUND: "tdfs-private-bound",
    _PRIVATE: "tdfs-private",
    _UCB: "tdfs-ucb",
}
_MODELS = {"collision model 1": {}, "collision model 2": {"collision": 2}}
_T = 100_000
_SHORT = 40_000
"""The horizon at ε = 1 in the quick form, where one player learns in the first 6,500 slots."""
_FIRST = "as in (a), ε = 1"


def _panel(players: int, epsilon: float, horizon: int = _T, **model: int) -> Lines:
    """The four curves of a panel."""
    lines = {}
    for name, system in _SYSTEMS.items():
        private = {"epsilon": epsilon} if "private" in system else {}
        lines[name] = run(system, players, horizon, **private, **model)
    return lines


def _three_players(quick: bool, epsilon: float) -> Lines:
    """Both collision models; the random player, whom no statement is about, in full only."""
    horizon = 10_000 if quick else _T
    found = {model: dict(_panel(3, epsilon, horizon, **given)) for model, given in _MODELS.items()}
    for lines in found.values() if quick else ():
        del lines[_RANDOM]
    return panels(found)


@against(lambda lines: [shaped("growth as T^½", lines, sqrt)])
def logarithmic(measured: Measured, lines: tuple[str, ...]) -> Finding:
    """Over its last doubling of time a line grows by no more than over the doubling before.

    c log t grows by the same amount each time, c log^2.25 t at T = 10^5 by 8 % more; 10 % are
    allowed. t^a grows by the factor 2^a.
    """
    said, answers = [], []
    for line in lines:
        last = float((measured.runs[line, 0.0][0].curve or [[0.0, 0.0]])[-1][0])
        old, new = measured.grown(line, last / 4, last / 2, last)
        excess, half = bounded(list(new - 1.1 * old), measured.error)
        answers.append(within(excess - half, excess + half, most=0))
        said.append(f"{line} {new.mean() / old.mean():.2f}")
    said_ = f"growth over the last doubling to the one before: {', '.join(said)}"
    return Finding(together(answers), said_)


def begins(samples: list[Sample]) -> float:
    """When the mean regret falls below nine tenths of a random player's, of one player; ∞ if never.

    Single runs may do so early by luck.
    """
    curves = np.array([sample.curve for sample in samples])
    times, found = curves[0, :, 0], curves[:, :, 1].mean(axis=0)
    below = (found < 0.9 * RANDOM_PACE * times) & (times >= 100)
    return float(times[below.argmax()]) if below.any() else inf


@against(lambda line, times: [beside("learning as early as at ε = 1", {line: f"{_FIRST}: {line}"})])
def begins_late(measured: Measured, line: str, times: float) -> Finding:
    """A line has not begun to learn after this many times as long as it takes at ε = 1."""
    late, early = (measured.runs[name, 0.0] for name in (line, f"{_FIRST}: {line}"))
    first = begins(early)
    if times * first > _T:
        said = f"at ε = 1 it begins at slot {first:,.0f}: too late to compare"
        return Finding("open", said, final=True)
    found = [regret_at(sample, times * first) / (RANDOM_PACE * times * first) for sample in late]
    mean, half = bounded(found, measured.error)
    said = (
        f"{pm(mean, half)} of random at slot {times * first:,.0f}, "
        f"at ε = 1 below .9 at {first:,.0f}"
    )
    return Finding(within(mean - half, mean + half, least=0.9), said)


_figure = partial(Experiment, axes=curves("time (slots)", "regret"), metric=regret)


def _relations(letter: str, epsilon: float) -> Experiment:
    return _figure(
        f"tossou-2{letter}", f"Figure 2 ({letter})", f"Regret of 3 players, ε = {epsilon:g}",
        claim("the relationships between the algorithms remain the same: UCB, then UCB-Private, "
              "then UCB-Private-Bound", "4", over(
                  lambda model: falling(f"{model}: {_BOUND}", f"{model}: {_PRIVATE}",
                                        f"{model}: {_UCB}"), model=(*_MODELS,))),
        lines=partial(_three_players, epsilon=epsilon),
        repeat=(3 if epsilon == 1 else 6, 100),
        assumed="T = 10⁵, quick 10,000, where at ε = .1 nobody has learnt yet (the paper's axis is "
        "lost); the paper does not say which of its two collision models it ran.",
    )  # fmt: skip


EXPERIMENTS = (
    _figure(
        "tossou-2a", "Figure 2 (a)", "Regret of 1 player, ε = 1",
        claim("the regret of all three algorithms is logarithmic", "4", logarithmic(_ALL)),
        ours("privacy costs regret", above((_PRIVATE, _BOUND), _UCB)),
        ours("UCB-Private is better than UCB-Private-Bound", falling(_BOUND, _PRIVATE)),
        ours("all learn: they lie below the random player", above(_RANDOM, _ALL)),
        lines=lambda quick: _panel(1, 1.0, _SHORT if quick else _T), repeat=(5, 100),
        assumed="T = 10⁵, quick 40,000 (the paper's axis is lost).",
    ),
    _figure(
        "tossou-2b", "Figure 2 (b)", "Regret of 1 player, ε = .1",
        *(
            claim(f"{line} takes a long time before it starts learning: many times what it takes "
                  "at ε = 1", "4", over(partial(begins_late, line), times=(2.0, 5.0, 8.0)))
            for line in (_PRIVATE, _BOUND)
        ),
        ours("by T = 10⁵ both have begun: they lie below the random player",
             above(_RANDOM, (_PRIVATE, _BOUND))),
        lines=lambda quick: {
            **{line: runs for line, runs in _panel(1, 0.1).items() if line != _UCB or not quick},
            **panels({_FIRST: _panel(1, 1.0, _SHORT if quick else _T)}),
        },
        repeat=(5, 100),
        assumed="T = 10⁵, at ε = 1 quick 40,000 (the paper's axis is lost; at 20,000 slots "
        "nobody has begun to learn).",
    ),
    _relations("c", 1.0),
    _relations("d", 0.1),
)  # fmt: skip
