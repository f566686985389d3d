"""Ends that send to all others, over connections that lose, repeat, reorder and break."""

from itertools import permutations
from typing import Any

from posse.wire.broadcast import BroadcastSession
from posse.wire.session import LATE, Session, SessionState, content


class Network:
    """What each end sent, what each took of each, and what is under way on each link.

    Two ends have a session each; of more, each has one for all others.
    """

    def __init__(self, ends: int = 2, first: int = 0) -> None:
        self.links = list(permutations(range(ends), 2))
        self.ends = [
            Session(first) if ends == 2 else BroadcastSession(first, b"", ends - 1)
            for _ in range(ends)
        ]
        self.sent: list[list[bytes]] = [[] for _ in self.ends]
        self.got: dict[tuple[int, int], list[bytes]] = {link: [] for link in self.links}
        self.under_way: dict[tuple[int, int], list[bytes]] = {link: [] for link in self.links}

    def session(self, of: int, other: int) -> Session:
        end = self.ends[of]
        if isinstance(end, BroadcastSession):
            return end.sessions[other - (other > of)]
        return end

    def send(self, end: int) -> None:
        frame = b"po frame %d of %d" % (len(self.sent[end]), end)
        self.sent[end].append(frame)
        numbered = self.ends[end].wrap(frame)
        for source, target in self.links:
            if source == end:
                self.under_way[source, target].append(numbered)

    def deliver(self, source: int, target: int, at: int = 0) -> None:
        """What is `at` that place among what is under way comes next."""
        if queue := self.under_way[source, target]:
            frame = self.session(target, source).take(queue.pop(at % len(queue)))
            if frame is not None:
                self.got[source, target].append(frame)
            self.answer(target, source)

    def answer(self, end: int, to: int) -> None:
        replies = self.session(end, to).replies
        self.under_way[end, to].extend(replies)
        replies.clear()

    def cut(self, source: int, target: int) -> None:
        """What is under way is lost, and the sender has a new connection."""
        self.under_way[source, target].clear()
        self.session(source, target).reconnected()
        self.answer(source, target)

    def reset(self, one: int, other: int) -> None:
        """The same both ways; and each end says what it has."""
        pair = ((one, other), (other, one))
        for link in pair:
            self.under_way[link].clear()
        for of, to in pair:
            self.session(of, to).resume(self.session(to, of).taken)
            self.answer(of, to)

    def settle(self) -> None:
        """Nothing is lost any more, and time passes."""
        for _ in range(8 * LATE):
            for link in self.links:
                self.session(*link).probe()
                self.answer(*link)
            while any(self.under_way.values()):
                for link in self.links:
                    self.deliver(*link)


class Pair:
    """Two ends, `a` and `b`, and what is under way from each, as a conversation calls it."""

    now = 0.0

    def __init__(self, first: int = 0, **bounds: Any) -> None:
        self.ends = {"a": Session(first, **bounds), "b": Session(first)}
        self.kept = SessionState()
        self.under_way: dict[str, list[bytes]] = {"a": [], "b": []}

    def sends(self, end: str, *payloads: bytes) -> None:
        self.under_way[end] += [self.ends[end].wrap(payload) for payload in payloads]

    def arrives(self, end: str, at: int = 0) -> bytes | None:
        """What the other end takes of what is at that place under way from this one."""
        return self.takes("b" if end == "a" else "a", self.under_way[end].pop(at))

    def takes(self, end: str, data: bytes) -> bytes | None:
        taken = self.ends[end].take(data)
        self._replies(end)
        return taken

    def all_arrives(self, end: str) -> list[bytes | None]:
        return [self.arrives(end) for _ in range(len(self.under_way[end]))]

    def is_lost(self, end: str, at: int = 0) -> None:
        self.under_way[end].pop(at)

    def does(self, end: str, what: str, *given: Any) -> None:
        """One of a session's methods, whose frames are then under way."""
        try:
            getattr(self.ends[end], what)(*given)
        finally:
            self._replies(end)

    def looks(self, end: str, count: int) -> dict[int, list[str]]:
        """What goes at which of so many looks at the link, and is lost."""
        went = {}
        for look in range(1, count + 1):
            self.ends[end].probe()
            went[look] = [described(data) for data in self.ends[end].replies]
            self.ends[end].replies.clear()
        return {look: frames for look, frames in went.items() if frames}

    def exchanges(self, count: int) -> None:
        """Frames each way until all is confirmed."""
        for _ in range(count):
            self.ends["b"].take(self.ends["a"].wrap(b"x"))
            self.ends["a"].take(self.ends["b"].wrap(b"y"))
        self.ends["a"].confirm()
        self.ends["b"].take(self.ends["a"].replies.pop())

    def remembers(self) -> None:
        """What `a` has now is in its journal."""
        self.kept = self.ends["a"].state

    def goes_on(self) -> None:
        """`a` is started again with what was in its journal."""
        self.ends["a"] = Session()
        self.ends["a"].restore(self.kept)
        self.ends["a"].restored = True

    def set(self, end: str, **numbers: int) -> None:
        for name, number in numbers.items():
            setattr(self.ends[end], name, number)

    def _replies(self, end: str) -> None:
        self.under_way[end] += self.ends[end].replies
        self.ends[end].replies.clear()

    def state(self) -> dict[str, object]:
        return {
            end: {
                name: getattr(session, name)
                for name in ("sent", "confirmed", "taken", "resent", "outdated", "restored")
            }
            | {"way": ", ".join(map(described, self.under_way[end]))}
            for end, session in self.ends.items()
        }


def described(data: bytes) -> str:
    """A frame's content, or what a frame without content asks or says."""
    words = {"C": "confirms", "A": "again?", "P": "taken?", "G": "gone", "L": "lives"}
    return words.get(chr(data[3]), f"'{content(data)[:20].decode()}'")
