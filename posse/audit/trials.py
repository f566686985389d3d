"""Runs in memory on audited data sets, on all cores; each piece is kept when it is done."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from posse.audit.event import ViewTable, join_tables
from posse.audit.neighbours import AuditedArms, TooLong
from posse.audit.view import Adversary, EnoughSeen
from posse.durable.batch import Piece, Store, outcomes
from posse.durable.made_by import made_by
from posse.engines import memory
from posse.engines.start.pool import on_all_cores
from posse.gates.decode import Packed
from posse.hosts.spending import keep_none
from posse.plan import Plan, decode_plan
from posse.protocol.privacy import AdversaryView, Neighbours
from posse.security.noise import AuditedNoise
from posse.wire.sources import of_this_machine

SIZE = 200
"""Runs per piece."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """`count` runs of a specification on data set `side` of a case, numbered from `first`.

    Without a case, each run draws the run file's own rewards anew and puts its arms in another
    order. `watched`: agents that view "agent" sees. `keep` names the numbers to keep; empty means
    all. `noise`: the libraries of the field's noise, if it is drawn by them.
    """

    document: bytes
    case: Neighbours | None
    side: int
    first: int
    count: int
    sees: AdversaryView
    watched: int = 1
    keep: tuple[str, ...] = ()
    noise: str = ""

    @property
    def name(self) -> str:
        """The name under which the result is kept."""
        return hashlib.sha256(msgspec.msgpack.encode(self)).hexdigest()[:32]


_KEPT: Packed[tuple[tuple[str, ...], bytes, float | None, int]] = Packed(
    tuple[tuple[str, ...], bytes, float | None, int]
)

_ENDLESS = 3
"""Cut runs, with none that ended, that end a piece: on such data runs do not end."""


def _encode(table: ViewTable) -> bytes:
    return msgspec.msgpack.encode((table.names, table.values.tobytes(), table.spent, table.cut))


def _decode(data: bytes) -> ViewTable:
    names, values, spent, cut = _KEPT.read(data)
    return ViewTable(names, np.frombuffer(values).reshape(-1, len(names)), spent, cut)


def run_of(number: int, side: int = 0) -> int:
    """The number of a run in its engine; no two runs of an audit share one, whatever their data."""
    return 2 * number + side


def carry_out(trial: Trial) -> ViewTable:
    """Carry out a trial: a row for each run that was not cut; `TooLong` if all are."""
    plan = decode_plan(trial.document)
    rows: list[dict[str, float]] = []
    spent: list[float] = []
    cut = 0
    for number in range(trial.first, trial.first + trial.count):
        agent = trial.case.agent if trial.case is not None else 0
        adversary = Adversary(plan, trial.sees, agent, trial.watched)
        horizon = hasattr(plan.parameters, "horizon")
        arms = AuditedArms(trial.case, trial.side, trial.sees == "pulls", horizon)
        arms.reader = plan.system.make_reader(plan.spec, plan.parameters)
        tap = partial(_hear, arms, adversary)
        sources = replace(
            of_this_machine(lambda: 0),
            arms=arms.arms,
            noise=AuditedNoise,
            real_noise=bool(trial.noise),
            entering=keep_none,  # rewards are the audit's own
        )
        try:
            record = memory.run(plan, run_of(number, trial.side), tap=tap, sources=sources)
        except EnoughSeen:
            pass
        except TooLong:
            cut += 1
            if not rows and cut >= min(_ENDLESS, trial.count):
                raise
            continue
        else:
            spent += (record.privacy and record.privacy.spent_per_agent) or []
        rows.append(adversary.collect(arms.pulls))
    names = trial.keep or tuple(dict.fromkeys(name for row in rows for name in row))
    nan = float("nan")
    values = np.array([[row.get(name, nan) for name in names] for row in rows], dtype=float)
    return ViewTable(names, values.reshape(len(rows), len(names)), max(spent, default=None), cut)


def _hear(
    arms: AuditedArms, adversary: Adversary, source: int | None, target: int | None, frame: bytes
) -> None:
    """Pass a frame to the arms, which may depend on it, and to the adversary."""
    arms.hear(frame)
    adversary(source, target, frame)


@dataclass(frozen=True)
class Bench:
    """Carries out the trials of a plan; it keeps their results in `folder`, if given.

    `done` is called for each piece that ends, with whether it was kept from before. `noise` names
    the libraries of the field's noise; "" draws the lab's, which a seed repeats. `watched`: how
    many agents view "agent" sees, the audited one and the next ones.
    """

    plan: Plan
    folder: Path | None = None
    jobs: int | None = None
    done: Callable[[bool], None] = lambda before: None
    noise: str = ""
    watched: int = 1

    def tables(
        self,
        case: Neighbours | None,
        sees: AdversaryView,
        first: int,
        count: int,
        keep: tuple[str, ...] = (),
    ) -> list[ViewTable]:
        """The views of `count` runs on each data set of a case, numbered from `first`.

        Without a case there is one data set, the run file's own.
        """
        sides = (0,) if case is None else (0, 1)
        document = msgspec.msgpack.encode(self.plan.spec)
        trials = [
            Trial(
                document=document,
                case=case,
                side=side,
                first=start,
                count=min(SIZE, first + count - start),
                sees=sees,
                watched=self.watched,
                keep=keep,
                noise=self.noise,
            )
            for side in sides
            for start in range(first, first + count, SIZE)
        ]
        store = None
        if self.folder is not None:
            store = Store(self.folder, made_by(self.plan), _encode, _decode)
        pieces = [Piece(trial, trial.name, store) for trial in trials]
        work = partial(on_all_cores, carry_out, jobs=self.jobs)
        tables, each = outcomes(pieces, work, self.done), len(trials) // len(sides)
        return [join_tables(tables[start : start + each]) for start in range(0, len(trials), each)]
