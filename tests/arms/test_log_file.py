"""Logs as CSV, compressed or not, and as Parquet hold the same; what is wrong is named."""

import bz2
import gzip
import lzma
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.arms.log_file import LogColumns, read_log
from posse.errors import LogError
from tests.support.conversations import examples

TEXT = "note,arm,reward\na,1,0.5\nb,0,.25\n,1,1\n"
ROWS = [[0.25], [0.5, 1.0]]


def read(path: Path, *, bounded: bool = True, count: int = 2) -> list[list[float]]:
    return [log.tolist() for log in read_log(path, count, "agent 0", bounded=bounded).rewards]


def parquet(path: Path, **columns: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
    return path


WRITTEN = {
    "log.csv": TEXT.encode(),
    "log.txt": TEXT.encode(),
    "log.csv.gz": gzip.compress(TEXT.encode()),
    "log.CSV.GZ": gzip.compress(TEXT.encode()),
    "log.csv.bz2": bz2.compress(TEXT.encode()),
    "log.csv.xz": lzma.compress(TEXT.encode()),
    "spreadsheet.csv": b"\xef\xbb\xbfarm,reward\r\n1,0.5\r\n0,.25\r\n1,1\r\n",
    "notes.csv": b'note,arm,reward\n"a\nb, c",1,0.5\n\nd,0,.25\n,1,1\n',
    "numbers.csv": b"reward,arm\n 5e-1,1\n+.25,0\n1.0E0,1\n",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_log_is_read_however_it_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(WRITTEN[name])
    assert read(tmp_path / name) == ROWS


@pytest.mark.parametrize("name", ["log.csv.gz", "log.csv.bz2", "log.csv.xz"])
def test_what_is_cut_off_or_not_compressed_is_unreadable(tmp_path: Path, name: str) -> None:
    pack: dict[str, Any] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    whole = pack[Path(name).suffix](TEXT.encode() * 50)
    for content in (TEXT.encode(), whole[: len(whole) // 2]):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LogError, match=f"agent 0: .*{name} cannot be read: "):
            read(tmp_path / name)


@pytest.mark.parametrize(
    "row", ["1_0,1", "0,1_0", "٠,1", "0,٠.5", "1.0,1", "-1,1", "0,", ",1", "0,0x1"]
)
def test_what_only_python_takes_for_a_number_is_none(tmp_path: Path, row: str) -> None:
    (tmp_path / "log.csv").write_text(f"arm,reward\n{row}\n")
    with pytest.raises(LogError, match="line 2: needs (an arm from 0 to 19|a reward), and has '"):
        read(tmp_path / "log.csv", bounded=False, count=20)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arm;reward\n0;1\n", "needs one column 'arm' and one 'reward'; it has 'arm;reward'"),
        ("arm,reward,reward\n0,1,0\n", "it has 'arm,reward,reward'"),
        ("", "needs one column"),
        ("arm,reward\n0,0.5\n2,0.5\n", "line 3: needs an arm from 0 to 1"),
        ("arm,reward\n0,nan\n", "finite"),
        ("arm,reward\n0\n", "line 2: has 1 field, the header has 2"),
        ("arm,reward\n0,0,75\n", "line 2: has 3 fields, the header has 2"),
        (
            "arm,reward\n0,0.5\n0,1.5\n",
            r"line 3: has the reward 1.5, outside \[0, 1\], for arm 0; set",
        ),
        ('arm,reward,note\n0,1,"two\nlines"\n\n\nx,1,\n', "line 6"),
        ('arm,reward,note\n0,1,\n0,1,"ward 5\n1,1,\n', "after line 2: .* unexpected end of data"),
        ('arm,reward,note\n0,1,"a\n1,0.5,b"\n', "line 3: is a row within quotes"),
        ('arm,note,reward\n0,"a,1\n1,b",0.5\n', "line 3: is a row within quotes"),
        ("arm,reward,Reward\n0,1,0\n", "needs one column 'arm' and one 'reward'"),
        ("arm,reward, reward\n0,1,0\n", "needs one column 'arm' and one 'reward'"),
    ],
)
def test_what_is_wrong_with_a_log_is_named_with_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(LogError, match=said):
        read(tmp_path / "log.csv")


def test_parquet_from_pandas(tmp_path: Path) -> None:
    """Categories, an index; a missing number is null there, and refused as a blank is."""
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"arm": [1, 0, 1], "reward": [0.5, 0.25, 1]}, index=["x", "y", "z"])
    table["arm"] = table["arm"].astype("category")
    table.to_parquet(tmp_path / "log.parquet")
    table.to_csv(tmp_path / "log.csv")
    assert read(tmp_path / "log.parquet") == read(tmp_path / "log.csv") == ROWS

    table.loc["y", "reward"] = math.nan
    table.to_parquet(tmp_path / "log.parquet")
    table.to_csv(tmp_path / "log.csv")
    for name, where in (("log.parquet", "row 1"), ("log.csv", "line 3")):
        with pytest.raises(LogError, match=where):
            read(tmp_path / name, bounded=False)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"arm": [0], "value": [1]}, "needs one column 'arm' and one 'reward'; it has 'arm,value'"),
        ({"arm": [0, 2], "reward": [1, 1]}, "row 1: needs an arm from 0 to 1"),
        ({"arm": [0, None], "reward": [1, 1]}, "row 1: needs an arm from 0 to 1"),
        ({"arm": [0, 0], "reward": [1, math.nan]}, "row 1: .* a finite reward"),
        ({"arm": [0], "reward": [1.5]}, r"row 0: has the reward 1.5, outside \[0, 1\], for arm 0"),
        ({"arm": ["0"], "reward": [1]}, "has text in the column 'arm', not numbers"),
        ({"arm": [0], "reward": ["1"]}, "has text in the column 'reward', not numbers"),
        ({"arm": [timedelta(0)], "reward": [1]}, r"has duration\[us\] in the column 'arm'"),
        ({"arm": [datetime(1970, 1, 1)], "reward": [1]}, r"has timestamp\[us\] in the column"),
        ({"arm": [0], "reward": [1], " Reward": [0]}, "needs one column 'arm' and one 'reward'"),
        ({"arm": [0, 0.5], "reward": [1, 1]}, "row 1: needs an arm .*has '0.5' in the column"),
        (
            {"arm": [0, 1], "reward": [1, None]},
            "row 1: .*reward, and has '' in the column 'reward'",
        ),
        ({"arm": [[0]], "reward": [1]}, "is not Parquet with numbers"),
    ],
)
def test_what_is_wrong_with_parquet_is_named(
    tmp_path: Path, columns: dict[str, Any], said: str
) -> None:
    with pytest.raises(LogError, match=f"agent 0: .*log.parquet.*{said}"):
        read(parquet(tmp_path / "log.parquet", **columns))


FEATURES = LogColumns(features=("age", "dose"))


def test_features_are_read_alike_from_csv_and_parquet(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("dose,arm,reward,age\n.5,1,1,0.25\n0,0,0,-1\n1,1,0,0\n")
    table = parquet(
        tmp_path / "log.parquet",
        age=[0.25, -1, 0],
        arm=[1, 0, 1],
        reward=[1, 0, 0],
        dose=[0.5, 0, 1],
    )
    for path in (tmp_path / "log.csv", table):
        found = read_log(path, 2, "agent 0", bounded=True, columns=FEATURES).features
        assert [rows.tolist() for rows in found] == [[[-1, 0]], [[0.25, 0.5], [0, 1]]]


SQUARES = "has 0.9, 0.5 in 'age', 'dose', whose squares are 1.06 in sum, above 1"


@pytest.mark.parametrize("age", ["", "old", "nan", "inf", "0.9"])
def test_features_that_are_no_numbers_or_too_long_are_named(tmp_path: Path, age: str) -> None:
    number = float(age) if age not in ("", "old") else None
    said, in_parquet = (
        SQUARES if age == "0.9" else f"needs a finite number, and has '{cell}' in the column 'age'"
        for cell in (age, "" if number is None else age)
    )
    (tmp_path / "log.csv").write_text(f"arm,reward,age,dose\n0,1,0,0\n1,1,{age},0.5\n")
    with pytest.raises(LogError, match=rf"log\.csv, line 3: {said}"):
        read_log(tmp_path / "log.csv", 2, "agent 0", bounded=True, columns=FEATURES)
    table = parquet(
        tmp_path / "log.parquet", arm=[0, 1], reward=[1, 1], age=[0.0, number], dose=[0.0, 0.5]
    )
    with pytest.raises(LogError, match=rf"log\.parquet, row 1: {in_parquet}"):
        read_log(table, 2, "agent 0", bounded=True, columns=FEATURES)


def test_columns_names_and_separators_are_as_the_log_has_them(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user;item_id;click\n7;b ;1\n8;a;0\n7;a;0.5\n")
    parquet(tmp_path / "log.pq", user=[7, 8, 7], item_id=["b", "a", "a"], click=[1, 0, 0.5])
    own = LogColumns("user", (), "item_id", "click", ("a", "b"), ";")
    for name in ("log.csv", "log.pq"):
        log = read_log(tmp_path / name, 2, "agent 0", bounded=True, columns=own)
        assert [rows.tolist() for rows in log.rewards] == [[0.0, 0.5], [1.0]]
        assert log.persons is not None
        assert log.persons.names == ["7", "8"]
    fewer = own._replace(arms=("a", "c"))
    for name, where in (("log.csv", "line 2"), ("log.pq", "row 0")):
        said = f"{where}: needs one of arms.names, such as 'a', and has 'b' in the column 'item_id'"
        with pytest.raises(LogError, match=said):
            read_log(tmp_path / name, 2, "agent 0", bounded=True, columns=fewer)
    with pytest.raises(LogError, match="needs one column 'arm'.*; arms.columns may say which are"):
        read(tmp_path / "log.pq")


@given(
    st.lists(st.text("ab1 é", min_size=1, max_size=4), min_size=2, max_size=5, unique_by=str.strip),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.25, 1.0])), max_size=30),
    st.sampled_from(",;\t|"),
)
def test_a_log_of_names_is_the_log_of_their_numbers(
    names: list[str], rows: list[tuple[int, float]], separator: str
) -> None:
    own = LogColumns(arms=tuple(map(str.strip, names)), separator=separator)
    rows = [(arm % len(names), reward) for arm, reward in rows]
    named = "".join(f"{names[arm]}{separator}{reward}\n" for arm, reward in rows)
    plain = "".join(f"{arm},{reward}\n" for arm, reward in rows)
    found = [
        read_log(Path("log"), len(names), "agent 0", bounded=True, data=text.encode(), columns=has)
        for text, has in (
            (f"arm{separator}reward\n{named}", own),
            (f"arm,reward\n{plain}", LogColumns()),
        )
    ]
    assert [a.tolist() for a in found[0].rewards] == [b.tolist() for b in found[1].rewards]


@examples(Path(__file__).with_name("log_file.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
