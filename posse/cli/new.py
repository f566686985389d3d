"""`posse new`: write a first system with a run file and a test, a field trial, or examples."""

import itertools
import keyword
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated, Literal

import posse
from posse.cli.options import FolderToWrite, number, parsed
from posse.errors import InputError
from posse.gates import files

SCRIPT = ("script.py", "script.toml", "script_test.py")
PRIVATE = ("private.py", "script.toml", "script_test.py")
MACHINES = ("system.py", "run.toml", "test.py")

_SKELETON = Path(posse.__file__).parent / "skeleton"

_LEAST, _MOST = 5, 256
"""Agents of a trial: whose votes remove an arm of its run file; which have a folder in the image
(Dockerfile)."""
_SHARED = ("run.toml", "example_data.py")
_NEXT = {
    "here": "sh {folder}/up.sh",
    "compose": "cd {folder} && docker-compose up -d && docker-compose logs -f coordinator",
    "kubernetes": "posse keys {folder}/keys --agents {agents} && sh {folder}/up.sh",
}
"""How a trial is begun; the image is posse:local."""

_EXAMPLES = {
    "federated": "posse run {folder}/privacy.toml",
    "live": "python {folder}/three_shops.py",
}
"""Folders of examples, and how each is begun."""

_NAMES = ("{name}.py", "run.toml", "test_{name}.py")
"""A system, its run file and its test, as each of the above has them."""


def new(
    name: str,
    /,
    *,
    private: bool = False,
    machines: bool = False,
    deploy: Literal["here", "compose", "kubernetes"] | None = None,
    agents: Annotated[int, parsed(lambda text: number(text, _LEAST, _MOST), "N")] = 8,
    example: Literal["federated", "live"] | None = None,
    out: FolderToWrite | None = None,
) -> None:
    """Write a system of your own, with a run file and a test that passes, a trial or examples.

    Nothing is overwritten.

    Args:
        name: name of the system and of its module, or of the trial
        private: write one with noise and a claim
        machines: write two state machines, not a script
        deploy: write all files of a trial in the field, with example rewards: on this machine, in
            containers, or on Kubernetes
        agents: agents of the trial
        example: write run files of the federated systems, or three shops with live decisions
        out: folder for the files (default: ./NAME)
    """
    if deploy is not None:
        _begin(out or Path(name), trial(deploy, agents), _NEXT[deploy], agents)
        return
    if example is not None:
        _begin(out or Path(name), _example(example), _EXAMPLES[example])
        return
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"posse new {name}: the name must be a valid Python name, as in my_system")
    if private and machines:
        raise InputError("posse new --private writes a script; leave --machines out")
    sources = PRIVATE if private else MACHINES if machines else SCRIPT
    folder = out or Path(name)
    written = [folder / pattern.format(name=name) for pattern in _NAMES]
    _require_new(written)
    if name in sys.stdlib_module_names or PathFinder.find_spec(name):
        raise InputError(
            f"posse new {name}: a module of this name is installed; choose another name"
        )
    texts = [text(source, name) for source in sources]
    _write(folder, dict(zip(written, texts, strict=True)))
    print(f"\nRun it, and test it:\n  posse run {folder / 'run.toml'}\n  python -m pytest {folder}")
    print('The test needs pytest: pip install "posse-bandits[testing]"')


def _require_new(paths: list[Path]) -> None:
    for path in paths:
        if path.exists():
            raise InputError(f"{path} exists already; choose another folder with --out")


def _write(folder: Path, texts: dict[Path, str]) -> None:
    try:
        files.make_folder(folder)
        for path, content in texts.items():
            files.write(path, content)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    print("\n".join(map(str, texts)))


def _begin(folder: Path, texts: dict[str, str], then: str, agents: int = 0) -> None:
    """Write files into a folder, and say how to begin."""
    written = {folder / name: content for name, content in texts.items()}
    _require_new([*written])
    _write(folder, written)
    print(f"\nBegin it:\n  {then.format(folder=folder, agents=agents)}")


def _example(name: str) -> dict[str, str]:
    folder = _SKELETON / "examples" / name
    return {path.name: files.text(path) for path in sorted(folder.iterdir()) if path.is_file()}


def trial(where: str, agents: int) -> dict[str, str]:
    """The files of a field trial "here", in "compose" or on "kubernetes", by name.

    Of a template the lines with RANK are there once for each agent, block by block.
    """
    folder = _SKELETON / "deploy"
    names = [path.name for path in sorted((folder / where).iterdir())]
    own = [name for name in names if not name.startswith(".") and name not in _SHARED]
    texts = {name: files.text(folder / where / name) for name in own}
    if where == "compose":
        texts = {name: _for_each(content, agents) for name, content in texts.items()}
    shared = {name: files.text(folder / name) for name in _SHARED}
    shared["run.toml"] = shared["run.toml"].replace("count = 8", f"count = {agents}", 1)
    return shared | texts


def _for_each(template: str, agents: int) -> str:
    parts: list[str] = []
    lines = template.splitlines(keepends=True)
    for of_rank, block in itertools.groupby(lines, lambda line: "RANK" in line):
        one = "".join(block)
        parts += [one.replace("RANK", str(rank)) for rank in range(agents if of_rank else 1)]
    return "".join(parts).replace("AGENTS", str(agents))


def text(source: str, name: str) -> str:
    """A file of the skeleton with the names filled in."""
    raw = files.text(_SKELETON / source)
    return raw.replace("MODULE:SYSTEM", f"{name}:SYSTEM").replace('"NAME"', f'"{name}"')
