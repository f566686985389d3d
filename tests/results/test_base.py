"""The line that moves while a run goes on: each family's own words, worked out by hand."""

from typing import Any

import pytest
from msgspec import defstruct

from posse.engines import memory
from posse.errors import RunFailed
from posse.protocol.log import Row
from posse.results.base import Results, Standing
from posse.system import get_system, names
from tests.support.lab import lab


class Asked:
    horizon = 5_000


def standing(**changes: Any) -> Standing:
    plain: dict[str, Any] = {
        "agents": 16,
        "arms": 10,
        "parameters": Asked(),
        "clock": "slots",
        "now": 1_200.0,
        "rounds": 3_456.7,
        "finished": 3,
        "log": {},
    }
    return Standing(**{**plain, **changes})


def line(system: str, **changes: Any) -> str:
    return " · ".join(get_system(system).results.says(standing(**changes)))


VOTED: Any = {"votes": [[0.1, 0, 1], [0.2, 1, 1], [0.3, 2, 4]], "eliminations": [[0.2, 1]]}
ROUNDS: Any = {"rounds": [[100.0, 1, 7, 50, 16], [400.0, 2, 4, 90, 16]]}


@pytest.mark.parametrize(
    ("system", "changes", "wanted"),
    [
        (
            "dp-mase",
            {"clock": "virtual", "log": VOTED},
            "9 of 10 arms left · 3 votes · 3,457 rounds",
        ),
        ("mase", {"clock": "wall"}, "10 of 10 arms left · 0 votes · 1,200 s"),
        ("central", {"clock": "virtual", "log": VOTED}, "9 of 10 arms left · 3,457 rounds"),
        ("independent", {"clock": "virtual"}, "3 of 16 agents done · 3,457 rounds"),
        ("cooperative-ucb", {}, "slot 1,200 of 5,000"),
        ("ucb1", {"clock": "wall"}, "1,200 s"),
        ("tdfs-private", {}, "slot 1,200 of 5,000"),
        (
            "tdfs-ucb",
            {"log": {"collisions": [[5.0, 1, 2], [10.0, 3, 4]]}},
            "slot 1,200 of 5,000 · 7 collisions",
        ),
        ("cdp-mab", {}, "slot 1,200 of 5,000"),
        ("hdp-mab", {"log": ROUNDS}, "round 2 · 4 of 10 arms left · slot 1,200 of 5,000"),
        ("ddp-mab", {}, "slot 1,200 of 5,000"),
        (
            "anonymous",
            {"log": {"batch": [[0.0, 2, 9, 9, 3, 1, 40]]}},
            "round 1,200 of 5,000 · batch 2",
        ),
        (
            "anonymous",
            {"log": {"commit": [[9.0, 20, 900, 80]]}},
            "round 1,200 of 5,000 · exploration is over",
        ),
        ("parallel-ucb", {}, "round 1,200 of 5,000"),
    ],
)
def test_each_family_speaks_its_own_language(
    system: str, changes: dict[str, Any], wanted: str
) -> None:
    assert line(system, **changes) == wanted


def test_without_a_horizon_the_slot_alone_is_said() -> None:
    assert standing(parameters=None).time() == "slot 1,200"


@pytest.mark.parametrize("system", names())
def test_every_system_has_something_to_say_at_every_moment(system: str) -> None:
    plan = lab(system)
    progress = plan.system.results.progress
    said: list[str] = []
    memory.run(plan, 0, observe=lambda host: said.append(" · ".join(progress(host.standing()))))
    assert said
    assert all(said)
    assert ("votes" in said[-1]) == (system in ("mase", "dp-mase", "corrupted-elimination"))
    assert said[0] != said[-1]


@pytest.mark.parametrize("said", [None, "a sentence", [3]])
def test_what_is_said_of_progress_is_a_list_of_sentences(said: Any) -> None:
    with pytest.raises(RunFailed, match="progress of its system is .*; it must be a list of sente"):
        Results(progress=lambda standing: said).says(standing())


def test_sentences_of_progress_may_come_one_by_one() -> None:
    progress: Any = lambda standing: (one for one in ("a", "b"))  # noqa: E731
    found = Results(progress=progress).says(standing())
    assert found == ["a", "b"]


def row(name: str, table: str | None, **fields: Any) -> Any:
    """A kind of row of a user's system."""
    named = {} if table is None else {"table": table}
    return defstruct(name, [*fields.items()], bases=(Row,), namespace=named, frozen=True)


FINE = row("Fine", "fine", cell=int | float, more=tuple[int, ...])
NAMED = "it must be a str of letters"
FIELDS = "must have fields that are int or float, the last of which may be a tuple of them"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            (row("NoTable", None, cell=float),),
            "the row NoTable has table = None; it must be a str of letters",
        ),
        (
            (row("Above", "../above", cell=float),),
            r"the row Above has table = '\.\./above'; it must be a str of letters",
        ),
        ((row("Runs", "runs", cell=float),), "the row Runs: there is a table 'runs' already"),
        ((FINE, FINE), "the row Fine: there is a table 'fine' already"),
        ((row("Text", "text", cell=str),), f"the row Text {FIELDS}"),
        ((row("Truth", "truth", cell=bool),), f"the row Truth {FIELDS}"),
        ((row("NoCells", "no-cells"),), f"the row NoCells {FIELDS}"),
        (("Fine",), "must be a tuple of classes of rows"),
    ],
    ids=repr,
)
def test_tables_of_rows_are_checked_when_a_system_is_made(log: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        Results(log=log)
    assert Results(log=(FINE,)).line(FINE(1, (2, 3)), 0.5) == [0.5, 1, 2, 3]
