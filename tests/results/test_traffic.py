"""Totals of links, against sums by hand, and what stays unknown in the field."""

from hypothesis import given
from hypothesis import strategies as st

from posse.protocol.control import LinkCount
from posse.protocol.message import Plane
from posse.results.traffic import Amount, MessagesByLink, traffic

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


def total(links: list[LinkCount]) -> tuple[int, int, int]:
    return (
        sum(link.messages for link in links),
        sum(link.payload_bytes for link in links),
        sum(link.frame_bytes for link in links),
    )


def amounts(of: Amount) -> tuple[int | None, ...]:
    return of.messages, of.payload_bytes, of.frame_bytes


@given(LINKS)
def test_every_link_is_in_its_plane_and_kind(links: list[LinkCount]) -> None:
    found = traffic(links)
    for plane, counted in enumerate((found.data, found.control, found.world)):
        here = [link for link in links if link.plane == plane]
        assert amounts(counted) == total(here)
        assert {kind: amounts(part) for kind, part in counted.kinds.items()} == {
            kind: total([link for link in here if link.kind == kind])
            for kind in {link.kind for link in here}
        }


@given(LINKS)
def test_data_is_counted_by_the_papers_kinds_of_link(links: list[LinkCount]) -> None:
    found = traffic(links)
    data = [link for link in links if link.plane == Plane.DATA]
    up, *_ = total([link for link in data if link.target == -1])
    down, *_ = total([link for link in data if link.target != -1 and link.source == -1])
    across, *_ = total([link for link in data if -1 not in (link.source, link.target)])
    assert found.links == MessagesByLink(up, down, across)
    assert found.cost == up + across


@given(LINKS)
def test_what_neighbours_sent_is_unknown_where_they_do_not_say(links: list[LinkCount]) -> None:
    known, found = traffic(links), traffic(links, between_agents=False)
    assert [found.cost, found.links.agent_agent] == [None, None]
    assert found.links.agent_coordinator == known.links.agent_coordinator
    for plane in (found.data, found.control):
        assert amounts(plane) == (None, None, None)
    assert found.data.kinds == known.data.kinds
    assert found.world == known.world
