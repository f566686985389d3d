"""Many seeds on all cores; see `posse.testing.simulate`."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from posse.engines.simulated.visitors import visited
from posse.engines.start.pool import on_all_cores
from posse.errors import PosseError, SpecError
from posse.plan import Plan, Source, decode_plan
from posse.testing.simulator.check import SimulatedTrial, attempt, own_plan, shrunk
from posse.testing.simulator.faults import KINDS, InjectedFault

_Task = tuple[bytes, list[int], tuple[str, ...], list[InjectedFault] | None]
"""An encoded plan (b"" for posse's own systems), seeds, kinds of faults, or the faults."""

_AT_ONCE = 10
"""Seeds that a process tries before it answers."""


def simulate(
    source: Source | None = None,
    *,
    seeds: Iterable[int] = range(100),
    kinds: Sequence[str] = KINDS,
    faults: Sequence[InjectedFault] | None = None,
    jobs: int | None = 1,
) -> Iterator[SimulatedTrial]:
    """Try a specification under faults that each seed draws; yields what became of each seed.

    The coordinator and its agents are posse's own, in this process and in virtual time. Without a
    `source` posse's own systems take turns. `kinds` are the kinds of faults that are drawn, or
    `faults` those of every seed. `jobs` processes share the seeds (None: one per core). A trial
    whose `violations` are not empty has as few faults as it takes;
    `posse.testing.simulator.check` says what must hold.
    """
    plan = None if source is None else visited(source)
    if plan is not None and plan.field:
        raise SpecError(
            "mode",
            "is 'field', and simulated runs would use up your rewards; try it with mode = 'lab' "
            "and simulated arms",
        )
    encoded = b"" if plan is None else msgspec.msgpack.encode(plan.spec)
    given = None if faults is None else list(faults)
    numbers = list(seeds)
    parts = [numbers[at : at + _AT_ONCE] for at in range(0, len(numbers), _AT_ONCE)]
    tasks: list[_Task] = [(encoded, part, tuple(kinds), given) for part in parts]
    for _, outcome in on_all_cores(_try, tasks, jobs):
        if isinstance(outcome, PosseError):
            raise outcome
        yield from outcome


def _try(task: _Task) -> list[SimulatedTrial]:
    encoded, seeds, kinds, faults = task
    plan: Plan | None = decode_plan(encoded) if encoded else None
    trials = []
    for seed in seeds:
        of_seed = own_plan(seed) if plan is None else plan
        trial = attempt(of_seed, seed, faults, kinds)
        if trial.violations and faults is None:
            trial = shrunk(trial, of_seed)
        # events are many; a trial that is told shows them
        kept = trial.violations or len(seeds) == 1
        trials.append(trial if kept else msgspec.structs.replace(trial, events=[]))
    return trials
