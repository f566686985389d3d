"""Which of several series is better, how surely, and on what: their verdict and their ranks."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from posse.measure.confidence import FEWEST, mean_ci
from posse.measure.numbers import average, capital, counted, listed, number
from posse.reading.folder import Series
from posse.report.differences import label_of, together, varied
from posse.report.differences import names as names_of
from posse.results.measures import REGRET, REWARDS, ROUNDS, Measure
from posse.results.verdict import VerdictLine, verdict_line

_BY = ((REGRET, "least regret", 1), (REWARDS, "most rewards", -1), (ROUNDS, "fewest rounds", 1))
"""What series are judged by, the first that all have; what is best of it; 1 if less is better."""

_FEW = 8
"""Up to this many problems are named in a title."""

_NAMED = 3
"""Up to this many of those that are level are named in a title."""

_ERROR = 0.05
"""The probability that chance alone calls any of the differences of one problem clear."""


@dataclass(frozen=True)
class Ranks:
    """Series of one problem in their order, the best first, by their places in the whole.

    `level` are those that are not clearly worse than the best, itself among them.
    """

    problem: str
    order: list[int]
    level: set[int]

    @property
    def winner(self) -> int | None:
        """The one that is clearly better than all others."""
        return self.order[0] if len(self.level) == 1 < len(self.order) else None


@dataclass(frozen=True)
class Several:
    """What several series show: the verdict, words on how sure it is, the measure, the ranks."""

    verdict: VerdictLine
    judged: str = ""
    measure: Measure | None = None
    ranks: list[Ranks] = field(default_factory=list)


class _Found(NamedTuple):
    """What complete series show: findings, and whether each is clear; the rest as `Several`."""

    said: list[tuple[str, bool]]
    judged: str = ""
    measure: Measure | None = None
    ranks: Sequence[Ranks] = ()


def several(series: Sequence[Series], names: Sequence[str]) -> Several:
    """The verdict on series: who is best, and what it costs and promises if that is clear.

    Nobody is called best whose difference to any other may be chance. Clear is what the 95 %
    interval of the difference allows, by Student's t of the differences run by run where seeds are
    the same, else of two samples; with k series of a problem there are k - 1 differences to the
    best, and each interval is widened so that together they err less than one time in twenty
    (Bonferroni). Sums of different problems are not compared.
    """
    there = [n for n, s in enumerate(series) if s.runs]
    complete, called = [series[n] for n in there], [names[n] for n in there]
    found = _found(complete, called)
    failed = [n for n, s in enumerate(series) if s.verdict.state in ("failed", "partial")]
    going = [n for n, s in enumerate(series) if s.live is not None]
    of_all, which = f"of {len(series)} series", listed([names[n] for n in failed])
    ranks = [
        replace(r, order=[there[n] for n in r.order], level={there[n] for n in r.level})
        for r in found.ranks
    ]
    clear = all(is_clear for _, is_clear in found.said)
    best = [series[r.winner].verdict for r in ranks if clear and r.winner is not None]
    losses = [
        (f"{name}: {label}", said)
        for s, name in zip(series, names, strict=True)
        for label, said in s.verdict.losses
    ]
    told = verdict_line(
        found.said,
        failure=f"{len(failed)} {of_all} did not finish ({which})" * bool(failed),
        under_way=f"{len(going)} {of_all} are under way" * bool(going),
        cost=_same([one.cost for one in best]),
        epsilon=_same([one.epsilon for one in best]),
        losses=tuple(losses),
    )
    return Several(told, f"{found.judged}{_on(complete)}".strip(), found.measure, ranks)


def _same(said: list[str]) -> str:
    """What is said of all; "" if they differ, as over several problems."""
    return said[0] if len(set(said)) == 1 else ""


def _found(series: list[Series], names: list[str]) -> _Found:
    """What is found of complete series by the first measure that all have."""
    for measure, praise, sign in _BY:
        values = [s.values(measure.read) for s in series]
        if len(series) > 1 and all(values) and any(map(any, values)):
            if keys := [key for key in varied(series) if _is_of_the_problem(key)]:
                return _over_problems(series, names, keys, measure, praise, sign)
            ranks = _rank(series, list(range(len(series))), "", measure, sign)
            return _best(series, names, ranks, measure, praise)
    if len(series) == 1:
        return _Found([(series[0].verdict.sentence, False)])
    nothing = f"No clear difference among {len(series)}: they have no measure in common"
    return _Found([(nothing, False)] if series else [])


def _is_of_the_problem(key: str) -> bool:
    """Whether sums over agents and time are of another problem where a key has another value."""
    return key in ("parameters.horizon", "agents.count") or key.startswith("arms.")


def _rank(
    series: list[Series], places: list[int], problem: str, measure: Measure, sign: int
) -> Ranks:
    means = {n: float(np.mean(series[n].values(measure.read))) for n in places}
    order = sorted(places, key=lambda n: sign * means[n])
    best, *others = order
    level = {best} | {
        n for n in others if not _differ(series[best], series[n], measure, len(others)).clear
    }
    return Ranks(problem, order, level)


def _best(
    series: list[Series], names: list[str], ranks: Ranks, measure: Measure, praise: str
) -> _Found:
    """Which is the best of series of the same problem, and how surely."""
    means = [float(np.mean(s.values(measure.read))) for s in series]
    best, *others = ranks.order
    value = average(series[best].values(measure.read))
    alike = [n for n in ranks.order if means[n] == means[best]]
    if len(alike) == len(series):
        who = " and ".join(names[n] for n in alike) if len(alike) <= _NAMED else "all"
        said = f"No difference in {measure.label} between {who}: {value} each"
        return _Found([(said, False)], "", measure, [ranks])
    behind = next(n for n in others if means[n] != means[best])
    following = average(series[behind].values(measure.read))
    judged = _differ(series[best], series[behind], measure, len(others))
    if ranks.winner is None:
        few = min(len(s.values(measure.read)) for s in series) < FEWEST
        level = [names[n] for n in ranks.order if n in ranks.level]
        which = f"among {len(level)} of {len(series)}"
        if len(level) <= _NAMED:
            which = f"between {' and '.join(level)}"
        reason = f": fewer than {FEWEST} runs of each" if few else ""
        said = f"No clear difference in {measure.label} {which}{reason}"
        after = (
            f"Least on average is {names[best]} with {value}"
            if praise[0] != "m"
            else (f"Most on average has {names[best]}, {value}")
        )
        return _Found([(said, False)], f"{after}; {judged.said}. ", measure, [ranks])
    said = f"{names[best]} has the {praise}: {value}"
    after = f"The next is {names[behind]}: {following}; {judged.said}. "
    return _Found([(said, True)], after, measure, [ranks])


def _over_problems(
    series: list[Series],
    names: list[str],
    keys: list[str],
    measure: Measure,
    praise: str,
    sign: int,
) -> _Found:
    """Which is the best of each problem; where each problem has one series, how it changes."""
    groups: dict[str, list[int]] = {}
    for n in sorted(range(len(series)), key=lambda n: _numbers(series[n], keys)):
        values = [label_of(key, series[n].keys.get(key)) for key in keys]
        groups.setdefault(", ".join(values), []).append(n)
    ranks = [_rank(series, places, name, measure, sign) for name, places in groups.items()]
    if all(len(places) == 1 for places in groups.values()):
        change, after = _change([series[r.order[0]] for r in ranks], list(groups), keys, measure)
        return _Found([(change, True)], after, measure, ranks)
    winners: dict[str, list[str]] = {}
    for r in ranks:
        if r.winner is not None:
            within = names_of([series[n] for n in groups[r.problem]])
            called = within[groups[r.problem].index(r.winner)]
            winners.setdefault(called, []).append(r.problem)
    open_ones = [r.problem for r in ranks if r.winner is None]
    said = [(f"{name} has the {praise} at {_at(at)}", True) for name, at in winners.items()]
    if open_ones:
        said.append((f"No clear difference in {measure.label} at {_at(open_ones)}", False))
    return _Found(said, "", measure, ranks)


def _at(problems: list[str]) -> str:
    return together(problems) if len(problems) <= _FEW else f"{len(problems)} problems"


def _numbers(series: Series, keys: list[str]) -> list[float]:
    """What orders problems: their values that are numbers; others stay in their order."""
    values = [series.keys.get(key) for key in keys]
    return [value if isinstance(value, int | float) else 0.0 for value in values]


def _change(
    series: list[Series], problems: list[str], keys: list[str], measure: Measure
) -> tuple[str, str]:
    """How a measure changes from the first problem to the last."""
    first, last = ([float(v) for v in s.values(measure.read)] for s in (series[0], series[-1]))
    title = (
        f"{capital(measure.label)} goes from {average(first)} at {problems[0]} "
        f"to {average(last)} at {problems[-1]}"
    )
    low, high = (_numbers(s, keys)[0] for s in (series[0], series[-1]))
    before, after = float(np.mean(first)), float(np.mean(last))
    if len(keys) > 1 or min(low, before) <= 0:
        return title, ""
    name = keys[0].rpartition(".")[2]
    return title, f"{number(after / before)} times as much at {number(high / low)} times {name}. "


@dataclass(frozen=True)
class _Difference:
    clear: bool
    said: str


def _differ(best: Series, second: Series, measure: Measure, compared: int) -> _Difference:
    """Whether two means differ, with the interval of their difference, one of `compared`."""
    of_best, of_second = (np.array(s.values(measure.read)) for s in (best, second))
    if min(len(of_best), len(of_second)) < FEWEST:
        return _Difference(False, f"below {FEWEST} runs of each nothing is sure")
    quantile = 1 - _ERROR / (2 * max(compared, 1))
    if [run.seed for run in best.runs] == [run.seed for run in second.runs]:
        differences = of_second - of_best
        mean, _ = mean_ci(differences.tolist())
        spread = differences.var(ddof=1) / len(differences)
        freedom, how = len(differences) - 1, "run by run"
    else:
        mean = float(of_second.mean() - of_best.mean())
        spread = of_best.var(ddof=1) / len(of_best) + of_second.var(ddof=1) / len(of_second)
        freedom, how = min(len(of_best), len(of_second)) - 1, "of separate runs"
    half = float(stdtrit(freedom, quantile)) * float(spread) ** 0.5
    is_clear = abs(mean) > half
    many = f", one of {compared} differences" * (compared > 1)
    judged = "which is clear" if is_clear else "which may be chance"
    return _Difference(
        is_clear, f"they differ by {number(abs(mean))} ± {number(half)} ({how}{many}), {judged}"
    )


def _on(series: list[Series]) -> str:
    """On how many arms and agents, where that is the same for all."""
    counts = {(s.spec.arms.arm_count(), s.spec.agents.count) for s in series}
    if len(counts) != 1:
        return ""
    arms, agents = counts.pop()
    kind = series[0].spec.arms.__struct_config__.tag
    return f"On {counted(arms, 'arm')} ({kind}), with {counted(agents, 'agent')}."
