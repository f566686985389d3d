"""What a ledger adds up to, against each row counted by itself."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.durable.lifetime import LEAST_DELTA, SCHEMA, _largest, lifetime, pieces, read
from posse.errors import InputError
from posse.protocol.accounting import Losses, together

SPANS = st.lists(
    st.tuples(
        st.integers(1, 4),  # the run
        st.integers(0, 1),  # the arm
        st.integers(0, 12),
        st.integers(1, 6),
    ),
    max_size=12,
)
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
LOSS = {c: Losses(pure=((c, 1),), delta=c / 8) for c in (0.25, 0.5, 1.0)}
COSTS = st.lists(st.sampled_from([None, 0.25, 0.5, 1.0]), min_size=4, max_size=4)


@given(SPANS, COSTS)
def test_the_most_exposed_row_is_found(
    spans: list[tuple[int, int, int, int]], costs: list[float | None]
) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    cost: dict[tuple[int, int], float] = {}
    uses: dict[tuple[int, int], int] = {}
    runs: dict[tuple[int, int], dict[int, float | None]] = {}
    slack: dict[tuple[int, int], float] = {}
    rewards = [0, 0, 0, 0]
    for run, arm, first, length in spans:
        rewards[run - 1] += length
        connection.execute(
            "INSERT INTO rows VALUES (?, ?, ?, ?)", (run, arm, first, first + length)
        )
        for row in range(first, first + length):
            cost[arm, row] = cost.get((arm, row), 0.0) + (costs[run - 1] or 0.0)
            runs.setdefault((arm, row), {})[run] = costs[run - 1]
            uses[arm, row] = uses.get((arm, row), 0) + 1
            slack[arm, row] = slack.get((arm, row), 0.0) + (costs[run - 1] or 0.0) / 8
    for run, used in enumerate(rewards, start=1):
        connection.execute(
            "INSERT INTO runs VALUES (?, '', NULL, '', 0, 1, ?, ?, ?, NULL)",
            (run, costs[run - 1], costs[run - 1] and costs[run - 1] / 8, used),
        )
    book = lifetime(connection, Path("log.ledger"))
    assert book.rows == len(cost)
    assert book.epsilon == max(cost.values(), default=0.0)
    assert book.delta == max(slack.values(), default=0.0)
    every = [together([LOSS[c] for c in by.values() if c]) for by in runs.values()]
    exact = max((one.epsilon(book.delta or LEAST_DELTA) for one in every), default=0.0)
    if book.exact is None:
        assert exact >= 0.99 * book.epsilon
    else:
        assert book.exact.epsilon == pytest.approx(exact)
    assert book.unprotected == sum(
        used for used, epsilon in zip(rewards, costs, strict=True) if epsilon is None
    )
    for arm in range(2):
        counted = [0] * 20
        for first, last, by in pieces(connection, arm, 20):
            counted[first:last] = [len(by)] * (last - first)
        assert counted == [uses.get((arm, row), 0) for row in range(20)]
    connection.close()


class Counted(frozenset[int]):
    """Counts how often two are compared."""

    compared = 0

    def __lt__(self, other: Any) -> bool:
        Counted.compared += 1
        return super().__lt__(other)


@given(st.lists(st.frozensets(st.integers(0, 6))))
def test_of_patterns_those_are_left_that_are_no_part_of_another(patterns) -> None:
    largest = [one for one in set(patterns) if not any(one < other for other in patterns)]
    assert sorted(map(sorted, _largest(set(patterns)))) == sorted(map(sorted, largest))


def test_runs_that_share_no_row_are_not_compared_with_each_other() -> None:
    """Else a ledger costs the square of its runs (attack r06)."""
    for patterns in ([Counted([n]) for n in range(500)], [Counted(range(n)) for n in range(500)]):
        Counted.compared = 0
        assert len(_largest(patterns)) in (1, 500)
        assert Counted.compared <= 500


def kept(path: Path) -> sqlite3.Connection:
    """A ledger of one run that used three rewards, as an agent has it open."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO runs VALUES (1, '', NULL, '', 0, 1, 0.5, NULL, 3, NULL)")
    connection.execute("INSERT INTO rows VALUES (1, 0, 0, 3)")
    return connection


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["rewards-1.csv", "what? 100%25 #1.csv"])
def test_to_read_it_leaves_nothing_beside_it(tmp_path: Path, name: str) -> None:
    kept(tmp_path / f"{name}.ledger").close()
    before = contents(tmp_path)
    assert before.keys() == {f"{name}.ledger"}
    assert read(tmp_path / name).rows == 3
    assert contents(tmp_path) == before


def test_what_a_killed_agent_wrote_is_read_and_left_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "up").mkdir()
    connection = kept(tmp_path / "up" / "log.ledger")
    assert read(tmp_path / "up" / "log").rows == 3  # also while the agent is up
    shutil.copytree(tmp_path / "up", tmp_path / "killed")
    connection.close()
    names = {"log.ledger", "log.ledger-wal", "log.ledger-shm"}
    before = contents(tmp_path / "killed")
    assert before.keys() == names
    assert read(tmp_path / "killed" / "log").rows == 3
    after = contents(tmp_path / "killed")
    assert after.keys() == names
    for name in ("log.ledger", "log.ledger-wal"):
        assert after[name] == before[name]


def test_many_rows_take_no_memory(tmp_path: Path) -> None:
    """A run of 350 million rows, as a ledger of 4 kB may say, was an array of 8 GB."""
    connection = kept(tmp_path / "log.ledger")
    connection.execute("UPDATE rows SET last = 350000000")
    connection.close()
    assert read(tmp_path / "log").rows == 350_000_000


def test_one_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "log")
    assert not contents(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE rows SET last = 1000000000000",
        "UPDATE rows SET last = 'x'",
        "UPDATE runs SET epsilon = 'x'",
        "UPDATE runs SET epsilon = 9e999",
        "UPDATE runs SET delta = -1",
        "UPDATE runs SET task = CAST(x'b2' AS TEXT)",
        "INSERT INTO losses VALUES (1, x'c1')",
        f"DROP TABLE rows; CREATE VIEW rows AS {ENDLESS} SELECT 1 AS run, x AS arm FROM c",
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
    ],
)
def test_a_damaged_one_is_refused_in_a_sentence(tmp_path: Path, damage: str) -> None:
    connection = kept(tmp_path / "log.ledger")
    connection.executescript(damage)
    connection.close()
    with pytest.raises(InputError, match=r"log\.ledger cannot be read as a ledger: "):
        read(tmp_path / "log")
