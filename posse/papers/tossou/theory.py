"""Lemmas 4, 5 and 7 and Theorem 6 of Tossou and Dimitrakakis 2015, with their constants."""

from collections.abc import Callable
from math import exp, log, sqrt
from typing import Any

import numpy as np

from agent.hybrid import HybridSums
from agent.players import TdfsPlayer, UcbPrivateBound
from posse.papers.audit import own_noise
from posse.papers.checks import at_most, check, rate, under_theory
from posse.papers.experiment import Axes, Computation, Experiment, Runs, along, bars
from posse.papers.sample import Sample
from posse.papers.statements import Check, Finding, Measured, claim, ours, verdict
from posse.papers.tossou.figures import BEST, HORIZONS, MEANS, run
from posse.theory.players import Plays, fair_sharing_regret, plays_with_bound, plays_without_bound
from protocol.machine import COORDINATOR, Received, Send, Started
from protocol.players import Choice, Outcome

_BOUND, _PRIVATE = "Bound (Lemma 4)", "Private (Lemma 7)"


def _plays(name: str, epsilon: float, players: int, variant: str) -> Plays:
    if name == _PRIVATE:
        return plays_without_bound(epsilon=epsilon, players=players)
    return plays_with_bound(epsilon=epsilon, players=players, as_printed=variant == "printed")


def over_trivial(name: str, t: float, epsilon: float, players: int, *, variant: str) -> float:
    """Theorem 6 over T Σ_{j <= M} μ_σ(j), more than which nobody can lose."""
    trivial = t * sum(sorted(MEANS, reverse=True)[:players])
    plays = _plays(name, epsilon, players, variant)
    regret = fair_sharing_regret(np.array(MEANS), np.array([t]), players=players, plays=plays)
    return float(regret[0]) / trivial


@check
def telling(
    measured: Measured, line: str, share: Callable[[str, str], float], decide: Check
) -> Finding:
    """What is decided, if a run could fail: undecided where the bound is more than there can be.

    `share`: the bound of a line in a form over what nobody can exceed.
    """
    found, over = decide(measured), share(line, measured.variant)
    if over < 1:
        return found
    said = f"{found.said}; the bound is {over:,.3g} times what nobody can exceed: no run could fail"
    return Finding("undecided", said)


@check
def says_something(measured: Measured, name: str, horizon: float) -> Finding:
    """Theorem 6 is below the trivial bound by this horizon (M = 1, ε = 1)."""
    line = f"M = 1, ε = 1: {name}"
    at = {t: measured.values(line, t)[0] for t in measured.places(line)}
    first = next((t for t, ratio in at.items() if ratio < 1), None)
    said = f"only from T = {first:g} of the horizons tried" if first else "nowhere tried"
    said = f"at T = {horizon:g} it is {at[horizon]:,.3g} of T μ*; below it {said}"
    return verdict(at[horizon] < 1, said)


_T = 20_000
_LEMMAS = {_BOUND: "Lemma 4", _PRIVATE: "Lemma 7"}


def most_plays_allowed(line: str, x: float) -> float:
    """τ^D as printed of the arms of mean .1, at T = 20,000 and ε = 1."""
    return float(_plays(line, 1.0, 1, "printed")(0.45, np.array([float(_T)]))[0])


def most_plays(sample: Sample) -> float:
    """How often the most played suboptimal arm was played."""
    return float(max(n for arm, n in enumerate(sample.pulls_per_arm) if arm != BEST))


_TWO = (0.9, 0.6, 0.3, 0.2)


def wrong_targets(horizon: int, *, variant: Any, generator: np.random.Generator) -> dict[str, Any]:
    """Lemma 5 for two players on four arms, ε = 10: its left side less its right side, and both.

    Of the first subsequence, in which player p targets the p-th best arm. Left: the slots in which
    player 2 does not play the second best. Right: those in which player 1 does not play the best,
    and those in which player 2 ranks the best first and plays a worse arm than the second.
    """
    noise = own_noise(generator)
    players = [
        TdfsPlayer(2, 4, horizon,
                   UcbPrivateBound(4, 10.0, variant,
                                   [HybridSums(1, 10.0, "half", noise) for _ in range(4)]),
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
            index = players[1].index.value(slot)
            first = index.index(max(index))
            left += choices[1] != 1
            right += choices[0] != 0
            right += first == 0 and choices[1] > 1
        effects = []
        for player, arm in zip(players, choices, strict=True):
            sample = float(generator.random() < _TWO[arm])
            told = Outcome(slot, sample, sample, choices[0] == choices[1])
            effects.append(player.handle(Received(COORDINATOR, told), float(slot)))
    return {"value": float(left - right), "left": float(left), "right": float(right)}


def starving(t: float, epsilon: float) -> float:
    """A lower bound on the expected plays of suboptimal arms up to t, printed algorithm, M = 1.

    After one pull the printed privacy term of the best arm is 0 and its noise Lap(2/ε). It is not
    pulled again while 1 + noise + sqrt(2 log t) < .1, what another arm has at least in the long
    run: with probability e^(-ε (.9 + sqrt(2 log t)) / 2) / 2 up to t.
    """
    chance = exp(-epsilon / 2 * (0.9 + sqrt(2 * log(t)))) / 2
    return chance * t


def printed_sum(t: float, epsilon: float) -> float:
    """Σ_a of Lemma 4 as printed, M = 1."""
    gaps = [max(MEANS) - mean for mean in MEANS if mean < max(MEANS)]
    plays = plays_with_bound(epsilon=epsilon, players=1, as_printed=True)
    return sum(float(plays(gap, np.array([t]))[0]) for gap in gaps)


_LEMMA, _STARVING = "Lemma 4, all arms", "at least, by starving"
_COMPUTED = {_LEMMA: printed_sum, _STARVING: starving}


def best_pulls(sample: Sample) -> float:
    """How often the best arm was pulled."""
    return float(sample.pulls_per_arm[BEST])


def fed(epsilon: float) -> Check:
    """The best arm is pulled more than once in all but 5 % of the runs."""
    return rate("best arm", 0.05, where=epsilon, of=lambda s: (int(best_pulls(s) <= 1), 1))


EXPERIMENTS = (
    Experiment(
        "tossou-bound", "Theorem 6", "Theorem 6 against what nobody can exceed",
        ours("UCB-Private-Bound: the bound says something by T = 10⁵",
             says_something(_BOUND, 1e5)),
        ours("UCB-Private-Bound: by T = 10⁷", says_something(_BOUND, 1e7)),
        ours("UCB-Private: by T = 10⁵", says_something(_PRIVATE, 1e5)),
        ours("UCB-Private: by T = 10⁹", says_something(_PRIVATE, 1e9)),
        lines={
            f"M = {players}, ε = {epsilon:g}: {name}": {
                t: Computation(over_trivial, name, t, epsilon, players) for t in HORIZONS
            }
            for players in (1, 3) for epsilon in (1.0, 0.1) for name in (_BOUND, _PRIVATE)
        },
        axes=Axes("horizon T", "bound over T Σ μ", "xy"), limit=1.0,
        assumed="The arms of section 4. The printed Lemma 4 has λ_0 in both of its terms, its "
        "proof 1 − λ_0 in the first (corrected). Section 2 says O(log² T), the text after the "
        "theorem O(M² log^2.25 T), Lemma 7 gives log⁴ T. Where two of the M best arms are level it "
        "does not hold: of two players on two such arms its sum is 0, and they may collide for "
        "ever.",
    ),
    Experiment(
        "tossou-plays", "Lemmas 4 and 7, Theorem 6",
        "Plays of a suboptimal arm against their bounds",
        *(
            claim(f"{name}: at most τ^D plays of any arm", lemma,
                  telling(name, lambda line, variant: most_plays_allowed(line, 0.0) / _T,
                          at_most(name, most_plays_allowed)))
            for name, lemma in _LEMMAS.items()
        ),
        *(
            claim(f"{name}: the regret is below its bound", "Theorem 6",
                  telling(name, lambda line, form: over_trivial(line, _T, 1.0, 1, variant=form),
                          under_theory(name)))
            for name in _LEMMAS
        ),
        lines={
            _BOUND: run("tdfs-private-bound", 1, _T, epsilon=1.0),
            _PRIVATE: run("tdfs-private", 1, _T, epsilon=1.0),
        },
        axes=bars("plays of the most played suboptimal arm"), metric=most_plays, repeat=(6, 50),
        assumed="One player, ε = 1, T = 20,000, when the bounds are still above T, so that they "
        "say nothing.",
    ),
    Experiment(
        "tossou-lemma-5", "Lemma 5", "Slots in which the second best arm is missed",
        claim("a player misses the p-th best arm at most as often as the players before it miss "
              "theirs, and as it errs in its dominant mini-sequence", "Lemma 5",
              at_most("two players", 0.0)),
        lines=lambda quick: {
            "two players": Computation(wrong_targets, 2000 if quick else 10_000),
        },
        axes=bars("left side less right side"), repeat=(30, 200),
        assumed="M = 2, means .9, .6, .3, .2, ε = 10, T = 2,000 (quick) or 10,000; players draw "
        "samples of their own.",
    ),
    Experiment(
        "tossou-lemma-4", "Lemma 4", "What starving alone costs in the long run",
        claim("the expected plays are at most those of Lemma 4, for all t", "Lemma 4",
              at_most(_STARVING, lambda line, t: printed_sum(t, 1.0)), "printed"),
        lines=along(lambda of, t: Computation(of, t, 1.0), _COMPUTED, HORIZONS),
        axes=Axes("horizon T", "plays of suboptimal arms", "xy"), variants=("printed",),
        assumed="M = 1, ε = 1; a lower bound by the printed term, which is 0 at n = 1 where the "
        "noise is not. tossou-starved has the runs.",
    ),
    Experiment(
        "tossou-starved", "", "An arm whose first noise is very negative",
        ours("ε = .1: the best arm is pulled again in 95 % of the runs", fed(0.1)),
        ours("ε = 1: the same", fed(1.0)),
        # at ε = 1 few runs starve, and it takes many to say how few
        lines=lambda quick: {"best arm": {
            epsilon: Runs(run("tdfs-private-bound", 1, 3000 if quick else 20_000, epsilon=epsilon),
                          times=times)
            for epsilon, times in ((0.1, 1), (1.0, 5))
        }},
        axes=Axes("ε", "pulls of the best arm", "x"), metric=best_pulls, repeat=(60, 100),
        assumed="One player, T = 20,000 (quick: 3,000). The printed term is 0 at n = 1, where the "
        "noise is not.",
    ),
)  # fmt: skip
