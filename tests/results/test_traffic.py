"""Totals of links, against sums by hand, and what stays unknown in the field."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from posse.protocol.control import LinkCount
from posse.protocol.message import Plane
from posse.results.traffic import PlaneTraffic, traffic

LINKS = st.lists(
    st.builds(
        LinkCount,
        source=st.integers(-1, 3),
        target=st.integers(-1, 3),
        plane=st.sampled_from(list(map(int, Plane))),
        kind=st.sampled_from(["Vote", "Data", "Report"]),
        messages=st.integers(1, 9),
        payload_bytes=st.integers(0, 999),
        frame_bytes=st.integers(0, 999),
    ),
    max_size=20,
)


@dataclass
class Sum:
    messages: int = 0
    payload_bytes: int = 0
    frame_bytes: int = 0


def total(links: list[LinkCount]) -> Sum:
    return Sum(
        sum(link.messages for link in links),
        sum(link.payload_bytes for link in links),
        sum(link.frame_bytes for link in links),
    )


def amount(plane: PlaneTraffic) -> Sum:
    assert plane.messages is not None
    assert plane.payload_bytes is not None
    assert plane.frame_bytes is not None
    return Sum(plane.messages, plane.payload_bytes, plane.frame_bytes)


@given(LINKS)
def test_every_link_is_in_its_plane_and_kind(links: list[LinkCount]) -> None:
    found = traffic(links)
    for plane, name in ((0, "data"), (1, "control"), (2, "world")):
        here = [link for link in links if link.plane == plane]
        said: PlaneTraffic = getattr(found, name)
        assert amount(said) == total(here)
        assert set(said.kinds) == {link.kind for link in here}
        for kind, part in said.kinds.items():
            alike = total([link for link in here if link.kind == kind])
            assert (part.messages, part.payload_bytes, part.frame_bytes) == (
                alike.messages,
                alike.payload_bytes,
                alike.frame_bytes,
            )


@given(LINKS)
def test_data_is_counted_by_the_papers_kinds_of_link(links: list[LinkCount]) -> None:
    found = traffic(links)
    data = [link for link in links if link.plane == Plane.DATA]
    up = total([link for link in data if link.target == -1]).messages
    down = total([link for link in data if link.target != -1 and link.source == -1]).messages
    across = total([link for link in data if -1 not in (link.source, link.target)]).messages
    assert (
        found.links.agent_coordinator,
        found.links.coordinator_agent,
        found.links.agent_agent,
    ) == (up, down, across)
    assert found.cost == up + across


@given(LINKS)
def test_what_neighbours_sent_is_unknown_where_they_do_not_say(links: list[LinkCount]) -> None:
    known, found = traffic(links), traffic(links, between_agents=False)
    assert [found.cost, found.links.agent_agent] == [None, None]
    assert found.links.agent_coordinator == known.links.agent_coordinator
    for plane in (found.data, found.control):
        assert [plane.messages, plane.payload_bytes, plane.frame_bytes] == [None] * 3
    assert found.data.kinds == known.data.kinds
    assert found.world == known.world
