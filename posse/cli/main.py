"""The command line. Each command has a file of its own, loaded only when it is called.

In such a file, `add` adds the command's options, and `run` carries it out and returns its exit
code: 0 the command did what it says (a run that ended without consensus is a result); 2 the input
was wrong and nothing was started; 3 a run failed; 1 this machine cannot do it (an extra is missing,
a port is taken, nobody answers); 130 interrupted. For a further verb they are `add_VERB` and
`run_VERB`.
"""

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from posse import defect, log
from posse.cli import streams
from posse.cli.options import add_volume
from posse.cli.parser import CommandsParser, Parser
from posse.cli.version import version
from posse.errors import INTERRUPTED, PosseError, RunFailed
from posse.gates.code import Imports, trusting
from posse.gates.shown import printable

VERBS_BY_PURPOSE = {
    "Find the best arm, on this machine": {
        "import": ("importing", "write a run file of a public log or graph, with a receipt"),
        "new": ("new", "write a first system of your own, with run file and test"),
        "list": ("listing", "list systems, arms and topologies with their parameters"),
        "check": ("check", "check and explain a run file without starting anything"),
        "run": ("series", "run every agent and all repeats of a run file, for one result"),
        "sweep": ("sweep", "run a run file for every combination of some keys' values"),
    },
    "See what a run found and cost": {
        "report": ("report", "write one page about a run, a sweep or an audit"),
        "compare": ("report:compare", "write one page that compares runs on the same arms"),
        "watch": ("watch", "follow the runs that write into a folder, on a live page or as text"),
        "topology": ("topology", "describe and draw the graph of a run file"),
        "judge": ("judge", "try on a system of your own what ours must hold"),
        "simulate": ("simulate", "try a run file under thousands of drawn faults"),
    },
    "Run on several machines": {
        "keys": ("keys", "make key pairs for a coordinator and its agents"),
        "allow": ("keys:allow", "add another party's public key to a key folder"),
        "revoke": ("keys:revoke", "remove an agent's public key from a key folder"),
        "coordinator": ("coordinator", "wait for agents to join from elsewhere, then run"),
        "agent": ("agent", "join a coordinator as one agent"),
        "abandon": ("abandon", "give up an interrupted run that nobody wants to resume"),
        "status": ("status", "ask a coordinator which agents are up and which it waits for"),
    },
    "See what a run gave away": {
        "audit": ("audit", "find a lower bound on what messages reveal about one reward"),
        "ledger": ("ledger", "show the runs that used an agent's rewards, and their cost"),
        "replay": ("replay", "show a machine at a time of its run, and why it decided"),
        "capture": ("capture", "run a run file and record every frame of its links"),
        "frames": ("capture:frames", "show the frames of a capture, one per line"),
    },
    "Others": {
        "completion": ("completion", "print a script for shell completion"),
    },
}
"""For each purpose its commands: name; file, and the verb if the file has several; what it does."""
VERBS = {name: verb for verbs in VERBS_BY_PURPOSE.values() for name, verb in verbs.items()}

ELSEWHERE = {"paper": "posse-papers", "arena": "posse-arena"}
"""Commands of packages beside posse, each with the package to install for it."""
_LONGEST = 10_000
_EPILOG = """\
posse COMMAND --help shows a command's options. Exit codes: 0 done, 1 this
machine cannot do it, 2 wrong input (nothing was started), 3 a run failed, 130
interrupted.

Begin with a system of your own, or with one of ours from posse list:
  posse new my_system
  posse run my_system/run.toml"""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error codes of a disk that accepts no more data; the error does not name the file."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    streams.prepare()
    streams.leave_on_signals()
    log.plain()
    words = sys.argv[1:] if arguments is None else arguments
    named = next((word for word in words if not word.startswith("-")), "")
    added = {} if named in VERBS else added_verbs()
    try:
        if named in ELSEWHERE and named not in added:
            package = ELSEWHERE[named]
            raise PosseError(
                f"posse {named} is in the package {package}, which is not installed; in a clone of "
                f"the repository: python -m pip install -e {package.removeprefix('posse-')}"
            )
        options = parser([named], added).parse_args(words)
    except PosseError as error:
        return _complain(error, [], False)
    try:
        streams.watch_signals()
        with ExitStack() as options.until_end:
            return _carry_out(options)
    except KeyboardInterrupt:
        streams.ignore_signals()
        log.complain("interrupted")
        return INTERRUPTED


def _carry_out(options: argparse.Namespace) -> int:
    """Carry out the command; report what went wrong in a sentence."""
    try:
        imports = Imports.ALL if vars(options).get("trust") else options.imports
        with trusting(imports):
            code: int | None = options.command(options)
        sys.stdout.flush()
        return code or 0
    except streams.OutputError as error:
        where = getattr(options, "written", None)
        kept = f"; the result is in {where}" if where is not None else ""
        return error.exit_code if error.gone else _complain(PosseError(f"{error}{kept}"), [], False)
    except PosseError as error:
        return _complain(error, getattr(error, "__notes__", []), options.verbose)
    except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
        from posse.engines.start import room

        if isinstance(error, OSError) and error.filename is not None:
            refusal = PosseError(f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}")
        elif room.is_short_of_tasks(error):
            refusal = PosseError(f"{room.FEW_TASKS}; {room.RAISE_TASKS}")
        elif defect.place(error):
            refusal = RunFailed(defect.describe(error))
        elif isinstance(error, OSError) and error.errno in _FULL:
            target = getattr(options, "draw", None) or getattr(options, "out", None) or "a file"
            refusal = PosseError(f"{target} cannot be written: {error.strerror}")
        else:
            raise
        return _complain(refusal, [traceback.format_exc()], options.verbose)


def _complain(error: PosseError, notes: list[str], verbose: bool) -> int:
    """Print the sentence, with `notes` if `verbose`; return the exit code."""
    more = "; --verbose shows the traceback" if notes and not verbose else ""
    lines = (printable(line, _LONGEST) for line in str(error).split("\n"))
    log.complain("\n".join(lines) + more)
    for note in notes if verbose else ():
        log.remark(note)
    return error.exit_code


class _Version(argparse.Action):
    """Prints the lines as they are; argparse's own action would fill them as a paragraph."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(version())
        parser.exit()


def added_verbs() -> dict[str, EntryPoint]:
    """The commands that installed packages add, by name (`posse.verbs` says how)."""
    return {
        entry.name: entry for entry in entry_points(group="posse.verbs") if entry.name not in VERBS
    }


def _module(name: str, added: Mapping[str, EntryPoint]) -> tuple[Any, str]:
    """The module of a command, and how its functions' names end in it."""
    if name in VERBS:
        file, _, verb = VERBS[name][0].partition(":")
        return import_module(f"posse.cli.{file}"), f"_{verb}" if verb else ""
    try:
        return added[name].load(), ""
    except Exception as error:
        raise PosseError(
            f"posse {name} cannot be loaded from {added[name].value}: {error}; install its package "
            "again, in a version that fits this posse"
        ) from error


def parser(
    asked: Iterable[str] | None = None, added: Mapping[str, EntryPoint] | None = None
) -> argparse.ArgumentParser:
    """The parser of all commands; those in `asked` get their options, by default all.

    `added` are other packages' commands, by default all that are installed.
    """
    if added is None:
        added = added_verbs()
    purposes = {purpose: [*verbs] for purpose, verbs in VERBS_BY_PURPOSE.items()}
    purposes["Others"] += added
    whole = CommandsParser(
        purposes,
        prog="posse",
        description="Private multi-agent bandits, run for real: agents are processes, messages\n"
        "cross real sockets, and costs and disclosure are measured on the wire.",
        epilog=_EPILOG,
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="show what is installed")
    add_volume(whole, default=False)
    whole.set_defaults(command=lambda options: whole.print_help(), imports=Imports.OWN)
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    helps = {name: does for name, (_, does) in VERBS.items()}
    for name, entry in added.items():
        helps[name] = (entry.dist and entry.dist.metadata["Summary"]) or entry.value
    verbs = {
        name: commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
        for name, does in helps.items()
    }
    for name in helps if asked is None else helps.keys() & {*asked}:
        module, end = _module(name, added)
        getattr(module, f"add{end}")(verbs[name])
        verbs[name].set_defaults(command=getattr(module, f"run{end}"))
        add_volume(verbs[name])
        if name in ("coordinator", "agent", "status"):
            verbs[name].add_variables()
    return whole
