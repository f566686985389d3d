"""`posse paper`: the papers' experiments, listed or run by name."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from posse import PosseError
from posse.experiments import DaskPlacement, InputError, connect_to_dask
from posse.verbs import (
    Engine,
    FolderToWrite,
    Jobs,
    complain,
    held,
    read_whole,
    remark,
    require_report,
    require_room,
    screen,
    shared,
    writable_file,
    writable_folder,
    write_whole,
)
from posse_papers import catalogue, conduct, record
from posse_papers.experiment import SECOND_SEED, SEED
from posse_papers.outcome import Told

HOURS = 6
"""Processor hours that all experiments may take in full."""

_OUTCOME, _FORMS = "outcome.json", ("quick", "full", "second")
_KEPT = "repetitions"


@shared
class How(Jobs):
    """How experiments are run, and where their outcomes are kept."""

    quick: bool = False
    """run the small form, about a minute each"""
    second_seed: bool = False
    """run the small form with another seed: were limits fitted to the first?"""
    on: Annotated[str, Parameter(metavar="dask://HOST:PORT")] = ""
    """make the repetitions in memory on the workers of this Dask scheduler"""
    engine: Engine = "memory"
    """run agents as processes or in memory"""
    out: FolderToWrite = Path("runs/papers")
    """directory for the outcomes"""
    document: Annotated[Path | None, Parameter(metavar="FILE")] = None
    """write all outcomes in DIR to this Markdown file, as JSON Lines and, by line of the papers, as
    ledger.md beside it; say which verdicts differ from that JSON's"""


def paper(
    *names: Annotated[str, Parameter(completer=lambda _: [*catalogue.experiments()])],
    all: bool = False,
    list: bool = False,
    estimate: bool = False,
    how: How = How(),
) -> int:
    """List the papers' experiments, or run them by name.

    Args:
        names: experiment to run (default: list all)
        all: run every experiment
        list: list experiments with their minutes and last verdicts, and run none
        estimate: run one repetition of each point and print what all would cost
    """
    if list or not (names or all or estimate):
        return _list(names, how.out)
    with connect_to_dask(DaskPlacement(how.on)) if how.on else nullcontext() as workers:
        return (_estimate if estimate else _run)(_chosen(names), how, workers)


def _list(names: Sequence[str], out: Path) -> int:
    """Name experiments; beside each the minutes that it took last, and what it found."""
    last = _last(out)
    paper = ""
    for experiment in _chosen(names):
        if experiment.paper != paper:
            paper = experiment.paper
            print(f"\n{paper:<30} {'minutes':>7}  verdicts")
        outcome = last.get(experiment.name)
        minutes = f"{outcome.processor_seconds / 60:.1f}" if outcome else ""
        verdicts = outcome.tally if outcome else "not run"
        print(f"  {experiment.name:<28} {minutes:>7}  {verdicts}")
        print(f"  {'':<28} {'':>7}  {experiment.figure or 'our own'}: {experiment.title}")
    print(
        "\nProcessor minutes of the last run: the recorded quick one, or yours in "
        f"{out}.\n"
        "posse paper NAME [--quick] [--engine processes]; posse paper --all --quick"
    )
    return 0


def _last(out: Path) -> dict[str, Told]:
    """The last outcome of each experiment: that in `out`, or the recorded one."""
    found = {outcome.name: outcome for outcome in record.recorded() if outcome.form != "second"}
    newest: dict[str, float] = {}
    for form in _FORMS[:2]:
        for name, outcome in _kept([*catalogue.experiments()], out, form).items():
            when = (out / name / form / _OUTCOME).stat().st_mtime
            if when > newest.get(name, 0.0):
                newest[name], found[name] = when, outcome
    return found


def _chosen(names: Sequence[str]) -> list[Any]:
    """The experiments of these names; without names, all."""
    return [catalogue.named(name) for name in names] or list(catalogue.experiments().values())


def _how(how: How, workers: Any) -> dict[str, Any]:
    """The options for making, keeping and showing repetitions."""
    return {
        "quick": how.quick or how.second_seed,
        "seed": SECOND_SEED if how.second_seed else SEED,
        "engine": how.engine,
        "folder": how.out / _KEPT,
        "screen": screen(),
        "jobs": how.jobs,
        "workers": workers,
    }


def _run(chosen: list[Any], how: How, workers: Any) -> int:
    """Run experiments; write a page for each, and the document about all."""
    require_report()
    from posse_papers import ledger, page, reproduction  # noqa: PLC0415

    out, document = how.out, how.document
    if document is not None:
        writable_file(document)
    require_room(writable_folder(out))
    if len(chosen) > 1 and how.engine == "memory":
        ahead = {name: value for name, value in _how(how, workers).items() if name != "engine"}
        with _resumable(out, "all"), held(out):
            conduct.make_ahead(chosen, **ahead)
    failed = []
    for experiment in chosen:
        try:
            with _resumable(out, experiment.name), held(out):
                found = conduct.conduct(experiment, **_how(how, workers))
        except PosseError as error:
            if len(chosen) == 1:
                raise
            failed.append(experiment.name)
            remark(f"{experiment.name} was not run: {error}")
            continue
        folder = out / experiment.name / _form(how)
        try:
            page.outcome_page(found).write(folder / "report.html")
            write_whole(folder / _OUTCOME, json.dumps(msgspec.to_builtins(found.told), indent=1))
        except OSError as error:
            failed.append(experiment.name)
            complain(f"{folder} cannot be written ({error.strerror or error}); the outcome is:")
        _tell(found.told, folder)
    if document is not None:
        names = list(catalogue.experiments())
        quick, full, second = (_kept(names, out, form) for form in _FORMS)
        outcomes = document.with_suffix(".jsonl").resolve()
        for sentence in record.changes(outcomes, quick, full):
            print(sentence)
        write_whole(document, reproduction.text(quick, full, second, names))
        write_whole(outcomes, record.kept(quick, full, second))
        write_whole(document.with_name("ledger.md"), ledger.text(quick))
        print(document)
    return 3 if failed else 0


@contextmanager
def _resumable(out: Path, name: str) -> Iterator[None]:
    """Say of an interrupt how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        remark(
            f"interrupted in {name}; finished repetitions are kept in {out / _KEPT}, and the same "
            "command resumes from them"
        )
        raise


def _form(how: How) -> str:
    return "second" if how.second_seed else "quick" if how.quick else "full"


def _kept(names: list[str], out: Path, form: str) -> dict[str, Told]:
    """The outcome of a form in each experiment's folder that has one."""
    found = {}
    for name in names:
        path = out / name / form / _OUTCOME
        if path.is_file():
            try:
                found[name] = msgspec.convert(json.loads(read_whole(path)), Told)
            except (ValueError, msgspec.MsgspecError, RecursionError) as error:
                raise InputError(
                    f"{path} was not written by this version of posse paper ({error}); run posse "
                    f"paper {name} again"
                ) from None
    return found


def _estimate(chosen: list[Any], how: How, workers: Any) -> int:
    """Say what experiments cost, from the first repetition of each of their points."""
    writable_folder(how.out)
    minutes, counted = 0.0, set[str]()
    for experiment in chosen:
        with held(how.out):
            cost = conduct.estimate(experiment, counted, **_how(how, workers))
        print(
            f"{experiment.name:<26} {cost.processor_seconds / 60:8.1f} processor minutes, "
            f"{cost.repetitions:5} repetitions, {cost.kept} of them done",
            flush=True,
        )
        minutes += cost.more_seconds / 60
    if len(chosen) > 1:
        print(
            f"{'all, shared repetitions once':<26} {minutes:8.1f} processor minutes, "
            f"{minutes / 60:.1f} hours of the {HOURS} that the papers' own size may take; "
            "further looks at what stays open come on top"
        )
    return 0


def _tell(outcome: Told, folder: Path) -> None:
    engines = {None: "computed", True: "engines agree", False: "engines DO NOT agree"}
    print(
        f"{outcome.name}: {outcome.title} ({outcome.form}, {outcome.processor_seconds:.0f} s of "
        f"processor time, {engines[outcome.engines_agree]})"
    )
    if outcome.assumed:
        print(f"  not printed in the paper and taken here: {outcome.assumed}")
    for statement in outcome.statements:
        print(f"  {statement.text}" + f" ({statement.place})" * bool(statement.place))
        print(
            f"    {statement.verdict} (holds under {'/'.join(map(str, statement.holds))} choices)"
        )
        for found in statement.found:
            print(f"    {found.choice_said}{found.answer}. {found.said}{found.looks_said}")
            for mutant in found.refuted:
                print(f"      refutes {mutant}")
            for mutant in found.passed:
                print(f"      does not refute {mutant}")
    print(f"  {folder / 'report.html'}", flush=True)
