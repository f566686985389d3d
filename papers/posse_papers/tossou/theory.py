"""What Tossou and Dimitrakakis 2015 prove, with its constants, and the noisy sums it rests on."""

from collections.abc import Callable, Iterable
from functools import partial
from math import exp, inf, log, log2, sqrt
from typing import Any, Literal

import msgspec
import numpy as np

from posse.extend import COORDINATOR, FloatArray, Noise, Received, Send, Started
from posse_papers.audit import AUDITED, audit, audits, mechanisms, own_noise, spends
from posse_papers.checks import against, at_most, falling, rate, under_theory
from posse_papers.experiment import Axes, Computation, Experiment, Runs, along, bars, computed
from posse_papers.sample import Sample
from posse_papers.statements import Check, Finding, Measured, Mutant, claim, ours, over, verdict
from posse_papers.tossou.figures import BEST, HORIZONS, MEANS, run
from posse_papers.worlds import by_chance, changed, multiplied, with_runs, world
from posse_systems.algorithms import (
    Choice,
    ContinualCounter,
    HonakerSums,
    HybridSums,
    Outcome,
    Plays,
    TdfsPlayer,
    TreeSums,
    Ucb,
    UcbPrivate,
    UcbPrivateBound,
    fair_sharing_regret,
    plays_with_bound,
    plays_without_bound,
    privacy_factor,
    privacy_weight,
    target_rank,
)

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


@against(
    lambda name, horizon: [multiplied("a hundred times the bound", f"M = 1, ε = 1: {name}", 100.0)]
)
def says_something(measured: Measured, name: str, horizon: float) -> Finding:
    """Theorem 6 is below the trivial bound by this horizon (M = 1, ε = 1)."""
    line = f"M = 1, ε = 1: {name}"
    at = {t: measured.values(line, t)[0] for t in measured.places(line)}
    first = next((t for t, ratio in at.items() if ratio < 1), None)
    said = f"only from T = {first:g} of the horizons tried" if first else "nowhere tried"
    said = f"at T = {horizon:g} it is {at[horizon]:,.3g} of T μ*; below it {said}"
    return verdict(at[horizon] < 1, said)


_T, _LOUD = 20_000, 100.0
"""T of runs, and an ε at which the lemmas allow less than play by chance makes."""
_LEMMAS = {_BOUND: "Lemma 4", _PRIVATE: "Lemma 7"}


def most_plays_allowed(line: str, x: float) -> float:
    """τ^D as printed of the arms of mean .1, at T = 20,000 and ε = 100."""
    return float(_plays(line, _LOUD, 1, "printed")(0.45, np.array([float(_T)]))[0])


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
    left = right = own = 0
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
            own += first == 0 and choices[1] > 1
        effects = []
        for player, arm in zip(players, choices, strict=True):
            sample = float(generator.random() < _TWO[arm])
            outcome = Outcome(slot, sample, sample, choices[0] == choices[1])
            effects.append(player.handle(Received(COORDINATOR, outcome), float(slot)))
    return {"value": float(left - right - own), "left": float(left), "own": float(own)}


def _alone(measured: Measured, read: Callable[[dict[str, float]], float]) -> Measured:
    return with_runs(measured, {
        point: [msgspec.structs.replace(s, numbers={"value": read(s.numbers)}) for s in runs]
        for point, runs in measured.runs.items()
    })  # fmt: skip


def _no_misses(measured: Measured) -> Measured:
    """Lemma 5's right side without the slots in which player 1 misses the best arm."""
    return _alone(measured, lambda numbers: numbers["left"] - numbers["own"])


def _no_errors(measured: Measured) -> Measured:
    """And without those in which player 2 errs where it ranks the best first."""
    return _alone(measured, lambda numbers: numbers["value"] + numbers["own"])


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
    return rate("best arm", 0.05, where=epsilon, happened=lambda s: (int(best_pulls(s) <= 1), 1))


_EIGHT, _NINE, _LONG = 8, 9, 300_000
_STEP = 0.12
_RARE = {"ε = 20": 20.0, "ε = 10⁴": 1e4}
_UNBOUNDED = "UCB-Private, ε = 10⁴"


def last_players_plays(
    horizon: int,
    epsilon: float,
    bound: bool = True,
    *,
    variant: Any,
    generator: np.random.Generator,
) -> float:
    """How often player 8 of 8 plays the worst of nine arms where Lemma 4, or 7, counts.

    That is in the dominant mini-sequence (the seven best arms are ranked right) of the first
    subsequence (player p targets the p-th best arm). The means are .98, .86, …, .02. A player's
    samples are its own, so that the others need not be run.
    """
    if bound:
        counters = [HybridSums(1, epsilon, "half", own_noise(generator)) for _ in range(_NINE)]
        index: Ucb = UcbPrivateBound(_NINE, epsilon, variant, counters)
    else:
        index = UcbPrivate(_NINE, HybridSums(_NINE, epsilon, "half", own_noise(generator)))
    player = TdfsPlayer(_EIGHT, _NINE, horizon, index, offset=_EIGHT)
    effects = player.handle(Started(), 0.0)
    best, plays = list(range(_EIGHT - 1)), 0
    for slot in range(1, horizon + 1):
        arm = next(
            e.message.arm for e in effects if isinstance(e, Send) and isinstance(e.message, Choice)
        )
        if arm == _NINE - 1 and slot > _NINE and slot % _EIGHT == 1:
            falling = np.argsort(-np.array(index.value(slot)), kind="stable")
            plays += falling[: _EIGHT - 1].tolist() == best
        sample = float(generator.random() < 0.98 - _STEP * arm)
        outcome = Outcome(slot, sample, sample, False)
        effects = player.handle(Received(COORDINATOR, outcome), float(slot))
    return float(plays)


def last_players_limit(line: str, horizon: float, players: int = _EIGHT) -> float:
    """The lemma as printed, at the best λ_0, for that arm; `players`: what pulls are divided by."""
    plays = (
        plays_without_bound(epsilon=1e4, players=players)
        if line == _UNBOUNDED
        else plays_with_bound(epsilon=_RARE[line], players=players, as_printed=True)
    )
    return float(plays(_STEP, np.array([horizon]))[0])


_DELTA, _SUMS = 0.05, 2000
_LENGTHS = (7, 20, 100, 500, 1500)
_OWN = "constant 1, δ = t⁻⁴: over δ"


def missed(constant: float, length: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """How often the sum of n rewards is off by more than c (1/ε) log^1.5(n) log(1/δ); ε = 1."""
    sums = HybridSums(_SUMS, 1.0, "half", own_noise(generator))
    error = np.zeros(_SUMS)
    for _ in range(length):
        error = sums.insert(0, 0.0)
    bound = constant * log(length) ** 1.5 * log(1 / _DELTA)
    hits = int((np.abs(error) > bound).sum())
    return {"value": hits / _SUMS, "hits": hits, "of": _SUMS}


def over_delta(length: int) -> float:
    """How many times δ = t^-4 it happens with the constant 1 and t = n rewards, at least; ε = 1.

    Of m nodes of scale b alone, whose sum is b times the difference of two Gamma(m) numbers: it is
    beyond a number at least half as often with more noise added, and on either side.
    """
    from scipy.integrate import quad  # noqa: PLC0415
    from scipy.stats import gamma  # noqa: PLC0415

    doubled = 1 << (length.bit_length() - 1)
    m, b = (length - doubled).bit_count(), 2 * log2(doubled)
    far = 4 * log(length) ** 2.5 / b
    beyond, _ = quad(lambda y: gamma.pdf(y, m) * gamma.sf(far + y, m), 0, inf)
    return float(beyond * length**4)


_STREAMS = 40
_TREES = {"tree": TreeSums, "honaker": HonakerSums}
_NAMES = ("hybrid", *_TREES)


def made(counter: str, noise: Noise) -> ContinualCounter:
    """A counter of 40 streams that are never longer than T, ε = 1."""
    if counter == "hybrid":
        return HybridSums(_STREAMS, 1.0, "half", noise)
    return _TREES[counter](_STREAMS, 1.0, _T, noise)


def error(counter: str, t: int, *, generator: np.random.Generator) -> float:
    """The root of the mean square error of the releases in (t/2, t], ε = 1, T = 20,000."""
    sums = made(counter, own_noise(generator))
    squares = [np.mean(sums.insert(0, 0.0) ** 2) for _ in range(t)]
    return float(np.sqrt(np.mean(squares[t // 2 :])))


def tree(
    trials: int,
    epsilon: float,
    counter: Literal["tree", "honaker"],
    *,
    generator: np.random.Generator,
) -> dict[str, Any]:
    """The sums of x, 0, 0, 0 over a horizon of 4, for x = 1 and x = 0.

    x is in a node of each of the three levels, which the releases at 1, 2 and 4 disclose; Honaker's
    estimates blend a node with its children, whose known part is taken off. S: each exceeds what x
    adds to it. For the tree the probabilities' ratio is e^ε exactly.
    """
    noise = own_noise(generator)
    # how much of a node's estimate is its own noisy sum, by level (agent/tree.py)
    own = (1.0, 1.0, 1.0) if counter == "tree" else (1.0, 2 / 3, 4 / 7)

    def release(changed: bool) -> bool:
        sums = _TREES[counter](1, epsilon, 4, noise)
        one, two, _, four = (float(sums.insert(0, x)[0]) for x in (float(changed), 0.0, 0.0, 0.0))
        seen = (one, two - (1 - own[1]) * one, four - (1 - own[2]) * two)
        return all(part > weight for part, weight in zip(seen, own, strict=True))

    return audit(trials, release, epsilon)


EPSILON, PLAYERS, ARMS = 4.0, 4, 8
_DRAWS = 200_000
_SCALE = 2 / EPSILON
"""Of the logarithmic mechanism's numbers: an arm's first two sums have no other noise."""

_ONE = {f"player {offset} alone": (offset,) for offset in range(1, PLAYERS + 1)}
_ALL = {"all four players": tuple(range(1, PLAYERS + 1))}


def log_ratio(
    offsets: tuple[int, ...], *, variant: Any, generator: np.random.Generator
) -> dict[str, Any]:
    """The logarithm of P(S | 1) / P(S | 0) for the choices of these players together.

    Neighbours differ in one sample, arm 0's in slot N + 1: 1 or 0. S: all of them pull arm 0 in
    slots N + 1 and N + 2. With agreed offsets a player's choices depend on its own samples and
    noise alone, so that the probabilities multiply.
    """
    both = [pulls_twice(offset, variant=variant, generator=generator) for offset in offsets]
    return {
        "value": sum(log(one / zero) for zero, one in both),
        "of a player": [list(pair) for pair in both],
    }


def pulls_twice(
    offset: int, *, variant: Any, generator: np.random.Generator
) -> tuple[float, float]:
    """How likely UCB-Private-Bound pulls arm 0 in slots N + 1 and N + 2, if N + 1 gives it 0, or 1.

    In the sweep arm 0 gave 1 and all others 0. The noise of arm 0's second sum is integrated in
    closed form, so that only the noise of the sweep is drawn.
    """
    from scipy.stats import laplace  # noqa: PLC0415

    below = laplace(scale=_SCALE).cdf
    swept = generator.laplace(0.0, _SCALE, (_DRAWS, ARMS))
    others = -np.sort(-swept[:, 1:], axis=1)
    first = 1.0 + swept[:, 0]
    low, high = _between(others, ARMS + 1, 1, offset, variant)
    stays = (low < first) & (first < high)
    low, high = _between(others, ARMS + 2, 2, offset, variant)
    found = [
        float((stays * (below(high - first - x) - below(low - first - x))).mean())
        for x in (0.0, 1.0)
    ]
    return found[0], found[1]


def _between(
    others: FloatArray, slot: int, n: int, offset: int, variant: Any
) -> tuple[FloatArray, FloatArray]:
    """Where arm 0's sum of n rewards must lie for it to have the rank that the player targets."""
    ahead = target_rank(slot, offset, PLAYERS) - 1
    edge = np.full((len(others), 1), np.inf)
    indices = np.hstack([edge, others + _bonus(slot, 1, variant), -edge])
    sums = n * (indices - _bonus(slot, n, variant))
    return sums[:, ahead + 1], sums[:, ahead]


def _bonus(slot: int, n: int, variant: Any) -> float:
    """What the index adds to the mean of n rewards."""
    return sqrt(2 * log(slot) / n) + privacy_weight(slot, EPSILON) * privacy_factor(n, variant)


def _whole(lines: Iterable[str]) -> Mutant:
    """A broken counter, whose two numbers of a sample spend ε each."""
    return multiplied("ε for each noisy number, not ε/2", lines, 2.0)


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
                  at_most(name, most_plays_allowed), wrong=changed(
                      "play by chance", name, lambda measured, point: (0.0, _T / len(MEANS))))
            for name, lemma in _LEMMAS.items()
        ),
        *(
            claim(f"{name}: the regret is below its bound", "Theorem 6", under_theory(name),
                  wrong=by_chance(name))
            for name in _LEMMAS
        ),
        lines={
            _BOUND: run("tdfs-private-bound", 1, _T, epsilon=_LOUD),
            _PRIVATE: run("tdfs-private", 1, _T, epsilon=_LOUD),
        },
        axes=bars("plays of the most played suboptimal arm"), metric=most_plays, repeat=(3, 50),
        assumed="One player, T = 20,000, ε = 100: at ε = 1 the bounds are above T (tossou-bound).",
    ),
    Experiment(
        "tossou-lemma-5", "Lemma 5", "Slots in which the second best arm is missed",
        claim("a player misses the p-th best arm at most as often as the players before it miss "
              "theirs, and as it errs in its dominant mini-sequence", "Lemma 5, equation 6",
              at_most("two players", 0.0),
              wrong=(world("the players before never miss", _no_misses),
                     world("it never errs by itself", _no_errors))),
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
        lines=along(lambda computed, t: Computation(computed, t, 1.0), _COMPUTED, HORIZONS),
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
        axes=Axes("ε", "pulls of the best arm", "x"), metric=best_pulls, repeat=(20, 100),
        assumed="One player, T = 20,000 (quick: 3,000). The printed term is 0 at n = 1, where the "
        "noise is not.",
    ),
    computed(
        "tossou-many", "Lemmas 4 and 7, Theorem 6", "Plays of the last of eight players",
        claim("at most τ^D plays of an arm in the dominant mini-sequence, with pulls divided by M",
              "Lemma 4, equations 5, 26", at_most(_RARE, last_players_limit)),
        claim("the same of UCB-Private", "Lemma 7, equations 8, 43",
              at_most(_UNBOUNDED, last_players_limit)),
        ours("at most τ^D without the division by M",
             at_most((*_RARE, _UNBOUNDED), partial(last_players_limit, players=1)),
             wrong=multiplied("eight times as many plays", (*_RARE, _UNBOUNDED),
                                 lambda t: _EIGHT)),
        lines={
            **{
                line: {_LONG: Computation(last_players_plays, _LONG, epsilon)}
                for line, epsilon in _RARE.items()
            },
            _UNBOUNDED: {_LONG: Computation(last_players_plays, _LONG, 1e4, False)},
        },
        variants=("printed",), repeat=(1, 10),
        axes=Axes("horizon T", "plays of the worst arm"),
        assumed="M = 8, N = 9, means .98, .86, …, .02, T = 300,000; UCB-Private-Bound but for one "
        "line. At ε = 10⁴ there is no noise to speak of, and both lemmas have the term "
        "8 log t / (M Δ²). Player M "
        "pulls the one arm outside the M best almost only where it targets rank M, so that the "
        "pulls which its index needs, about 2 log t / Δ², are not shared among M subsequences.",
    ),
    computed(
        "tossou-sums", "Algorithm 1, equations 9 and 10",
        "How often the bound on a noisy sum fails",
        claim("a sum is off by more than c (1/ε) log(1/δ) log^1.5 n with probability at most δ",
              "Equations 9, 10", over(lambda c: rate(f"constant {c}", _DELTA), c=("1", "3"))),
        claim("Algorithm 1's sum is off by more than its bound with probability at most δ = t⁻⁴",
              "Algorithm 1", at_most(_OWN, 1.0)),
        lines={
            **along(partial(Computation, missed), {"constant 1": 1.0, "constant 3": 3.0}, _LENGTHS),
            _OWN: {n: Computation(over_delta, n) for n in _LENGTHS},
        },
        axes=Axes("rewards n", "share of sums beyond the bound", "xy"), repeat=(5, 20),
        limit=_DELTA,
        assumed="Hybrid mechanism, ε = 1 split in half, δ = .05 but for the last. Equations 9 and "
        "10, after Chan, Shi and Song's Corollary 4.8, are an O(.); Algorithm 1 takes the constant "
        "1.",
    ),
    computed(
        "tossou-counters", "", "The error of a noisy sum, by what keeps it",
        ours("from t = 1,024 on a tree with the known horizon errs less than the hybrid mechanism, "
             "and with Honaker's estimate less still",
             falling(*_NAMES, where=lambda t: t >= 1024)),
        ours("up to t = 64 the hybrid mechanism, whose first trees are small, errs least",
             falling("tree", "hybrid", where=lambda t: t <= 64)),
        lines=along(partial(Computation, error), _NAMES, [2**k for k in range(3, 15)]),
        axes=Axes("rewards t", "error of the sum", "xy"), repeat=(5, 40),
        assumed="ε = 1, T = 20,000; root of the mean square of the noise over (t/2, t]. The hybrid "
        "mechanism does not know T, the trees do.",
    ),
    audits(
        "tossou-counters-audit", "", "How much privacy counters on a tree spend",
        *(
            ours(f"`counter = \"{name}\"` is ε-differentially private", spends(name))
            for name in _TREES
        ),
        lines=mechanisms({name: (tree, 1.0, name) for name in _TREES}),
        assumed=f"{AUDITED} The sums of four rewards, ε = 1.",
    ),
    computed(
        "tossou-shared", "Corollary 3", "What all choices tell of a sample that all players saw",
        claim("all choices together are M ε-private", "Corollary 3",
              at_most(_ALL, PLAYERS * EPSILON), wrong=_whole(_ALL)),
        ours("they are ε-private though all players saw the sample", at_most(_ALL, EPSILON)),
        ours("the choices of one player alone are", at_most(_ONE, EPSILON),
             wrong=_whole(_ONE)),
        lines={line: Computation(log_ratio, offsets) for line, offsets in (_ALL | _ONE).items()},
        axes=bars("log of the ratio of probabilities"), repeat=(5, 20), limit=EPSILON,
        assumed="UCB-Private-Bound, ε = 4, M = 4, N = 8, agreed offsets. In slot 9, the first "
        "after the sweep, all four pull arm 0 and see one sample of it, 1 or 0; in slot 10 all "
        "pull it again. The sample is in one noisy number of each player, ε/2, so that two slots "
        "tell at most M ε / 2 = 8. Where each has a sample of its own, one player's bar is all.",
    ),
)  # fmt: skip
