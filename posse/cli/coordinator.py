"""`posse coordinator`: wait for agents that join from elsewhere, then run."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from posse import api
from posse.cli import paths, security, series, streams, watch, web
from posse.cli.options import (
    add_capture,
    add_log,
    add_result,
    add_resumable,
    add_run_file,
    begin_log,
    is_resumable,
    place,
    plan,
)
from posse.cli.parser import Parser
from posse.coordinator.hub import Hub
from posse.errors import InputError
from posse.log import LOG
from posse.operate import health
from posse.plan import Plan
from posse.results.result import Links
from posse.security import keys

JOURNAL = "coordinator.journal"


def add(parser: Parser) -> None:
    add_run_file(parser)
    parser.option(
        "--bind ADDRESS",
        "address to listen on: tcp://HOST:PORT, or ipc://PATH for agents on this machine",
        required=True,
    )
    add_result(parser)
    add_capture(parser)
    parser.option(
        "--resume DIR", "resume a run whose coordinator was killed; DIR is its --out", type=place
    )
    add_resumable(parser)
    web.add(parser)
    watch.add_option(parser)
    add_log(parser)
    security.add(parser)


def run(options: argparse.Namespace) -> int:
    """Wait for all agents, run, write the result, release the agents."""
    begin_log(options, "coordinator", insecure=options.keys is None)
    if options.resume is not None:
        if not (options.resume / JOURNAL).exists():
            raise InputError(
                f"--resume {options.resume}: there is no run to resume; use --out to begin one"
            )
        options.out = options.resume
    checked = plan(options, "engine.kind=processes")
    checked.require(0)
    agents = checked.spec.agents.count
    if checked.field and not options.keys:
        raise InputError("the field needs keys; make them with posse keys, and add --keys DIR")
    security.check("--bind", options.bind, options)
    web.check(options)
    if options.capture:
        paths.file(options.capture)
    if options.keys:
        keys.wait_for(options.keys, options.wait_for_keys)
    resumes = options.out is not None and (options.out / JOURNAL).exists()
    pairs = keys.for_coordinator(options.keys, agents, resumes=resumes) if options.keys else None
    security.warn(options)

    kept = checked.field or checked.spec.engine.durable or checked.spec.engine.restarts > 0

    @contextmanager
    def serve(
        source: Plan, *, on_hub: Callable[[Hub], None] = lambda hub: None, **given: Any
    ) -> Iterator[api.RunMaker]:
        hubs: list[Hub] = []

        def publish(hub: Hub) -> None:
            on_hub(hub)
            hubs.append(hub)
            LOG.info("waiting for %d agents at %s", agents, hub.endpoint)
            if options.http:
                web.serve(options, health.of_coordinator(hub.status, field=checked.field))

        served = api.serve(
            source,
            bind=options.bind,
            keys=pairs,
            capture=options.capture,
            journal=options.folder / JOURNAL if kept else None,
            on_hub=publish,
            resumable=is_resumable(options),
            **given,
        )
        with served as runs:
            yield runs
            # the result is written: a launcher may end all processes when the first agent leaves
            streams.ignore_signals(hubs[0].hurry)
        streams.ignore_signals()

    links: Links = "keys" if pairs is not None else "insecure"
    return series.carry_out(checked, options, serve, links, JOURNAL if kept else "")
