"""`posse run`: run a run file, with every agent and all repeats, for one result."""

import argparse
import os
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from posse import api
from posse.cli import series, watch
from posse.cli.options import add_runs, changes, placement, plan
from posse.cli.parser import Parser
from posse.log import remark
from posse.plan import Plan


def add(parser: Parser) -> None:
    add_runs(parser)
    watch.add_option(parser)


def run(options: argparse.Namespace) -> int:
    checked = plan(options, *changes(options))
    on = placement(options)
    checked.require(None if on is None else 0)
    jobs = options.jobs or os.cpu_count() or 1
    if options.jobs and (
        checked.spec.engine.kind == "processes" or on or options.watch is not None
    ):
        remark("--jobs has no effect: it shares runs in memory that are not watched, without --on")

    def opened(source: Plan, **given: Any) -> AbstractContextManager[api.Runs]:
        return nullcontext(partial(api.runs, source, jobs=jobs, on=on, **given))

    return series.run(checked, options, opened, api.links_of(checked, on))
