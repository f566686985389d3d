"""The line that moves while a run goes on: each family's own words, worked out by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import defstruct

from posse.engines import memory
from posse.protocol.log import Row
from posse.results.base import Standing
from posse.system import get_system, names
from tests.support.conversations import examples
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


@pytest.mark.parametrize("system", names())
def test_every_system_has_something_to_say_at_every_moment(system: str) -> None:
    plan = lab(system, engine={"plain": True})
    progress = plan.system.results.progress
    said: list[str] = []
    memory.run(plan, 0, observe=lambda host: said.append(" · ".join(progress(host.standing()))))
    assert said
    assert all(said)
    assert ("votes" in said[-1]) == (system in ("mase", "dp-mase", "corrupted-elimination"))
    assert said[0] != said[-1]


def row(name: str, table: str | None, **fields: Any) -> Any:
    """A kind of row of a user's system."""
    named = {} if table is None else {"table": table}
    return defstruct(name, [*fields.items()], bases=(Row,), namespace=named, frozen=True)


FINE = row("Fine", "fine", cell=int | float, more=tuple[int, ...])
NAMED = "it must be a str of letters"
FIELDS = "must have fields that are int or float, the last of which may be a tuple of them"


@examples(Path(__file__).with_name("base.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
