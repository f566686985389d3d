"""The lint sees whatever goes around a gate, and nothing else."""

import pytest

from tests.gates.lint import AROUND, METHODS, around, findings

PLANTED = [
    "open('x')",
    "import os\nos.open('x', 0)",
    "from os import open as own\nown('x', 0)",
    "import os as system\nhand = system.replace",
    "import sqlite3\nsqlite3.connect('x')",
    "def inner():\n    from sqlite3 import connect\n    return connect('x')",
    "import fcntl\nfcntl.flock(1, fcntl.LOCK_EX)",
    "import importlib\nimportlib.import_module('x')",
    "from importlib import import_module\nmap(import_module, 'x')",
    "exec('x')",
    "path.read_text()",
    "path.open('rb')",
    "path.open()",
    "Path('x').open()",
    "open(name)",
    "path.open(encoding='utf-8')",
    "half.replace(path)",
    "from pathlib import Path\nlist(map(Path.read_bytes, []))",
    "folder.mkdir(parents=True)",
    "import numpy as np\nnp.load('x')",
    "figure.savefig(path)",
    "figure.savefig(fname=path)",
    "array.tofile('x')",
    "import shutil\nshutil.rmtree('x')",
]

HONEST = """
import os
from importlib import import_module
from posse.gates import files
text.replace("a", "b")
files.replace(path)
endpoint.open(sender, frame)
webbrowser.open(url)
self.exchange.open()
os.open(os.devnull, os.O_RDWR)
import_module(f"posse.{name}")
when.replace(tzinfo=None)
re.compile("a")
import io
out = io.BytesIO()
figure.savefig(out, format="png")
"""


@pytest.mark.parametrize("source", PLANTED)
def test_a_raw_call_in_the_way_of_a_gate_is_found(source: str) -> None:
    assert around(source, "posse/elsewhere.py")


def test_nothing_else_is_found_and_a_gate_may_use_its_own() -> None:
    assert around(HONEST, "posse/elsewhere.py") == []
    for name, gate in AROUND.items():
        module, _, function = name.rpartition(".")
        source = f"import {module}\n{name}()" if module != "builtins" else f"{function}()"
        assert [found[1] for found in around(source, "posse/elsewhere.py")] == [name]
        assert around(source, gate) == []
    for name, gate in METHODS.items():
        assert around(f"import pathlib\npathlib.Path.{name}", gate) == []


def test_nothing_goes_around_a_gate() -> None:
    assert findings() == []
