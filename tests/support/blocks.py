"""The code blocks of a Markdown page, and how each is run.

A comment on the line before a block says what is not plain:

    <!-- file: NAME -->      the block is a file of the page's folder; later blocks use it
    <!-- not run: WHY -->    it cannot run in a test; posse commands in it are parsed all the same

Blocks of one page run in one folder, in their order; Python blocks share their names.
"""

import ast
import asyncio
import doctest
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from markdown_it import MarkdownIt

from posse.cli import main as cli
from posse.errors import InputError
from tests.support.patience import PATIENCE
from tests.support.runfile import describe_run

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").glob("*.md")),
]

_MARK = re.compile(r"<!-- (file|not run): (.+?) -->\s*")
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_WHOLE: dict[str, Any] = describe_run("ucb1", 3, [0.7, 0.3], parameters={"horizon": 100})
"""What makes a run file of a block that has only some keys of one."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, what the comment before it says, and its text."""

    page: str
    line: int
    language: str
    file: str
    not_run: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page; an indented one has no language and is not allowed."""
    found, mark = [], None
    for token in MarkdownIt("commonmark").parse(page.read_text()):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            said: dict[str, str] = {mark[1]: mark[2]} if mark else {}
            found.append(
                Block(
                    page=str(page.relative_to(ROOT)),
                    line=token.map[0] + 1,
                    language=token.info,
                    file=said.get("file", ""),
                    not_run=said.get("not run", ""),
                    text=token.content,
                )
            )
        mark = _MARK.fullmatch(token.content) if token.type == "html_block" else None
    return found


class Page:
    """A folder with the repository's examples in it, where the blocks of one page run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        (folder / "examples").symlink_to(ROOT / "examples")

    def run(self, block: Block) -> None:
        """Run one block; what is wrong with it is raised."""
        if block.file:
            (self.folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / block.file).write_text(block.text)
        if block.not_run:
            for line in commands(block):
                parse(line)
        else:
            getattr(self, f"_{block.language}")(block)

    def _text(self, block: Block) -> None:
        """An output, or a drawing."""

    def _csv(self, block: Block) -> None:
        assert block.file, f"{block}: a csv block must say which file it is"

    def _toml(self, block: Block) -> None:
        try:
            parts = [tomllib.loads(block.text)]
        except tomllib.TOMLDecodeError:  # ways to say the same key, one a line
            parts = [tomllib.loads(line) for line in block.text.splitlines()]
        for number, part in enumerate(parts):
            file = self.folder / (block.file or f"line-{block.line}-{number}.toml")
            file.write_text(tomli_w.dumps(part if "system" in part else _whole(part)))
            assert cli.main(["check", "--trust", str(file)]) == 0, (
                f"{block}: posse check refuses it"
            )

    def _python(self, block: Block) -> None:
        if block.file:
            compile(block.text, block.file, "exec")
            return
        code = compile(block.text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            if inspect.iscoroutine(waiting := eval(code, self.names)):
                asyncio.run(waiting)
        finally:
            os.chdir(before)

    def _bash(self, block: Block) -> None:
        done = self._shell(block.text)
        assert done.returncode == 0, (
            f"{block}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        )

    def _console(self, block: Block) -> None:
        for command, expected in _dialogue(block.text):
            said = self._shell(command).stdout
            same = doctest.OutputChecker().check_output(expected.replace("…", "..."), said, _SAME)
            assert same or not expected, f"{block}: {command}\nsays\n{said}\nand not\n{expected}"

    def _shell(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=os.environ
            | {
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "COLUMNS": "80",
                # for an environment that was made before the package had its entry point
                "PYTEST_PLUGINS": "posse.testing.plugin",
                "HOME": str(self.folder),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


def _whole(part: dict[str, Any]) -> dict[str, Any]:
    """A run file in which these keys are as they are in `part`; `kind` chooses other keys."""
    whole = dict(_WHOLE)
    for key, value in part.items():
        default = whole.get(key)
        merge = isinstance(default, dict) and "kind" not in value
        whole[key] = default | value if merge else value
    return whole


def _dialogue(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that stands below it."""
    asked = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not asked[0], "a console block begins with a command"
    pairs = (re.fullmatch(r"((?:.*\\\n)*.*\n?)((?:.*\n?)*)", one) for one in asked[1:])
    return [(pair[1], pair[2]) for pair in pairs if pair]


def commands(block: Block) -> list[str]:
    """The posse commands of a block of shell."""
    if block.language not in ("bash", "console"):
        return []
    joined = re.sub(r"\\\n\s*", " ", block.text)
    return re.findall(r"^(?:\$ )?(posse .*)$", joined, re.MULTILINE)


def parse(command: str) -> None:
    """See that the command line knows a command and its options; nothing is run."""
    words = shlex.split(command, comments=True)
    if words[1] in cli.ELSEWHERE.keys() - cli.added_verbs().keys():
        return
    try:
        cli.parse([word for word in words[1:] if word != "&"])
    except InputError as error:
        raise AssertionError(f"{command}: {error}") from None
