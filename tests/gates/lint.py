"""What goes around a gate: `python -m tests.gates.lint`, which `make check` runs.

A name of `AROUND` is used nowhere but in its gate, however it was imported, renamed or asked for by
its name (one that ends in a point stands for all that begin so); the methods in `METHODS` are those
of `pathlib.Path`, and the attributes in `ATTRIBUTES` are known by name alone, as a type is not
known here. What may go around, and why, is in `EXEMPT`. The gate of
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

DECODE = "posse/gates/decode.py"
TABLES, GRAPHS = "posse/arms/log_file.py", "posse/spec/graph_formats.py"
"""Read Parquet, and XML."""

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
    "posse/arms/log_file.py": ({DECODE}, "names the line that is wrong"),
    "posse/progress.py": ({TERMINAL}, "in a notebook, posse's own words"),
    "posse/results/document.py": ({TERMINAL}, "prints the schema of results"),
    "posse/__main__.py": ({TERMINAL}, "one sentence, before there is anything else"),
    "posse/log.py": ({TERMINAL}, "each line is printable"),
    "agent/site.py": ({TERMINAL}, "the line is printable"),
    "posse/engines/start/forkserver.py": ({TERMINAL}, "flushes what its children wrote"),
    "arena/posse_arena/verb.py": ({TERMINAL}, "a verb"),
    "papers/posse_papers/verb.py": ({TERMINAL}, "a verb"),
    "posse/wire/relay.py": ({SERVER}, "hands on sealed bytes, whatever they are"),
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
            *("zipfile.ZipFile", "tarfile.open", "mmap.mmap"),
            *("numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap"),
            *("numpy.save", "numpy.savez", "numpy.savetxt", "numpy.lib.format.open_memmap"),
            *("os.chmod", "os.lchmod", "shutil.chown", "logging.FileHandler"),
            *("tempfile.NamedTemporaryFile", "tempfile.SpooledTemporaryFile"),
            *("tempfile.TemporaryFile", "tempfile.TemporaryDirectory"),
            *("tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.mktemp"),
            *("os.remove", "os.unlink", "os.rmdir", "os.removedirs"),
            *("numpy.savez_compressed", "numpy.fromregex", "numpy.lib.npyio."),
            *("gzip.GzipFile", "bz2.BZ2File", "lzma.LZMAFile", "zipfile.", "tarfile."),
            *(
                "pandas.read_",
                "pandas.HDFStore",
                "pandas.ExcelFile",
                "polars.read_",
                "polars.scan_",
            ),
            *("pyarrow.csv.", "pyarrow.dataset.", "pyarrow.feather.", "pyarrow.memory_map"),
            *("pyarrow.OSFile", "pyarrow.fs.", "scipy.io.", "h5py.", "PIL.Image.open"),
            *("matplotlib.pyplot.imread", "matplotlib.pyplot.imsave", "matplotlib.image."),
            *("networkx.write_", "os.utime", "shutil.copystat", "shutil.copymode"),
        ],
        FILES,
    ),
    **dict.fromkeys(
        [
            *("http.server.", "wsgiref.simple_server.", "wsgiref.handlers.", "socketserver."),
            *("asyncio.start_server", "asyncio.start_unix_server"),
        ],
        SERVER,
    ),
    **dict.fromkeys(["uvicorn.", "starlette."], DOOR),
    **dict.fromkeys(["fcntl.flock", "fcntl.lockf", "fcntl.fcntl", "os.lockf"], LOCKS),
    **dict.fromkeys(["sqlite3.connect", "sqlite3.dbapi2.connect"], DATABASES),
    **dict.fromkeys(["os.geteuid", "os.chown", "os.fchown", "stat.ST_UID", "stat.ST_GID"], OWNERS),
    **dict.fromkeys(["os.getuid", "os.getresuid", "stat.S_IMODE", "stat.filemode"], OWNERS),
    **dict.fromkeys(["stat.ST_MODE", "os.listxattr", "os.getxattr", "os.setxattr"], OWNERS),
    **dict.fromkeys(["csv.writer", "csv.DictWriter"], SHOWN),
    "cryptography.hazmat.primitives.asymmetric.ed25519.Ed25519PrivateKey": SIGNATURES,
    "cryptography.hazmat.primitives.serialization.": SIGNATURES,
    **dict.fromkeys(["nacl.signing.", "nacl.bindings."], SIGNATURES),
    **dict.fromkeys(
        [
            *("importlib.import_module", "importlib.reload", "importlib.__import__"),
            *("builtins.__import__", "builtins.exec", "builtins.eval", "builtins.compile"),
            *("importlib.util.spec_from_file_location", "importlib.util.module_from_spec"),
            *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads"),
            *("importlib.util.spec_from_loader", "importlib.machinery.SourceFileLoader"),
            *("pkgutil.resolve_name", "pkgutil.walk_packages", "site.addsitedir", "ctypes.CDLL"),
            *("importlib.machinery.SourcelessFileLoader", "importlib.machinery.FileFinder"),
            "importlib.machinery.ExtensionFileLoader",
            *("runpy.", "timeit.", "cProfile.run", "profile.run", "pydoc.", "doctest.", "pdb."),
            *("logging.config.", "unittest.mock."),
            *("pandas.eval", "numpy.f2py.", "torch.load", "builtins.__builtins__"),
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
                "os.startfile",
            ),
            *(f"os.exec{how}" for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
            *(f"os.spawn{how}" for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
            *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"),
            *("concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process."),
            *("pty.", "asyncio.subprocess."),
        ],
        STARTS,
    ),
    **dict.fromkeys(
        ["importlib.metadata.entry_points", "pkg_resources.iter_entry_points"], PACKAGES
    ),
    **dict.fromkeys(["csv.reader", "csv.DictReader"], DECODE),
    "pyarrow.parquet.": TABLES,
    **dict.fromkeys(
        ["urllib.request.", "http.client.HTTPConnection", "http.client.HTTPSConnection"],
        ASKS,
    ),
    **dict.fromkeys(
        [
            *("logging.getLogger", "logging.basicConfig", "logging.StreamHandler", "logging.root"),
            *(f"logging.{how}" for how in ("debug", "info", "warning", "error", "critical", "log")),
            *("logging.exception", "logging.Logger", "logging.lastResort", "syslog."),
            *("warnings.warn", "warnings.warn_explicit", "warnings.showwarning"),
        ],
        LOG,
    ),
    **dict.fromkeys(
        [
            *("builtins.print", "builtins.input", "sys.stdout", "sys.stderr", "sys.__stdout__"),
            *("sys.__stderr__", "sys.displayhook", "traceback.print_", "faulthandler."),
            *("rich.print", "rich.console.", "click.", "getpass."),
        ],
        TERMINAL,
    ),
}
"""By its full name, the gate whose own a function is."""

MODULES = {
    **dict.fromkeys(["aiofiles", "configparser", "dbm", "netrc", "shelve", "fileinput"], FILES),
    **dict.fromkeys(["_io", "posix", "_pyio", "anyio", "fsspec", "dotenv"], FILES),
    **dict.fromkeys(["_sqlite3", "apsw", "aiosqlite", "duckdb", "peewee", "sqlalchemy"], DATABASES),
    **dict.fromkeys(["msvcrt", "portalocker", "filelock"], LOCKS),
    **dict.fromkeys(["cloudpickle", "code", "codeop", "dill", "imp", "joblib", "zipimport"], CODE),
    **dict.fromkeys(["_pickle", "_imp", "bdb", "cffi", "jsonpickle", "trace"], CODE),
    **dict.fromkeys(["ecdsa", "pysodium", "libnacl", "rsa", "Crypto", "OpenSSL"], SIGNATURES),
    **dict.fromkeys(["aiohttp", "bottle", "cherrypy", "django", "fastapi", "flask"], SERVER),
    **dict.fromkeys(["gunicorn", "hypercorn", "sanic", "tornado", "twisted", "waitress"], SERVER),
    **dict.fromkeys(["websockets", "wsproto", "xmlrpc"], SERVER),
    **dict.fromkeys(["ftplib", "httpx", "imaplib", "requests", "smtplib", "urllib3"], ASKS),
    **dict.fromkeys(["multiprocessing", "subprocess", "_posixsubprocess", "pexpect"], STARTS),
    **dict.fromkeys(["defusedxml", "lxml", "xml", "pyexpat"], GRAPHS),
    **dict.fromkeys(["_csv", "cbor2", "orjson", "plistlib", "simplejson", "toml"], DECODE),
    **dict.fromkeys(["tomli", "tomlkit", "ujson"], DECODE),
    **dict.fromkeys(["pprint"], TERMINAL),
}
"""Packages and modules of which nothing is used elsewhere."""

_BY_NAME = "importlib.import_module"
"""Allowed where the call itself begins with the name of one of `OURS`."""

ATTRIBUTES = {
    **dict.fromkeys(["st_uid", "st_gid"], OWNERS),
    **dict.fromkeys(["FileHandler", "RotatingFileHandler", "TimedRotatingFileHandler"], FILES),
    **dict.fromkeys(["read_text", "read_bytes", "write_text", "write_bytes", "rmdir"], FILES),
    **dict.fromkeys(["symlink_to", "hardlink_to", "unlink", "chmod", "lchmod"], FILES),
    **dict.fromkeys(["create_server", "create_unix_server"], SERVER),
    **dict.fromkeys(["subprocess_exec", "subprocess_shell"], STARTS),
    "_Unpickler": CODE,
    **dict.fromkeys(["_sign", "Ed25519PrivateKey"], SIGNATURES),
}

METHODS = {
    **dict.fromkeys(["open", "touch", "mkdir", "rename", "replace"], FILES),
    **{name: gate for name, gate in ATTRIBUTES.items() if gate == FILES},
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
    kinds = {call.args[0] for call in calls if _full(call.func, names).startswith("stat.S_IS")}
    allowed = EXEMPT[place][0] if place in EXEMPT else set[str]()
    if place.startswith("posse/cli/"):
        allowed = {*allowed, TERMINAL}  # its standard output is that of `TERMINAL`
    found = set()
    for node in ast.walk(tree):
        if node in kinds:  # what a file is, not who may do what with it
            continue
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
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                names[one.asname or one.name] = f"{node.module or 'posse'}.{one.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.NamedExpr):
            of = node.targets[0] if isinstance(node, ast.Assign) else node.target
            made = node.value.func if isinstance(node.value, ast.Call) else node.value
            full = _full(made, names)
            renamed = made is node.value and full.partition(".")[0] in _TOPS
            if isinstance(of, ast.Name) and (renamed or full in _IN_MEMORY):
                names[of.id] = full
    return names


_TOPS = {name.partition(".")[0] for name in AROUND} - {"builtins"}
"""Modules that have a way around a gate."""


def _gate(name: str) -> str:
    """The gate of a full name; "" if it goes around none. A module may be another's attribute."""
    parts = name.split(".")
    for begin in range(len(parts) - 1):
        own = ".".join(parts[begin:])
        if own in AROUND:
            return AROUND[own]
        for beginning, gate in _BEGINNINGS:
            if own.startswith(beginning):
                return gate
    return ""


_BEGINNINGS = [(name, gate) for name, gate in AROUND.items() if name.endswith((".", "_"))]


def _uses(node: ast.AST, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        name = names.get(node.id, f"builtins.{node.id}")
        if gate := _gate(name):
            yield name, gate
    elif isinstance(node, ast.Attribute):
        name = _full(node, names)
        if gate := _gate(name):
            yield name, gate
        elif node.attr in ATTRIBUTES:
            yield node.attr, ATTRIBUTES[node.attr]
        elif name.startswith("pathlib.Path.") and node.attr in METHODS:  # handed on: map(Path.open)
            yield name, METHODS[node.attr]
        elif node.attr == "st_mode":  # who may do what; `stat.S_ISREG(…)` asks what it is
            yield node.attr, OWNERS
    elif isinstance(node, ast.Import):
        for one in node.names:
            if (top := one.name.partition(".")[0]) in MODULES:
                yield top, MODULES[top]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from _taken(node, node.module)
    elif isinstance(node, ast.Subscript) and (name := _looked_up(node, names)):
        if gate := _gate(name):
            yield name, gate
    elif isinstance(node, ast.Call):
        yield from _called(node, names)


def _taken(node: ast.ImportFrom, module: str) -> Iterator[tuple[str, str]]:
    if (top := module.partition(".")[0]) in MODULES:
        yield top, MODULES[top]
    for one in node.names:
        name = f"{module}.{one.name}"
        if one.name == "*":
            hidden = {own for full, own in AROUND.items() if full.startswith(f"{module}.")}
            yield from ((name, own) for own in hidden)
        elif one.name in MODULES and module in _TOPS:  # another module's import of it
            yield name, MODULES[one.name]
        if (gate := _gate(name)) and name != _BY_NAME:  # how it is called matters
            yield name, gate


def _called(node: ast.Call, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    function = _full(node.func, names)
    if function in _MADE:
        yield function, _MADE[function]
    elif (function == "os.write" and _constant(node.args[0]) in (1, 2)) or (
        function == "sys.exit" and node.args and isinstance(node.args[0], ast.JoinedStr)
    ):
        yield function, TERMINAL
    elif function in _BY_WORD or function.endswith(".__getattribute__"):
        whose = "" if function.startswith("operator.") else _full(node.args[0], names)
        word = _constant(node.args[-1 if "__" in function else _BY_WORD.get(function, 0)])
        if not isinstance(word, str):
            if whose in _TOPS - _ASKED_BY_NAME:  # nobody knows for what
                yield (
                    f"{function} {whose}",
                    next(g for n, g in AROUND.items() if n.startswith(whose)),
                )
        elif gate := _gate(f"{whose}.{word}") or {**METHODS, **ATTRIBUTES}.get(word):
            yield f"{function} {word}", gate
    elif _is_of_a_path(method := node.func, node, names):
        if method.attr not in ATTRIBUTES:
            yield f"Path.{method.attr}", METHODS[method.attr]
    elif isinstance(node.func, ast.Attribute):
        target = node.args[0] if node.args else node.func
        if node.func.attr in WRITERS and _full(target, names) not in _IN_MEMORY:
            yield node.func.attr, FILES


_MADE = {
    **dict.fromkeys(["sqlite3.Connection", "sqlite3.dbapi2.Connection"], DATABASES),
    **dict.fromkeys(["types.FunctionType", "types.CodeType"], CODE),
}
"""What is no way around a gate as a type, but where one is made."""

_BY_WORD = {"getattr": 1, "operator.methodcaller": 0, "operator.attrgetter": 0}
"""What takes an attribute by a word, and at which place the word is."""

_ASKED_BY_NAME = {"networkx", "sys"}
"""The first's readers are given bytes, and the second is asked for its streams."""


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _looked_up(node: ast.Subscript, names: dict[str, str]) -> str:
    """The full name in `vars(module)["name"]` and `module.__dict__["name"]`, else ""."""
    word, of = _constant(node.slice), node.value
    if isinstance(of, ast.Call) and _full(of.func, names) == "vars" and of.args:
        return f"{_full(of.args[0], names)}.{word}"
    if isinstance(of, ast.Attribute) and of.attr == "__dict__":
        return f"{_full(of.value, names)}.{word}"
    return f"sys.modules.{word}.*" if _full(of, names) == "sys.modules" and word in _TOPS else ""


def _has_package(call: ast.Call) -> bool:
    """Whether the name that is imported begins with one of our packages'."""
    name = call.args[0] if call.args else None
    first = name.values[0] if isinstance(name, ast.JoinedStr) else name
    return isinstance(first, ast.Constant) and str(first.value).startswith(OURS)


OURS = ("posse.", "posse_papers.", "sklearn.")
"""Packages whose modules are imported by a name that is put together."""


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
