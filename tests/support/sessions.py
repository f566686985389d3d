"""Ends that send to all others, over connections that lose, repeat, reorder and break."""

from itertools import permutations

from posse.wire.broadcast import BroadcastSession
from posse.wire.session import LATE, Session


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
