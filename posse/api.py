"""`posse.run`: one specification, all its runs, one result."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from posse.durable.capture import writing
from posse.engines import memory
from posse.engines.base import Observer, silent
from posse.engines.platform import require_processes
from posse.engines.pool import on_all_cores
from posse.plan import Plan, Source, changed, prepare
from posse.results.record import RunRecord
from posse.results.result import Result
from posse.spec.runfile import RunSpec, read

if TYPE_CHECKING:
    from posse.engines.hub import Hub
    from posse.engines.processes import ProcessEngine
    from posse.security.keys import CoordinatorKeys

NO_KEYS = (
    "insecure: the links had no keys; whoever reached them could join, read and change messages"
)


def load(path: str | Path, overrides: list[str] | None = None) -> RunSpec:
    """Read and check a run file; `overrides` are "path=value" as on the command line."""
    return prepare(read(path, overrides)).spec


def parse(raw: dict[str, Any]) -> RunSpec:
    """Check a run specification given as plain data."""
    return prepare(raw).spec


def run(
    source: Source,
    *,
    seed: int | None = None,
    repeat: int | None = None,
    agents: int | None = None,
    engine: Literal["processes", "memory"] | None = None,
    parameters: Mapping[str, Any] | None = None,
    observe: Observer = silent,
    on_join: Callable[[int], None] = lambda joined: None,
    on_record: Callable[[RunRecord], None] = lambda record: None,
    jobs: int = 1,
    capture: str | Path | None = None,
) -> Result:
    """Run a specification `repeat` times.

    `source` is a run file's path, its content as a dict, or a `RunSpec`; `seed`, `repeat`, the
    number of `agents`, the `engine` and some `parameters` may be given anew.
    `observe` is called as messages arrive, `on_join` as agents join, `on_record` after each run.
    `jobs` processes share the runs of engine `memory`, which then cannot be observed; the result
    is the same. (Engine `processes` is on all cores anyway.) `capture` is a file that every frame
    of the links is written into: `posse.testing` reads it.
    Raises `SpecError` before anything is started, `RunFailed` or `ArmsError` if a run fails.
    """
    plan = changed(
        prepare(source),
        seed=seed,
        repeat=repeat,
        agents=agents,
        engine=engine,
        parameters=parameters,
    )
    plan.require()
    records: list[RunRecord] = []

    def keep(record: RunRecord) -> None:
        records.append(record)
        on_record(record)

    numbers = range(plan.spec.repeat)
    with writing(capture) as tap:
        if plan.spec.engine.kind == "processes":
            with processes(plan, on_join=on_join, capture=tap) as up:
                for number in numbers:
                    keep(up.run(plan, number, observe))
        elif jobs > 1 and len(numbers) > 1 and tap is None:
            document = msgspec.msgpack.encode(plan.spec)
            for record in on_all_cores(_one, [(document, number) for number in numbers], jobs):
                keep(record)
        else:
            for number in numbers:
                keep(memory.run(plan, number, observe, tap))
    return result(plan, records)


def _one(item: tuple[bytes, int]) -> RunRecord:
    document, number = item
    return memory.run(_plan_of(document), number)


@lru_cache(maxsize=1)
def _plan_of(document: bytes) -> Plan:
    return prepare(msgspec.msgpack.decode(document, type=RunSpec))


def processes(plan: Plan, **options: Any) -> "ProcessEngine":
    """Engine `processes`, not yet up; `SpecError` where the operating system cannot have it."""
    require_processes()
    from posse.engines.processes import ProcessEngine  # noqa: PLC0415

    return ProcessEngine(plan, **options)


@contextmanager
def serve(
    source: Source,
    *,
    bind: str,
    keys: "CoordinatorKeys | None" = None,
    capture: str | Path | None = None,
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
    plan = prepare(source)
    plan.require(0)
    records: list[RunRecord] = []
    with ExitStack() as opened:
        tap = opened.enter_context(writing(capture))
        engine = processes(
            plan, bind=bind, token="", spawn=0, keys=keys, on_join=on_join, capture=tap
        )
        try:
            on_hub(engine.hub)
        except BaseException:
            engine.close()
            raise
        opened.enter_context(engine)
        for number in range(plan.spec.repeat):
            records.append(engine.run(plan, number, observe))
            on_record(records[-1])
        found = result(plan, records)
        found.links = "keys" if keys is not None else "insecure"
        if keys is None:
            found.warnings.insert(0, NO_KEYS)
        yield found


def result(plan: Plan, records: list[RunRecord]) -> Result:
    """The result that these runs of a plan make."""
    spec = plan.spec
    return Result(
        system=spec.system,
        variant=spec.variant,
        engine=spec.engine.kind,
        seed=spec.seed,
        runs=records,
        specification=msgspec.to_builtins(spec),
        network=plan.network(0).facts,
        warnings=plan.advice(),
    )
