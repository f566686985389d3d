"""`posse replay`: a machine's state at a time of its run, and what led to its last decision."""

import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from posse.cli.options import SetOptions, WholeNumber, console, parsed, real
from posse.errors import InputError
from posse.gates import files
from posse.measure.numbers import counted
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.security import keys as key_files
from posse.spec.runfile import override, read
from posse.testing import retrace

_FEW = 40
"""The most events before a decision that are shown."""


_Time = Annotated[
    float, parsed(real("a number of at least 0", lambda value: 0 <= value < math.inf), "TIME")
]


def replay(
    place: Path,
    /,
    *,
    agent: WholeNumber | None = None,
    run: WholeNumber = 0,
    until: _Time = math.inf,
    why: bool = False,
    keys: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    file: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    captured: Annotated[Path | None, Parameter(metavar="FRAMES")] = None,
    settings: SetOptions = SetOptions(),
) -> None:
    """Show a machine's state at a time of its run.

    Args:
        place: folder of a run of the lab, its run file (TOML), or the journal of an agent
        agent: whose machine to show (default: the server's)
        run: which run of the series, from 0
        until: slot, or time of the run's clock, up to which to play
        why: show the messages and rewards that led to its last decision until then
        keys: of a journal whose agent signs: its folder of keys
        file: of a journal whose system is one's own: the agent's run file (TOML)
        captured: of a run of the lab: check that its messages are those of this capture
    """
    if not place.exists():
        raise InputError(
            f"{place} is not there; name a run's folder or file, or an agent's journal"
        )
    compare = None
    if place.is_dir() or place.suffix == ".toml":
        if captured is not None:
            files.require_files(captured)
            compare = retrace.SameMessages(captured, run)
        trace = _of_lab(place, settings, agent, run, until, compare)
    else:
        if file is not None:
            prepare(file)
        pair = key_files.for_agent(keys, -1) if keys else None
        signer = pair.signer if pair is not None else None
        trace = retrace.of_journal(place, until=until, signer=signer)
    to = console()

    def say(text: str = "") -> None:
        to.print(text, soft_wrap=True, highlight=False, markup=False)

    if trace.machine is None:
        at = f" at {until:g}" if until < math.inf else ""
        raise InputError(f"{trace.name} had not begun its run{at}")
    say(f"{trace.name} at {trace.now:,.10g}, after {trace.kinds.total():,} events")
    for name, value in trace.state():
        say(f"  {name}: {value}")
    if captured is not None and compare is not None:
        say(f"  {counted(compare.same, 'message')} up to then as in {captured}")
    if why:
        say()
        _say_why(trace, say)


def _of_lab(
    place: Path,
    settings: SetOptions,
    agent: int | None,
    run: int,
    until: float,
    compare: retrace.SameMessages | None,
) -> retrace.Trace:
    file = place / "spec.toml" if place.is_dir() else place
    files.require_files(file)
    plan = prepare(override(read(file), settings.set))
    rank = agent
    if rank is None:
        rank = COORDINATOR if plan.system.server is not None else 0
    return retrace.of_lab(plan, rank, run=run, until=until, compare=compare)


def _say_why(trace: retrace.Trace, say: retrace.Say) -> None:
    explained = trace.why()
    if not explained:
        say("It has decided nothing.")
    for decision, before in explained:
        say(f"It decided, at {decision.now:,.10g}:")
        for effect in decision.effects:
            say(f"  {retrace.effect_in_words(effect)}")
        say("Since the decision before it was handed:")
        if len(before) > _FEW:
            say(f"  {len(before) - _FEW:,} events, and then")
        for moment in before[-_FEW:]:
            say(f"  {moment.now:,.10g}  {retrace.event_in_words(moment.event)}")
    counts = ", ".join(f"{count:,} {kind}" for kind, count in trace.kinds.most_common())
    say(f"In all: {counts}")
