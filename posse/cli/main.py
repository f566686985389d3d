"""The command line. Each verb has a file of its own, loaded only when it is called.

`posse.cli.frame` says how a verb is declared. Exit codes: 0 the command did what it says (a run
that ended without consensus is a result); 2 the input was wrong and nothing was started; 3 a run
failed; 1 this machine cannot do it (an extra is missing, a port is taken, nobody answers); 130
interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from posse import defect, log
from posse.cli import call, streams
from posse.cli.call import Verb
from posse.cli.version import version
from posse.errors import INTERRUPTED, InputError, PosseError, RunFailed
from posse.gates.code import Imports, trusting
from posse.gates.shown import printable

if TYPE_CHECKING:
    from cyclopts import App

    from posse.cli.frame import ParsedCall

VERBS_BY_PURPOSE = {
    "Find the best arm, on this machine": {
        "import": Verb("write a run file of a public log or graph", "clicks.csv --arm ad"),
        "new": Verb("write a first system of your own, or a field trial", "my_system"),
        "list": Verb("list systems, arms and topologies with their parameters", "dp-mase"),
        "check": Verb("explain a run file, or its graph", "run.toml --topology", Imports.OFFERED),
        "run": Verb("run a run file, for one or many values", "run.toml --over seed=1,2,3"),
    },
    "See what a run found and cost": {
        "report": Verb("write a page about a run, or several", "runs/mine", Imports.NOTHING),
        "watch": Verb("follow the runs of a folder", "runs/mine --text", Imports.NOTHING),
        "judge": Verb("try on a system of your own what ours must hold", "my_system/run.toml"),
        "simulate": Verb("try a run file under thousands of drawn faults", "run.toml --seeds 20"),
    },
    "Run on several machines": {
        "keys": Verb("make key pairs, and say whose are trusted", "keys --agents 8"),
        "coordinator": Verb("wait for agents, then run", "run.toml --bind tcp://127.0.0.1:7000"),
        "agent": Verb("join a coordinator as one agent", "--join tcp://127.0.0.1:7000"),
        "status": Verb("show which agents of a run are here", "runs/mine", Imports.NOTHING),
        "abandon": Verb("give up an interrupted run that nobody wants to resume", "runs/mine"),
    },
    "See what a run gave away": {
        "audit": Verb("bound what messages reveal about one reward", "run.toml --runs 0"),
        "verify": Verb("check who signed what a result says", "runs/mine --keys keys"),
        "ledger": Verb("show the runs that used an agent's rewards", "rewards.csv"),
        "replay": Verb("show a machine at a time of its run, and why", "runs/mine --why"),
        "frames": Verb("show the frames of a capture", "mine.frames --kind Vote"),
    },
    "Others": {
        "completion": Verb("print a script for shell completion", "bash"),
    },
}
"""For each purpose its verbs, by name; each is a function of its name, or in `_PLACES`."""
VERBS = {name: verb for verbs in VERBS_BY_PURPOSE.values() for name, verb in verbs.items()}

ELSEWHERE = {"paper": "posse-papers", "arena": "posse-arena"}
"""Commands of packages beside posse, each with the package to install for it."""
EXAMPLES = {"paper": "rio-1 --quick", "arena": "my_system/run.toml"}
"""The examples of these commands, which a help shows without loading them."""

_RENAMED = {"sweep": ["run"], "compare": ["report"], "topology": ["check", "--topology"]}
"""Verbs of older versions, and the words that now stand for each."""
_NOW = {
    "capture": "posse run FILE --capture FRAMES",
    "allow": "posse keys DIR --allow WHO PUBLIC",
    "revoke": "posse keys DIR --revoke RANK",
}
"""Verbs of older versions, and what to write instead."""
_PLACES = {
    "import": "importing:import_file",
    "list": "listing:list_names",
    "run": "series:run",
}
"""Where the function of a verb is, if not in a module of its name."""
_WITH_VARIABLES = ("coordinator", "agent")
"""Verbs whose options may come from the environment: `POSSE_JOIN` is `--join`."""

_LONGEST = 10_000
_EPILOGUE = """\
posse COMMAND --help shows a command's options. Exit codes: 0 done, 1 this machine cannot do it, \
2 wrong input (nothing was started), 3 a run failed, 130 interrupted.

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
    if words == ["--version"]:  # without the verbs, and cyclopts, half of the time
        print(version())
        return 0
    try:
        asked = parse(words)
    except PosseError as error:
        return _complain(error, [], False)
    try:
        streams.watch_signals()
        with call.begun(quiet=asked.quiet, verbose=asked.verbose):
            return _carry_out(asked)
    except KeyboardInterrupt:
        streams.ignore_signals()
        log.complain("interrupted")
        return INTERRUPTED


def parse(words: Sequence[str]) -> ParsedCall:
    """What a command line asks for; `PosseError` if it is wrong."""
    named = next((word for word in words if not word.startswith("-")), "")
    if named in _RENAMED:
        place = words.index(named)
        words = [*words[:place], *_RENAMED[named], *words[place + 1 :]]
        named = _RENAMED[named][0]
    if named in _NOW:
        raise InputError(f"posse {named} is now {_NOW[named]}")
    added = {} if named in VERBS else added_verbs()
    if named in ELSEWHERE and named not in added:
        package = ELSEWHERE[named]
        raise PosseError(
            f"posse {named} is in the package {package}, which is not installed; in a clone of "
            f"the repository: python -m pip install -e {package.removeprefix('posse-')}"
        )
    from posse.cli import frame  # it takes longer than all above

    try:
        return frame.parse(whole(added), words)
    except Exception as error:
        if named not in added or isinstance(error, InputError):
            raise
        raise PosseError(
            f"posse {named} cannot be loaded from {added[named].value}: {error.__cause__ or error}"
            "; install its package again, in a version that fits this posse"
        ) from error


def _carry_out(asked: ParsedCall) -> int:
    """Carry out the command; report what went wrong in a sentence."""
    current = call.current()
    try:
        imports = VERBS[asked.verb].imports if asked.verb in VERBS else Imports.OWN
        given = asked.bound.arguments.values()
        if any(getattr(value, "trust", False) for value in given):
            imports = Imports.ALL
        with trusting(imports):
            code = asked.carry_out()
        sys.stdout.flush()
        return code
    except streams.OutputError as error:
        kept = f"; the result is in {current.written}" if current.written is not None else ""
        return error.exit_code if error.gone else _complain(PosseError(f"{error}{kept}"), [], False)
    except PosseError as error:
        return _complain(error, getattr(error, "__notes__", []), asked.verbose)
    except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
        from posse.engines.start import room

        if isinstance(error, OSError) and error.filename is not None:
            refusal = PosseError(f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}")
        elif room.is_short_of_tasks(error):
            refusal = PosseError(f"{room.FEW_TASKS}; {room.RAISE_TASKS}")
        elif defect.place(error):
            refusal = RunFailed(defect.describe(error))
        elif isinstance(error, OSError) and error.errno in _FULL:
            target = current.writing or "a file"
            refusal = PosseError(f"{target} cannot be written: {error.strerror}")
        else:
            raise
        return _complain(refusal, [traceback.format_exc()], asked.verbose)


def _complain(error: PosseError, notes: list[str], verbose: bool) -> int:
    """Print the sentence, with `notes` if `verbose`; return the exit code."""
    more = "; --verbose shows the traceback" if notes and not verbose else ""
    lines = (printable(line, _LONGEST) for line in str(error).split("\n"))
    log.complain("\n".join(lines) + more)
    for note in notes if verbose else ():
        log.remark(note)
    return error.exit_code


def added_verbs() -> dict[str, EntryPoint]:
    """The commands that installed packages add, by name (`posse.verbs` says how)."""
    return {
        entry.name: entry for entry in entry_points(group="posse.verbs") if entry.name not in VERBS
    }


def whole(added: dict[str, EntryPoint] | None = None) -> App:
    """The whole command line; `added` are other packages' verbs, by default all installed ones."""
    if added is None:
        added = added_verbs()
    purposes = {purpose: dict(verbs) for purpose, verbs in VERBS_BY_PURPOSE.items()}
    for name, entry in added.items():
        does = (entry.dist and entry.dist.metadata["Summary"]) or entry.value
        purposes["Others"][name] = Verb(does, EXAMPLES.get(name, ""))
    places = {name: f"posse.cli.{_PLACES.get(name, f'{name}:{name}')}" for name in VERBS}
    places |= {name: entry.value for name, entry in added.items()}
    from posse.cli import frame

    return frame.app(purposes, places, _WITH_VARIABLES, _EPILOGUE)
