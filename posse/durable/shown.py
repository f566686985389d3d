"""What the page of `posse report` shows of a system whose code is the user's or a package's.

Whoever reads results imports no code that their folder names. So the run writes down, as data, what
its system would have said: `shown.msgpack`. Systems of posse itself need none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from posse import system as systems
from posse.errors import PosseError
from posse.gates import files
from posse.gates.decode import Packed
from posse.plan import Plan
from posse.protocol.arrays import FloatArray
from posse.protocol.control import TO_AGENT, TO_COORDINATOR, TO_LABS_COORDINATOR
from posse.protocol.message import kind_name
from posse.results.figures import POINTS, Figure, Pairs, Style, Values
from posse.results.record import Detail, RunRecord
from posse.spec.topology import PythonTopology
from posse.system.bounds import Bound
from posse.system.record import System

_MOST_BOUNDS = 20
"""Runs over whose instances a bound is averaged; the first."""

SHOWN = "shown.msgpack"


class _Figure(msgspec.Struct, kw_only=True):
    """A `Figure` with what it draws, by the number of the run; `fault`: why it cannot be drawn."""

    name: Annotated[str, Meta(pattern=r"^[^/\\\x00]{1,100}$")]
    title: str
    style: Style
    x: str
    y: str
    caption: str
    values: dict[int, Pairs] = {}
    crosses: dict[int, Pairs] = {}
    fault: str = ""


class _Bound(msgspec.Struct, kw_only=True):
    """A `Bound` whose curve is given by its points, (time, regret)."""

    label: str
    note: str
    rounds: float | None
    regret: Pairs | None


class _Shown(msgspec.Struct, kw_only=True):
    title: str
    paper: str
    units: dict[str, str]
    seeks: str
    figures: list[_Figure]
    bound: _Bound


@dataclass(frozen=True)
class ShownSystem:
    """A system as its page needs it: of posse, or read from `shown.msgpack`.

    `fields` has the names of the fields of each kind of message, `reveals` what the kind tells,
    where the code is loaded.
    """

    title: str
    paper: str
    figures: Sequence[Figure]
    detail: type[Detail]
    bound: Bound | None = None
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reveals: Mapping[str, str] = field(default_factory=dict)


def of_system(system: System) -> ShownSystem:
    """What the page shows of a system whose code is loaded."""
    results = system.results
    kinds = (
        *system.agent.hears,
        *system.server_hears,
        *TO_AGENT,
        *TO_COORDINATOR,
        *TO_LABS_COORDINATOR,
    )
    fields = {kind_name(kind): kind.__struct_fields__ for kind in kinds}
    reveals = {kind_name(kind): kind.reveals for kind in kinds if kind.reveals}
    return ShownSystem(
        system.title,
        system.paper,
        results.figures,
        results.detail,
        fields=fields,
        reveals=reveals,
    )


def mean_bound(plan: Plan, runs: Sequence[RunRecord]) -> Bound:
    """The bound of these runs, averaged, as each may have an instance of its own."""
    each = [plan.bound(run.run) for run in runs[:_MOST_BOUNDS]]
    curves = [bound.regret for bound in each if bound.regret is not None]
    rounds = [bound.rounds for bound in each if bound.rounds is not None]
    return replace(
        each[0],
        regret=(lambda t: np.mean([curve(t) for curve in curves], axis=0))
        if len(curves) == len(each)
        else None,
        rounds=float(np.mean(rounds)) if len(rounds) == len(each) else None,
    )


def write(folder: Path, plan: Plan, runs: Sequence[RunRecord]) -> None:
    """Write what the page shows of these runs, if their run file names code."""
    spec, system = plan.spec, plan.system
    if spec.system in systems.ours() and not isinstance(spec.topology, PythonTopology):
        return
    detail, arms = system.results.detail, spec.arms.arm_count()
    shown = _Shown(
        title=system.title,
        paper=system.paper,
        units=dict(detail.units),
        seeks=detail.seeks,
        figures=[_drawn(figure, arms, runs) for figure in system.results.figures],
        bound=_points(plan, runs),
    )
    files.write(folder / SHOWN, msgspec.msgpack.encode(shown))


_SHOWN: Packed[_Shown] = Packed(_Shown)


def read(folder: Path) -> ShownSystem | None:
    """What was written, None if there is nothing; `Undecodable` for anything else."""
    path = folder / SHOWN
    if not path.is_file():
        return None
    shown = _SHOWN.read(files.read(path))

    class ReadDetail(Detail):
        units = shown.units
        seeks = shown.seeks

    figures = [_figure(figure) for figure in shown.figures]
    bound = _bound(shown.bound)
    return ShownSystem(shown.title, shown.paper, figures, ReadDetail, bound)


def _points(plan: Plan, runs: Sequence[RunRecord]) -> _Bound:
    try:
        bound = mean_bound(plan, runs) if runs else Bound(note="")
        ends = [run.regret_curve[-1][0] for run in runs if run.regret_curve]
        regret = None
        if bound.regret is not None and ends:
            times = np.linspace(0, max(ends), POINTS)
            regret = list(zip(times.tolist(), bound.regret(times).tolist(), strict=True))
        return _Bound(label=bound.label, note=bound.note, rounds=bound.rounds, regret=regret)
    except Exception as error:  # the user's own code may raise anything
        why = f"No bound is drawn: {type(error).__name__}: {error}"
        return _Bound(label="", note=why, rounds=None, regret=None)


def _bound(points: _Bound) -> Bound:
    bound_times, limits = np.array(points.regret or [(0.0, 0.0)]).T

    def curve(times: FloatArray) -> FloatArray:
        limit: FloatArray = np.interp(times, bound_times, limits)
        return limit

    regret = curve if points.regret else None
    return Bound(label=points.label, note=points.note, rounds=points.rounds, regret=regret)


def _drawn(figure: Figure, arms: int, runs: Sequence[RunRecord]) -> _Figure:
    texts = {name: getattr(figure, name) for name in ("name", "title", "x", "y", "caption")}
    try:
        return _Figure(
            **texts,
            style=figure.style,
            values={run.run: _pairs(figure.values, run, arms) for run in runs},
            crosses={run.run: _pairs(figure.crosses, run, arms) for run in runs},
        )
    except Exception as error:  # the user's own code may raise anything
        return _Figure(**texts, style=figure.style, fault=f"{type(error).__name__}: {error}")


def _pairs(values: Values, run: RunRecord, arms: int) -> Pairs:
    return [(float(x), float(y)) for x, y in values(run, arms)]


def _figure(drawn: _Figure) -> Figure:
    def values(run: RunRecord, arms: int) -> Pairs:
        if drawn.fault:
            raise PosseError(drawn.fault)
        return drawn.values.get(run.run, [])

    return Figure(
        name=drawn.name,
        title=drawn.title,
        style=drawn.style,
        values=values,
        x=drawn.x,
        y=drawn.y,
        caption=drawn.caption,
        crosses=lambda run, arms: drawn.crosses.get(run.run, []),
    )
