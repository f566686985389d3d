"""What goes around a gate: `python -m tests.gates.lint`, which `make check` runs.

A name of `AROUND` is used nowhere but in its gate, however it was imported; the methods in
`METHODS` are those of `pathlib.Path`, and the attributes in `ATTRIBUTES` those of a file's status,
by name alone, as a type is not known here. What may go around, and why, is in `EXEMPT`. The gate of
decoding is ruff's, too (`banned-api` in pyproject.toml). Not forbidden, as no gate keeps out a harm
of theirs: the names in a folder, the environment, signals, sockets (`posse.wire.sockets`
and `posse.security.zap` make ours), hashes and random numbers.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[2]
ROOMS = ("posse", "agent", "coordinator", "topologies", "protocol", "systems", "papers", "arena")

FILES = "posse/gates/files.py"
LOCKS = "posse/gates/locks.py"
DATABASES = "posse/gates/databases.py"
CODE = "posse/gates/code.py"
SERVER, DOOR = "posse/operate/web.py", "posse/live/http.py"
"""Give each request to `posse/gates/http.py`."""

OWNERS = "posse/gates/owners.py"
SIGNATURES = "protocol/signing.py"
"""Enters what is signed in the register of `posse/gates/signatures.py` first."""

SHOWN = "posse/results/tables.py"
"""Writes each cell by `posse/gates/shown.py`."""

TERMINAL = "posse/cli/streams.py"
"""Prints what commands say by `posse/gates/shown.py`."""

LOG = "posse/log.py"
"""Writes each line by `posse/gates/shown.py`."""

STARTS = "posse/engines/start/forkserver.py"
"""Starts posse's own processes."""

TABLES, GRAPHS = "posse/arms/log_file.py", "posse/spec/graph_formats.py"
"""Read what has no decoder: rows of text, and XML."""

ASKS = "posse/cli/status.py"
"""Asks a coordinator's page; what is there is decoded."""

PACKAGES = "posse/own_code.py"
"""Finds what installed packages offer, and loads it by `posse/gates/code.py`."""

EXEMPT = {
    "posse/live/client.py": (
        {FILES, ASKS},
        "what applications use, in which nothing of posse is there",
    ),
    "posse/gates/locks.py": ({OWNERS, LOG}, "a lock can be read by whom its folder can; below log"),
    "posse/testing/hosts.py": ({STARTS}, "hosts of a test are network namespaces"),
    "posse/engines/start/pool.py": ({STARTS}, "workers of this process, for its own functions"),
    "posse/cli/served.py": ({STARTS}, "a worker of this process, for its own function"),
    "posse/own_code.py": ({CODE, TERMINAL}, "what a user's module prints is no result"),
    "posse/testing/plugin.py": ({CODE}, "in the user's own tests their folder is theirs"),
    "posse/cli/main.py": ({PACKAGES}, "verbs of installed packages"),
    "posse/importing.py": ({TABLES}, "makes reward logs of tables"),
    "posse/reading/folder.py": ({TABLES}, "posse's own tables"),
    "posse/progress.py": ({TERMINAL}, "in a notebook, posse's own words"),
    "posse/results/document.py": ({TERMINAL}, "prints the schema of results"),
    "posse/__main__.py": ({TERMINAL}, "one sentence, before there is anything else"),
    "posse/log.py": ({TERMINAL}, "each line is printable"),
    "agent/site.py": ({TERMINAL}, "the line is printable"),
    "posse/engines/start/forkserver.py": ({TERMINAL}, "flushes what its children wrote"),
    "arena/posse_arena/verb.py": ({TERMINAL}, "a verb"),
    "papers/posse_papers/verb.py": ({TERMINAL}, "a verb"),
    "posse/live/doors.py": ({SERVER}, "a socket in the file system, which no page reaches"),
    "posse/security/files.py": ({OWNERS}, "a mounted secret is root's, and its group may read it"),
    **{
        f"posse/skeleton/deploy/{folder}example_data.py": ({FILES}, "runs where posse may not be")
        for folder in ("", "kubernetes/")
    },
    "posse/study.py": ({SHOWN}, "writes reward logs, whose arms posse reads by the same names"),
    "posse/cli/importing.py": (
        {SHOWN},
        "writes reward logs, whose arms posse reads by the same names",
    ),
}
"""By place, the gates that it may go around, and why."""

AROUND = {
    **dict.fromkeys(
        [
            *("builtins.open", "io.open", "io.open_code", "io.FileIO", "codecs.open"),
            *("os.open", "os.replace", "os.rename", "os.renames", "os.link", "os.symlink"),
            *("os.mkdir", "os.makedirs", "os.mkfifo", "os.mknod", "os.truncate"),
            *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move"),
            *("shutil.rmtree", "shutil.make_archive", "shutil.unpack_archive"),
            *("tokenize.open", "gzip.open", "bz2.open", "lzma.open", "linecache.getlines"),
            *("zipfile.ZipFile", "tarfile.open", "fileinput.input", "mmap.mmap"),
            *("numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap"),
            *("numpy.save", "numpy.savez", "numpy.savetxt", "numpy.lib.format.open_memmap"),
            *("os.chmod", "os.lchmod", "shutil.chown", "logging.FileHandler"),
            *("tempfile.NamedTemporaryFile", "tempfile.SpooledTemporaryFile"),
            *("tempfile.TemporaryFile", "tempfile.TemporaryDirectory"),
            *("tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.mktemp"),
            *("os.remove", "os.unlink", "os.rmdir", "os.removedirs"),
            *("pandas.read_csv", "pandas.read_pickle", "pandas.read_parquet", "pandas.read_json"),
        ],
        FILES,
    ),
    **dict.fromkeys(
        [
            *("http.server.HTTPServer", "http.server.ThreadingHTTPServer"),
            *("wsgiref.simple_server.WSGIServer", "wsgiref.simple_server.make_server"),
            *("socketserver.TCPServer", "socketserver.ThreadingTCPServer"),
            *("asyncio.start_server", "asyncio.start_unix_server"),
        ],
        SERVER,
    ),
    **dict.fromkeys(["uvicorn.Server", "uvicorn.Config", "uvicorn.run"], DOOR),
    **dict.fromkeys(["fcntl.flock", "fcntl.lockf", "fcntl.fcntl", "os.lockf"], LOCKS),
    **dict.fromkeys(["sqlite3.connect", "sqlite3.dbapi2.connect"], DATABASES),
    **dict.fromkeys(["os.geteuid", "os.chown", "os.fchown", "stat.ST_UID", "stat.ST_GID"], OWNERS),
    **dict.fromkeys(["csv.writer", "csv.DictWriter"], SHOWN),
    "cryptography.hazmat.primitives.asymmetric.ed25519.Ed25519PrivateKey": SIGNATURES,
    "nacl.signing.SigningKey": SIGNATURES,
    **dict.fromkeys(
        [
            *("importlib.import_module", "importlib.reload", "importlib.__import__"),
            *("builtins.__import__", "builtins.exec", "builtins.eval", "builtins.compile"),
            *("importlib.util.spec_from_file_location", "importlib.util.module_from_spec"),
            *("runpy.run_path", "runpy.run_module"),
            *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads"),
            *("importlib.util.spec_from_loader", "importlib.machinery.SourceFileLoader"),
            *("pkgutil.resolve_name", "site.addsitedir", "ctypes.CDLL"),
            *("ctypes.cdll", "ctypes.PyDLL", "sys.path", "sys.path_hooks", "sys.meta_path"),
        ],
        CODE,
    ),
    **dict.fromkeys(
        [
            *(
                "os.system",
                "os.popen",
                "os.fork",
                "os.forkpty",
                "os.posix_spawn",
                "os.posix_spawnp",
            ),
            *(f"os.exec{how}" for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
            *(f"os.spawn{how}" for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
            *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"),
            *("concurrent.futures.ProcessPoolExecutor", "pty.spawn"),
        ],
        STARTS,
    ),
    **dict.fromkeys(
        ["importlib.metadata.entry_points", "pkg_resources.iter_entry_points"], PACKAGES
    ),
    **dict.fromkeys(["csv.reader", "csv.DictReader"], TABLES),
    **dict.fromkeys(
        ["urllib.request.urlopen", "http.client.HTTPConnection", "http.client.HTTPSConnection"],
        ASKS,
    ),
    **dict.fromkeys(
        ["logging.getLogger", "logging.basicConfig", "logging.StreamHandler", "warnings.warn"], LOG
    ),
    **dict.fromkeys(
        ["builtins.print", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"], TERMINAL
    ),
}
"""By its full name, the gate whose own a function is."""

MODULES = {
    **dict.fromkeys(["aiofiles", "configparser", "dbm", "netrc", "shelve"], FILES),
    **dict.fromkeys(["_sqlite3", "apsw"], DATABASES),
    **dict.fromkeys(["msvcrt", "portalocker", "filelock"], LOCKS),
    **dict.fromkeys(["cloudpickle", "code", "codeop", "dill", "imp", "joblib", "zipimport"], CODE),
    **dict.fromkeys(["ecdsa"], SIGNATURES),
    **dict.fromkeys(["aiohttp", "flask", "xmlrpc"], SERVER),
    **dict.fromkeys(["httpx", "requests", "urllib3"], ASKS),
    **dict.fromkeys(["multiprocessing", "subprocess"], STARTS),
    **dict.fromkeys(["defusedxml", "lxml", "xml"], GRAPHS),
}
"""Packages and modules of which nothing is used elsewhere."""

_BY_NAME = "importlib.import_module"
"""Allowed where the call itself begins with a package's name: `import_module(f"posse.{name}")`."""

METHODS = dict.fromkeys(
    [
        *("open", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "mkdir"),
        *("symlink_to", "hardlink_to", "rename", "replace", "unlink", "rmdir"),
    ],
    FILES,
)

ATTRIBUTES = {
    **dict.fromkeys(["st_uid", "st_gid"], OWNERS),
    **dict.fromkeys(["FileHandler", "RotatingFileHandler", "TimedRotatingFileHandler"], FILES),
    "_Unpickler": CODE,
    "_sign": SIGNATURES,
}

WRITERS = ("savefig", "tofile", "to_csv", "to_parquet", "to_json", "write_html", "write_image")
"""Methods of libraries that write a file, unless they are given one in memory."""

_IN_MEMORY = ("io.BytesIO", "io.StringIO")

OWN = {
    "open": {"exchange", "journal", "kept", "directory", "sweep", "self", "RunDirectory"},
    "rename": {"_mesh", "super"},
    "replace": {"lobby"},
    "mkdir": {"cache"},
}
"""Whose methods of such a name are not a path's."""


def around(source: str, place: str) -> list[tuple[int, str, str]]:
    """(line, name, gate) of each way around a gate in the source of the file at `place`."""
    tree = ast.parse(source)
    names = _imported(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {call.func for call in calls if _has_package(call)}
    nowhere = {call.func for call in calls if _is_to_nowhere(call, names)}
    allowed = EXEMPT[place][0] if place in EXEMPT else set[str]()
    if place.startswith("posse/cli/"):
        allowed = {*allowed, TERMINAL}  # its standard output is that of `TERMINAL`
    found = set()
    for node in ast.walk(tree):
        for name, gate in _uses(node, names):
            if name == _BY_NAME and node in named:
                continue
            if gate not in (place, *allowed) and node not in nowhere:
                found.add((getattr(node, "lineno", 0), name, gate))
    return sorted(found)


def _imported(tree: ast.AST) -> dict[str, str]:
    """What each name of the file stands for, by its full name."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                names[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                names[one.asname or one.name] = f"{node.module}.{one.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = _full(node.value.func, names)
            of = node.targets[0]
            if made in _IN_MEMORY and isinstance(of, ast.Name):
                names[of.id] = made
    return names


def _uses(node: ast.AST, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        name = names.get(node.id, f"builtins.{node.id}")
        if name in AROUND:
            yield name, AROUND[name]
    elif isinstance(node, ast.Attribute):
        name = _full(node, names)
        if name in AROUND:
            yield name, AROUND[name]
        elif node.attr in ATTRIBUTES:
            yield node.attr, ATTRIBUTES[node.attr]
        elif name.startswith("pathlib.Path.") and node.attr in METHODS:  # handed on: map(Path.open)
            yield name, METHODS[node.attr]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        if "st_mode" in {getattr(side, "attr", "") for side in (node.left, node.right)}:
            yield "st_mode", OWNERS  # who may do what; `stat.S_ISREG(…)` asks what it is
    elif isinstance(node, ast.Import):
        for one in node.names:
            if (top := one.name.partition(".")[0]) in MODULES:
                yield top, MODULES[top]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        if (top := node.module.partition(".")[0]) in MODULES:
            yield top, MODULES[top]
        for one in node.names:
            name = f"{node.module}.{one.name}"
            if one.name == "*":
                hidden = {own for full, own in AROUND.items() if full.startswith(f"{node.module}.")}
                yield from ((name, own) for own in hidden)
            if name in AROUND and name != _BY_NAME:  # how it is called matters
                yield name, AROUND[name]
    elif isinstance(node, ast.Call) and (name := _asked_for(node, names)):
        whole = f"{_full(node.args[0], names)}.{name}"
        if gate := AROUND.get(whole) or METHODS.get(name):
            yield f"getattr {name}", gate
    elif isinstance(node, ast.Call) and _is_of_a_path(method := node.func, node, names):
        yield f"Path.{method.attr}", METHODS[method.attr]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target = node.args[0] if node.args else node.func
        if node.func.attr in WRITERS and _full(target, names) not in _IN_MEMORY:
            yield node.func.attr, FILES


def _asked_for(call: ast.Call, names: dict[str, str]) -> str:
    """The attribute that `getattr` is asked for by a constant name, else ""."""
    of = call.args[1] if len(call.args) > 1 and _full(call.func, names) == "getattr" else None
    return str(of.value) if isinstance(of, ast.Constant) else ""


def _has_package(call: ast.Call) -> bool:
    """Whether the name that is imported begins with a package's."""
    name = call.args[0] if call.args else None
    first = name.values[0] if isinstance(name, ast.JoinedStr) else name
    return isinstance(first, ast.Constant) and "." in str(first.value)


def _is_to_nowhere(call: ast.Call, names: dict[str, str]) -> bool:
    return bool(call.args) and _full(call.args[0], names) == "os.devnull"


def _full(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_full(node.value, names)}.{node.attr}"
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _is_of_a_path(
    method: ast.expr, call: ast.Call, names: dict[str, str]
) -> TypeGuard[ast.Attribute]:
    """Whether a call may be one of a path's method, by its arguments."""
    if not isinstance(method, ast.Attribute) or method.attr not in METHODS:
        return False
    whose, _, _ = _full(method, names).partition(".")
    if whose in names.values() or whose == "posse":  # a module's function
        return False
    if _last(method.value) in OWN.get(method.attr, ()):
        return False
    if method.attr == "replace":  # text is replaced by another, a path by one place
        return len(call.args) == 1 and not call.keywords
    if method.attr == "rename":
        return len(call.args) == 1
    if method.attr == "open":
        mode = call.args[0] if call.args else ast.Constant("r")
        return isinstance(mode, ast.Constant) and isinstance(mode.value, str)
    return True


def _last(node: ast.expr) -> str:
    """The last name of an expression: `c` of `a.b.c` and of `c(…)`."""
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def findings() -> list[str]:
    """A sentence for each way around a gate in the whole tree."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            for line, name, gate in around(path.read_text(), place):
                found.append(f"{place}:{line}: {name} goes around {gate}")
    return found


if __name__ == "__main__":
    problems = findings()
    print("\n".join(problems))
    sys.exit(bool(problems))
