"""Attack scripts, run for real: `python -m tests.attacks [NAME…]`, a part of `make attacks`.

The scripts were written from outside, each against the version of its day, and are no part of the
repository: they lie in `../shared/attacks`, or where `ATTACKS` says; without that folder nothing is
done. `tests.attacks.scripts` says of each what it has to print when posse withstands it, and what
is called otherwise today. A script that says nothing of the sort has not attacked anything, so it
counts as fallen.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.attacks.scripts import SCRIPTS, Script

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = Path(os.environ.get("ATTACKS", ROOT.parent / "shared" / "attacks"))
HELPERS = ("common", "net")


def main(arguments: Sequence[str]) -> int:
    """Run the named scripts, or all; 1 if one falls."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks")
    parser.add_argument("names", nargs="*", help="how names of scripts begin")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for what each prints")
    given = parser.parse_args(arguments)
    if not FOLDER.is_dir():
        print(f"there are no scripts in {FOLDER}")
        return 0
    there = {path.stem: path for path in FOLDER.iterdir() if path.suffix in (".py", ".sh")}
    names = [name for name in sorted(there.keys() | SCRIPTS) if name not in HELPERS]
    if given.names:
        names = [name for name in names if name.startswith(tuple(given.names))]
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        copies = Path(folder)
        for name, path in there.items():
            script = SCRIPTS.get(name, Script())
            (copies / path.name).write_text(script.today(path.read_text(), name))

        def attempt(name: str) -> bool:
            return _attempt(name, there.get(name), copies, given.keep)

        with ThreadPoolExecutor(given.jobs) as pool:
            held = list(pool.map(attempt, names))
    print(f"{sum(held)} of {len(held)} attacks withstood")
    return 0 if all(held) else 1


def _attempt(name: str, path: Path | None, copies: Path, keep: Path | None) -> bool:
    script = SCRIPTS.get(name)
    if script is None or path is None:
        print(
            f"FALLS  {name}: {'it is not in tests/attacks/scripts.py' if path else 'is not there'}"
        )
        return False
    if script.instead:
        print(f"gone   {name}: {script.why}; {script.instead}")
        return True
    began = time.monotonic()
    said = "\n".join(run(copies / path.name, words, script) for words in script.calls)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{name}.out").write_text(said)
    problem = script.problem(said)
    took = time.monotonic() - began
    print(f"{'FALLS ' if problem else 'holds '} {name} ({took:.0f} s){problem}", flush=True)
    return not problem


def run(path: Path, words: str, script: Script) -> str:
    """What a script prints, with its errors; it is ended after `script.seconds`."""
    python = ROOT / ".venv" / "bin" / "python"
    command = ["sh" if path.suffix == ".sh" else str(python), str(path), *words.split()]
    shim = [str(HERE / "shim"), str(path.parent)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(shim),
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        **script.environment,
    }
    where = ROOT
    if script.inside:
        where = Path(tempfile.mkdtemp(prefix="attacked-", dir=path.parent))
        inside = script.inside.format(posse=python.with_name("posse"))
        subprocess.run(inside.split(), cwd=where, check=True, capture_output=True)
        where = where / "mine"
        environment["P"] = str(python.with_name("posse"))
    child = subprocess.Popen(
        command,
        cwd=where,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        out, _ = child.communicate(timeout=script.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, _ = child.communicate()
        out += b"\nended by the clock"
    return out.decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
