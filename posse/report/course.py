"""How runs went over time, in each family's own terms."""

from matplotlib.ticker import MaxNLocator

from posse.families.anonymous import AnonymousDetail, ParallelDetail
from posse.families.players import PlayersDetail
from posse.measure.numbers import capital
from posse.protocol.federated import ExploredRow, RoundRow
from posse.protocol.mase import EliminationRow, VoteRow
from posse.report.drawing import (
    COLOUR,
    Chart,
    canvas,
    curve,
    large_numbers,
    note,
    thin,
    to_svg,
)
from posse.report.page import Section, some
from posse.report.read import Series
from posse.report.regret import mean_curve, of_runs, regret
from posse.results.record import RunRecord

_MOST_ARMS = 30
_MOST_LINES = 20


def section(series: Series) -> Section | None:
    """Regret, and what the family notes: votes, arms left, collisions, rewards."""
    details = [run.detail for run in series.runs]
    collisions = [
        detail.players.collision_curve
        for detail in details
        if isinstance(detail, PlayersDetail) and detail.players is not None
    ]
    rewards = [
        detail.rewards
        for detail in details
        if isinstance(detail, AnonymousDetail | ParallelDetail) and detail.rewards is not None
    ]
    charts = some(
        regret([series]),
        *of_the_log(series),
        _mean_over_time(collisions, "collisions", "collisions so far", "slots", 1),
        _mean_over_time(rewards, "rewards", "rewards of all users", "rounds", 2),
    )
    return Section(id="course", title="How it went", charts=charts) if charts else None


def of_the_log(series: Series) -> list[Chart]:
    """What the family's machines noted, over time."""
    return some(_votes(series), _arms_left(series))


def _votes(series: Series) -> Chart | None:
    """When each arm was voted against and when it left, in the first run that has any votes."""
    run = next((run for run in series.runs if VoteRow.of(run.log)), None)
    if run is None:
        return None
    by_arm: dict[int, list[float]] = {}
    for arm, now in sorted((vote.arm, now) for now, vote in VoteRow.of(run.log)):
        by_arm.setdefault(arm, []).append(now)
    left = {row.arm: now for now, row in EliminationRow.of(run.log)}
    arms = list(by_arm)[:_MOST_ARMS]
    with canvas(1.5 + 0.24 * max(len(arms), 5)) as (figure, axes):
        for row, arm in enumerate(arms):
            times = thin(by_arm[arm], 150)
            axes.plot(times, [row] * len(times), "o", color=COLOUR["s0"], alpha=0.5, markersize=4.5)
            if arm in left:
                axes.plot([left[arm]], [row], "X", color=COLOUR["s1"], markersize=8)
            right = {"xycoords": ("axes fraction", "data"), "fontsize": 10}
            note(axes, f"{len(by_arm[arm])}", (1.0, row), (6, 0), **right)
        axes.set_yticks(range(len(arms)), [str(arm) for arm in arms])
        axes.invert_yaxis()
        axes.margins(y=0.08)
        axes.set(xlabel=f"time ({series.clock_unit})", ylabel="arm")
        large_numbers(axes, x=True, y=False)
    omitted = len(by_arm) - len(arms)
    return Chart(
        name="votes",
        title="Votes and eliminations",
        caption=f"Run {run.run}: a dot is a vote against the arm, a cross the moment it left "
        "for everybody; on the right the votes against it."
        + (f" {omitted} more arms are in the CSV file." if omitted else ""),
        svg=to_svg(figure, "votes", "Votes over time"),
        header=("arm", "time", "votes"),
        rows=[
            (arm, now, count)
            for arm, times in by_arm.items()
            for count, now in enumerate(times, start=1)
        ],
    )


def _left_over_time(run: RunRecord, arms: int) -> list[tuple[float, int]]:
    """(time, arms left from then on), by the server's word or, where there is none, an agent's."""
    gone = sorted(now for now, _ in EliminationRow.of(run.log))
    if gone:
        return [(now, arms - count) for count, now in enumerate(gone, start=1)]
    if rounds := RoundRow.of(run.log):
        return [(now, row.arms_left) for now, row in rounds]
    first = run.agent_logs[0] if run.agent_logs else {}
    return [(now, row.active) for now, row in ExploredRow.of(first)]


def _arms_left(series: Series) -> Chart | None:
    """How many arms were left over time, one line per run."""
    arms = series.spec.arms.arm_count()
    shown = [(run, steps) for run in series.runs if (steps := _left_over_time(run, arms))]
    if max((len({now for now, _ in steps}) for _, steps in shown), default=0) < 3:
        return None
    with canvas() as (figure, axes):
        for _, steps in shown[:_MOST_LINES]:
            xs, left = zip((0.0, arms), *steps, strict=True)
            axes.step(xs, left, where="post", color=COLOUR["s0"], alpha=0.55, linewidth=1.4)
            axes.plot(xs[-1:], left[-1:], "o", color=COLOUR["s0"], markersize=4)
        axes.set(xlabel=f"time ({series.clock_unit})", ylabel="arms left")
        axes.set(xlim=(0, None), ylim=(0, None))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        large_numbers(axes, x=True, y=False)
    most = f" (the first {_MOST_LINES})" if len(shown) > _MOST_LINES else ""
    return Chart(
        name="arms-left",
        title="Arms left",
        caption=f"One line per run{most}.",
        svg=to_svg(figure, "arms-left", "Arms left over time"),
        header=("run", "time", "arms_left"),
        rows=[(run.run, now, left) for run, steps in shown for now, left in steps],
    )


def _mean_over_time(
    curves: list[list[list[float]]], name: str, label: str, unit: str, index: int
) -> Chart | None:
    """Mean and 95 % band of curves [[t, y], …], if there are any."""
    if not curves:
        return None
    times, mean, half = mean_curve(curves)
    with canvas() as (figure, axes):
        curve(axes, index, label, times, mean, half)
        axes.set(xlabel=f"time ({unit})", ylabel=label, xlim=(0, None))
        large_numbers(axes, x=True)
    return Chart(
        name=name,
        title=capital(name),
        caption=of_runs(len(curves)),
        svg=to_svg(figure, name, f"{capital(name)} over time"),
        header=("time", "mean", "ci95"),
        rows=[tuple(map(float, point)) for point in zip(times, mean, half, strict=True)],
    )
