"""A ledger's entries and its tables say the same, whatever runs do."""

import random
import sqlite3
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.durable import chain
from posse.durable.entries import Entries, _merged
from posse.durable.lifetime import SCHEMA


def _made() -> tuple[sqlite3.Connection, Entries]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    return db, Entries(db)


def _begun(entries: Entries) -> int:
    return entries.begin(("now", "task", 3, 8, 0.5, None), b"losses", b"")


ROWS = st.lists(st.integers(0, 30), unique=True, max_size=8)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 1), ROWS), max_size=12))
def test_tables_are_what_the_entries_add_up_to(uses: list[tuple[int, int, list[int]]]) -> None:
    db, entries = _made()
    for _ in range(3):
        _begun(entries)
    used: dict[tuple[int, int], set[int]] = {}
    for run, arm, rows in uses:
        of_run = used.setdefault((run, arm), set())
        new = sorted(set(rows) - of_run)
        entries.use(run, arm, np.array(new, dtype=np.int64))
        of_run |= set(new)
        entries.count(run, sum(len(some) for (by, _), some in used.items() if by == run))
    entries.end(2, "then", 0.25)
    entries.check(Path("ledger"))
    for (run, arm), of_run in used.items():
        spans = db.execute("SELECT first, last FROM rows WHERE run = ? AND arm = ?", (run, arm))
        found = [row for first, last in spans for row in range(first, last)]
        assert sorted(found) == sorted(of_run)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM rows",
        "UPDATE rows SET last = last - 1",
        "UPDATE runs SET epsilon = 0.1",
        "DELETE FROM runs",
        "DELETE FROM chain WHERE number = (SELECT MAX(number) FROM chain)",
    ],
)
def test_tables_that_say_another_thing_are_refused(damage: str) -> None:
    db, entries = _made()
    run = _begun(entries)
    entries.use(run, 0, np.arange(4))
    entries.count(run, 4)
    db.execute(damage)
    with pytest.raises(chain.RewoundError, match="ledger: .*put the right file back"):
        entries.check(Path("ledger"))


def test_a_ledger_from_before_gets_entries() -> None:
    db, entries = _made()
    run = _begun(entries)
    entries.use(run, 1, np.array([0, 1, 5]))
    entries.count(run, 3)
    entries.end(run, "then", None)
    before = (
        db.execute("SELECT * FROM runs").fetchall(),
        db.execute("SELECT * FROM rows").fetchall(),
    )
    db.execute("DELETE FROM chain")
    entries.check(Path("ledger"))
    entries.check(Path("ledger"))
    assert [entry[0] for entry in chain.entries(db)] == ["begin", "use", "count", "end"]
    after = db.execute("SELECT * FROM runs").fetchall(), db.execute("SELECT * FROM rows").fetchall()
    assert after == before


spans = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 9)).map(lambda s: (s[0], s[0] + s[1])), max_size=9
)


@given(spans, st.randoms())
def test_spans_are_merged_to_the_fewest_with_the_same_rows_in_any_order(
    some: list[tuple[int, int]], chance: random.Random
) -> None:
    merged = _merged(list(some))
    rows = {row for first, last in some for row in range(first, last)}
    assert [row for first, last in merged for row in range(first, last)] == sorted(rows)
    assert all(one[1] < other[0] for one, other in pairwise(merged))
    mixed = chance.sample(some, len(some))
    assert _merged(mixed) == _merged(merged) == merged
