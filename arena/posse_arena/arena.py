"""A whole arena: cells, tuning, scores, and the result of all that."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from posse.experiments import InputError, Progress
from posse.verbs import remark
from posse_arena import cells, play, result
from posse_arena.apart import apart
from posse_arena.entrants import Entrant
from posse_arena.play import Score, Trial
from posse_arena.problems import Form, Task


def hold(
    entrants: Sequence[Entrant],
    *,
    form: Form,
    tasks: Sequence[Task],
    problem: str | None,
    folder: Path | None,
    kept: Path | None,
    command: str,
    progress: Callable[[int], Progress],
    jobs: int | None = None,
    workers: Any = None,
    only_kept: bool = False,
) -> result.ArenaResult:
    """The result of these entrants in these tasks, and of one problem alone if it is named.

    `only_kept`: nothing is run; it is the result of the runs in `folder`.

    `folder`: where runs are kept, and found. `kept`: a result of ours to stand beside. `workers`: a
    client of Dask. `InputError` if nothing is to be measured.
    """
    taken, out = cells.cells(list(entrants), form, tasks, problem)
    if not (taken or out):
        entered = "; ".join(f"{one.name} for {', '.join(one.tasks)}" for one in entrants)
        where = ", ".join(tasks) if problem is None else f"{problem} in {', '.join(tasks)}"
        raise InputError(f"nobody who is entered ({entered}) has anything to do in {where}")

    def runs(trials: list[Trial]) -> list[Score]:
        if only_kept:
            return play.so_far(trials, folder)
        with progress(len(trials)) as shown:
            return play.run(trials, folder, lambda before: shown.done(before=before), jobs, workers)

    done, failed = play.score(taken, form, runs)
    tuned_done, tuned_failed = play.score(play.tune(taken, form, runs), form, runs)
    done, failed = [*done, *tuned_done], [*failed, *tuned_failed]
    ours = None if kept is None else result.read(kept)
    measured = [result.cell_result(cell, first, scores) for cell, first, scores in done]
    asked = {cell.setting.task for cell, _, _ in done}
    stands = [result.of_entrant(entrant) for entrant in entrants]
    if ours is not None:
        beside = [cell for cell in ours.cells if cell.task in asked]
        if problem is not None:
            beside = [cell for cell in beside if cell.problem == problem]
        if not beside:
            remark("no results of ours are kept for this; --all runs ours too")
        measured += beside
        names = {cell.entrant for cell in beside}
        stands += [one for one in ours.entrants if one.name in names]
        failed += [one for one in ours.left_out if one.where.partition(",")[0] in asked]
    return result.result(stands, measured, [*out, *failed], apart(stands, measured), form, command)
