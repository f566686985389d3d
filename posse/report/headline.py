"""Which of several series is better, by how much, how surely, and on what."""

import numpy as np

from posse.measure.confidence import FEWEST, mean_ci, student
from posse.measure.numbers import average, capital, counted, number
from posse.report.differences import keys_of, label_of, together, varied
from posse.report.differences import names as names_of
from posse.report.read import Series
from posse.results.measures import REGRET, REWARDS, ROUNDS, Measure

_BY = ((REGRET, "least regret", 1), (REWARDS, "most rewards", -1), (ROUNDS, "fewest rounds", 1))
"""What series are judged by, the first that all have; what is best of it; 1 if less is better."""

_FEW = 8
"""Up to so many problems are named in a title."""


def headline(series: list[Series], names: list[str]) -> tuple[str, str]:
    """A title that names the best of at least two series, and how surely it is; empty if unknown.

    Sure is what the 95 % interval of the difference to the second allows: by Student's t of the
    differences run by run where seeds are the same, else of two samples. The second of several is
    next to the best by choice, so that "clear" is no likelier by chance than with two: less than
    one in twenty. Sums of different problems are not compared: the best of each is named, or how
    they change.
    """
    for measure, praise, sign in _BY:
        values = [s.values(measure.read) for s in series]
        if len(series) > 1 and all(values) and any(map(any, values)):
            if keys := [key for key in varied(series) if _is_of_the_problem(key)]:
                title, after = _over_problems(series, keys, measure, praise, sign)
            else:
                title, after = _best(series, names, measure, praise, sign)
            return title, f"{after}{_rights(series, names)}{_on(series)}".rstrip()
    return "", ""


def _is_of_the_problem(key: str) -> bool:
    """Whether sums over agents and time are of another problem where a key has another value."""
    return key in ("parameters.horizon", "agents.count") or key.startswith("arms.")


def _best(
    series: list[Series], names: list[str], measure: Measure, praise: str, sign: int
) -> tuple[str, str]:
    """Which is the best of series of the same problem, and how surely."""
    means = [float(np.mean(s.values(measure.read))) for s in series]
    best, *others = sorted(range(len(series)), key=lambda n: sign * means[n])
    value = average(series[best].values(measure.read))
    first = together([names[n] for n in range(len(series)) if means[n] == means[best]])
    others = [n for n in others if means[n] != means[best]]
    if not others:
        return f"{first} have the same {praise.partition(' ')[2]}: {value}", ""
    second = others[0]
    judged, _ = _difference(series[best], series[second], measure)
    following = average(series[second].values(measure.read))
    behind = together([names[n] for n in others if means[n] == means[second]])
    has = "has" if len(others) == len(series) - 1 else "have"
    title = f"{first} {has} the {praise}: {value}"
    return title, f"The next is {behind}: {following}; {judged}. "


def _over_problems(
    series: list[Series], keys: list[str], measure: Measure, praise: str, sign: int
) -> tuple[str, str]:
    """Which is the best of each problem; where each problem has one series, how it changes."""
    groups: dict[str, list[Series]] = {}
    for s in sorted(series, key=lambda s: _numbers(s, keys)):
        values = [label_of(key, keys_of(s).get(key)) for key in keys]
        groups.setdefault(", ".join(values), []).append(s)
    if all(len(group) == 1 for group in groups.values()):
        return _change([group[0] for group in groups.values()], list(groups), keys, measure)
    winners: dict[str, list[str]] = {}
    clear = 0
    for problem, group in groups.items():
        means = [float(np.mean(s.values(measure.read))) for s in group]
        best, *others = sorted(range(len(group)), key=lambda n: sign * means[n])
        alone = not others or means[others[0]] != means[best]
        called = names_of(group)[best] if len(group) > 1 else group[best].spec.system
        winners.setdefault(called if alone else "none alone", []).append(problem)
        if others:
            clear += _difference(group[best], group[others[0]], measure)[1]
    if len(winners) == 1:
        problems = together(list(groups)) if len(groups) <= _FEW else f"all {len(groups)} problems"
        title = f"{next(iter(winners))} has the {praise} at {problems}"
    else:
        parts = [f"{name} at {together(problems)}" for name, problems in winners.items()]
        title = f"The {praise}: {'; '.join(parts)}"
    return title, f"The difference to the next is clear at {clear} of {len(groups)}. "


def _numbers(series: Series, keys: list[str]) -> list[float]:
    """What orders problems: their values that are numbers; others stay in their order."""
    values = [keys_of(series).get(key) for key in keys]
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


def _difference(best: Series, second: Series, measure: Measure) -> tuple[str, bool]:
    """The difference of the means with its interval, what that decides, and whether it is clear."""
    of_best, of_second = (np.array(s.values(measure.read)) for s in (best, second))
    if min(len(of_best), len(of_second)) < FEWEST:
        return f"below {FEWEST} runs of each it is not known how surely they differ", False
    if [run.seed for run in best.runs] == [run.seed for run in second.runs]:
        mean, half = mean_ci((of_second - of_best).tolist())
        how = "run by run"
    else:
        mean = float(of_second.mean() - of_best.mean())
        spread = of_best.var(ddof=1) / len(of_best) + of_second.var(ddof=1) / len(of_second)
        half = student(min(len(of_best), len(of_second)) - 1) * float(spread) ** 0.5
        how = "of separate runs"
    is_clear = abs(mean) > (half or 0.0)
    judged = "which is clear" if is_clear else "which may be chance"
    return f"they differ by {number(abs(mean))} ± {number(half)} ({how}), {judged}", is_clear


def _rights(series: list[Series], names: list[str]) -> str:
    """In how many runs each named the best arm, where that is known."""
    answers: dict[str, list[str]] = {}
    for entry, name in zip(series, names, strict=True):
        if known := [run.right for run in entry.runs if run.right is not None]:
            answers.setdefault(f"{sum(known)} of {len(known)}", []).append(name)
    if len(answers) == 1 and len(series) > 1:
        return f"Right: each in {next(iter(answers))}. "
    parts = [f"{name} in {count}" for count, called in answers.items() for name in called]
    return f"Right: {', '.join(parts)}. " if parts else ""


def _on(series: list[Series]) -> str:
    """On how many arms and agents, where that is the same for all."""
    counts = {(s.spec.arms.arm_count(), s.spec.agents.count) for s in series}
    if len(counts) > 1:
        return ""
    arms, agents = counts.pop()
    kind = series[0].spec.arms.__struct_config__.tag
    return f"On {counted(arms, 'arm')} ({kind}), with {counted(agents, 'agent')}."
