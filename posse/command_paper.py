"""`posse paper`: the papers' experiments by name."""

import json
import sys
from pathlib import Path
from typing import Any

from posse.command_report import require_extra
from posse.errors import PosseError

_OUTCOME = "outcome.json"


def show() -> int:
    """List every experiment."""
    require_extra()
    from posse import papers  # noqa: PLC0415

    paper = ""
    for experiment in papers.experiments().values():
        if experiment.paper != paper:
            paper = experiment.paper
            print(f"\n{paper}")
        print(f"  {experiment.name:<14} {experiment.figure}: {experiment.title}")
    print("\nposse paper NAME [--quick] [--engine processes]; posse paper --all --quick")
    return 0


def run(names: list[str], *, quick: bool, engine: str, out: Path, document: Path | None) -> int:
    """Run experiments, or all if none is named; write each page, and the document from them all."""
    require_extra()
    from posse import papers  # noqa: PLC0415
    from posse.papers import conduct, reproduction  # noqa: PLC0415

    chosen = [papers.named(name) for name in names] or list(papers.experiments().values())
    failed = []
    for experiment in chosen:
        try:
            outcome = conduct.conduct(experiment, quick=quick, engine=engine, progress=_say)
        except PosseError as error:
            if len(chosen) == 1:
                raise
            failed.append(experiment.name)
            print(f"{experiment.name}: not run: {error}", file=sys.stderr)
            continue
        folder = out / experiment.name
        conduct.outcome_page(outcome).write(folder / "report.html")
        (folder / _OUTCOME).write_text(json.dumps(outcome.document(), indent=1))
        _tell(outcome.document(), folder)
    if document is not None:
        outcomes = [
            json.loads((out / name / _OUTCOME).read_text())
            for name in papers.experiments()
            if (out / name / _OUTCOME).is_file()
        ]
        document.write_text(reproduction.text(outcomes))
        print(document)
    return 3 if failed else 0


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _tell(outcome: dict[str, Any], folder: Path) -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(
        f"{outcome['name']}: {outcome['title']} ({outcome['form']}, {outcome['seconds']:.0f} s, "
        f"engines {'agree' if outcome['engines_agree'] else 'DO NOT agree'})"
    )
    for statement in outcome["statements"]:
        print(f"  {statement['text']}")
        for variant, found in statement.items():
            if variant != "text":
                print(f"    {variant}: {found['answer']}. {found['evidence']}")
    print(f"  {folder / 'report.html'}")
