"""The command line, put together of a file per verb. Heavy imports wait until a verb needs them.

Each of these files has `add`, which adds the verb with its options, and `run`, which does it and
gives its exit code: 0 the command did what it says (a run that ended without consensus is a
result); 2 the input was wrong and nothing was started; 3 a run failed; 1 this machine cannot do it
(an extra is missing, a port is taken, nobody answers); 130 interrupted.
"""

import argparse
import sys
import traceback
from contextlib import ExitStack

from posse import __version__, defect
from posse.cli import (
    agent,
    audit,
    capture,
    check,
    compare,
    completion,
    coordinator,
    environment,
    frames,
    keys,
    ledger,
    listing,
    new,
    paper,
    report,
    run,
    status,
    streams,
    sweep,
    topology,
    volume,
    watch,
)
from posse.errors import INTERRUPTED, PosseError, RunFailed
from posse.log import complain
from posse.own_code import require_rooms
from posse.printable import printable

VERBS = (
    run,
    listing,
    check,
    topology,
    coordinator,
    keys,
    status,
    watch,
    agent,
    ledger,
    sweep,
    report,
    compare,
    paper,
    audit,
    capture,
    frames,
    new,
    completion,
)
_LONGEST = 10_000


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    streams.prepare()
    streams.watch_signals()
    options = parser().parse_args(arguments)
    try:
        with ExitStack() as options.until_end:
            return _carry_out(options)
    except KeyboardInterrupt:
        streams.ignore_signals()
        complain("interrupted; every agent was told to go")
        return INTERRUPTED


def _carry_out(options: argparse.Namespace) -> int:
    """The command; what went wrong is said in a sentence."""
    try:
        require_rooms()
        code: int | None = options.command(options)
        sys.stdout.flush()
        return code or 0
    except streams.OutputError as error:
        where = getattr(options, "written", None)
        kept = f"; the result is in {where}" if where is not None else ""
        return error.exit_code if error.gone else _said(PosseError(f"{error}{kept}"), [], False)
    except PosseError as error:
        return _said(error, getattr(error, "__notes__", []), options.verbose)
    except Exception as error:
        if not defect.place(error):
            raise
        return _said(RunFailed(defect.said(error)), [traceback.format_exc()], options.verbose)


def _said(error: PosseError, notes: list[str], verbose: bool) -> int:
    """Print a sentence, and what more there is if that is wanted; its exit code."""
    more = "; --verbose shows the traceback" if notes and not verbose else ""
    said = "\n".join(printable(line, _LONGEST) for line in str(error).split("\n"))
    complain(said + more)
    if verbose:
        print(*notes, sep="\n", file=sys.stderr)
    return error.exit_code


def parser() -> argparse.ArgumentParser:
    """Every verb with its options."""
    whole = argparse.ArgumentParser(
        prog="posse",
        description="Private multi-agent bandits, run for real: agents are processes, messages "
        "cross real sockets, costs and disclosure are measured on the wire.",
        epilog="Exit codes: 0 done, 1 cannot be done, 2 wrong input (nothing started), 3 a run "
        "failed, 130 interrupted.",
    )
    whole.add_argument("--version", action="version", version=f"posse {__version__}")
    volume.add(whole, default=False)
    whole.set_defaults(command=lambda options: whole.print_help(), whole=whole)
    commands = whole.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=environment.Parser
    )
    for verb in VERBS:
        verb.add(commands)
    for command in commands.choices.values():
        volume.add(command)
    for name in ("coordinator", "agent", "status"):
        environment.add(commands.choices[name])
    return whole


if __name__ == "__main__":
    sys.exit(main())
