"""`posse run` and `posse coordinator`: run, show progress, leave a directory."""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from rich.console import Console

from posse.cli import paths
from posse.cli import summary as closing
from posse.cli.progress import Progress
from posse.errors import PosseError
from posse.results.directory import RunDirectory
from posse.results.record import RunRecord
from posse.results.result import Result
from posse.spec.runfile import RunSpec


def run(
    spec: RunSpec,
    options: argparse.Namespace,
    runner: Callable[..., AbstractContextManager[Result]],
) -> int:
    """Run a checked specification by `runner` and, before leaving it, write what came of it."""
    paths.folder(options.out or paths.RUNS)
    name = options.file.stem
    directory = RunDirectory(options.out, spec) if options.out else RunDirectory.fresh(name, spec)
    console = Console(stderr=True)
    records: list[RunRecord] = []
    callbacks: dict[str, Any] = {"on_record": records.append}
    with ExitStack() as running:
        try:
            if options.json:
                result = running.enter_context(runner(spec, **callbacks))
            else:
                with Progress(spec, console) as progress:

                    def on_record(record: RunRecord) -> None:
                        records.append(record)
                        progress.record(record)

                    callbacks["on_record"] = on_record
                    result = running.enter_context(
                        runner(spec, observe=progress.observe, on_join=progress.joined, **callbacks)
                    )
        except PosseError as error:
            directory.fail(str(error), records)
            raise
        except KeyboardInterrupt:
            directory.fail("interrupted", records)
            raise
        directory.complete(result)
        if options.json:
            json.dump(result.document(), sys.stdout)
            print(flush=True)
        else:
            closing.show(result, directory.path, Console())
    return 0
