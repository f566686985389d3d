"""What a system's shape says: who is there, and what each may be sent."""

import re
from pathlib import Path

import pytest

from posse.systems import get_system, names
from posse.systems.shapes import Alone, Mesh, MeshWithServer, SharedArms, Star

DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_every_system_stands_where_the_page_has_it() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", DOCS.read_text(), re.MULTILINE)
    told = {name: shape for shape, said in rows for name in re.findall(r"`([\w-]+)`", said)}
    assert told == {name: type(get_system(name).shape).__name__ for name in names()}


@pytest.mark.parametrize("name", names())
def test_whoever_is_there_can_be_spoken_to_and_nobody_else(name: str) -> None:
    system = get_system(name)
    assert bool(system.agent.hears) == (system.server is not None or system.wiring is not None)
    assert system.server is None or system.server.hears
    match system.shape:
        case Alone():
            assert (system.server, system.wiring) == (None, None)
        case Star() | SharedArms():
            assert system.wiring is None
        case Mesh():
            assert system.server is None
        case MeshWithServer():
            assert system.server is not None
            assert system.wiring is not None
    assert system.shares_arms == isinstance(system.shape, SharedArms)
