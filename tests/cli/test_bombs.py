"""Run files and reward logs that are made to harm: one sentence, exit code 2, and nothing large."""

import gzip
import itertools
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from posse.audit.whole import AUDIT
from posse.durable.directory import FAILURE, KEPT, RESULT
from posse.durable.shown import SHOWN
from posse.durable.sweep import SWEEP
from posse.errors import InputError
from posse.gates import files
from posse.hosts.status import LIVE
from posse.reading import folder as folders
from posse.report.audit import audit_page
from tests.cli.conftest import Posse

HEAD = 'system = "dp-mase"\nagents.count = 8\nparameters = { epsilon = 1.0, delta = 0.3 }\n'
ARMS = '[arms]\nkind = "bernoulli"\nmeans = [0.9, 0.2]\n'
CSV = '[arms]\nkind = "csv"\npath = "rewards-{rank}.csv"\ncount = 4\n'
RANDOM = '[arms]\nkind = "bernoulli"\nmeans = { random = "uniform", count = '

RUN_FILES: dict[str, str | bytes] = {
    "nested lists": HEAD + ARMS + "[x]\ny = " + "[" * 100_000 + "]" * 100_000,
    "keys 2,000 deep": ".".join(["a"] * 2_000) + " = 1\n" + HEAD + ARMS,
    "an integer of 100,000 digits": f"seed = {'9' * 100_000}\n{HEAD}{ARMS}",
    "a seed of 2^70": f"seed = {2**70}\n{HEAD}{ARMS}",
    "epsilon inf": HEAD.replace("1.0", "inf") + ARMS,
    "epsilon nan": HEAD.replace("1.0", "nan") + ARMS,
    "a deadline nan": HEAD + ARMS + "[engine]\ndeadline = nan\n",
    "a deadline inf": HEAD + ARMS + "[engine]\ndeadline = inf\n",
    "a deadline of 1e300": HEAD + ARMS + "[engine]\ndeadline = 1e300\n",
    "2^62 arms": f"{HEAD}{RANDOM}{2**62} }}\n",
    "10^9 arms": f"{HEAD}{RANDOM}1_000_000_000 }}\n",
    "10^9 arms in a log": HEAD + CSV.replace("count = 4", "count = 1_000_000_000"),
    "10^9 dimensions": f"{HEAD}{RANDOM}4, dimensions = 1_000_000_000 }}\n".replace(
        "uniform", "cosine"
    ),
    "10^9 agents": HEAD.replace("= 8", "= 1_000_000_000") + ARMS,
    "10^12 repetitions": f"repeat = 1_000_000_000_000\n{HEAD}{ARMS}",
    "latin-1": (HEAD + ARMS).encode() + b"# \xe9\n",
    "a NUL": (HEAD + ARMS).encode() + b"x = \x00\n",
    "8 MiB": (HEAD + ARMS).encode() + b"#" * (8 << 20),
    "a large float": HEAD.replace("1.0", "9" * 10_000 + ".0") + ARMS,
}

LOGS = {
    "a field of a million": b"arm,reward\n0," + b"1" * 1_000_000 + b"\n",
    "a NUL and a quote that does not end": b'arm,reward\n0,"\x00\n',
    "latin-1": b"arm,reward\n0,\xff\n",
    "an arm of 100,000 digits": b"arm,reward\n" + b"9" * 100_000 + b",1\n",
    "a reward of 1e999": b"arm,reward\n0,1e999\n",
    "nothing": b"",
}
COMPRESSED = {"a line": bytes(1 << 24), "rows": b"arm,reward\n" + b"\n" * (1 << 20)}


@pytest.fixture(autouse=True)
def little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Far more than any of these must take, and less than any would that got through."""
    monkeypatch.chdir(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


MOST_SECONDS, MOST_MIB = 10.0, 100.0
"""Of the processor, and of memory beside the 90 MiB that posse takes itself. Most bombs take a
hundredth of either; what got through would take all that there is."""


def memory(which: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.findall(rf"^{which}:\s+(\d+) kB", status, re.M)[0]) / 1024


Refused = Callable[..., None]


@pytest.fixture
def refused(posse: Posse) -> Refused:
    """A command that says one short sentence, soon and with little memory; its exit code is 2."""

    def carry_out(*command: str) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before, since = memory("VmRSS"), time.process_time()
        (line,) = posse(*command, code=2).err.splitlines()
        assert time.process_time() - since < MOST_SECONDS
        assert memory("VmHWM") - before < MOST_MIB
        assert line.startswith("posse: ")
        assert len(line) < 2_000

    return carry_out


@pytest.mark.parametrize("what", RUN_FILES)
def test_a_run_file_that_is_a_bomb_is_a_mistake_like_any_other(what: str, refused: Refused) -> None:
    text = RUN_FILES[what]
    Path("run.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused("check", "run.toml")


@pytest.mark.parametrize(
    ("what", "engine"), [*((what, "memory") for what in LOGS), ("latin-1", "processes")]
)
def test_a_reward_log_that_is_a_bomb_is_a_mistake_like_any_other(
    what: str, engine: str, refused: Refused
) -> None:
    Path("run.toml").write_text(HEAD + CSV)
    for rank in range(8):
        Path(f"rewards-{rank}.csv").write_bytes(LOGS[what])
    out = ("--engine", engine, "--quiet", "--out", engine)
    refused("run", "run.toml", *out)


@pytest.mark.parametrize("what", COMPRESSED)
def test_a_small_log_that_unpacks_to_much_is_refused(
    what: str, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setattr(files, "MOST", 1 << 20)
    Path("run.toml").write_text(HEAD + CSV.replace(".csv", ".csv.gz"))
    for rank in range(8):
        Path(f"rewards-{rank}.csv.gz").write_bytes(gzip.compress(COMPRESSED[what]))
    refused("run", "run.toml", "--engine", "memory", "--quiet", "--out", "out")


GENERATORS = {
    "10^9 nodes": ("complete_graph", "n = 1_000_000_000"),
    "20,000 nodes": ("complete_graph", "n = 20_000"),
    "3^60 nodes": ("dorogovtsev_goltsev_mendes_graph", "n = 60"),
    "2^40 nodes": ("hypercube_graph", "n = 40"),
    "10^6 nodes in a list": ("grid_graph", "dim = [100, 100, 100]"),
    "10^9 in a list": ("complete_multipartite_graph", "subset_sizes = [1_000_000_000, 1]"),
}
RING = 'system = "ddp-mab"\nagents.count = 8\nparameters = { epsilon = 1.0, horizon = 2000 }\n'


@pytest.mark.slow
@pytest.mark.parametrize("what", GENERATORS)
def test_a_generator_is_not_asked_for_more_than_the_agents_are(what: str, refused: Refused) -> None:
    generator, parameters = GENERATORS[what]
    table = f'[topology]\nkind = "networkx"\ngenerator = "{generator}"\n'
    Path("run.toml").write_text(f"{RING}{ARMS}{table}parameters = {{ {parameters} }}\n")
    refused("check", "run.toml")


@pytest.mark.parametrize(
    "kind", ['"complete"', '"erdos-renyi"\np = 0.5', '"regular"\ndegree = 9998']
)
def test_a_graph_of_too_many_edges_is_refused_before_it_is_made(
    kind: str, refused: Refused
) -> None:
    text = RING.replace("= 8", "= 100_000") + ARMS + f"[topology]\nkind = {kind}\n"
    Path("run.toml").write_text(text)
    refused("check", "run.toml")


CHECK = """
import re, sys
from posse.cli.main import main
code = main(["check", "run.toml"])
print(re.findall(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[0])
sys.exit(code)
"""


@pytest.mark.parametrize(
    "topology",
    [
        'kind = "networkx"\ngenerator = "complete_graph"\nparameters.n = 1_000_000_000',
        'kind = "file"\npath = "/dev/zero"',
        'kind = "file"\npath = "pipe"',
    ],
    ids=["10^9 nodes", "/dev/zero", "a pipe"],
)
def test_with_all_that_posse_takes_itself_it_is_under_200_mb(topology: str) -> None:
    os.mkfifo("pipe")
    Path("run.toml").write_text(f"{RING}{ARMS}[topology]\n{topology}\n")
    ended = subprocess.run(
        [sys.executable, "-P", "-c", CHECK], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert int(ended.stdout) * 1024 < 200_000_000


LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
GRAPHS = {
    "edges.txt": "0 1\n" * 100_000,
    "few.txt": "0 1\n" * 1_000,
    "laughs.graphml": f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a0 "lolol">{LAUGHS}]><graphml '
    'xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected"><node '
    'id="&a9;"/></graph></graphml>',
    "nested.json": "[" * 50_000,
    "twice.json": f'{{"nodes": [{"{}," * 20_000}{{"id": 0}}], "links": []}}',
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_file_that_is_a_bomb_is_a_mistake_like_any_other(
    name: str, refused: Refused
) -> None:
    Path(name).write_text(GRAPHS[name])
    Path("run.toml").write_text(f'{RING}{ARMS}[topology]\nkind = "file"\npath = "{name}"\n')
    refused("check", "run.toml")


COMMANDS = [
    "check NAME",
    "frames NAME",
    "ledger NAME",
    "run run.toml --set arms.path=NAME --set arms.kind=csv --set arms.means=",
    "check run.toml --set topology.kind=file --set topology.path=NAME",
]


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "pipe.toml", "folder"])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_but_regular_files_is_opened(command: str, name: str, refused: Refused) -> None:
    """Else a pipe would be waited for, and a device read without an end."""
    if name == "folder":
        Path(name).mkdir()
    elif not name.startswith("/"):
        os.mkfifo(name)
    Path("run.toml").write_text(RING + ARMS + '[topology]\nkind = "ring"\n')
    refused(*command.replace("NAME", name).split())


def test_a_module_is_a_regular_file(refused: Refused) -> None:
    os.mkfifo("endless.py")
    Path("run.toml").write_text(RING.replace("ddp-mab", "endless:SYSTEM") + ARMS)
    for command in ("check", "run"):
        refused(command, "run.toml", "--trust")


def test_of_results_too_nothing_but_regular_files_is_opened(posse: Posse) -> None:
    """Whichever file of a folder is a pipe, the rest is read, or a sentence says what is wrong."""
    Path("run.toml").write_text(HEAD + ARMS)
    posse("run", "run.toml", "--engine", "memory", "--out", "out", "--quiet")
    shutil.copytree("out", "early")
    Path("early", RESULT).unlink()  # so that its runs are read one by one
    names = {path.relative_to("out") for path in Path("out").rglob("*") if path.is_file()}
    names |= {Path(name) for name in (LIVE, SHOWN, FAILURE, SWEEP, AUDIT, f"{KEPT}/0.msgpack")}
    for folder, name in itertools.product(("out", "early"), sorted(names)):
        sent = Path(shutil.copytree(folder, "sent"), name)
        sent.parent.mkdir(exist_ok=True)
        sent.unlink(missing_ok=True)
        os.mkfifo(sent)
        with suppress(InputError):
            for series in folders.find(Path("sent")):
                series.links()
            audit_page(Path("sent"))
        shutil.rmtree("sent")


@pytest.mark.parametrize("name", ["result.json", "spec.toml", "links.csv"])
def test_of_results_too_no_file_is_read_that_is_too_large(name: str, posse: Posse) -> None:
    Path("run.toml").write_text(HEAD + ARMS)
    posse("run", "run.toml", "--engine", "memory", "--out", "out", "--quiet")
    os.truncate(Path("out", name), 1 << 40)
    with pytest.raises(InputError, match=f"{name} cannot be read: it has 1,099,511,627,776 bytes"):
        folders.read(Path("out")).links()
