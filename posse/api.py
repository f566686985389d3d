"""`posse.run`: one specification, all its runs, one result."""

import hashlib
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import msgspec

import posse
from posse.coordinator.setups import Observer, silent
from posse.durable.batch import Piece, carry_out
from posse.durable.capture import Capture, writing
from posse.durable.directory import RunDirectory
from posse.durable.journal import Journal
from posse.durable.made_by import main_has_file
from posse.engines import arrays, memory
from posse.engines.start import dask
from posse.engines.start.dask import DaskPlacement
from posse.engines.start.pool import on_all_cores
from posse.engines.start.room import cores, require_processes
from posse.errors import InputError, PosseError, SpecError
from posse.gates import locks
from posse.gates.signatures import ORDERS, SignedRegister
from posse.log import LOG
from posse.plan import NOT_IMPORTABLE, Plan, Source, changed, decode_plan, prepare
from posse.progress import RunProgress, of_notebook
from posse.results.record import RunRecord
from posse.results.result import Links, Result
from posse.security import address
from posse.spec.fingerprint import PATIENCE, fingerprint
from posse.spec.runfile import RunSpec, read
from posse.wire.lookup import own_address, reachable_address

if TYPE_CHECKING:
    from distributed import Client

    from posse.coordinator.hub import Hub
    from posse.engines.processes import ProcessEngine
    from posse.security.keys import CoordinatorKeys
    from posse.wire.world import World

_LATECOMERS = 30.0
"""Seconds within which containers and jobs that are started with their coordinator come."""

Outcomes = Generator[tuple[int, RunRecord | PosseError], None, None]
"""The outcome of each run as it ends, with its position among the runs that were asked for."""
RunMaker = Callable[[Sequence[int]], Outcomes]
"""Makes the runs with these numbers."""


def load(path: str | Path, overrides: list[str] | None = None) -> RunSpec:
    """Read and check a run file; `overrides` are "path=value" as on the command line."""
    return prepare(read(path, overrides or ())).spec


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
    on: str | DaskPlacement | None = None,
    out: str | Path | None = None,
) -> Result:
    """Run a specification `repeat` times.

    `source` is a run file's path, its content as a dict, or a `RunSpec`. `seed`, `repeat`, `agents`
    (their number), `engine` and single `parameters` override what it says.

    - `observe` is called as messages arrive, `on_join` as agents join, `on_record` after each run.
    - `jobs` processes share the runs of engine `memory`; the result is the same, but the runs
      cannot be observed. Each process imports the calling script, so a script must guard its own
      calls with `if __name__ == "__main__":`. Engine `processes` uses all cores anyway.
    - `capture` is a file that receives every frame of the links; `posse.testing` reads it.
    - `out` is a folder for the result, as of `posse run --out`: runs that it has are not made
      again, and `posse report` draws it.
    - `on` is a Dask cluster, "dask://HOST:PORT" or a `DaskPlacement`. Its workers run the agents,
      or the runs of engine `memory`. `capture` then holds the coordinator's frames only.

    The warnings of `posse check` go to the logger "posse" and to the result's `warnings`. Raises
    `SpecError` before anything starts, `RunFailed` or `ArmsError` if a run fails.
    """
    placement = _placement(on, jobs)
    keys = {"seed": seed, "repeat": repeat, "agents.count": agents, "engine.kind": engine}
    plan = changed(source, keys, parameters)
    plan.require(None if placement is None else 0)
    for sentence in plan.advice():  # before the runs: a warning may say that they never end
        LOG.warning("%s", sentence)
    directory = None if out is None else RunDirectory(Path(out), plan).open()
    screen = of_notebook()
    with ExitStack() as held, RunProgress(plan, screen) as progress:
        if directory is not None:
            held.enter_context(locks.held(directory.path))
        observe = progress.observe if observe is silent and screen.every < math.inf else observe
        make = partial(make_runs, plan, on_join=on_join, jobs=jobs, capture=capture, on=placement)

        def work(numbers: Sequence[int]) -> Outcomes:
            return held.enter_context(closing(make(numbers, observe=observe)))

        def ended(record: RunRecord, before: bool) -> None:
            progress.done(before=before)
            on_record(record)

        result = plan.result(make_series(plan, directory, work, ended), links_of(plan, placement))
        if directory is not None:
            directory.complete(result)
    return result


def _placement(on: str | DaskPlacement | None, jobs: int) -> DaskPlacement | None:
    """Where agents are placed; `InputError` for what is no place, or no number of processes."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"jobs = {jobs!r:.60}: must be a whole number, 1 or more")
    if on is not None and not isinstance(on, str | DaskPlacement):
        raise InputError(f"on = {on!r:.60}: must be 'dask://HOST:PORT' or a DaskPlacement")
    return DaskPlacement(on) if isinstance(on, str) else on


def make_series(
    plan: Plan,
    directory: RunDirectory | None,
    work: RunMaker,
    ended: Callable[[RunRecord, bool], None],
) -> list[RunRecord]:
    """Make the runs that a directory lacks; the records of all, in order.

    `ended` is called after each, with whether it was there before. If one fails, or the series is
    interrupted, the directory says why.
    """
    pieces = (
        directory.pieces()
        if directory is not None
        else [Piece[int, RunRecord](number, str(number)) for number in range(plan.spec.repeat)]
    )
    records: dict[int, RunRecord] = {}
    try:
        for done in carry_out(pieces, work):
            if isinstance(done.outcome, PosseError):
                raise done.outcome
            records[done.place] = done.outcome
            ended(done.outcome, done.before)
    except (PosseError, KeyboardInterrupt) as error:
        if directory is not None:
            ordered = [records[number] for number in sorted(records)]
            reason = str(error) or "interrupted"
            directory.fail(reason, ordered, getattr(error, "__notes__", ()))
        raise
    return [records[number] for number in sorted(records)]


def links_of(plan: Plan, on: DaskPlacement | None) -> Links:
    """How the links of a posse that one command starts are protected."""
    return "local" if on is None or plan.spec.engine.kind == "memory" else "keys"


def make_runs(
    plan: Plan,
    numbers: Sequence[int],
    *,
    observe: Observer = silent,
    on_join: Callable[[int], None] = lambda joined: None,
    jobs: int = 1,
    capture: str | Path | None = None,
    on: DaskPlacement | None = None,
    on_hub: Callable[["Hub"], None] = lambda hub: None,
) -> Outcomes:
    """Make the runs with these numbers; see `run` for the options.

    `on_hub` receives the hub of engine `processes`.
    """
    with writing(capture) as tap, ExitStack() as connected:
        in_memory = plan.spec.engine.kind == "memory"
        if plan.spec.network is not None and on is not None and not in_memory:
            _refuse_network()
        shared = jobs > 1 and len(numbers) > 1 and tap is None
        if in_memory and (shared or on is not None):
            _require_importable(plan, on)
            yield from side_by_side([encode_run(plan, number) for number in numbers], jobs, on)
        elif in_memory:
            yield from enumerate(_in_memory(plan, numbers, observe, tap))
        elif on is not None and on.coordinator == "worker":
            yield from _on_a_worker(plan, numbers, on)
        else:
            make: Callable[..., ProcessEngine] = make_process_engine
            if on is not None:
                make = partial(
                    make_placed_engine, client=connected.enter_context(dask.connect(on)), on=on
                )
            engine = make(plan, on_join=on_join, capture=tap)
            on_hub(engine.hub)
            with engine as up:
                yield from on_engine(up, plan, numbers, observe)


def _refuse_network() -> NoReturn:
    raise SpecError(
        "network", "is emulated on one machine; where agents are elsewhere leave it out"
    )


def _require_importable(plan: Plan, on: DaskPlacement | None) -> None:
    """`SpecError` if other processes cannot import the plan's code from this one's `__main__`."""
    if plan.main_code and (on is not None or not main_has_file()):
        raise SpecError(plan.main_code, f"{NOT_IMPORTABLE}, or use jobs = 1 on this machine")


def side_by_side(
    tasks: "Sequence[EncodedRun]", jobs: int | None, on: DaskPlacement | None
) -> Outcomes:
    """Make runs in memory, in `jobs` processes of this machine or on the workers of a cluster."""
    with ExitStack() as connected:
        client = None if on is None else connected.enter_context(dask.connect(on))
        many = jobs or (cores() if client is None else dask.threads(client))
        parts: list[tuple[bytes, Sequence[int]]] = []
        for document, group in groupby(tasks, key=itemgetter(0)):
            numbers = [number for _, number in group]
            together = arrays.together(decode_plan(document), numbers, many)
            parts += [(document, part) for part in together]
        places = list(accumulate((len(part) for _, part in parts), initial=0))
        if client is None:
            outcomes = on_all_cores(make_encoded_runs, parts, jobs)
        else:
            outcomes = dask.on_workers(client, make_encoded_runs, parts)
        for index, made in outcomes:
            for place in range(places[index], places[index + 1]):
                yield place, made if isinstance(made, PosseError) else made[place - places[index]]


def _on_a_worker(plan: Plan, numbers: Sequence[int], on: DaskPlacement) -> Outcomes:
    """Make runs one after the other, each with its coordinator on a worker of the cluster."""
    with dask.connect(on) as client, dask.leash(client) as leash:
        work = partial(make_placed_run, on, leash)
        for place, number in enumerate(numbers):
            yield place, next(dask.on_workers(client, work, [encode_run(plan, number)]))[1]


def on_engine(
    engine: "ProcessEngine", plan: Plan, numbers: Sequence[int], observe: Observer = silent
) -> Outcomes:
    """Make the runs with these numbers on an engine that is already up."""
    for place, number in enumerate(numbers):
        yield place, engine.run(plan, number, observe)


EncodedRun = tuple[bytes, int]
"""An encoded specification and a run number, to be sent to another process."""


def encode_run(plan: Plan, number: int) -> EncodedRun:
    """Run `number` of a plan, as an argument for `side_by_side`."""
    return msgspec.msgpack.encode(plan.spec), number


def make_encoded_runs(task: tuple[bytes, Sequence[int]]) -> list[RunRecord]:
    """Make runs in memory; any process that has posse installed can call it."""
    document, numbers = task
    return list(_in_memory(decode_plan(document), numbers))


def _in_memory(
    plan: Plan, numbers: Sequence[int], observe: Observer = silent, tap: Capture | None = None
) -> Iterator[RunRecord]:
    """Make runs in this process, one after the other or together, whichever takes less time."""
    if plan.spec.network is None:
        yield from memory.series(plan, numbers, observe, tap)
    for number in () if plan.spec.network is None else numbers:
        yield run_in_memory(plan, number, observe, tap)


def run_in_memory(
    plan: Plan,
    number: int,
    observe: Observer = silent,
    tap: Capture | None = None,
    serial: int | None = None,
) -> RunRecord:
    """Make one run in this process: with `[network]` over that, in virtual time.

    `serial` is its number in the capture `tap`, by default its own.
    """
    if plan.spec.network is None:
        return memory.run(plan, number, observe, tap, serial)
    from posse.engines.simulated import run as simulated  # noqa: PLC0415  (it needs greenlet)

    return simulated.run(plan, number, observe, tap, number if serial is None else serial)


def make_placed_engine(
    plan: Plan, client: "Client", on: DaskPlacement, **options: Any
) -> "ProcessEngine":
    """Engine `processes`, not yet started: the coordinator is here, the agents are on a cluster."""
    require_processes()
    from posse.engines.start.placing import OnWorkers  # noqa: PLC0415

    worker = dask.a_worker(client, on, plan)
    return make_process_engine(
        plan,
        bind=on.bind or address.join(own_address(worker), "*"),
        token="",
        starter=partial(OnWorkers, client, plan, on.per_worker),
        way=lambda who, whom, port: reachable_address(port, worker),
        **options,
    )


def make_placed_run(on: DaskPlacement, leash: str, task: EncodedRun) -> RunRecord:
    """Make one run whose coordinator is on the Dask worker that executes this call."""
    from distributed import worker_client  # noqa: PLC0415

    document, number = task
    plan = decode_plan(document)
    with (
        worker_client() as client,
        make_placed_engine(plan, client, on) as up,
        dask.heeding(client, leash, up.hub.interrupted.set),
    ):
        return up.run(plan, number)


def make_process_engine(plan: Plan, **options: Any) -> "ProcessEngine":
    """Engine `processes`, not yet started; `SpecError` if the operating system lacks support."""
    require_processes()
    from posse.engines.processes import ProcessEngine  # noqa: PLC0415

    return ProcessEngine(plan, **options)


@contextmanager
def serve(
    plan: Plan,
    *,
    bind: str,
    keys: "CoordinatorKeys | None" = None,
    capture: str | Path | None = None,
    journal: Path | None = None,
    on_hub: Callable[["Hub"], None] = lambda hub: None,
    observe: Observer = silent,
    on_join: Callable[[int], None] = lambda joined: None,
    world: "World | None" = None,
    resumable: bool = False,
    over: bool = False,
) -> Iterator[RunMaker]:
    """Like `make_runs`, for agents that join from elsewhere at the address `bind`.

    Leave the context only when the result is safe. The agents are released then, and a user who
    starts coordinator and agents together may take the end of one for the end of all.

    - `on_hub` receives the hub before any agent joins.
    - `journal` lets a run continue after this process was killed. The file is removed when all
      agents are released. If all runs were already made (`over`), ask for no runs to release the
      agents; if they are `resumable`, also those that come within half a minute.
    - `resumable`: with a journal, Ctrl-C and SIGTERM only interrupt: agents are not released, and
      the run can continue.
    - Without `keys`, everybody who can reach the address may join.
    - `world` is this machine, or a simulated one.
    """
    if plan.spec.network is not None and world is None:
        _refuse_network()
    with ExitStack() as opened:
        keyed = keys is not None and plan.field
        kept = None if journal is None else _journal(journal, plan, over=over, keyed=keyed)
        if kept is not None:
            opened.callback(kept.close)
        goes_on = kept is not None and bool(kept.beginning)
        tap = opened.enter_context(writing(capture, goes_on=True))
        ended = opened.enter_context(ExitStack())
        own_world = {} if world is None else {"world": world}
        engine = make_process_engine(
            plan,
            bind=bind,
            token="",
            spawn=0,
            keys=keys,
            on_join=on_join,
            capture=tap,
            journal=kept,
            **own_world,
        )
        opened.push(engine)  # also if `on_hub` raises
        # not earlier: if the address is taken, the file may be of the coordinator that has it
        if tap is not None and not goes_on:
            tap.begin()
        on_hub(engine.hub)
        if kept is not None:  # nor this: nothing continued from it
            engine.hub.resumable, engine.hub.lobby.over = resumable, over
            ended.push(partial(_put_away, kept, plan, resumable))
            kept.open()
        opened.enter_context(engine)

        def made(numbers: Sequence[int]) -> Outcomes:
            if not numbers:
                engine.finish(plan)
                if resumable:
                    engine.hub.dismiss(_LATECOMERS)
            return on_engine(engine, plan, numbers, observe)

        yield made


def _journal(path: Path, plan: Plan, *, over: bool, keyed: bool) -> Journal:
    """The coordinator's journal; `InputError` if its run was ended, unless that is `over`."""
    signed = SignedRegister(path.with_suffix(ORDERS), lasts=True) if keyed else None
    journal = Journal(path, _run_of(plan), synchronous=plan.field, signed=signed)
    if journal.ended and not over:
        journal.close()
        raise InputError(
            f"the run in {path} was ended ({journal.ended}), and the rewards that it used are "
            "spent; name another --out to begin a new one, or give this one up with: posse abandon "
            f"{journal.path.parent}"
        )
    return journal


def _put_away(
    journal: Journal, plan: Plan, resumable: bool, kind: object, error: object, trace: object
) -> None:
    """Remove the journal of a run that is over, unless it can resume.

    If a run of the field was ended without a result, what is left says so: to begin a new one by
    itself would use rewards that nobody decided about.
    """
    if error is not None and (
        journal.broken or (resumable and isinstance(error, KeyboardInterrupt))
    ):
        journal.close()
    elif error is not None and journal.beginning and plan.field:
        journal.end(str(error) or "interrupted")
    else:
        journal.remove()


def _run_of(plan: Plan) -> str:
    """Names the owner of a coordinator's journal: run file and version."""
    named = sorted(fingerprint(plan.spec, without=PATIENCE).items())
    run = hashlib.sha256(msgspec.json.encode(named)).hexdigest()[:8]
    return f"the coordinator of run file {run}, posse {posse.__version__}"
