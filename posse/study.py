"""From Python what the command line has for several runs: sweeps, comparisons, results, audits.

swept = posse.sweep("run.toml", {"parameters.epsilon": [0.3, 1.0]}, repeat=5)
swept.to_frame()                                  # a row for each point
posse.compare(noisy=first, quiet=second)          # of two results on the same arms
posse.read("runs/demo")                           # the result that a folder has
posse.run_audit("run.toml", runs=1_000).says          # what messages tell of one reward
posse.resume_from(first)                          # without the arms that a result rules out
posse.arms_of(frame, "logs", arm="item")          # [arms] of a DataFrame
"""

import csv
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from posse import api
from posse.audit.whole import RUNS, Audit, Document
from posse.durable.sweep import name as point_name
from posse.errors import InputError
from posse.gates import files
from posse.measure.confidence import Mean, mean_of
from posse.plan import Source, changed
from posse.reading import folder as folders
from posse.results.measures import MEASURES
from posse.results.notebook import as_frame
from posse.results.result import Result
from posse.security import noise
from posse.spec.runfile import RunSpec


@dataclass(frozen=True)
class SweptPoint:
    """One point of a sweep: the keys' values there, and its result."""

    at: dict[str, Any]
    result: Result


@dataclass(frozen=True)
class SweepResult:
    """The points of a sweep, in the order of the product of its values."""

    points: list[SweptPoint] = field(default_factory=list)

    def to_frame(self) -> Any:
        """A row for each point: its values, the commonest answer, and each measure's mean and ends.

        A `pandas.DataFrame`; without pandas a dict of columns.
        """
        rows = []
        for point in self.points:
            answers = [run.best_arm for run in point.result.runs]
            row = {**point.at, "best_arm": max(answers, key=answers.count), "n": len(answers)}
            for measure, mean in point.result.summary().items():
                ends = {"": mean["mean"], "_low": mean["low"], "_high": mean["high"]}
                row |= {f"{measure}{end}": value for end, value in ends.items()}
            rows.append(row)
        return as_frame(rows)


def sweep(
    source: Source,
    over: Mapping[str, Iterable[Any]],
    *,
    out: str | Path | None = None,
    **options: Any,
) -> SweepResult:
    """Run a specification for every combination of these keys' values, one point after another.

    `over` has each key's path, as "parameters.epsilon". All points are checked before the first
    begins. With `out` each has a folder there, as of `posse run --over`, and what is finished is
    not run again. `options` are those of `posse.run`.
    """
    axes = {path: list(values) for path, values in over.items()}
    if not axes or not all(axes.values()):
        raise InputError("posse.sweep needs a key, and a value for each key")
    combinations = itertools.product(*axes.values())
    places = [dict(zip(axes, values, strict=True)) for values in combinations]
    plans = [changed(source, dict(at)) for at in places]
    return SweepResult([
        SweptPoint(at, api.run(plan, out=out and Path(out) / point_name(at), **options))
        for at, plan in zip(places, plans, strict=True)
    ])  # fmt: skip


def resume_from(result: Result, source: Source | None = None, *, run: int = -1) -> RunSpec:
    """A run that goes on from what a result tells: without the arms that it rules out.

    An arm is ruled out if its interval in `result.runs[run].estimates` lies below another's; the
    intervals hold for all arms at once with probability 95 %. What was released is only read, so
    that this spends nothing. `source` is what is run next, by default the result's own
    specification under the next seed, so that rewards and noise are new; its arms must be the same.
    Where agents' arms differ, an estimate is of whoever pulled them. `InputError` if no arm, or all
    arms but one, are ruled out, or if the system cannot begin with fewer (`parameters.candidates`).
    """
    plan = changed(result.specification if source is None else source, {})
    arms = plan.spec.arms.arm_count()
    known = {estimate.arm: estimate for estimate in result.runs[run].estimates}
    if not known:
        raise InputError(f"{result.system} tells of no arm's mean, so that no arm can be left out")
    if not hasattr(plan.parameters, "candidates"):
        raise InputError(
            f"{plan.spec.system} cannot begin with fewer arms; a system whose [parameters] have "
            "candidates can, as mase"
        )
    before = plan.parameters.candidates or range(arms)
    least = max(estimate.low for estimate in known.values())
    left = [k for k in before if k not in known or known[k].high >= least]
    if len(left) in (1, len(before)):
        only = f"arm {left[0]} alone is left, which is the answer"
        raise InputError(only if len(left) == 1 else "no arm is ruled out; run it again as it is")
    changes: dict[str, Any] = {"parameters.candidates": left}
    if source is None and plan.spec.mode == "lab":
        changes["seed"] = plan.spec.seed + 1
    return changed(plan, changes).spec


def compare(**results: Result) -> Any:
    """Two or more results on the same arms: a row for each measure and result, and differences.

    A row has the mean, its 95 % interval from `low` to `high`, and n. Beside each result after the
    first are the differences from the first, run by run, where both have the same seed. Types as
    `Result.to_frame`. `InputError` if the arms differ.
    """
    if len(results) < 2:
        raise InputError("posse.compare needs two results: compare(first=…, second=…)")
    (base, first), *others = results.items()
    for name, other in others:
        if other.specification.get("arms") != first.specification.get("arms"):
            raise InputError(f"{name} and {base} have other arms, so that nothing can be compared")
    rows = []
    for measure in MEASURES:
        for name, result in results.items():
            values, before = ([measure.read(r) for r in study.runs] for study in (result, first))
            known = [float(value) for value in values if value is not None]
            if known:
                rows.append(_row(measure.name, name, mean_of(known, share=measure.share)))
            paired = first.seed == result.seed and name != base
            apart = [
                float(there) - float(here)
                for here, there in zip(before, values, strict=False)
                if here is not None and there is not None
            ]
            if paired and apart:
                rows.append(_row(measure.name, f"{name} - {base}", mean_of(apart, signed=True)))
    return as_frame(rows)


def _row(measure: str, what: str, mean: Mean) -> dict[str, Any]:
    return {"measure": measure, "of": what, **msgspec.structs.asdict(mean)}


def read(folder: str | Path, *, trust: bool = False) -> Result:
    """The result that `posse run --out` wrote into a folder, as far as it is complete.

    With `trust` the code that it names is imported, to read what a system of one's own noted.
    `InputError` if the folder has none.
    """
    series = folders.read(Path(folder), trust=trust)
    spec = series.spec
    return Result(
        system=spec.system,
        variant=spec.variant,
        engine=spec.engine.kind,
        seed=spec.seed,
        runs=series.runs,
        specification=msgspec.to_builtins(spec),
        network=series.network,
        warnings=series.warnings,
        truths=series.truths,
    )


def run_audit(
    source: Source, *, runs: int | None = None, jobs: int | None = None, **asked: Any
) -> Document:
    """A lower bound on what messages tell of one reward, by `runs` on each of two data sets.

    As `posse audit`, which by default makes no runs once coupled runs have refuted the claim, and
    with `runs` makes them all the same; the name `posse.audit` is that of the package. The field's
    noise, where it is installed, has no seed, so that figures differ a little from audit to
    audit.

    `asked` are `epsilon`, `delta`, `sees`, `watched`, `cases` and `budget`, the seconds of
    `--search`. What was found is `word` and `says`, with `finding` as a bool.
    """
    plan = changed(source, {"engine.kind": "memory"})
    names = noise.names() if noise.is_here() and plan.claim.mechanism != "none" else ""
    asked_for = Audit(
        plan=plan,
        runs=RUNS if runs is None else runs,
        if_refuted=runs is not None,
        jobs=jobs,
        noise=names,
        **asked,
    )
    asked_for.require()
    return asked_for.document()


def arms_of(
    frame: Any,
    folder: str | Path,
    *,
    arm: str = "arm",
    reward: str = "reward",
    agent: str | None = None,
    **keys: Any,
) -> dict[str, Any]:
    """The `[arms]` of a table's rows, which are written into a new `folder`, one log per agent.

    `frame` is a `pandas.DataFrame` or a mapping from columns to values; `arm` and `reward` are
    columns of it, and `agent` may be one that names the agent of each row, in the order in which
    they appear. Arms are named as the table has them. `keys` are others of `[arms]`, as `clip`.
    """
    wanted = [arm, reward, *([agent] if agent is not None else [])]
    known = list(frame.keys())
    if missing := [column for column in wanted if column not in known]:
        raise InputError(f"the table has no column '{missing[0]}'; it has {known}")
    columns = [list(frame[column]) for column in wanted]
    names = list(dict.fromkeys(map(str, columns[0])))
    agents = list(dict.fromkeys(columns[2])) if agent is not None else [None]
    target = Path(folder).resolve()
    files.make_folder(target, new=True)
    for rank, owner in enumerate(agents):
        with files.replacing(target / f"log-{rank}.csv") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("arm", "reward"))
            table.writerows(
                row[:2] for row in zip(*columns, strict=True) if owner is None or row[2] == owner
            )
    return {"kind": "csv", "path": f"{target}/log-{{rank}}.csv", "names": names, **keys}
