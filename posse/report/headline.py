"""Which of several series is better, by how much, how surely, and on what."""

import re

import numpy as np

from posse.measure.confidence import FEWEST, mean_ci, student
from posse.measure.numbers import average, counted, number
from posse.report.read import Series
from posse.results.measures import REGRET, REWARDS, ROUNDS, Measure

_BY = ((REGRET, "least regret", 1), (REWARDS, "most rewards", -1), (ROUNDS, "fewest rounds", 1))
"""What series are judged by, the first that all have; what is best of it; 1 if less is better."""


def headline(series: list[Series], names: list[str]) -> tuple[str, str]:
    """A title that names the best of at least two series, and how surely it is; empty if unknown.

    Sure is what the 95 % interval of the difference to the second allows: by Student's t of the
    differences run by run where seeds are the same, else of two samples. The second of several is
    next to the best by choice, so that "clear" is no likelier by chance than with two: less than
    one in twenty.
    """
    if len({_horizon(s) for s in series}) > 1:
        return _over_horizons(series, names)
    for measure, praise, sign in _BY:
        values = [s.values(measure.of) for s in series]
        if len(series) > 1 and all(values) and any(map(any, values)):
            order = sorted(range(len(series)), key=lambda n: sign * float(np.mean(values[n])))
            best, second = order[:2]
            means = [float(np.mean(v)) for v in values]
            first = [names[n] for n in order if means[n] == means[best]]
            if len(first) > 1:
                same = praise.partition(" ")[2]
                title = f"{' and '.join(first)} have the same {same}: {average(values[best])}"
                after = ""
            else:
                title = f"{names[best]} has the {praise}: {average(values[best])}"
                judged = _difference(series[best], series[second], measure)
                after = f"The next is {names[second]}: {average(values[second])}; {judged}. "
            rights = [_right(s, name) for s, name in zip(series, names, strict=True)]
            right = f"Right: {', '.join(filter(None, rights))}. " if any(rights) else ""
            return title, f"{after}{right}{_on(series)}".rstrip()
    return "", ""


def _horizon(series: Series) -> float | None:
    horizon = series.spec.parameters.get("horizon")
    return float(horizon) if isinstance(horizon, int | float) else None


def _over_horizons(series: list[Series], names: list[str]) -> tuple[str, str]:
    """Which is best at each horizon, or how one system's measure grows with it.

    A shorter run always has less of all that is added up, so only equal horizons are compared.
    """
    measure, praise, sign = next(
        (by for by in _BY[:2] if all(s.values(by[0].of) for s in series)), (None, "", 1)
    )
    horizons = sorted({h for s in series if (h := _horizon(s)) is not None})
    groups = [[n for n, s in enumerate(series) if _horizon(s) == h] for h in horizons]
    if measure is None or sum(map(len, groups)) < len(series):
        return "", ""
    means = [float(np.mean(s.values(measure.of))) for s in series]
    what = praise.partition(" ")[2]
    plain = [re.sub(r"(, )?horizon = [\d.,e+]*\d|horizon=[^,]*,?", "", name) for name in names]
    plain = [name.strip(" ,") for name in plain]
    if len(set(plain)) == 1 and all(len(group) == 1 for group in groups):
        first, last = groups[0][0], groups[-1][0]
        least, most = (average(series[n].values(measure.of)) for n in (first, last))
        ends = f"{least} at horizon {number(horizons[0])}, {most} at {number(horizons[-1])}"
        title = f"{plain[last]}: {what} {ends}" if plain[last] else f"{what.capitalize()} {ends}"
        if not 0 < means[first] != means[last] > 0:
            return title, _on(series)
        power = np.log(means[last] / means[first]) / np.log(horizons[-1] / horizons[0])
        return (
            title,
            f"From the first to the last it grows as T^{power:.2f}. {_on(series)}".rstrip(),
        )
    orders = [sorted(group, key=lambda n: sign * means[n]) for group in groups]
    if any(len(order) < 2 or means[order[0]] == means[order[1]] for order in orders):
        return "", ""
    best = [plain[order[0]] for order in orders]
    if len(set(best)) == 1:
        title = f"{best[0]} has the {praise} at each of {len(horizons)} horizons"
    else:
        said = [f"{name} at {number(h)}" for name, h in zip(best, horizons, strict=True)]
        title = f"The {praise} by horizon: {', '.join(said)}"
    one, other = orders[-1][:2]
    judged = _difference(series[one], series[other], measure)
    after = (
        f"At horizon {number(horizons[-1])}: {average(series[one].values(measure.of))}; the next "
        f"is {plain[other]}: {average(series[other].values(measure.of))}; {judged}. "
    )
    return title, f"{after}{_on(series)}".rstrip()


def _difference(best: Series, second: Series, measure: Measure) -> str:
    """The difference of the means with its interval, and what that decides."""
    one, other = (np.array(s.values(measure.of)) for s in (best, second))
    if min(len(one), len(other)) < FEWEST:
        return f"below {FEWEST} runs of each it is not known how surely they differ"
    if [run.seed for run in best.runs] == [run.seed for run in second.runs]:
        mean, half = mean_ci((other - one).tolist())
        how = "run by run"
    else:
        mean = float(other.mean() - one.mean())
        spread = one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)
        half = student(min(len(one), len(other)) - 1) * float(spread) ** 0.5
        how = "of separate runs"
    clear = "which is clear" if abs(mean) > (half or 0.0) else "which may be chance"
    return f"they differ by {number(abs(mean))} ± {number(half)} ({how}), {clear}"


def _right(series: Series, name: str) -> str:
    known = [run.right for run in series.runs if run.right is not None]
    return f"{name} in {sum(known)} of {len(known)}" if known else ""


def _on(series: list[Series]) -> str:
    """On how many arms and agents, where that is the same for all."""
    counts = {(s.spec.arms.arm_count(), s.spec.agents.count) for s in series}
    if len(counts) > 1:
        return ""
    arms, agents = counts.pop()
    kind = series[0].spec.arms.__struct_config__.tag
    return f"On {counted(arms, 'arm')} ({kind}), with {counted(agents, 'agent')}."
