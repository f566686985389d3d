"""Of each person of a log only the first rows are used, in both engines."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import posse
from posse.arms.csv import CsvArms
from posse.arms.log_file import LogColumns, read_log
from posse.arms.persons import Persons, name_of
from posse.errors import ArmsError, LogError
from posse.plan import prepare
from tests.support.arms import context
from tests.support.runfile import describe_run
from tests.support.runs import assert_same_run

ROWS = "arm,reward,patient\n0,0.1,eva\n1,0.2,eva\n0,0.3,adam\n0,0.4, eva\n1,0.5,adam\n0,0.6,eva\n"


def arms(folder: Path, most: int, text: str = ROWS) -> Any:
    (folder / "log.csv").write_text(text)
    spec = CsvArms(path=str(folder / "log.csv"), count=2)
    at = context()
    return spec.build(type(at)(**{**vars(at), "persons": Persons("patient", most)}))


ROW = st.tuples(st.integers(0, 1), st.sampled_from(["eva", " eva", "adam", "zoe"]))
OF_ROWS = [(0, "eva"), (1, "eva"), (0, "adam"), (0, " eva"), (1, "adam"), (0, "eva")]


@given(st.lists(ROW, max_size=40), st.integers(1, 9))
@example(OF_ROWS, 1)
@example(OF_ROWS, 2)
@example(OF_ROWS, 3)
@example(OF_ROWS, 9)
def test_the_first_rows_of_a_person_in_the_file_are_used_whatever_their_arm(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]], most: int
) -> None:
    text = "".join(f"{arm},{n / 100},{name}\n" for n, (arm, name) in enumerate(rows))
    made = arms(tmp_path_factory.getbasetemp(), most, f"arm,reward,patient\n{text}")
    wanted: list[list[float]] = [[], []]
    seen: Counter[str] = Counter()
    for n, (arm, name) in enumerate(rows):
        seen[name.strip()] += 1
        if seen[name.strip()] <= most:
            wanted[arm].append(n / 100)
    assert made.lengths == [sum(arm == k for arm, _ in rows) for k in (0, 1)]
    assert [made.remaining(arm) for arm in (0, 1)] == [len(of_arm) for of_arm in wanted]
    assert [made.draw(arm, 99).tolist() for arm in (0, 1)] == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arm,reward\n0,0.1\n", "needs one column 'patient', as .privacy. person says; it has 'ar"),
        ("arm,reward,patient,patient\n", "needs one column 'patient'"),
        ("arm,reward,patient\n0,0.1,eva\n0,0.1, \n", "line 3: names nobody, and has '' in the"),
    ],
)
def test_a_log_whose_column_names_nobody_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ArmsError, match=said):
        arms(tmp_path, 1, text)


def test_a_parquet_file_names_persons_by_text_or_number(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet  # noqa: PLC0415

    path = tmp_path / "log.parquet"
    for names, said in (
        (["b", "a", "b", "a"], ["b", "a"]),
        ([7, 3, 7, 3], ["7", "3"]),
        ([7.0, 8.5, 7.0, 8.5], ["7", "8.5"]),
    ):
        columns = {"arm": [1, 0, 0, 1], "reward": [0.1, 0.2, 0.3, 0.4], "patient": names}
        parquet.write_table(pyarrow.table(columns), path)
        log = read_log(path, 2, "agent 0", bounded=True, columns=LogColumns("patient"))
        assert log.persons is not None
        assert log.persons.names == said
        assert [rows.tolist() for rows in log.persons.first(1)] == [[0], [0]]
        assert [rewards.tolist() for rewards in log.rewards] == [[0.2, 0.3], [0.1, 0.4]]
    for nobody in (pyarrow.array([7.0, float("nan"), 7.0, 7.0]), ["a", None, "b", "a"]):
        parquet.write_table(pyarrow.table({**columns, "patient": nobody}), path)
        with pytest.raises(LogError, match="row 1: names nobody"):
            read_log(path, 2, "agent 0", bounded=True, columns=LogColumns("patient"))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Zo\u00eb", ["Zo\u00eb", "Zoe\u0308 ", " Zo\u200be\u0308", "\ufeffZo\u00eb"]),
        ("zoe", ["zoe"]),
        ("van Dam", ["van Dam", "van\u00a0Dam", "van  Dam", "van\tDam"]),
        ("7", [7, 7.0, np.float64(7), "7", "7.0", "07", "+7", "7.", b"7", "\uff17"]),
        ("7a", ["7a"]),
        ("7.0.1", ["7.0.1"]),
        ("", [None, float("nan"), "", " ", "\u200b", "nan", "NaN", "NA", "N/A", "null", "None"]),
    ],
)
def test_a_person_is_one_however_the_name_is_written(name: str, written: list[Any]) -> None:
    assert {name_of(one) for one in written} == {name}


@given(st.integers(-(10**9), 10**9), st.integers(1, 999))
@example(-7, 250)
@example(0, 1)
def test_a_number_is_one_person_however_it_is_written(whole: int, part: int) -> None:
    sign = "-" * (whole < 0)
    written = [whole, float(whole), str(whole), f"{sign}00{abs(whole)}", f"{whole}.00", f"{whole}."]
    assert {name_of(one) for one in written} == {str(whole)}
    digits = f"{part:03}".rstrip("0")
    written = [f"{whole}.{part:03}", f"{sign}0{abs(whole)}.{digits}00", float(f"{whole}.{digits}")]
    assert {name_of(one) for one in written} == {f"{whole}.{digits}"}


def test_files_and_own_arms_name_persons_alike(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet  # noqa: PLC0415

    names = ["7", "07", "7.0", "Zoe\u0308", "Zo\u00eb"]
    (tmp_path / "log.csv").write_text(
        "".join(["arm,reward,who\n", *(f"0,1,{name}\n" for name in names)]), encoding="utf-8"
    )
    table = {"arm": [0] * 5, "reward": [1.0] * 5, "who": names}
    parquet.write_table(pyarrow.table(table), tmp_path / "log.parquet")
    for kind in ("csv", "parquet"):
        path, columns = tmp_path / f"log.{kind}", LogColumns("who")
        persons = read_log(path, 1, "agent 0", bounded=True, columns=columns).persons
        assert persons is not None
        assert persons.names == ["7", "Zo\u00eb"]


WARD = """
class Ward:
    def __init__(self, agent, agents, seed):
        self.came = agent

    def pull(self, arm, count):
        first, self.came = self.came, self.came + count
        came = range(first, self.came)
        return [n % 3 / 2 for n in came], [f"p{n * n % 13 % 12}" if n % 2 else n for n in came]
"""


@pytest.mark.parametrize(
    ("arms", "most"),
    [
        # every second patient is new, and the others are six who give three rewards each
        ({"kind": "python", "target": "wards:Ward"}, 3),
        # 300 rows of 7 persons, of whom 20 rows are used
        ({"kind": "csv", "path": "log-{rank}.csv"}, 20),
    ],
    ids=["python", "csv"],
)
def test_both_engines_use_the_same_rewards_of_the_same_persons(
    arms: dict[str, Any], most: int, tmp_path: Path
) -> None:
    (tmp_path / "wards.py").write_text(WARD)
    for rank in range(2):
        rows = [f"{n % 2},{(n + rank) % 3 / 2},p{n * n % 13 % 12}" for n in range(300)]
        (tmp_path / f"log-{rank}.csv").write_text("\n".join(["arm,reward,who", *rows, ""]))
    privacy = {"person": "who", "rewards_per_person": most}
    parameters = {"epsilon": 1.0, "horizon": 100}
    one, other = (
        prepare(
            describe_run(
                "adap-ucb",
                2,
                {**arms, "count": 2},
                parameters=parameters,
                privacy=privacy,
                base=str(tmp_path),
                engine=kind,
            )
        )
        for kind in ("memory", "processes")
    )
    assert one.claim.epsilon == most
    record = posse.run(one).runs[0]
    assert_same_run(record, posse.run(other).runs[0])
    assert sum(record.pulls_per_agent) == (200 if arms["kind"] == "python" else 128)
