"""Which links between agents are down, by what the agents at their ends say."""

Ends = tuple[int, int]


class Outages:
    """A link is down as long as an agent at one of its ends says so."""

    def __init__(self) -> None:
        self._said: dict[Ends, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._said)

    def lost(self, by: int, about: int) -> bool:
        """An agent lost the connection to a neighbour; whether that is news."""
        ends = _ends(by, about)
        news = ends not in self._said
        self._said.setdefault(ends, set()).add(by)
        return news

    def back(self, by: int, about: int) -> bool:
        """It has one again; whether the link is whole now, and was not."""
        ends = _ends(by, about)
        if ends not in self._said:
            return False
        self._said[ends].discard(by)
        if self._said[ends]:
            return False
        del self._said[ends]
        return True

    def unsay(self, rank: int) -> None:
        """An agent was started again, and does not know what it said of its links."""
        for ends in [ends for ends in self._said if rank in ends]:
            self.back(rank, sum(ends) - rank)

    def forget(self, rank: int) -> None:
        """An agent is gone, and its links with it."""
        self._said = {ends: said for ends, said in self._said.items() if rank not in ends}

    def clear(self) -> None:
        """All links begin anew."""
        self._said.clear()

    def beside(self, ranks: list[int]) -> list[Ends]:
        """The links that are down, but for those of these agents."""
        return [ends for ends in self._said if not set(ends) & set(ranks)]


def _ends(one: int, other: int) -> Ends:
    return min(one, other), max(one, other)


def link(ends: Ends) -> str:
    """A link for a sentence."""
    return "link {}–{}".format(*sorted(ends))
