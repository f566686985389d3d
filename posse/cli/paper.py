"""`posse paper`: the papers' experiments, listed or run by name."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posse.cli import extra, paths
from posse.cli.options import Commands, count
from posse.errors import InputError, PosseError

if TYPE_CHECKING:
    from posse.papers.outcome import Told

_OUTCOME = "outcome.json"
_KEPT = "repetitions"


def add(commands: Commands) -> None:
    """The verb and its options."""
    parser = commands.add_parser("paper", help="list the papers' experiments, or run them by name")
    parser.add_argument("names", nargs="*", metavar="NAME", help="as posse paper lists them")
    parser.add_argument("--all", action="store_true", help="run every experiment")
    parser.add_argument("--quick", action="store_true", help="a small form, about a minute each")
    parser.add_argument("--engine", choices=("processes", "memory"), default="memory")
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="run one repetition of each point and say what all would cost",
    )
    parser.add_argument("--jobs", type=count, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--out", type=Path, default=Path("runs/papers"), metavar="DIR")
    parser.add_argument(
        "--document", type=Path, metavar="FILE", help="write all outcomes in DIR as Markdown"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """List every experiment, or run those that are named."""
    if options.estimate:
        return _estimate(options)
    if options.names or options.all:
        return _run(options)
    _show()
    return 0


def _show() -> None:
    from posse import papers

    paper = ""
    for experiment in papers.experiments().values():
        if experiment.paper != paper:
            paper = experiment.paper
            print(f"\n{paper}")
        print(f"  {experiment.name:<26} {experiment.figure or 'our own'}: {experiment.title}")
    print("\nposse paper NAME [--quick] [--engine processes]; posse paper --all --quick")


def _chosen(names: list[str]) -> list[Any]:
    """The experiments of these names, or all."""
    from posse import papers

    return [papers.named(name) for name in names] or list(papers.experiments().values())


def _how(options: argparse.Namespace) -> dict[str, Any]:
    """How repetitions are made, kept and shown."""
    from posse.cli.progress import screen

    return {
        "quick": options.quick,
        "engine": options.engine,
        "folder": options.out / _KEPT,
        "screen": screen(options),
        "jobs": options.jobs,
    }


def _run(options: argparse.Namespace) -> int:
    """Run experiments; write each page, and the document from them all."""
    extra.require()
    import msgspec

    from posse import papers
    from posse.durable import lock, whole
    from posse.papers import conduct, page, reproduction

    quick, out, document = options.quick, options.out, options.document
    chosen = _chosen(options.names)
    if document is not None:
        paths.file(document)
    whole.require_room(paths.folder(out))
    failed = []
    for experiment in chosen:
        try:
            with lock.held(out):
                outcome = conduct.conduct(experiment, **_how(options))
        except PosseError as error:
            if len(chosen) == 1:
                raise
            failed.append(experiment.name)
            print(f"{experiment.name}: not run: {error}", file=sys.stderr)
            continue
        except KeyboardInterrupt:
            print(
                f"interrupted in {experiment.name}; repetitions that were done are kept in "
                f"{out / _KEPT}, and the same command goes on from them",
                file=sys.stderr,
            )
            raise
        folder = out / experiment.name / ("quick" if quick else "full")
        told = outcome.told()
        try:
            page.outcome_page(outcome).write(folder / "report.html")
            whole.write(folder / _OUTCOME, json.dumps(msgspec.to_builtins(told), indent=1))
        except OSError as error:
            failed.append(experiment.name)
            said = f"{folder} cannot be written ({error.strerror or error}); it found:"
            print(f"posse: {said}", file=sys.stderr)
        _tell(told, folder)
    if document is not None:
        known = papers.experiments()
        found = {outcome.name: outcome for outcome in _outcomes(known, out)}
        missing = [name for name in known if name not in found]
        whole.write(document, reproduction.text(list(found.values()), missing))
        print(document)
    return 3 if failed else 0


def _outcomes(names: Iterable[str], out: Path) -> Iterator[Told]:
    """Each experiment's outcome, of the full form where there is one."""
    import msgspec

    from posse.papers.outcome import Told

    for name in names:
        for form in ("full", "quick"):
            path = out / name / form / _OUTCOME
            if path.is_file():
                try:
                    yield msgspec.convert(json.loads(path.read_text()), Told)
                except ValueError as error:
                    raise InputError(
                        f"{path}: is not what this version of posse paper writes ({error}); run "
                        f"posse paper {name} again"
                    ) from None
                break


def _estimate(options: argparse.Namespace) -> int:
    """Say what experiments cost, by the first repetition of each of their points."""
    from posse.durable import lock
    from posse.papers import conduct

    chosen = _chosen(options.names)
    paths.folder(options.out)
    for experiment in chosen:
        with lock.held(options.out):
            cost = conduct.estimate(experiment, **_how(options))
        print(
            f"{experiment.name:<26} {cost.processor_seconds / 60:8.1f} processor minutes, "
            f"{cost.repetitions:5} repetitions, {cost.kept} of them done",
            flush=True,
        )
    return 0


def _tell(outcome: Told, folder: Path) -> None:
    engines = {None: "computed", True: "engines agree", False: "engines DO NOT agree"}
    print(
        f"{outcome.name}: {outcome.title} ({outcome.form}, {outcome.seconds:.0f} s, "
        f"{engines[outcome.engines_agree]})"
    )
    for statement in outcome.statements:
        print(f"  {statement.text}" + f" ({statement.place})" * bool(statement.place))
        for variant, found in statement.found.items():
            print(f"    {variant}: {found.answer}. {found.said}")
    print(f"  {folder / 'report.html'}", flush=True)
