"""Plays conversations with a machine without sockets, from files that say what comes of each event.

A file holds conversations, each under a title that begins with `#`. The first line makes what is
talked to; each later line is an event, a Python expression in which its methods are names, and
behind ` -> ` all that came of it: effects, then in braces what changed of its state. An event may
begin with the time at which it happens (`@105`) or the seconds since the one before (`+5`).

`RECORD=1 pytest TEST` writes what came into the file, to be read before it is committed.
"""

import builtins
import logging
import os
import re
import shlex
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
import pytest

from posse import __version__
from posse.cli.main import main
from posse.errors import PosseError, RunFailed
from posse.hosts.effects import Fail, LogLine
from posse.protocol.control import WIRE
from posse.wire.session import SessionBroken, SessionFull

_GIVEN = re.compile(r"given \w+(, \w+)*")
_TIME = re.compile(r"([@+])([0-9.]+) +")
_NAMED: list[tuple[object, str]] = []
"""Long values among a file's names, which are shown by them."""


class Talker(Protocol):
    """What is talked to."""

    now: float

    def state(self) -> dict[str, object]:
        """What a conversation shows of it when it changes."""
        ...


class Conversation(NamedTuple):
    """Where it stands, its title, and its lines as they are written."""

    path: Path
    title: str
    lines: list[str]


def conversations(path: Path, names: Mapping[str, Any]) -> pytest.MarkDecorator:
    """A mark: `talk` is a call for each conversation in a file, which plays and compares it."""
    found = [Conversation(path, *_split(block)) for block in _blocks(path)]
    calls = [pytest.param(lambda c=c: _check(c, names), id=c.title) for c in found]
    return pytest.mark.parametrize("talk", calls)


def examples(path: Path, names: Mapping[str, Any]) -> pytest.MarkDecorator:
    """The same without anybody to talk to: statements and expressions, and what each gave.

    Imports before the first title are for all of the file, `names` are the test module's; a line
    that begins with `##` says why. A first line `given log, tmp_path` names fixtures, which `play`
    takes from the `request` that it is called with; the folder is shown as HERE.
    """
    head = path.read_text().partition("# ")[0]
    imports = "\n".join(line for line in head.splitlines() if line.startswith(("from ", "import ")))
    found = [Conversation(path, *_split(block)) for block in _blocks(path)]
    calls = [
        pytest.param(lambda request=None, c=c: _give(c, imports, names, request), id=c.title)
        for c in found
    ]
    return pytest.mark.parametrize("play", calls)


def transcripts(paths: Sequence[Path], names: Mapping[str, Any]) -> pytest.MarkDecorator:
    """`play` is a call for each transcript in the files: commands, and what each of them said.

    `$ words` is a command, and `$ words ~ pattern` one of which only the lines with the pattern
    are kept. Beneath it stand its output, its errors (`!`), and its exit code where it is not 0
    (`=`); the current folder is `HERE`, and lines of the log have no time. `> expression` shows a
    text that is more than a line. Other lines are statements of Python; `names` are known in both.
    """
    found = [Conversation(path, *_split(block)) for path in paths for block in _blocks(path)]
    calls = [
        pytest.param(lambda c=c, **given: _hold(c, [*_said(c, {**names, **given})]), id=c.title)
        for c in found
    ]
    return pytest.mark.parametrize("play", calls)


def _said(conversation: Conversation, names: Mapping[str, Any]) -> Iterator[str]:
    known = dict(names)
    for line in conversation.lines:
        if line[:2] in ("  ", "! ", "= ") or not line:
            continue
        yield line
        words, _, pattern = line[2:].partition(" ~ ")
        out, err, code = StringIO(), StringIO(), 0
        match line[:2]:
            case "$ ":
                with redirect_stdout(out), redirect_stderr(err):
                    code = main(shlex.split(words))
            case "> ":
                out.write(eval(words, known))
            case _:
                exec(line, known)
        for mark, stream in (("  ", out), ("! ", err)):
            text = stream.getvalue().replace(str(Path.cwd()), "HERE").replace(__version__, "X.Y.Z")
            text = re.sub(r"^\d{4}-\d\d-\d\dT\S+ ", "", text, flags=re.MULTILINE)
            kept = [row.rstrip() for row in text.splitlines() if re.search(pattern, row)]
            yield from (mark + row for row in kept if row)
        if code:
            yield f"= {code}"


def _give(
    conversation: Conversation,
    imports: str,
    names: Mapping[str, Any],
    request: pytest.FixtureRequest | None,
) -> None:
    known = dict(names)
    exec(imports, known)
    lines = [line.split(" -> ")[0] for line in conversation.lines]
    if request is not None and _GIVEN.fullmatch(lines[0]):
        fixtures = lines[0].removeprefix("given ").split(", ")
        known |= {name: request.getfixturevalue(name) for name in fixtures}
    here = "HERE" if request is None else str(request.getfixturevalue("tmp_path"))
    gave = [
        line if line[:2] == "##" or _GIVEN.fullmatch(line) else _gives(line, known)
        for line in lines
    ]
    _hold(conversation, [line.replace(here, "HERE") for line in gave])


def _gives(line: str, known: dict[str, Any]) -> str:
    try:
        came = shown(eval(line, known))
    except SyntaxError:
        exec(line, known)
        came = ""
    except Exception as error:
        own = type(error).__module__.startswith(("posse", "msgspec")) or _of_ours(error)
        came = f"raises {type(error).__name__}" + (f": {error}" if own else "")
        came = came.replace("\n", "\\n")
    return f"{line} -> {came.replace(WIRE, 'W').replace(__version__, 'X.Y.Z')}" if came else line


def _of_ours(error: Exception) -> bool:
    """Whether the words are ours: Python's own change from version to version."""
    frames = traceback.extract_tb(error.__traceback__)
    where = Path(frames[-1].filename)
    return where.is_relative_to(Path(__file__).parents[2]) and ".venv" not in where.parts


def _blocks(path: Path) -> list[str]:
    """The conversations, without what stands before the first."""
    return re.split(r"^# ", path.read_text(), flags=re.MULTILINE)[1:]


def _split(block: str) -> tuple[str, list[str]]:
    title, *lines = block.strip().splitlines()
    return title, lines


def _check(conversation: Conversation, names: Mapping[str, Any]) -> None:
    events = [line.split(" -> ")[0] for line in conversation.lines]
    _hold(conversation, [*_play(events, names)])


def _hold(conversation: Conversation, played: list[str]) -> None:
    """What was played is what is written, or is written from now on."""
    if not os.environ.get("RECORD"):
        assert played == conversation.lines
        return
    path, title, _ = conversation
    text = "\n".join([title, *played])
    blocks = [text if _split(b)[0] == title else b.strip() for b in _blocks(path)]
    head = path.read_text().partition("# ")[0]
    path.write_text(head + "\n\n".join(f"# {block}" for block in blocks) + "\n")


class _Names(dict[str, Any]):
    """What an event may name: attributes of the talker as they are now, and the file's names."""

    def __init__(self, talker: Talker, names: Mapping[str, Any]) -> None:
        super().__init__(names)
        self._talker = talker

    def __getitem__(self, name: str) -> Any:
        if hasattr(self._talker, name):
            return getattr(self._talker, name)
        return super().__getitem__(name) if name in self else getattr(builtins, name)


def _play(events: list[str], names: Mapping[str, Any]) -> Sequence[str]:
    """Each event, with all that came of it."""
    first, *events = events
    _NAMED[:] = [
        (value, name)
        for name, value in names.items()
        if isinstance(value, msgspec.Struct) or (isinstance(value, bytes) and len(value) > 40)
    ]
    talker: Talker = eval(first, dict(names))
    known, before, lines = _Names(talker, names), talker.state(), [first]
    for line in events:
        event = line
        if at := _TIME.match(line):
            talker.now = float(at[2]) + (talker.now if at[1] == "+" else 0.0)
            event = line[at.end() :]
        try:
            came = shown(eval(event, {}, known))
        except (PosseError, SessionFull, SessionBroken) as error:
            came = f"raises {type(error).__name__}: {error}"
        after = talker.state()
        changed = _changed(before, after)
        before = after
        came += f" {{{' '.join(changed)}}}" if changed else ""
        came = came.replace(WIRE, "W").replace(__version__, "X.Y.Z")
        lines.append(f"{line} -> {came.strip()}" if came else line)
    return lines


def _changed(
    before: Mapping[Any, object], after: Mapping[Any, object], head: str = ""
) -> list[str]:
    """What differs, as `key=value`; of tables the rows, and `-` for one that is gone."""
    changes = []
    for key in {**before, **after}:
        old, new = before.get(key, "-"), after.get(key, "-")
        if isinstance(old, dict) and isinstance(new, dict):
            changes += _changed(old, new, f"{head}{key}.")
        elif old != new:
            changes.append(f"{head}{key}={new}")
    return changes


def shown(came: object) -> str:
    """Effects as a conversation shows them, or what else came; nothing for None."""
    if came is None or (isinstance(came, list | tuple) and not came):
        return ""
    if not isinstance(came, list | tuple) or isinstance(came[0], int):
        return _value(came)
    texts = [e.text for e in came if isinstance(e, LogLine)]
    parts: list[str] = []
    for effect in came:
        parts.append(_effect(effect, texts))
    return " | ".join(parts)


def _effect(effect: object, texts: list[str]) -> str:
    match effect:
        case LogLine(level, text):
            return f"{logging.getLevelName(level).lower()}: {text}"
        case Fail(reason, kind):
            return f"fail: {reason}" + ("" if kind is RunFailed else f" ({kind.__name__})")
        case msgspec.Struct():
            return _struct(effect, texts)
        case _:
            return _value(effect)


def _struct(struct: msgspec.Struct, texts: list[str]) -> str:
    """Its fields up to the last that differs from its default."""
    fields, values, last = [], [], 0
    for field in msgspec.structs.fields(type(struct)):
        value = getattr(struct, field.name)
        values.append(value)
        fields.append(_value(value, texts))
        if not field.required and (
            value == field.default
            or (field.default_factory is not msgspec.NODEFAULT and value == field.default_factory())
        ):
            continue
        last = len(fields)
    return f"{type(struct).__name__}({', '.join(fields[:last])})"


def _name_of(value: object) -> str:
    return next(
        (name for known, name in _NAMED if type(known) is type(value) and known == value), ""
    )


def _value(value: object, texts: Sequence[str] = ()) -> str:
    match value:
        case msgspec.Struct() | bytes() if name := _name_of(value):
            return name
        case msgspec.Struct():
            return _struct(value, list(texts))
        case bytes() if len(value) > 40:
            return f"<{len(value)} bytes>"
        case str() if any(value in text for text in texts) and len(value) > 20:
            return "…"  # the log has it
        case type():
            return value.__name__
        case dict() if type(value) is dict:
            return f"{{{', '.join(f'{_value(k)}: {_value(v)}' for k, v in value.items())}}}"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(_value, value)))}}}"
        case _:
            return re.sub(r"\s+", " ", repr(value))
