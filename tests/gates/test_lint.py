"""The lint sees whatever goes around a gate, and nothing else."""

import re
from pathlib import Path

import pytest

from posse import gates
from tests.gates.lint import AROUND, ATTRIBUTES, EXEMPT, METHODS, ROOT, around, findings

PLANTED = {
    "files": [
        "open('x')",
        "import os\nos.open('x', 0)",
        "from os import open as own\nown('x', 0)",
        "import os as system\nhand = system.replace",
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
        "import os\nos.chmod('x', 0)",
        "getattr(path, 'write_text')('x')",
        "import tempfile\ntempfile.NamedTemporaryFile()",
        "import logging.handlers\nlogging.handlers.RotatingFileHandler('x')",
        "import pandas as pd\npd.read_csv('x')",
        "from codecs import *",
        "import configparser",
        "path.unlink()",
        "path.unlink(missing_ok=True)",
        "from os import unlink\nunlink('x')",
        "folder.rmdir()",
        "import tempfile\ntempfile.mkdtemp()",
        "from tempfile import TemporaryDirectory",
        "import os\nown = os\nown.open('x', 0)",
        "from posse.gates.files import os\nos.open('x', 0)",
        "from posse.gates import files\nfiles.os.open('x', 0)",
        "import os.path\nos.path.os.remove('x')",
        "import os\nvars(os)['open']('x', 0)",
        "import os\nos.__dict__['open']('x', 0)",
        "import sys\nsys.modules['os'].open('x', 0)",
        "import os\ngetattr(os, name)('x')",
        "import operator\noperator.methodcaller('read_text')(path)",
        "from operator import attrgetter\nattrgetter('write_text')(path)('x')",
        "path.__getattribute__('read_bytes')()",
        "read = path.read_text\nread()",
        "(lambda file: file.write_bytes)(path)",
        "if (own := os) or True:\n    import os\n    own.open('x', 0)",
        "import posix\nposix.open('x', 0)",
        "import _io\n_io.open('x')",
        "path.chmod(0o666)",
        "import gzip\ngzip.GzipFile('x')",
        "import lzma\nlzma.LZMAFile('x')",
        "import pandas\npandas.read_feather('x')",
        "import numpy\nnumpy.savez_compressed('x')",
        "import zipfile\nzipfile.Path('x')",
        "from ..gates.files import os\nos.open('x', 0)",
        "import networkx\nnetworkx.write_gml(graph, 'x')",
    ],
    "databases": [
        "import sqlite3\nsqlite3.connect('x')",
        "def inner():\n    from sqlite3 import connect\n    return connect('x')",
        "from sqlite3 import *",
        "import _sqlite3\n_sqlite3.connect('x')",
        "from apsw import Connection",
        "import sqlite3\nsqlite3.Connection('x')",
        "import sqlite3 as base\nown = base.connect\nown('x')",
        "import sqlalchemy",
        "from posse.gates.databases import sqlite3\nsqlite3.connect('x')",
    ],
    "locks": [
        "import fcntl\nfcntl.flock(1, fcntl.LOCK_EX)",
        "import os\nos.lockf(1, os.F_LOCK, 1)",
        "from posse.gates.locks import fcntl\nfcntl.flock(1, 2)",
        "import fcntl as f\ngetattr(f, 'flock')(1, 2)",
    ],
    "code": [
        "import importlib\nimportlib.import_module('x')",
        "from importlib import import_module\nmap(import_module, 'x')",
        "exec('x')",
        "import cloudpickle\ncloudpickle.loads(data)",
        "from importlib.machinery import SourceFileLoader",
        "import pickle\npickle._Unpickler(file)",
        "import ctypes\nctypes.CDLL('x')",
        "import pickle\npickle.loads(data)",
        "import subprocess\nsubprocess.run(['x'])",
        "from subprocess import Popen",
        "import os\nos.execv('x', [])",
        "import os\nos.system('x')",
        "import os\ngetattr(os, 'system')('x')",
        "from multiprocessing import Process",
        "import sys\nsys.path.append('x')",
        "from importlib.metadata import entry_points\nentry_points()['x'].load()",
        "from importlib import metadata\nmetadata.entry_points(group='x')",
        "from importlib import import_module\nimport_module('multiprocessing.pool')",
        "from importlib import import_module\nimport_module(f'os.{name}')",
        "import timeit\ntimeit.timeit('x')",
        "import types\ntypes.FunctionType(made, {})",
        "import pydoc\npydoc.locate('x')",
        "import logging.config\nlogging.config.dictConfig(x)",
        "__builtins__['exec']('x')",
        "import _pickle\n_pickle.loads(data)",
        "import runpy\nrunpy._run_code(x)",
        "from importlib.machinery import SourcelessFileLoader",
        "import unittest.mock\nunittest.mock.patch('x.y')",
        "import builtins\nbuiltins.eval('x')",
        "import builtins\ngetattr(builtins, 'exec')('x')",
    ],
    "decode": [
        "import csv\ncsv.reader(file)",
        "from csv import DictReader",
        "from xml.etree import ElementTree",
        "import xml.dom.minidom",
        "from pyarrow import parquet\nparquet.ParquetFile('x')",
        "import orjson",
        "import plistlib\nplistlib.loads(data)",
        "from posse.arms.log_file import csv\ncsv.reader(file)",
    ],
    "owners": [
        "import stat\nos.stat('x')[stat.ST_UID]",
        "path.stat().st_uid == 0",
        "import os\nos.geteuid()",
        "path.stat().st_mode & 0o077",
        "import os\nos.getuid()",
        "import stat\nstat.S_IMODE(status)",
        "mode = path.stat().st_mode\nmode & 2",
        "import os\nos.stat('x')[stat.ST_UID]\nimport stat",
        "import os\nos.getxattr('x', 'y')",
    ],
    "signatures": [
        "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey",
        "from cryptography.hazmat.primitives.asymmetric import ed25519 as e\ne.Ed25519PrivateKey",
        "signer._sign(kind, text)",
        "from nacl.signing import SigningKey",
        "from posse.protocol import signing\nsigning.Ed25519PrivateKey.generate()",
        "from nacl.bindings import crypto_sign",
        "import Crypto.PublicKey",
        "getattr(signer, '_sign')(kind, text)",
    ],
    "shown": [
        "print(text)",
        "import sys\nsys.stdout.write(text)",
        "from sys import stderr\nstderr.write(text)",
        "import logging\nlogging.getLogger('x').info(text)",
        "import warnings\nwarnings.warn(text)",
        "import csv\ncsv.writer(file)",
        "from csv import DictWriter\nDictWriter(file)",
        "import logging\nlogging.warning(text)",
        "import traceback\ntraceback.print_exc()",
        "import os\nos.write(2, text)",
        "import sys\nsys.exit(f'{text}')",
        "from rich import print\nprint(text)",
        "import pprint\npprint.pprint(text)",
        "import logging\nlogging.root.info(text)",
        "input(text)",
        "import sys\nout = sys.stdout\nout.write(text)",
    ],
    "http": [
        "from http.server import HTTPServer",
        "import socketserver as s\ns.TCPServer(at, it)",
        "import uvicorn\nuvicorn.run(app)",
        "import asyncio\nasyncio.start_server(answer)",
        "from aiohttp import web",
        "from urllib.request import urlopen\nurlopen(url)",
        "import requests",
        "import asyncio\nloop.create_server(made, port=80)",
        "import http.server as h\nh.BaseHTTPRequestHandler",
        "import tornado.web",
        "import urllib.request\nurllib.request.Request(url)",
        "import starlette.applications\nstarlette.applications.Starlette()",
        "import socket\nsocket.create_server(('', 80))",
    ],
}
"""By gate; `tests/gates/test_decode.py` plants more in the way of `decode`, for ruff."""

BEFORE = {
    "web": "http",
    "status": "http",
    "signing": "signatures",
    "tables": "shown",
    "streams": "shown",
    "log": "shown",
    "forkserver": "code",
    "own_code": "code",
    "log_file": "decode",
    "graph_formats": "decode",
}
"""Whose own a function is that a gate's module is called by."""

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


@pytest.mark.parametrize(
    ("gate", "source"), [(gate, source) for gate, all_ in PLANTED.items() for source in all_]
)
def test_a_raw_call_in_the_way_of_a_gate_is_found(gate: str, source: str) -> None:
    found = {Path(own).stem for _, _, own in around(source, "posse/elsewhere.py")}
    assert {BEFORE.get(own, own) for own in found} == {gate}


TOLD = (ROOT / "docs" / "security.md").read_text()
LINE = re.compile(r"^\|((?:`\w+`(?:, )?)+)\|", re.M)


def test_every_gate_has_its_lint_and_its_line_in_the_documents() -> None:
    made = {path.stem for path in Path(gates.__path__[0]).glob("[a-z]*.py")}
    made.remove("disk")  # what gates ask
    assert made == {*PLANTED}
    first = {gate for line in LINE.findall(TOLD)[:5] for gate in re.findall(r"\w+", line)}
    assert first == made


def test_every_promise_of_the_documents_names_its_gate() -> None:
    known = {gate for line in LINE.findall(TOLD) for gate in re.findall(r"\w+", line)}
    modules = {path.stem for path in (ROOT / "posse").rglob("*.py")}
    modules |= {
        path.stem
        for room in ("agent", "coordinator", "protocol")
        for path in (ROOT / room).iterdir()
    }
    assert known <= modules | {"deploy"}
    rows = [line.split("|") for line in TOLD.splitlines() if line.count("|") == 4]
    named = set()
    for _, what, comes, holds, _ in rows:
        gate = re.match(r"((?:`\w+`(?:, )?)+)(?:: `tests/|$)", holds)
        assert bool(gate) is ("tests/" in comes + holds), what
        named |= set(re.findall(r"\w+", gate[1])) if gate else set()
    assert named == known


def test_what_may_go_around_is_there_and_says_why() -> None:
    for place, (gates_of_it, why) in EXEMPT.items():
        assert why
        source = (ROOT / place).read_text()
        assert gates_of_it <= {gate for _, _, gate in around(source, "posse/elsewhere.py")}


def test_nothing_else_is_found_and_a_gate_may_use_its_own() -> None:
    assert around(HONEST, "posse/elsewhere.py") == []
    for known, gate in AROUND.items():
        name = f"{known}x" if known.endswith((".", "_")) else known
        module, _, function = name.rpartition(".")
        source = f"import {module}\n{name}()" if module != "builtins" else f"{function}()"
        assert [found[1] for found in around(source, "posse/elsewhere.py")] == [name]
        assert around(source, gate) == []
    for name, gate in ATTRIBUTES.items():
        assert around(f"status.{name}", gate) == []
    for name, gate in METHODS.items():
        assert around(f"import pathlib\npathlib.Path.{name}", gate) == []


def test_nothing_goes_around_a_gate() -> None:
    assert findings() == []
