"""What was found: the arms, how often each was named and pulled."""

from collections import Counter
from typing import Any

import numpy as np

from posse.reading.folder import Series
from posse.report.drawing import COLOUR, Chart, canvas, large_numbers, to_svg
from posse.report.page import MOST_ROWS, Cell, Section, some, table
from posse.results.words import NO_DEVIATION, NO_MEAN_SENT

_COLUMNS = {
    "arm": "",
    "true mean": "The true mean is averaged over agents.",
    "runs": "Runs: that named the arm.",
    "agents": "Agents: of all runs, whose own answer it was.",
    "pulls": "Pulls: of a run.",
    "estimate": "The estimate is the last run's, with an interval: 95 % for all arms at once, "
    "whatever decided who was pulled.",
}
"""What each column of the table has; one without a value is left out."""


def section(series: Series) -> Section:
    """How the runs ended, and a row per arm."""
    means = arm_means(series)
    counts = Counter(run.best_arm for run in series.runs)
    own = Counter(a for run in series.runs for a in run.answers if a is not None)
    pulls = [run.pulls_per_arm for run in series.runs if run.pulls_per_arm]
    known = {} if series.drawn_anew else {one.arm: one for one in series.runs[-1].estimates}
    rows: list[tuple[Any, ...]] = []
    names = getattr(series.spec.arms, "names", ())
    for arm in range(series.spec.arms.arm_count()):
        alike = pulls and not series.drawn_anew
        mean_pulls = sum(p[arm] for p in pulls) / len(pulls) if alike else None
        rows.append(
            (
                names[arm] if names else arm,
                means[arm] if means else None,
                counts[arm],
                own[arm],
                mean_pulls,
                Cell(str(known[arm]), known[arm].mean) if arm in known else None,
            )
        )
    rows.sort(key=lambda row: (-row[2], -(row[1] or 0)))
    statuses = ", ".join(f"{s} ({n})" for s, n in Counter(r.status for r in series.runs).items())
    text = [f"How the runs ended: {statuses}."]
    shown = [n for n, values in enumerate(zip(*rows, strict=True)) if n == 0 or any(values)]
    notes = [list(_COLUMNS.values())[n] for n in shown]
    if not known and not series.drawn_anew:
        why = NO_MEAN_SENT if series.spec.mode == "field" else NO_DEVIATION
        notes.append(f"There is no estimate: {why}.")
    made = table(
        "The arms",
        [list(_COLUMNS)[n] for n in shown],
        [[row[n] for n in shown] for row in rows[:MOST_ROWS]],
        folded=len(rows) > 12,
        note=" ".join(filter(None, notes)),
    )
    return Section(
        id="found",
        title="What was found",
        text=text if len(shown) > 1 else [*text, *filter(None, notes)],
        charts=some(_pulls_per_arm(series, means)),
        tables=[made] if len(shown) > 1 else [],
    )


def arm_means(series: Series) -> list[float] | None:
    """The arms' means, averaged over agents, where they are known and all runs have the same."""
    means = None if series.drawn_anew else series.means(series.runs[0].run)
    # the average of equal numbers differs from them in the last digit
    return None if means is None else list(means.round(12))


def _pulls_per_arm(series: Series, means: list[float] | None) -> Chart | None:
    """How often each arm was pulled, all agents together."""
    pulled = [run for run in series.runs if run.pulls_per_arm]
    if not pulled:
        return None
    counts, anew = [np.array(run.pulls_per_arm) for run in pulled], series.drawn_anew
    best_first = ", the best first" * anew
    if anew:  # the arm of an index is another one in each run
        means_of = [series.means(run.run) for run in pulled]
        order = [np.argsort(-m, kind="stable") for m in means_of if m is not None]
        counts = [count[places] for count, places in zip(counts, order, strict=True)]
    mean = np.mean(counts, axis=0)
    answers = Counter(r.best_arm for r in series.runs if r.best_arm is not None)
    answer = answers.most_common(1)[0][0] if answers and not series.drawn_anew else None
    with canvas() as (figure, axes):
        axes.bar(
            range(len(mean)),
            mean,
            width=0.72,
            color=[COLOUR["s1" if k == answer else "s0"] for k in range(len(mean))],
        )
        axes.grid(visible=False, axis="x")
        axes.set(
            xlabel="arm, the best of each run first" if series.drawn_anew else "arm",
            ylabel="pulls by all agents",
        )
        if len(mean) <= 20:
            axes.set_xticks(range(len(mean)))
        large_numbers(axes)
    return Chart(
        name="pulls",
        title="Pulls per arm",
        caption=f"Mean over the runs{', each on arms of its own' * anew}{best_first}."
        + (f" The answer, arm {answer}, has the other colour." if answer is not None else ""),
        svg=to_svg(figure, "pulls", "Pulls per arm"),
        header=("place" if anew else "arm", "mean_of_arm", "pulls"),
        rows=[(k, means[k] if means else "", float(pulls)) for k, pulls in enumerate(mean)],
    )
