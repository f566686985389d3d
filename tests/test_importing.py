"""Public logs as they are: what is found in them, what is left out, and what they estimate."""

import gzip
import lzma
import math
import resource
import zlib
from pathlib import Path

import pytest

from posse.errors import InputError
from posse.importing import Chosen, edge_list, estimates, keep_commonest, logged, look
from posse.measure.confidence import student

FILES = {
    "bandit.csv": (
        ",timestamp,item_id,position,click,propensity_score\n"
        "0,2019-11-24,5,1,1,0.5\n1,2019-11-25,3,1,0,0.25\n2,2019-11-25,5,1,0,0.5\n"
    ),
    "ratings.csv": "userId,movieId,rating,timestamp\n7,50,4.5,1\n7,318,2,2\n8,50,3,3\n",
    "ratings.dat": "7::50::4::1\n8::318::2::2\n",
    "u.data": "7\t50\t4\t1\n8\t318\t2\t2\n",
    "train.vw": "1:-1:0.5 | age:3\n| x\n3:2:0.25 |a b\n1:0:0.5\n",
    "adf.vw": (
        "shared |u age:3\n|a x\n0:-1:0.5 |a y\n\nshared |u\n0:2:0.25|a x\n|a y\n|a z\n\n|a\n|b\n"
    ),
    "table.csv": "decisions,rewards\nArm1,10\nArm2,\nArm2,N/A\nArm1,3,4\nArm1,10\n",
}
COLUMNS = Chosen(arm="2", reward="3", person="1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "chosen", "arms", "rewards"),
    [
        ("bandit.csv", Chosen(), ["5", "3", "5"], [1.0, 0.0, 0.0]),
        ("ratings.csv", Chosen(), ["50", "318", "50"], [4.5, 2.0, 3.0]),
        ("ratings.dat", COLUMNS, ["50", "318"], [4.0, 2.0]),
        ("u.data", COLUMNS, ["50", "318"], [4.0, 2.0]),
        ("train.vw", Chosen(), ["1", "3", "1"], [1.0, -2.0, 0.0]),
        ("adf.vw", Chosen(), ["1", "0"], [1.0, -2.0]),
        ("table.csv", Chosen(), ["Arm1", "Arm1"], [10.0, 10.0]),
        ("table.csv", Chosen(cost=True), ["Arm1", "Arm1"], [-10.0, -10.0]),
    ],
)
def test_what_a_log_holds(folder, name, chosen, arms, rewards) -> None:
    log = logged(folder / name, chosen)
    assert (log.arms, log.rewards) == (arms, rewards)
    assert log.read == len(arms) + sum(log.left_out.values())
    assert log.persons == (["7", "8"] if chosen.person else [])


def test_the_receipt_says_what_was_left_out_and_what_is_doubtful(folder) -> None:
    log = logged(folder / "table.csv", Chosen())
    assert log.left_out == {"no reward in the column 'rewards'": 2, "another number of cells": 1}
    assert log.examples["no reward in the column 'rewards'"] == "row 2, column 'rewards': ''"
    assert log.doubtful[0] == "1 row is as another row in every column; all are kept"
    movies = logged(folder / "ratings.csv", Chosen())
    assert keep_commonest(movies, 1) == ["50"]
    assert (movies.arms, movies.left_out) == (["50", "50"], {"of 1 rarer arms": 1})


@pytest.mark.parametrize(
    ("name", "chosen", "said"),
    [
        ("u.data", Chosen(), "say by --arm COLUMN and --reward COLUMN which column it is"),
        ("ratings.csv", Chosen(person="who"), "--person who: .* it has userId, movieId"),
        ("table.csv", Chosen(reward="decisions"), "no row that can be used: row 1, column 'dec"),
    ],
)
def test_what_cannot_be_known_is_asked_for(folder, name, chosen, said) -> None:
    with pytest.raises(InputError, match=said):
        logged(folder / name, chosen)


def test_graphs_are_told_from_logs(tmp_path) -> None:
    for name, text in {
        "snap.txt": "# FromNodeId\tToNodeId\n1\t2\n",
        "out.konect": "% sym\n1 2 3 4\n",
        "a.mtx": "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n",
    }.items():
        (tmp_path / name).write_text(text)
        assert look(tmp_path / name) == "graph"


def test_estimates_of_a_log_by_hand(folder) -> None:
    """Arm 5: w r = 2, 0, 0 and w = 2, 0, 2; so IPS 2/3, SNIPS 1/2."""
    own, ips, snips, *_ = estimates(logged(folder / "bandit.csv", Chosen()), ["5", "3"])
    t = student(2)
    assert (own.value, own.n) == (1 / 3, 3)
    half = t * math.sqrt(((2 - 2 / 3) ** 2 + 2 * (2 / 3) ** 2) / 2 / 3)
    assert (ips.what, ips.value) == ("5, ips", 2 / 3)
    assert ips.high == pytest.approx(2 / 3 + half)
    # w (r - 1/2) = 1, 0, -1, of deviation 1; the mean of w is 4/3
    half = t / math.sqrt(3) / (4 / 3)
    assert (snips.value, snips.n) == (0.5, 2)
    assert snips.low == pytest.approx(0.5 - half)


def test_propensities_that_do_not_agree_with_the_log_are_doubted(tmp_path) -> None:
    rows = "".join(f"{n % 2},1,{p}\n" for n in range(400) for p in [0.5 if n % 2 else 0.1])
    (tmp_path / "log.csv").write_text("arm,reward,propensity\n" + rows)
    doubts = logged(tmp_path / "log.csv", Chosen()).doubtful
    assert doubts[-1] == (
        "the propensities of arm 0 do not agree with how often it was drawn: the mean of "
        "1/propensity is 5, and would be near 1"
    )


@pytest.mark.parametrize(("rewards", "doubted"), [("1,2,3,99", 1), ("1,50,99", 0), ("98,99", 0)])
def test_a_code_for_what_is_missing_is_doubted_and_left_out_if_asked(
    tmp_path, rewards, doubted
) -> None:
    rows = "".join(f"{n % 2},{reward}\n" for n, reward in enumerate(rewards.split(",")))
    (tmp_path / "log.csv").write_text("arm,reward\n" + rows)
    log = logged(tmp_path / "log.csv", Chosen())
    assert sum("--missing 99" in text for text in log.doubtful) == doubted
    left = logged(tmp_path / "log.csv", Chosen(missing="99.0"))
    assert left.left_out == {"rewards that are 99.0": 1}


def test_a_table_of_edges_is_an_edge_list(tmp_path) -> None:
    (tmp_path / "e.csv").write_text("Source,Target,Type,Weight\na,b c,Undirected,3\n")
    text, changed = edge_list(tmp_path / "e.csv", Chosen(), "Weight")
    assert text == "a\tb c\t3\n"
    assert changed[1] == "columns left out: Type"
    with pytest.raises(InputError, match="--weights COLUMN keeps a column's numbers"):
        edge_list(tmp_path / "e.csv", Chosen(), None)
    (tmp_path / "e.csv").write_text("from,to\na,b#1\n")
    with pytest.raises(InputError, match="row 1: needs from, to, and has"):
        edge_list(tmp_path / "e.csv", Chosen(), None)


def test_rewards_that_are_all_alike_give_no_interval(tmp_path) -> None:
    """No click in 300 rows is no proof that none ever comes."""
    rows = "".join(f"{n % 2},0,.5\n" for n in range(300))
    (tmp_path / "log.csv").write_text("arm,reward,propensity\n" + rows)
    found = estimates(logged(tmp_path / "log.csv", Chosen()), ["0", "1"])
    assert [(one.value, one.low, one.high) for one in found] == [(0.0, None, None)] * 5


def test_a_small_file_that_unpacks_to_much_is_refused_and_names_itself(tmp_path: Path) -> None:
    """One line of 6 GB took as much memory, and rows without anything took minutes."""
    for content in (b"arm,reward\n" + bytes(1 << 21), b"arm,reward\n" + b"\n" * (5 << 20)):
        (tmp_path / "log.csv.gz").write_bytes(gzip.compress(content, 1))
        with pytest.raises(InputError, match=r"log\.csv\.gz cannot be read: (a line|it) has more"):
            logged(tmp_path / "log.csv.gz", Chosen())
    packed = bytearray(lzma.compress(b"arm,reward\n0,1\n"))
    at = packed.index(b"\x21\x01", 12) + 2  # how large a dictionary it asks for: 4 GiB
    packed[at], end = 40, 12 + (packed[12] + 1) * 4
    packed[end - 4 : end] = zlib.crc32(packed[12 : end - 4]).to_bytes(4, "little")
    (tmp_path / "log.csv.xz").write_bytes(packed)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, before[1]))
    try:
        with pytest.raises(InputError, match=r"log\.csv\.xz cannot be read: it asks for more"):
            logged(tmp_path / "log.csv.xz", Chosen())
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("text", [f'source,target,"{"a" * 200_000}"\n0,1,2\n', 'source,"target\n'])
def test_a_table_of_edges_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(text)
    with pytest.raises(InputError, match=r"edges\.csv cannot be read: "):
        edge_list(tmp_path / "edges.csv", Chosen(), "")
