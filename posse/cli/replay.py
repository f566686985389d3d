"""`posse replay`: a machine's state at a time of its run, and what led to its last decision."""

import argparse
import math
from pathlib import Path

from posse.cli.options import FOREIGN, add_set, add_trust, console_of, number, real
from posse.cli.parser import Parser
from posse.errors import InputError
from posse.gates import files
from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR
from posse.security import keys
from posse.spec.runfile import override, read
from posse.testing import retrace

_FEW = 40
"""So many events before a decision are shown."""


def add(parser: Parser) -> None:
    text = "folder of a run of the lab, its run file (TOML), or the journal of an agent"
    parser.option("place PLACE", text, type=Path)
    add_set(parser, "override a key of the run file; see posse run")
    parser.option("--agent RANK", "whose machine to show (default: the server's)", type=number)
    parser.option("--run N", "which run of the series, from 0", type=number, default=0)
    finite = real("a number of at least 0", lambda value: 0 <= value < math.inf)
    parser.option(
        "--until TIME",
        "slot, or time of the run's clock, up to which to play (default: the end)",
        type=finite,
        default=math.inf,
    )
    parser.option("--why", "show the messages and rewards that led to its last decision until then")
    parser.option("--keys DIR", "of a journal whose agent signs: its folder of keys", type=Path)
    text = "of a journal whose system is one's own: the agent's run file (TOML)"
    parser.option("--file FILE", text, type=Path)
    add_trust(parser, FOREIGN)


def run(options: argparse.Namespace) -> None:
    trace = _trace(options)
    console = console_of(options)

    def say(text: str = "") -> None:
        console.print(text, soft_wrap=True, highlight=False, markup=False)

    if trace.machine is None:
        raise InputError(f"{trace.name} had not begun at {options.until:g}")
    say(f"{trace.name} at {trace.now:,.10g}, after {trace.kinds.total():,} events")
    for name, value in trace.state():
        say(f"  {name}: {value}")
    if options.why:
        say()
        _say_why(trace, say)


def _trace(options: argparse.Namespace) -> retrace.Trace:
    place: Path = options.place
    if not place.is_dir() and place.suffix != ".toml":
        if options.file is not None:
            prepare(options.file)
        pair = keys.for_agent(options.keys, -1) if options.keys else None
        signer = pair.signer if pair is not None else None
        return retrace.of_journal(place, until=options.until, signer=signer)
    plan = _plan(place, options)
    rank = options.agent
    if rank is None:
        rank = COORDINATOR if plan.system.server is not None else 0
    return retrace.of_lab(plan, rank, run=options.run, until=options.until)


def _plan(place: Path, options: argparse.Namespace) -> Plan:
    file = place / "spec.toml" if place.is_dir() else place
    files.require_files(file)
    return prepare(override(read(file), options.set))


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
