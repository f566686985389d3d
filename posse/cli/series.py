"""A series of runs from the command line: run, show progress, leave a directory."""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from posse.cli import paths, volume
from posse.cli import summary as closing
from posse.cli.progress import Progress
from posse.durable.directory import RunDirectory
from posse.errors import PosseError
from posse.plan import Plan
from posse.results.record import RunRecord
from posse.results.result import Result


def run(
    plan: Plan,
    options: argparse.Namespace,
    runner: Callable[..., AbstractContextManager[Result]],
) -> int:
    """Run a plan by `runner` and, before leaving it, write what came of it."""
    paths.folder(options.out or paths.RUNS)
    name = options.file.stem
    directory = RunDirectory(options.out, plan) if options.out else RunDirectory.fresh(name, plan)
    records: list[RunRecord] = []
    callbacks: dict[str, Any] = {"on_record": records.append}
    with ExitStack() as running:
        try:
            if options.json:
                result = running.enter_context(runner(plan, **callbacks))
            else:
                with Progress(plan, options) as progress:

                    def on_record(record: RunRecord) -> None:
                        records.append(record)
                        progress.record(record)

                    callbacks["on_record"] = on_record
                    result = running.enter_context(
                        runner(plan, observe=progress.observe, on_join=progress.joined, **callbacks)
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
            closing.show(result, directory.path, volume.closing(options))
    return 0
