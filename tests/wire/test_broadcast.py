"""Frames to all: three agents that hear each other over connections that lose and break."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.durable.checkpoint import read, written
from posse.wire.broadcast import BroadcastSession
from posse.wire.session import CONFIRM_EVERY, LATE, Session, SessionFull

AGENTS = range(3)
LINKS = [(a, b) for a in AGENTS for b in AGENTS if a != b]


class Mesh:
    """What agents sent to all, what each took from each, and what is under way on each link."""

    def __init__(self, first: int = 0) -> None:
        self.lines = [BroadcastSession(first, b"", len(AGENTS) - 1) for _ in AGENTS]
        self.sent: list[list[bytes]] = [[] for _ in AGENTS]
        self.got: dict[tuple[int, int], list[bytes]] = {link: [] for link in LINKS}
        self.under_way: dict[tuple[int, int], list[bytes]] = {link: [] for link in LINKS}

    def session(self, of: int, other: int) -> Session:
        return self.lines[of].sessions[other - (other > of)]

    def send(self, agent: int) -> None:
        frame = b"po frame %d of %d" % (len(self.sent[agent]), agent)
        self.sent[agent].append(frame)
        numbered = self.lines[agent].wrap(frame)
        for source, target in LINKS:
            if source == agent:
                self.under_way[source, target].append(numbered)

    def deliver(self, source: int, target: int, at: int = 0) -> None:
        if queue := self.under_way[source, target]:
            session = self.session(target, source)
            frame = session.take(queue.pop(at % len(queue)))
            if frame is not None:
                self.got[source, target].append(frame)
            self.answer(target, source)

    def answer(self, agent: int, to: int) -> None:
        replies = self.session(agent, to).replies
        self.under_way[agent, to].extend(replies)
        replies.clear()

    def cut(self, source: int, target: int) -> None:
        self.under_way[source, target].clear()
        self.session(source, target).reconnected()
        self.answer(source, target)

    def settle(self) -> None:
        for _ in range(8 * LATE):
            for link in LINKS:
                self.session(*link).probe()
                self.answer(*link)
            while any(self.under_way.values()):
                for link in LINKS:
                    self.deliver(*link)


steps = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "deliver", "deliver", "deliver", "lose", "repeat", "cut"]),
        st.sampled_from(LINKS),
        st.integers(0, 50),
    ),
    max_size=300,
)


@given(steps, st.sampled_from([0, 2**32 - 10]))
def test_every_frame_arrives_once_and_in_order_at_every_end(
    script: list[tuple[str, tuple[int, int], int]], first: int
) -> None:
    mesh = Mesh(first)
    for what, link, at in script:
        queue = mesh.under_way[link]
        match what:
            case "send":
                mesh.send(link[0])
            case "deliver":
                mesh.deliver(*link, at)
            case "cut":
                mesh.cut(*link)
            case "lose" if queue:
                queue.pop(at % len(queue))
            case "repeat" if queue:
                queue.append(queue[at % len(queue)])
        for (source, _), got in mesh.got.items():
            assert got == mesh.sent[source][: len(got)]
    mesh.settle()
    for (source, _), got in mesh.got.items():
        assert got == mesh.sent[source]
    assert [mesh.session(*link).unconfirmed for link in LINKS] == [0] * len(LINKS)


def test_in_lockstep_frames_confirm_each_other_and_little_is_kept() -> None:
    mesh = Mesh()
    for _ in range(10 * CONFIRM_EVERY):
        for agent in AGENTS:
            mesh.send(agent)
        for link in LINKS:
            mesh.deliver(*link)
        assert max(mesh.session(*link).unconfirmed for link in LINKS) <= 2
    assert [mesh.session(*link).bare for link in LINKS] == [0] * len(LINKS)


def test_who_only_listens_confirms_now_and_then() -> None:
    mesh = Mesh()
    for _ in range(10 * CONFIRM_EVERY):
        mesh.send(0)
        for link in LINKS:
            mesh.deliver(*link)
    assert [mesh.session(n, 0).bare for n in (1, 2)] == [10, 10]
    assert mesh.session(0, 1).unconfirmed < CONFIRM_EVERY


def test_no_more_is_kept_than_the_bounds_say() -> None:
    for bounds in ({"most_frames": 2}, {"most_bytes": 10}):
        line = BroadcastSession(0, b"", 2, **bounds)
        for _ in range(2):
            line.wrap(b"12345")
        with pytest.raises(SessionFull):
            line.wrap(b"6")
        for session in line.sessions:
            session.resume(1)
        line.wrap(b"6")


def test_a_checkpoint_has_a_line_with_all_its_sessions() -> None:
    before = BroadcastSession(0, b"", 2)
    for _ in range(3):
        before.wrap(b"frame")
    before.sessions[0].confirmed = 2
    line = read(written(before, {}), {})
    line.sessions[1].resume(1)
    assert line.wrap(b"frame") == before.wrap(b"frame")
    assert [session.unconfirmed for session in line.sessions] == [2, 3]
    assert [session.resent for session in line.sessions] == [0, 2]


def test_for_who_is_gone_no_frame_is_kept() -> None:
    line = BroadcastSession(0, b"", 2, most_frames=3)
    here, gone = line.sessions
    for number in range(3):
        line.wrap(b"po%d" % number)
        here.confirmed = here.sent
    with pytest.raises(SessionFull):
        line.wrap(b"po3")
    line.leave(gone)
    for number in range(10):
        line.wrap(b"po%d" % number)
        here.confirmed = here.sent
    assert line.sessions == (here,)
