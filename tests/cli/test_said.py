"""What commands say, as it stands in said/."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tomli_w import dumps as toml

from posse.cli.main import main
from posse.protocol.signing import Signer
from posse.results.vouched import KIND, last_word
from posse.security import keys
from posse.testing.small import SMALL
from tests.cli.conftest import RUN_FILE, Posse
from tests.support.blocks import ROOT
from tests.support.conversations import transcripts
from tests.support.ledger import task, used_by
from tests.support.noise import needs_noise

PLAYERS = 'system = "tdfs-private"\nagents.count = 3\nparameters = { horizon = 300, epsilon = 1.0 }'
COOPERATIVE = (
    'system = "private-ucb"\nagents.count = 4\ntopology.kind = "ring"\n'
    "parameters = { horizon = 300, epsilon = 0.5 }"
)
LAB = '\narms = { kind = "bernoulli", means = [0.9, 0.6, 0.3] }'
LOGS = 'arms = { kind = "csv", path = "{rank}.csv", count = 3 }'
FIELD = '\nmode = "field"\narms = { kind = "csv", path = "PATH", count = 3, clip = [0.0, 1.0] }'
RING = """
system = "ddp-mab"
mode = "field"
agents.count = 50
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 4 }
topology.kind = "ring"
parameters = { epsilon = 0.1, horizon = 20_000 }
"""
PARTS = (
    '[agents]\ncount = 9\n[topology]\nkind = "components"\ncomponents = '
    '[{ kind = "path", count = 5 }, { kind = "star", count = 3 }, { kind = "single" }]\n'
)
GML = (
    'graph [ node [ id 0 label "2" ] node [ id 1 label "1" ] node [ id 2 label "3" ]'
    " edge [ source 0 target 1 ] edge [ source 0 target 2 ] ]"
)
NAMED = 'arms = { kind = "bernoulli", means = [0.5, 0.6] }\n' + (
    'topology = { kind = "file", path = "g.gml" }\n'
)
FOREIGN = "from pathlib import Path\nPath(__file__).with_name('imported').touch()\n"
OWN = """
from dataclasses import replace
from posse.extend import AgentRole, Message, Mesh, Wiring, along
from posse.system import get_system

class One(Message, frozen=True, tag="same"):
    x: int

class Other(Message, frozen=True, tag="same"):
    x: str

def mesh(knowledge, *hears):
    ucb = get_system("cooperative-ucb")
    make, told = ucb.agent.make, lambda spec, parameters, run: along(spec.graph(run), knowledge)
    return replace(ucb, shape=Mesh(AgentRole(make, hears or ucb.agent.hears), Wiring(told)))

TAGS = mesh(None, One, Other)
KNOWN = mesh([{"k": object()}] * 4)
ROWS = mesh([{}] * 3)
ADVICE = replace(mesh(None), advise=lambda spec, parameters: "one sentence")

class Raises(get_system("cooperative-ucb").parameters, frozen=True, kw_only=True):
    def __post_init__(self):
        {}["limit"]

MODEL = replace(mesh(None), parameters=Raises)
"""


UDATA = "196\t242\t3\t881250949\n186\t302\t3\t891717742\n22\t302\t1\t878887116\n"
GEPHI = "Source,Target,Type,Weight\nJon,Sam,x,3\nSam,Jon,x,3\nJon,Arya,x,5\n"
RATINGS = "user,movie,stars\n" + "".join(f"{n % 5},m{n % 3},{n % 4}\n" for n in range(60))
SIGNED = """
system = "private-ucb"
seed = 1
agents.count = 3
arms = { kind = "bernoulli", means = [0.9, 0.1] }
topology.kind = "complete"
parameters = { epsilon = 1.0, horizon = 60 }
"""


def signer(rank: int) -> Signer:
    return Signer(keys.for_agent(Path("keys"), rank).own.signing, {}, bytes(range(32)))


def signed() -> dict[str, Any]:
    """A result whose answers were signed, and the keys; its run."""
    keys.create(Path("keys"), 3)
    write("run.toml", SIGNED)
    assert main(["run", "run.toml", "--engine", "memory", "--out", "out", "--quiet"]) == 0
    told = {"horizon": 60, "epsilon": 1.0}
    words = {r: last_word("private-ucb", "corrected", 3, told, 0) for r in range(3)}
    made = {str(rank): signer(rank).sign(KIND, word).hex() for rank, word in words.items()}
    return changed(signed={"run": bytes(range(32)).hex(), "answers": made})


def changed(**parts: Any) -> dict[str, Any]:
    """The run of the result with these parts."""
    result = json.loads(Path("out/result.json").read_text())
    result["runs"][0] |= parts
    write("out/result.json", json.dumps(result))
    return dict(result["runs"][0])


def used(name: str) -> None:
    """A log of which two runs used rows."""
    rows = [f"{arm},{n}" for arm in (0, 1) for n in (0, 1, 0)]
    write(name, "\n".join(["arm,reward", *rows, ""]))
    used_by(Path(name).resolve(), task(0.5, 1e-5), 2, 1)
    used_by(Path(name).resolve(), task(None), 1, 0)


def parquet(name: str, **columns: Any) -> None:
    arrow, files = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    files.write_table(arrow.table(columns), name)


def write(name: str, text: str) -> None:
    Path(name).write_text(text)


FILES = sorted(Path(__file__).parent.glob("said/*.txt"))


NAMES = {
    "here": Path,
    "environ": os.environ,
    "json": json,
    "needs_noise": needs_noise,
    "toml": toml,
    "SMALL": SMALL,
    "ROOT": ROOT,
}


@transcripts(FILES, {**globals(), **NAMES, "ROOT": ROOT})
def test_commands_say_what_is_written_down(
    play: Callable[[], None], run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_file.read_text() == RUN_FILE
    monkeypatch.setattr("sys.path", [*sys.path])
    before = dict(os.environ)
    try:
        play()
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.parametrize(
    ("words", "begins", "hang"),
    [
        ("check run.toml", "  claim: ", 9),
        ("check run.toml", "  not on this machine: ", 4),
        ("list adap-ucb", "      epsilon ", 15),
    ],
)
def test_on_a_terminal_long_lines_are_broken_under_what_they_belong_to(
    words: str,
    begins: str,
    hang: int,
    run_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    posse: Posse,
) -> None:
    write("run.toml", RING)
    whole = posse(*words.split()).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "70")
    broken = posse(*words.split()).out
    assert broken.split() == whole.split()
    lines = broken.splitlines()
    assert all(len(line) <= 70 or len(line.split()) == 1 for line in lines)
    at = next(at for at, line in enumerate(lines) if line.startswith(begins))
    assert len(lines[at + 1]) - len(lines[at + 1].lstrip()) == hang
