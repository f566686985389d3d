"""`posse coordinator`: wait for agents that join from elsewhere, then run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from posse import api
from posse.cli import paths, series, streams
from posse.cli.options import (
    FolderToWrite,
    LogOptions,
    Out,
    RunFile,
    SetOptions,
    Watched,
    file_to_write,
    is_resumable,
    parsed,
)
from posse.cli.security import KeyOptions
from posse.cli.web import Served
from posse.coordinator.hub import Hub
from posse.errors import InputError
from posse.log import LOG
from posse.operate import health
from posse.plan import Plan
from posse.results.result import Links
from posse.security import keys as key_files

JOURNAL = "coordinator.journal"


def coordinator(
    file: Annotated[Path, Parameter(env_var="POSSE_RUN")],
    /,
    *,
    bind: Annotated[str, Parameter(metavar="ADDRESS")],
    settings: SetOptions = SetOptions(),
    capture: Annotated[Path | None, parsed(file_to_write, "FRAMES")] = None,
    resume: FolderToWrite | None = None,
    resumable: Annotated[bool | None, Parameter(negative=None)] = None,
    result: Out = Out(),
    served: Served = Served(),
    watched: Watched = Watched(),
    log: LogOptions = LogOptions(),
    keys: KeyOptions = KeyOptions(),
) -> int:
    """Wait for agents to join from elsewhere, then run.

    Args:
        file: run file (TOML)
        bind: address to listen on: tcp://HOST:PORT, or ipc://PATH for agents on this machine
        capture: file for every frame that this process sends; posse frames shows it
        resume: resume a run whose coordinator was killed; DIR is its --out
        resumable: Ctrl-C and SIGTERM interrupt the run, and the same command resumes it; the
            default in containers and batch systems. Else they end it
    """
    log.begin("coordinator", insecure=keys.keys is None)
    if resume is not None and not (resume / JOURNAL).exists():
        raise InputError(f"--resume {resume}: there is no run to resume; use --out to begin one")
    checked = _checked(file, settings, keys, bind)
    agents = checked.spec.agents.count
    served.check()
    if capture:
        paths.file(capture)
    keys.wait()
    out = resume or result.out
    resumes = out is not None and (out / JOURNAL).exists()
    pairs = key_files.for_coordinator(keys.keys, agents, resumes=resumes) if keys.keys else None
    keys.warn()
    folder = paths.result(out, file.stem)
    kept = checked.field or checked.spec.engine.durable or checked.spec.engine.restarts > 0

    open_runs = partial(
        _serving,
        served=served,
        folder=folder,
        bind=bind,
        keys=pairs,
        capture=capture,
        journal=folder / JOURNAL if kept else None,
        resumable=is_resumable(resumable),
    )
    links: Links = "keys" if pairs is not None else "insecure"
    return series.carry_out(
        checked,
        folder,
        open_runs,
        links,
        JOURNAL if kept else "",
        json=result.json,
        watched=watched,
        resumable=resumable,
    )


@contextmanager
def _serving(
    plan: Plan,
    served: Served,
    folder: Path,
    *,
    on_hub: Callable[[Hub], None] = lambda hub: None,
    **given: Any,
) -> Iterator[api.RunMaker]:
    """Serve a plan's runs as `api.serve`, and how the coordinator is."""
    hubs: list[Hub] = []

    def publish(hub: Hub) -> None:
        on_hub(hub)
        hubs.append(hub)
        LOG.info("waiting for %d agents at %s", plan.spec.agents.count, hub.endpoint)
        served.serve(partial(health.of_coordinator, hub.status, folder, field=plan.field))

    with api.serve(plan, on_hub=publish, **given) as runs:
        yield runs
        # the result is written: a launcher may end all processes when the first agent leaves
        streams.ignore_signals(hubs[0].hurry)
    streams.ignore_signals()


def _checked(file: Path, settings: SetOptions, keys: KeyOptions, bind: str) -> Plan:
    """The run file's plan; raises if it, or this command's keys, cannot serve it."""
    plan = RunFile(file, settings).plan("engine.kind=processes")
    plan.require(0)
    if plan.field and not keys.keys:
        raise InputError("the field needs keys; make them with posse keys, and add --keys DIR")
    keys.check("--bind", bind)
    return plan
