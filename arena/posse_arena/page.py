"""The page of a result: by task its fronts, its table, and who may not be compared with whom."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from posse.pages import (
    COLOUR,
    Chart,
    Page,
    Section,
    Table,
    canvas,
    large_numbers,
    mean_cell,
    table,
    to_svg,
)
from posse_arena.problems import ADVERSARIES, BASE, LINKS, NETWORKS, TASKS, Task
from posse_arena.result import (
    Apart,
    ArenaResult,
    CellResult,
    GroupKey,
    Measured,
    clearly_less,
    groups,
)

Place = Callable[[CellResult], float]


def arena_page(result: ArenaResult) -> Page:
    """The whole page."""
    tasks: list[Task] = [task for task in TASKS if any(c.task == task for c in result.cells)]
    return Page(
        title="The arena",
        kicker=f"{result.form} form · {len(result.entrants)} entrants · "
        f"{len(result.cells)} cells · {result.command}",
        lead="Which algorithm to take: the same problems, the same budgets of privacy, the same "
        "count of bytes for all.",
        sections=[
            _best(result, tasks),
            *(_section(result, task) for task in tasks),
            _conditions(result),
        ],
    )


KEEPS: tuple[tuple[str, Callable[[CellResult], bool]], ...] = (
    ("nothing is secret", lambda cell: True),
    ("messages are read: ε up to 10", lambda cell: _bounded(cell, 10)),
    ("messages are read: ε up to 1", lambda cell: _bounded(cell, 1)),
    (
        "pulls are seen, too: ε up to 1",
        lambda cell: cell.holds and cell.sees == "pulls" and (cell.budget or 2) <= 1,
    ),
)
"""What is to be kept secret, from the least on, and who keeps it."""


def _bounded(cell: CellResult, most: float) -> bool:
    return cell.epsilon is not None and cell.epsilon <= most


def _best(result: ArenaResult, tasks: Sequence[Task]) -> Section:
    """Who has the fewest errors and then the best score where a task is asked first."""
    rows: list[tuple[object, ...]] = []
    entered: list[tuple[object, ...]] = []
    guests = {one.name for one in result.entrants if one.origin == "entered"}
    for adversary in ADVERSARIES:
        for task in tasks:
            met = [
                c
                for c in result.cells
                if (c.task, c.problem, c.adversary, c.links)
                == (task, BASE[task], adversary, "near")
                and (c.network == next(iter(NETWORKS)) or c.network not in NETWORKS)
            ]
            for told, keeps in KEEPS if adversary == "none" else KEEPS[::2]:
                if ranked := sorted(filter(keeps, met), key=_rank):
                    rows.append(_best_row(task, adversary, told, ranked))
                    entered += [
                        (label(cell), task, adversary, told, f"{place} of {len(ranked)}",
                         mean_cell(cell.score.values))
                        for place, cell in enumerate(ranked, 1)
                        if cell.entrant in guests
                    ]  # fmt: skip
    header = ("task", "adversary", "what is kept", "best", "score", "bytes", "not clearly worse")
    return Section(
        id="best",
        title="Which to take",
        text=[
            "Of each task's first problem, by what is to be kept secret: who erred least, and then "
            "had the best score. The last column has those whose intervals meet the best one's. "
            "Who has no neighbours meets no equivocators: its row is that of nobody."
        ],
        tables=[table("", header, rows), *_entered(entered)],
    )


def _entered(rows: Sequence[tuple[object, ...]]) -> list[Table]:
    """Where those stand who were entered beside ours."""
    header = ("entrant", "task", "adversary", "what is kept", "place", "score")
    return [table("Where your own stands", header, rows)] if rows else []


def _rank(cell: CellResult) -> tuple[float, float]:
    return 0.0 if cell.wrong is None else cell.wrong.mean, cell.score.mean


def _best_row(
    task: str, adversary: str, told: str, ranked: Sequence[CellResult]
) -> tuple[object, ...]:
    best, *others = ranked
    level = dict.fromkeys(
        cell.entrant
        for cell in others
        if cell.entrant != best.entrant
        and _rank(cell)[0] == _rank(best)[0]
        and not clearly_less(best.score, cell.score)
    )
    score, sent = mean_cell(best.score.values), f"{best.bytes.mean:,.0f}"
    return task, adversary, told, label(best), score, sent, ", ".join(level)


def label(cell: CellResult) -> str:
    """An entrant as figures and tables name it."""
    budget = f", ε {cell.budget:g}" if cell.budget is not None else ""
    return f"{cell.entrant}{', tuned' if cell.form == 'tuned' else ''}{budget}"


def _section(result: ArenaResult, task: Task) -> Section:
    cells = [cell for cell in result.cells if cell.task == task]
    ranked = sorted(
        cells,
        key=lambda c: (
            c.problem != BASE[task],
            c.problem,
            list(ADVERSARIES).index(c.adversary),  # type: ignore[arg-type]
            list(LINKS).index(c.links),
            c.network,
            c.score.mean,
        ),
    )
    base = [
        (key, group)
        for key, group in groups(cells).items()
        if key.problem == BASE[task]
        and key.adversary == "none"
        and key.network in (next(iter(NETWORKS)), "their own")
    ]
    text = (
        f"Scores are {TASKS[task].score}, the smaller the better; means with 95 % intervals. A row "
        "on the front is clearly beaten by none of its problem, adversary and network in one of "
        "score, errors, bytes, ε and seconds without being clearly better in another. ε is of one "
        f"reward, for whoever reads all messages, with δ of at most {result.delta:g}; – is no "
        "bound. Seconds are of a processor, but over links with delays virtual ones until the "
        "answer."
    )
    return Section(
        id=task,
        title=TASKS[task].title,
        text=[text],
        charts=[chart for key, group in base for chart in _charts(key, group)],
        tables=[_cells(ranked), _left_out(result, task), _apart(result.apart, task)],
    )


def _cells(cells: Sequence[CellResult]) -> Table:
    header = (
        "problem", "adversary", "network", "links", "entrant", "score", "wrong", "bytes", "ε",
        "seconds", "ε of a person", "front",
    )  # fmt: skip
    rows = [
        (
            cell.problem,
            cell.adversary,
            cell.network,
            cell.links,
            label(cell),
            mean_cell(cell.score.values),
            None if cell.wrong is None else cell.wrong.mean,
            mean_cell(cell.bytes.values),
            cell.epsilon,
            mean_cell((cell.time or cell.seconds).values),
            cell.epsilon_person,
            "yes" if cell.front else "",
        )
        for cell in cells
    ]
    return table("Everybody, best score first", header, rows)


def _left_out(result: ArenaResult, task: Task) -> Table:
    rows = [
        (out.entrant, out.where, out.why)
        for out in result.left_out
        if out.where.partition(",")[0] == task
    ]
    return table("Who is left out, and why", ("entrant", "where", "why"), rows, folded=True)


def _apart(apart: Sequence[Apart], task: Task) -> Table:
    rows = [
        (one.entrant, one.respect, ", ".join(one.others), one.why)
        for one in apart
        if one.task == task
    ]
    header = ("entrant", "in", "may not be compared with", "because")
    return table("Who may not be compared with whom, and why", header, rows, folded=True)


def _conditions(result: ArenaResult) -> Section:
    rows = [
        (what, name, text)
        for what, texts in result.conditions.items()
        for name, text in texts.items()
    ]
    rows += [
        (
            "entrants",
            one.name,
            f"{one.system}, {one.variant}; {one.origin}; tuned: {one.tunes or '–'}",
        )
        for one in result.entrants
    ]
    return Section(
        id="conditions",
        title="What was asked of whom",
        text=[
            "Tuned parameters are those that did best on other instances than the scored ones, one "
            "parameter at a time; the others are the defaults."
        ],
        tables=[table("", ("what", "name", "in words"), rows)],
    )


def _charts(key: GroupKey, group: Sequence[CellResult]) -> list[Chart]:
    """The score of a group against bytes, ε and seconds; of slow links against seconds alone."""
    where = f"{key.problem}, {key.network}"
    ranked = sorted(group, key=lambda cell: cell.score.mean)
    bounds = sorted({cell.epsilon for cell in ranked if cell.epsilon is not None})
    places = {epsilon: float(place) for place, epsilon in enumerate(bounds)}
    axes: tuple[tuple[str, Place], ...] = (
        ("bytes per agent", lambda cell: cell.bytes.mean),
        ("ε", lambda cell: places.get(cell.epsilon, float(len(bounds)))),  # type: ignore[arg-type]
        ("processor seconds", lambda cell: cell.seconds.mean),
    )
    if key.links != "near":
        where += f", {key.links}"
        axes = (("seconds until the answer", lambda cell: (cell.time or cell.seconds).mean),)
    ticks = [f"{epsilon:g}" for epsilon in bounds] + ["none"]
    return [_chart(key, where, ranked, name, place, ticks) for name, place in axes]


def _chart(
    key: GroupKey,
    where: str,
    ranked: Sequence[CellResult],
    x: str,
    place: Place,
    ticks: Sequence[str],
) -> Chart:
    name = "-".join((key.task, key.links, x.partition(" ")[0].replace("ε", "epsilon")))
    y = TASKS[ranked[0].task].score  # type: ignore[index]
    best = pareto([(place(cell), cell.score.mean) for cell in ranked])
    with canvas(4.2) as (figure, axes):
        axes.set_yscale("log")
        if x == "ε":
            axes.set_xticks(range(len(ticks)), ticks)
        else:
            least = min((place(cell) for cell in ranked if place(cell) > 0), default=1.0)
            axes.set_xscale("symlog", linthresh=least)
        for number, cell in enumerate(ranked):
            _draw(axes, number + 1, place(cell), cell.score, number in best)
        line = sorted((place(ranked[n]), ranked[n].score.mean) for n in best)
        axes.step(*zip(*line, strict=True), where="post", color=COLOUR["s0"], linewidth=1)
        axes.set(xlabel=x, ylabel=y)
        large_numbers(axes, x=x != "ε")
        svg = to_svg(figure, name, f"{y} against {x}")
    told = "; ".join(f"{number + 1} {label(cell)}" for number, cell in enumerate(ranked))
    return Chart(
        name=name,
        title=f"{where}: {y} against {x}",
        caption=f"Nobody is both left of and below what the line joins. By score: {told}.",
        svg=svg,
        header=("number", "entrant", x, "mean", "low", "high", "on the line"),
        rows=[
            (n + 1, label(c), place(c), c.score.mean, c.score.low, c.score.high, n in best)
            for n, c in enumerate(ranked)
        ],
    )


def _draw(axes: Axes, number: int, x: float, score: Measured, best: bool) -> None:
    colour = COLOUR["s0" if best else "muted"]
    low, high = (score.mean if end is None else end for end in (score.low, score.high))
    around = [[score.mean - low], [high - score.mean]]
    axes.errorbar([x], [score.mean], yerr=around, color=colour, marker="o", markersize=4, capsize=2)
    axes.annotate(
        str(number), (x, score.mean), (4, 3), textcoords="offset points", color=colour, fontsize=8
    )


def pareto(points: Sequence[tuple[float, float]]) -> set[int]:
    """The places of the points that no other is left of or below without being the other way."""
    return {
        place
        for place, (x, y) in enumerate(points)
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
    }
