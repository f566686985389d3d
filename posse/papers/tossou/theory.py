"""Lemmas 4, 5 and 7 and Theorem 6 of Tossou and Dimitrakakis 2015, with their constants."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from agent.hybrid import HybridSums
from agent.players import TdfsPlayer, UcbPrivateBound
from posse.papers.audit import own_noise
from posse.papers.experiment import Experiment
from posse.papers.limits import AtMost, UnderTheory
from posse.papers.points import Computation, always, by_line
from posse.papers.sample import Sample, value
from posse.papers.statements import Finding, Measured, claim, ours, verdict
from posse.papers.tossou.setting import BEST, MEANS, run
from posse.theory.players import Plays, fair_sharing_regret, plays_with_bound, plays_without_bound
from protocol.machine import COORDINATOR, Received, Send, Started
from protocol.players import Choice, Outcome, privacy_factor

_HORIZONS = (1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
_BOUND, _PRIVATE = "Bound (Lemma 4)", "Private (Lemma 7)"


def _plays(name: str, epsilon: float, players: int, variant: str) -> Plays:
    if name == _PRIVATE:
        return plays_without_bound(epsilon=epsilon, players=players)
    return plays_with_bound(epsilon=epsilon, players=players, as_printed=variant == "printed")


def over_trivial(
    variant: str, generator: Any, name: str, t: float, epsilon: float, players: int
) -> dict[str, Any]:
    """Theorem 6 over T Σ_{j <= M} μ_σ(j), more than which nobody can lose."""
    trivial = t * sum(sorted(MEANS, reverse=True)[:players])
    plays = _plays(name, epsilon, players, variant)
    regret = fair_sharing_regret(np.array(MEANS), np.array([t]), players=players, plays=plays)
    return {"value": float(regret[0]) / trivial}


@dataclass(frozen=True)
class SaysSomething:
    """Theorem 6 is below the trivial bound by this horizon (M = 1, ε = 1)."""

    name: str
    horizon: float

    def __call__(self, measured: Measured) -> Finding:
        line = f"M = 1, ε = 1: {self.name}"
        at = {t: measured.values(line, t)[0] for t in measured.places(line)}
        first = next((t for t, ratio in at.items() if ratio < 1), None)
        return verdict(
            at[self.horizon] < 1,
            f"at T = {self.horizon:g} it is {at[self.horizon]:,.3g} of T μ*; below it "
            + (f"only from T = {first:g} of the horizons tried" if first else "nowhere tried"),
        )


_RUN = partial(run, players=1, horizon=20_000, epsilon=1.0)
_MEASURED = {_BOUND: "tdfs-private-bound", _PRIVATE: "tdfs-private"}


def most_plays_allowed(line: str, x: float) -> float:
    """τ^D as printed of the arms of mean .1, at T = 20,000 and ε = 1."""
    return float(_plays(line, 1.0, 1, "printed")(0.45, np.array([2e4]))[0])


def most_plays(sample: Sample) -> float:
    """How often the most played suboptimal arm was played."""
    return float(max(n for arm, n in enumerate(sample.pulls_per_arm) if arm != BEST))


_TWO = (0.9, 0.6, 0.3, 0.2)


def wrong_targets(variant: Any, generator: np.random.Generator, horizon: int) -> dict[str, Any]:
    """Lemma 5 for two players on four arms, ε = 10: its left side less its right side, and both.

    Of the first subsequence, in which player p targets the p-th best arm. Left: the slots in which
    player 2 does not play the second best. Right: those in which player 1 does not play the best,
    and those in which player 2 ranks the best first and plays a worse arm than the second.
    """
    noise = own_noise(generator)
    players = [
        TdfsPlayer(2, 4, horizon,
                   UcbPrivateBound(4, 10.0, lambda n: HybridSums(n, 10.0, "half", noise),
                                   lambda counter: privacy_factor(counter.t, variant)),
                   offset=offset)
        for offset in (1, 2)
    ]  # fmt: skip
    effects = [player.handle(Started(), 0.0) for player in players]
    left = right = 0
    for slot in range(1, horizon + 1):
        choices = [
            next(
                e.message.arm for e in said if isinstance(e, Send) and isinstance(e.message, Choice)
            )
            for said in effects
        ]
        if slot > 4 and slot % 2 == 1:
            first = int(players[1].index.value(slot).argmax())
            left += choices[1] != 1
            right += choices[0] != 0
            right += first == 0 and choices[1] > 1
        effects = []
        for player, arm in zip(players, choices, strict=True):
            sample = float(generator.random() < _TWO[arm])
            told = Outcome(slot, sample, sample, choices[0] == choices[1])
            effects.append(player.handle(Received(COORDINATOR, told), float(slot)))
    return {"value": float(left - right), "left": float(left), "right": float(right)}


EXPERIMENTS = (
    Experiment(
        "tossou-bound", "Theorem 6", "Theorem 6 against what nobody can exceed",
        x_label="horizon T",
        y_label="bound over T Σ μ",
        points=always({
            f"M = {players}, ε = {epsilon:g}: {name}": {
                t: Computation(over_trivial, name, t, epsilon, players) for t in _HORIZONS
            }
            for players in (1, 3) for epsilon in (1.0, 0.1) for name in (_BOUND, _PRIVATE)
        }),
        limit=1.0,
        repeat=(1, 1),
        metric=value,
        log="xy",
        assumed="The arms of section 4. The printed Lemma 4 has λ_0 in both of its terms, its "
        "proof 1 − λ_0 in the first (corrected). The abstract says O(log² T), the text after the "
        "theorem O(M² log^2.25 T), Lemma 7 gives log⁴ T.",
        statements=(
            ours("UCB-Private-Bound: the bound says something by T = 10⁵",
                 SaysSomething(_BOUND, 1e5)),
            ours("UCB-Private-Bound: by T = 10⁷", SaysSomething(_BOUND, 1e7)),
            ours("UCB-Private: by T = 10⁵", SaysSomething(_PRIVATE, 1e5)),
            ours("UCB-Private: by T = 10⁹", SaysSomething(_PRIVATE, 1e9)),
        ),
    ),
    Experiment(
        "tossou-plays", "Lemmas 4 and 7, Theorem 6",
        "Plays of a suboptimal arm against their bounds",
        y_label="plays of the most played suboptimal arm",
        points=always({name: _RUN(system) for name, system in _MEASURED.items()}),
        shape="bars",
        repeat=(6, 50),
        metric=most_plays,
        assumed="One player, ε = 1, T = 20,000, when the bounds are still above T.",
        statements=(
            *(
                claim(f"{name}: at most τ^D plays of any arm (a bound above T here)",
                      "Lemma 4" if name == _BOUND else "Lemma 7",
                      AtMost((name,), most_plays_allowed))
                for name in _MEASURED
            ),
            *(
                claim(f"{name}: the regret is below its bound", "Theorem 6",
                      UnderTheory(name, 0.0, _RUN(system)))
                for name, system in _MEASURED.items()
            ),
        ),
    ),
    Experiment(
        "tossou-lemma-5", "Lemma 5", "Slots in which the second best arm is missed",
        y_label="left side less right side",
        points=lambda quick: by_line({
            "two players": Computation(wrong_targets, 2000 if quick else 10_000)
        }),
        repeat=(30, 200),
        shape="bars",
        metric=value,
        assumed="M = 2, means .9, .6, .3, .2, ε = 10, T = 2,000 (quick) or 10,000; players draw "
        "samples of their own.",
        statements=(
            claim("a player misses the p-th best arm at most as often as the players before it "
                  "miss theirs, and as it errs in its dominant mini-sequence", "Lemma 5",
                  AtMost(("two players",), 0.0)),
        ),
    ),
)  # fmt: skip
