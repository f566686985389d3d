"""Where agents stand after a loss, and from where they are told to go on."""

from collections.abc import Collection

import msgspec
import pytest

from posse.coordinator.regrouping import Regrouping
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.system.network import Network, along
from posse.topologies.graphs import Graph

PATH = [(1,), (0, 2), (1, 3), (2,)]


def lay_out(graph: Graph, present: Collection[int]) -> Network:
    told = [{"members": graph.components[of]} for of in graph.component_of]
    return along(graph, told, {"present": sorted(present)})


def standing(view: int, round_: int, slot: int, *arms: int) -> control.AgentStanding:
    return control.AgentStanding(view, round_, 10 * round_, slot, arms)


def test_each_part_goes_on_from_where_those_are_that_came_furthest() -> None:
    """A path 0-1-2-3 that loses agent 1; agent 3 is a round ahead of 2."""
    regrouping = Regrouping(PATH, lay_out)
    assert regrouping.missing([0, 1, 2, 3]) == []
    regrouping.note_loss()
    here = [0, 2, 3]
    regrouping.note_standing(0, standing(1, 1, 17, 0, 1, 2))
    regrouping.note_standing(2, standing(1, 1, 18, 0, 1, 2))
    assert regrouping.missing(here) == [3]
    assert regrouping.go_on(here, together=False) is None
    regrouping.note_standing(3, standing(1, 2, 25, 0, 2))
    found = regrouping.go_on(here, together=False)
    assert found is not None
    network, told = found
    assert network.server == {"present": here}
    assert [(t.round, t.begun, t.slot, t.arms) for t in told.values()] == [
        (1, 10, 17, (0, 1, 2)),
        (2, 20, 25, (0, 2)),
        (2, 20, 25, (0, 2)),
    ]
    assert [t.neighbours for t in told.values()] == [(), (3,), (2,)]
    members = [msgspec.msgpack.decode(t.knowledge)["members"] for t in told.values()]
    assert members == [[0], [2, 3], [2, 3]]
    assert regrouping.go_on(here, together=False) is None  # they were told


def test_who_stands_twice_or_unasked_is_out_of_turn_and_most_are_believed() -> None:
    regrouping = Regrouping(PATH, lay_out)
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        regrouping.note_standing(0, standing(0, 1, 5, 0))
    regrouping.note_loss()
    regrouping.note_standing(0, standing(1, 2, 5, 7))
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        regrouping.note_standing(0, standing(1, 2, 5, 7))
    for rank in (1, 2):
        regrouping.note_standing(rank, standing(1, 2, 5, 0, 1))
    found = regrouping.go_on([0, 1, 2], together=True)
    assert found is not None
    assert {told.arms for told in found[1].values()} == {(0, 1)}
