"""`posse.run`: one specification, all its runs, one result."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from posse.engines import memory
from posse.engines.base import Observer, silent
from posse.engines.platform import require_processes
from posse.engines.pool import on_all_cores
from posse.results.record import RunRecord
from posse.results.result import Result
from posse.spec.runfile import RunSpec, load, parse

if TYPE_CHECKING:
    from posse.engines.hub import Hub
    from posse.engines.processes import ProcessEngine
    from posse.security.keys import CoordinatorKeys

NO_KEYS = (
    "insecure: the links had no keys; whoever reached them could join, read and change messages"
)

Source = str | Path | dict[str, Any] | RunSpec


def specification(source: Source) -> RunSpec:
    """A checked specification from a run file's path, from plain data, or as it is."""
    match source:
        case RunSpec():
            return source
        case dict():
            return parse(source)
        case _:
            return load(source)


def run(
    source: Source,
    *,
    observe: Observer = silent,
    on_join: Callable[[int], None] = lambda joined: None,
    on_record: Callable[[RunRecord], None] = lambda record: None,
    jobs: int = 1,
) -> Result:
    """Run a specification `repeat` times.

    `observe` is called as messages arrive, `on_join` as agents join, `on_record` after each run.
    `jobs` processes share the runs of engine `memory`, which then cannot be observed; the result
    is the same. (Engine `processes` is on all cores anyway.)
    Raises `SpecError` before anything is started, `RunFailed` or `ArmsError` if a run fails.
    """
    spec = specification(source)
    records: list[RunRecord] = []

    def keep(record: RunRecord) -> None:
        records.append(record)
        on_record(record)

    if spec.engine.kind == "memory":
        if jobs > 1 and spec.repeat > 1:
            documents = [(msgspec.to_builtins(spec), number) for number in range(spec.repeat)]
            for record in on_all_cores(_one, documents, jobs):
                keep(record)
        else:
            for number in range(spec.repeat):
                keep(memory.run(spec, number, observe))
    else:
        with processes(spec, on_join=on_join) as engine:
            for number in range(spec.repeat):
                keep(engine.run(spec, number, observe))
    return result(spec, records)


def _one(item: tuple[dict[str, Any], int]) -> RunRecord:
    document, number = item
    return memory.run(msgspec.convert(document, RunSpec), number)


def processes(spec: RunSpec, **options: Any) -> "ProcessEngine":
    """Engine `processes`, not yet up; `SpecError` where the operating system cannot have it."""
    require_processes()
    from posse.engines.processes import ProcessEngine  # noqa: PLC0415

    return ProcessEngine(spec, **options)


@contextmanager
def serve(
    source: Source,
    *,
    bind: str,
    keys: "CoordinatorKeys | None" = None,
    on_hub: Callable[["Hub"], None] = lambda hub: None,
    observe: Observer = silent,
    on_join: Callable[[int], None] = lambda joined: None,
    on_record: Callable[[RunRecord], None] = lambda record: None,
) -> Iterator[Result]:
    """Like `run`, for agents that join from elsewhere at the address `bind`.

    A context, left when the result is safe: only then are the agents let go, and whoever starts
    coordinator and agents together may take the end of one for the end of all. `on_hub` is given
    the hub before anybody joins. Without `keys` whoever reaches the address may join, and the
    result says so.
    """
    spec = specification(source)
    records: list[RunRecord] = []
    engine = processes(spec, bind=bind, token="", spawn=0, keys=keys, on_join=on_join)
    try:
        on_hub(engine.hub)
    except BaseException:
        engine.close()
        raise
    with engine:
        for number in range(spec.repeat):
            records.append(engine.run(spec, number, observe))
            on_record(records[-1])
        found = result(spec, records)
        found.links = "keys" if keys is not None else "insecure"
        if keys is None:
            found.warnings.insert(0, NO_KEYS)
        yield found


def result(spec: RunSpec, records: list[RunRecord]) -> Result:
    """The result that these runs of a specification make."""
    return Result(
        system=spec.system,
        variant=spec.variant,
        engine=spec.engine.kind,
        seed=spec.seed,
        runs=records,
        specification=msgspec.to_builtins(spec),
        network=dict(spec.definition().network(spec, 0).facts),
        warnings=spec.advice(),
    )
