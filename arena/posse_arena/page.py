"""The page of a result: by task its fronts, its table, and who may not be compared with whom."""

from collections.abc import Callable, Sequence

from posse.pages import (
    Candidate,
    Choosing,
    Page,
    RankedRow,
    Ranking,
    Section,
    Table,
    VerdictLine,
    alerts,
    mean_cell,
    table,
    verdict_line,
)
from posse_arena.problems import ADVERSARIES, BASE, LINKS, NETWORKS, TASKS, Task
from posse_arena.result import Apart, ArenaResult, CellResult, clearly_less


def arena_page(result: ArenaResult) -> Page:
    """The whole page: a question with three sliders, then by task a ranking and all numbers."""
    tasks, line = _tasks(result), verdict(result)
    return Page(
        title="Which algorithm under your limits?",
        kicker=f"the arena · {result.form} form · {len(result.entrants)} entrants · "
        f"{len(result.cells)} cells · {result.command}",
        lead=f"{line.sentence}.",
        alerts=alerts(line),
        sections=[
            _question(result, tasks),
            *(_section(result, task) for task in tasks),
            _best(result, tasks),
            _conditions(result),
        ],
    )


def _tasks(result: ArenaResult) -> list[Task]:
    return [task for task in TASKS if any(c.task == task for c in result.cells)]


def verdict(result: ArenaResult) -> VerdictLine:
    """What came of it: who is best at each task without limits, and who was left out."""
    out = sorted({one.entrant for one in result.left_out})
    some = ", ".join(out[:3]) + f" and {len(out) - 3} more" * (len(out) > 3)
    lost = (("left out", f"{some} at some cells, as the tables by task say"),) if out else ()
    return verdict_line(
        [_winner(result, task) for task in _tasks(result)],
        about="Without limits: ",
        failure="" if result.cells else "Nothing was measured",
        losses=lost,
    )


def _base(result: ArenaResult, task: Task, adversary: str = "none") -> list[CellResult]:
    """The cells of a task's first problem on its first network, over near links."""
    return [
        c
        for c in result.cells
        if (c.task, c.problem, c.adversary, c.links) == (task, BASE[task], adversary, "near")
        and (c.network == next(iter(NETWORKS)) or c.network not in NETWORKS)
    ]


def _winner(result: ArenaResult, task: Task) -> tuple[str, bool]:
    """Who is clearly the best at a task, or that nobody is; and whether somebody is."""
    ranked = sorted(_base(result, task), key=_rank)
    if not ranked:
        return f"{TASKS[task].title}, nobody was run", False
    best = label(ranked[0])
    level = [cell for cell in ranked[1:] if _is_level(ranked[0], cell)]
    if level:
        tied = f"no clear best, {best} and {len(level)} more are level"
        return f"{TASKS[task].title}, {tied}", False
    return f"{TASKS[task].title}, {best}", True


def _is_level(best: CellResult, cell: CellResult) -> bool:
    """Whether a cell errs as little as the best one, and its score is not clearly worse."""
    return _rank(best)[0] == _rank(cell)[0] and not clearly_less(best.score, cell.score)


def _question(result: ArenaResult, tasks: Sequence[Task]) -> Section:
    """Three limits: ε, bytes, and a share of liars, at which everybody was run."""
    candidates = []
    for task in tasks:
        for adversary, share in LIARS.items():
            candidates += [
                Candidate(
                    group=TASKS[task].title,
                    name=label(cell),
                    limits=(cell.epsilon, cell.bytes.mean, share),
                    rank=_rank(cell),
                    low=_end(cell.score.low, cell),
                    high=_end(cell.score.high, cell),
                    text=_in_words(cell),
                    command=f"posse arena --task {task} --problem {cell.problem} "
                    f"--among {cell.entrant}",
                )
                for cell in _base(result, task, adversary)
            ]
    rules = {
        "ε of a reward at most": ({c.limits[0] for c in candidates}, lambda v: f"{v:.3g}"),
        "bytes per agent at most": ({c.limits[1] for c in candidates}, _bytes),
    }
    sliders = [
        (
            name,
            [*((v, word(v)) for v in sorted(v for v in stops if v is not None)), (0.0, "any")],
            False,
        )
        for name, (stops, word) in rules.items()
    ]
    return Section(
        id="ask",
        title="Ask",
        text=[
            "Set what you can bear; the page names who had the fewest errors and then the best "
            "score on the task's first problem, by how much, and the command that runs it. Liars "
            "are one agent in eight, unknowingly; regret is then that of the others."
        ],
        question=Choosing(
            group="Task",
            sliders=[*sliders, ("share of liars", _SHARES, True)],
            candidates=candidates,
        ),
    )


LIARS = {"none": 0.0, "liars": 0.125}
"""The share of agents that lie, by adversary."""

_SHARES = ((0.0, "none"), (0.125, "1 in 8"))


def _end(end: float | None, cell: CellResult) -> float:
    return cell.score.mean if end is None else end


def _bytes(value: float) -> str:
    return f"{value:,.0f}" if value < 10_000 else f"{value / 1000:,.0f}k"


def _in_words(cell: CellResult) -> str:
    score = mean_cell(cell.score.values).text
    wrong = "" if cell.wrong is None else f", wrong in {cell.wrong.mean:.0%}"
    epsilon = "no bound on ε" if cell.epsilon is None else f"ε = {cell.epsilon:.3g}"
    name = TASKS[cell.task].score  # type: ignore[index]
    return f"{name} {score}{wrong}, {_bytes(cell.bytes.mean)} bytes per agent, {epsilon}"


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
            met = _base(result, task, adversary)
            for secret, keeps in KEEPS if adversary == "none" else KEEPS[::2]:
                if ranked := sorted(filter(keeps, met), key=_rank):
                    rows.append(_best_row(task, adversary, secret, ranked))
                    entered += [
                        (label(cell), task, adversary, secret, f"{place} of {len(ranked)}",
                         mean_cell(cell.score.values))
                        for place, cell in enumerate(ranked, 1)
                        if cell.entrant in guests
                    ]  # fmt: skip
    header = ("task", "adversary", "what is kept", "best", "score", "bytes", "not clearly worse")
    return Section(
        id="best",
        title="By what is kept secret",
        text=[
            "Of each task's first problem, by what is to be kept secret: who erred least, and then "
            "had the best score. The last column has those whose intervals meet the best one's."
        ],
        tables=[table("By what is kept", header, rows, folded=True), *_entered(entered)],
    )


def _entered(rows: Sequence[tuple[object, ...]]) -> list[Table]:
    """Where those stand who were entered beside ours."""
    header = ("entrant", "task", "adversary", "what is kept", "place", "score")
    return [table("Where your own stands", header, rows)] if rows else []


def _rank(cell: CellResult) -> tuple[float, float]:
    return 0.0 if cell.wrong is None else cell.wrong.mean, cell.score.mean


def _best_row(
    task: str, adversary: str, secret: str, ranked: Sequence[CellResult]
) -> tuple[object, ...]:
    best, *others = ranked
    level = dict.fromkeys(
        cell.entrant for cell in others if cell.entrant != best.entrant and _is_level(best, cell)
    )
    score = mean_cell(best.score.values)
    return task, adversary, secret, label(best), score, best.bytes.mean, ", ".join(level)


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
        rankings=[_ranking(sorted(base, key=_rank), task)] if (base := _base(result, task)) else [],
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
    return table("Everybody, best score first", header, rows, folded=True)


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


def _ranking(ranked: Sequence[CellResult], task: Task) -> Ranking:
    """Everybody at a task's first problem, the best first."""
    rows = [
        RankedRow(
            name=label(cell),
            value=cell.score.mean,
            low=cell.score.low,
            high=cell.score.high,
            text=mean_cell(cell.score.values, cell.n).text,
            cells=[
                ("bytes", _bytes(cell.bytes.mean)),
                ("ε", "no bound" if cell.epsilon is None else f"{cell.epsilon:.3g}"),
                *([("wrong", f"{cell.wrong.mean:.0%}")] if cell.wrong is not None else []),
            ],
            css="level" if _is_level(ranked[0], cell) else "",
        )
        for cell in ranked
    ]
    ends = [end for row in rows for end in (row.value, row.high) if end is not None]
    where = f"{ranked[0].problem}, {ranked[0].n} runs each"
    return Ranking(title=where, axis=TASKS[task].score, rows=rows, left=0.0, right=max(ends))
