"""`posse import`: what it writes is a run file that posse takes, and a receipt."""

import json
import os
import pty
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Posse
from tests.support.patience import PATIENCE

AGAIN = "edges again, or in the other direction"
LOOPS = "edges from a node to itself"
UNKNOWN = (
    "the log has no propensities: what it shows of an arm holds only if arms were drawn by chance, "
    "alike in every row"
)
RUN_AS = "a run takes rewards from {} as 0 to 1 (arms.clip)"
PUBLIC = {
    "all.csv": (  # Open Bandit, as downloaded
        ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
        "0,2019-11-24 00:00:22.9+00:00,0,3,0,0.5,8f\n1,2019-11-24 00:00:23.1+00:00,1,1,1,0.5,8f\n"
        "2,2019-11-24 00:00:24.2+00:00,1,1,,0.5,8f\n"
    ),
    "ratings.csv": "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n2,31,4,1\n2,1029,3,2\n",
    "u.data": "196\t242\t3\t881250949\n186\t302\t3\t891717742\n22\t302\t1\t878887116\n",
    "cb.dat": "1:2:0.4 | a c\n3:0.5:0.2 | b d\n4:1.2:0.5 | a b c\n2:1:0.3 | b c\n",  # VW's tutorial
    "site.csv": "decisions;rewards\nArm1;10\nArm2;17\nArm1;22\nArm1;10\nArm2;n/a\n",  # MABWiser
    "CA-GrQc.txt": (
        "# Directed graph (each unordered pair of nodes is saved once): CA-GrQc.txt \n"
        "# Nodes: 4 Edges: 5\n# FromNodeId\tToNodeId\n"
        "3466\t937\n937\t3466\n3466\t5233\n5233\t8579\n8579\t8579\n"
    ),
    "out.moreno_kangaroo": (
        "% sym positive\n% 5 4 4\n1 2 2 0\n2 3 1 0\n1 2 1 0\n3 4 1 0\n1 4 3 0\n"
    ),
    "karate.mtx": (
        "%%MatrixMarket matrix coordinate pattern symmetric\n%----\n% Newman/karate\n"
        "4 4 4\n2 1\n3 1\n4 1\n3 2\n"
    ),
    "asoiaf.csv": "Source,Target,Type,Weight\nJon,Sam,x,3\nSam,Jon,x,3\nJon,Arya,x,5\n",
}


def _receipt(**parts: object) -> dict[str, object]:
    """A receipt without the name of the file, what was written and the estimates."""
    empty: dict[str, object] = {"left_out": {}, "examples": {}, "changed": [], "doubtful": []}
    return empty | parts


RECEIPTS = [
    (
        "all.csv",
        (),
        _receipt(
            kind="a table",
            read=3,
            used=2,
            left_out={"no reward in the column 'click'": 1},
            examples={"no reward in the column 'click'": "row 3, column 'click': ''"},
        ),
    ),
    (
        "ratings.csv",
        ("--person", "userId"),
        _receipt(
            kind="a table",
            read=3,
            used=3,
            changed=[
                RUN_AS.format("2.5 to 4"),
                "adap-ucb is run, at ε = 1 for one reward: persons need a claim",
            ],
            doubtful=[UNKNOWN],
        ),
    ),
    (
        "u.data",
        ("--arm", "2", "--reward", "3"),
        _receipt(
            kind="a table",
            read=3,
            used=3,
            changed=[RUN_AS.format("1 to 3")],
            doubtful=[UNKNOWN],
        ),
    ),
    (
        "cb.dat",
        (),
        _receipt(
            kind="Vowpal Wabbit",
            read=4,
            used=4,
            changed=[
                "rewards are minus the column 'cost', which has costs",
                RUN_AS.format("-2 to -0.5"),
            ],
        ),
    ),
    (
        "site.csv",
        (),
        _receipt(
            kind="a table",
            read=5,
            used=4,
            left_out={"no reward in the column 'rewards'": 1},
            examples={"no reward in the column 'rewards'": "row 5, column 'rewards': 'n/a'"},
            changed=[RUN_AS.format("10 to 22")],
            doubtful=["1 row is as another row in every column; all are kept", UNKNOWN],
        ),
    ),
    (
        "plays.parquet",
        ("--arm", "song", "--reward", "liked"),
        _receipt(kind="Parquet", read=3, used=3, doubtful=[UNKNOWN]),
    ),
    (
        "CA-GrQc.txt",
        (),
        _receipt(
            kind="a graph of 4 nodes and 3 edges",
            read=5,
            used=3,
            left_out={LOOPS: 1, AGAIN: 1},
            changed=["agents are named by the file: 0 is 937"],
        ),
    ),
    (
        "out.moreno_kangaroo",
        ("--weights", "seen"),
        _receipt(
            kind="a graph of 4 nodes and 4 edges",
            read=5,
            used=4,
            left_out={AGAIN: 1},
            changed=["agents are named by the file: 0 is 1"],
            doubtful=["1 edge with more than one weight: such a one counts as none"],
        ),
    ),
    (
        "karate.mtx",
        (),
        _receipt(
            kind="a graph of 4 nodes and 4 edges",
            read=4,
            used=4,
            changed=["agents are named by the file: 0 is 1"],
        ),
    ),
    (
        "asoiaf.csv",  # for Gephi
        ("--weights", "Weight"),
        _receipt(
            kind="a graph of 3 nodes and 2 edges",
            read=3,
            used=2,
            left_out={AGAIN: 1},
            changed=[
                "an edge goes from the column 'Source' to 'Target'",
                "columns left out: Type",
                "agents are named by the file: 0 is Jon",
            ],
        ),
    ),
]


@pytest.mark.parametrize(("name", "options", "expected"), RECEIPTS, ids=[r[0] for r in RECEIPTS])
def test_ten_public_kinds_of_file_have_their_receipts(
    tmp_path: Path, posse: Posse, name, options, expected
) -> None:
    """Short files as the collections publish them: comments, headers, 1-based numbers, weights."""
    if name.endswith(".parquet"):
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = {"song": ["a", "b", "a"], "liked": [True, False, False], "at": [1, 2, 3]}
        parquet.write_table(arrow.table(table), tmp_path / name)
    else:
        (tmp_path / name).write_text(PUBLIC[name])
    told = json.loads(
        posse("import", tmp_path / name, *options, "--out", tmp_path / "o", "--json").out
    )
    assert {key: told[key] for key in expected} == expected
    assert bool(told["estimates"]) == ("graph" not in told["kind"])
    posse("check", tmp_path / "o/run.toml")


LOG = "user,movie,stars\n" + "".join(f"{n % 5},m{n % 3},{n % 4}\n" for n in range(60))
FILES = {"ratings.csv": LOG, "out.zachary": "% sym weighted\n1 2 3\n2 3 1\n3 1 2\n"}
SAID = ("--arm", "movie", "--reward", "stars")


@pytest.mark.parametrize(
    ("name", "options", "folder"),
    [
        ("ratings.csv", SAID, "ratings"),
        ("ratings.csv", (*SAID, "--person", "user", "--agents", "2"), "ratings"),
        ("ratings.csv", (*SAID, "--arms", "2", "--cost"), "ratings"),
        ("out.zachary", ("--weights", "delay"), "zachary"),
    ],
)
def test_what_it_writes_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse, name, options, folder
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(FILES[name])
    told = json.loads(posse("import", name, *options, "--json").out)
    assert told == json.loads((tmp_path / folder / "receipt.json").read_text())
    assert told["read"] == told["used"] + sum(told["left_out"].values())
    posse("check", f"{folder}/run.toml")
    posse("run", f"{folder}/run.toml", "--engine", "memory", "--out", "o")
    assert "exists already; choose another" in posse("import", name, *options, code=2).err


def test_it_asks_by_name_for_what_it_cannot_know(tmp_path: Path, posse: Posse) -> None:
    log, one = tmp_path / "log.csv", tmp_path / "one.csv"
    log.write_text("arm,reward\n" + "".join(f"{n},1\n" for n in range(101)))
    one.write_text("arm,reward\n7,1\n")
    said = posse("import", log, "--out", tmp_path / "o", code=2).err
    assert "has 101 arms; say by --arms N how many of the commonest" in said
    assert "a bandit needs two" in posse("import", one, "--out", tmp_path / "o", code=2).err
    assert not (tmp_path / "o").exists()


def _typed(folder: Path, words: list[str], *answers: str) -> tuple[int, str]:
    """The exit code, and what a terminal shows, of an import that is answered by these lines."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "posse", "import", *words]
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as asks:
        os.close(theirs)
        os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
        shown = b""
        with suppress(OSError):  # the other end is closed
            while select.select([ours], [], [], PATIENCE)[0] and (more := os.read(ours, 4096)):
                shown += more
        os.close(ours)
        return asks.wait(PATIENCE), shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("name", "text", "answers", "options"),
    [
        ("u.data", PUBLIC["u.data"], ("2", "3"), "--arm 2 --reward 3"),
        ("graph.txt", "a b 2\nb c 3\n", ("miles",), "--weights miles"),
        ("asoiaf.csv", PUBLIC["asoiaf.csv"], ("",), "--weights ''"),
        ("many.csv", "arm,reward\n" + "".join(f"{n},1\n" for n in range(101)), ("5",), "--arms 5"),
    ],
)
def test_in_a_terminal_it_asks_what_it_cannot_know(
    name: str, text: str, answers: tuple[str, ...], options: str, tmp_path: Path, posse: Posse
) -> None:
    (tmp_path / name).write_text(text)
    code, shown = _typed(tmp_path, [name], *answers)
    assert code == 0
    assert f"asked        posse import {name} {options}\n" in shown
    words = [answers[0] if word == "''" else word for word in options.split()]
    posse("import", tmp_path / name, *words, "--out", tmp_path / "again")
    made = tmp_path / name.split(".", maxsplit=1)[0] / "run.toml"
    assert made.read_text() == (tmp_path / "again" / "run.toml").read_text()


def test_an_answer_that_says_nothing_is_the_error(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text(PUBLIC["u.data"])
    code, shown = _typed(tmp_path, ["u.data"], "")
    assert (code, shown.count("say by --arm COLUMN")) == (2, 2)
    assert not (tmp_path / "u").exists()
