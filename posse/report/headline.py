"""Which of several series is better, by how much, how surely, and on what."""

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
    for measure, praise, sign in _BY:
        values = [s.values(measure.of) for s in series]
        if len({s.spec.parameters.get("horizon") for s in series}) > 1:
            break  # a shorter run always has less of all that is added up
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
