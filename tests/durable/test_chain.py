"""A chain of entries: what is taken out, changed or put back is evident from a later head."""

import sqlite3

import pytest

from posse.durable import chain


def _made(*entries: int) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.executescript(chain.SCHEMA)
    for entry in entries:
        chain.add(db, entry)
    return db


def test_a_chain_goes_on_from_each_of_its_heads_and_from_no_others() -> None:
    heads = [chain.head(_made(*range(n))) for n in range(4)]
    assert heads[0] == chain.NONE
    assert [head.number for head in heads] == [0, 1, 2, 3]
    goes_on = [[chain.goes_on_from(_made(*range(n)), head) for head in heads] for n in range(4)]
    assert goes_on == [[known <= n for known in range(4)] for n in range(4)]
    assert not chain.goes_on_from(_made(0, 9, 2, 3), heads[2])
    assert chain.entries(_made(5, 6)) == [[5], [6]]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM chain WHERE number = 1",
        "UPDATE chain SET entry = x'9109' WHERE number = 2",
        "UPDATE chain SET hash = zeroblob(32) WHERE number = 3",
        "UPDATE chain SET number = number + 1 WHERE number = 3",
    ],
)
def test_an_entry_that_is_not_what_was_written_is_found(damage: str) -> None:
    db = _made(0, 1, 2)
    db.execute(damage)
    with pytest.raises(sqlite3.DatabaseError, match="is not the one that was written"):
        chain.entries(db)
