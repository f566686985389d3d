"""Which agents have joined a coordinator, and which may join. It uses no socket."""

import ipaddress
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from posse.gates.shown import printable
from posse.protocol import control
from posse.security.address import FORWARDED, inbox_trouble, is_local, is_loopback, split
from posse.security.keys import CoordinatorKeys
from posse.spec.fingerprint import differences
from posse.wire.line import Interceptor, Line
from posse.wire.session import Session

CLOCK_TOLERANCE = 30.0
"""Seconds by which an agent's clock may be off; a machine that keeps time is off by less than 1."""
RESUMES_AT_ONCE, RESUMES_PER_SECOND = 32, 4
"""How often an agent may reconnect: each time every frame that it has not confirmed is sent again.
More frequent requests are not answered; an honest agent asks again after 5 s."""

_REMEMBERED: Final = 16
"""Replaced processes that are known of each agent: older ones ended long ago."""

SUPERSEDED = (
    "another agent joined later with the same key, so this one stops; to keep both, give each a "
    "key of its own"
)

NOBODY: Final = -3
"""Who is at the other end of a line that leads nowhere."""

_BEGINNING: Final = 80
"""Leading bytes of a frame that are enough to read its kind."""


class NotAdmitted(Exception):
    """An agent may not join; the reason says what to do."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class Peer(NamedTuple):
    """The other end of a connection, whether or not it has joined.

    `identity` is the name that ZeroMQ gave the connection, `key` the public key with which it was
    accepted ("" without keys), `connection` its file descriptor, `host` its address (127.0.0.1 over
    ipc).
    """

    identity: bytes
    key: str
    connection: int
    host: str = ""


def unlinked() -> Line:
    """A line that sends nothing: see `Roster.link`."""
    return Line(NOBODY, Session(), lambda data, flags=0: None, Interceptor())


@dataclass
class Member:
    """An agent that joined.

    `heard` is when its last frame came, in seconds of the loop's clock, and `last` the beginning of
    that frame; `answered` is when its session last sent anything but a new frame. `connection` is
    -1 while it has none, `resumed` the number of its current one. `takes_part`: it arrived, over
    this or an earlier connection, so its frames are for a run. Until `resumes_until` past
    reconnections use up the permitted rate. `line` is the coordinator's end of the link, `host`
    the address from which it joined, `syncs` how often it asked for the time, `pid` its process if
    it was started here, else 0. `ended`: its process is gone, `quit`: it ended its own part; nobody
    waits for its goodbye. `received`: bytes taken from it, `unread`: forwarded to it since.
    `starts`: how often it was restarted. `moved`: its inbox may not be where its neighbours were
    told. `key`: the public key with which it joined.

    Above 20 attributes: each is what one question about an agent is answered by.
    """

    rank: int
    identity: bytes
    incarnation: bytes
    inbox: str
    takes_part: bool
    connection: int
    heard: float
    host: str = ""
    pid: int = 0
    ended: bool = False
    quit: bool = False
    answered: float = 0.0
    last: bytes = b""
    syncs: int = 0
    received: int = 0
    unread: int = 0
    resumed: int = 0
    resumes_until: float = 0.0
    starts: int = 0
    moved: bool = False
    key: str = ""
    line: Line = field(default_factory=unlinked)

    @property
    def session(self) -> Session:
        """The session of the link."""
        return self.line.session

    @property
    def arrived(self) -> bool:
        """Whether it is here: it takes part and has a connection."""
        return self.takes_part and self.connection >= 0

    def note(self, frame: bytes, now: float) -> None:
        """Note that it sent this frame."""
        self.heard = now
        self.last = frame[:_BEGINNING]

    @property
    def to_see_off(self) -> bool:
        """Whether it is on another machine and may not know yet that it may leave."""
        away = bool(self.incarnation) and not (self.ended or self.quit)
        return away and self.takes_part and self.session.unconfirmed > 0


class Roster:
    """The agents of one coordinator.

    With keys a peer is known by its key, and its rank is bound to that key. Without keys any agent
    that shows the token may join. Of two agents with one key the newer incarnation wins.

    `configuration` is the coordinator's own fingerprint of the run file. `inboxes` are networks in
    which agents may have inboxes, besides their own hosts. `owns` says whether this machine has an
    address.
    """

    def __init__(
        self,
        agents: int,
        token: str,
        keys: CoordinatorKeys | None = None,
        configuration: dict[str, str] | None = None,
        inboxes: Sequence[str] = (),
        owns: Callable[[str], bool] = lambda host: False,
    ) -> None:
        self.agents = agents
        self.members: dict[int, Member] = {}
        self.link: Callable[[Member], None] = lambda member: None
        """Gives a new member its line."""
        self.by_identity: dict[bytes, Member] = {}
        self._token = token
        self._keys = keys
        self._configuration = configuration or {}
        self._owns = owns
        self._networks = [ipaddress.ip_network(network) for network in inboxes]
        self._superseded: dict[int, deque[bytes]] = {}
        """By rank, the last processes whose place another took."""

    def missing(self) -> list[int]:
        """The ranks that have not arrived yet."""
        arrived = {rank for rank, member in self.members.items() if member.arrived}
        return [n for n in range(self.agents) if n not in arrived]

    @property
    def inboxes(self) -> dict[int, str]:
        """The address where neighbours reach each agent that joined."""
        return {rank: member.inbox for rank, member in self.members.items()}

    @property
    def keys(self) -> dict[int, str]:
        """The key by which each agent joined; the allowlist may be without it by now."""
        return {rank: member.key for rank, member in self.members.items()}

    def taken(self) -> dict[int, int]:
        """Bytes taken from each agent, by its connection. May be called from any thread."""
        return {m.connection: m.received for m in list(self.members.values())}

    def arrived(self) -> int:
        """How many agents are here."""
        # not by `Member.arrived`: each agent that joins asks for this
        return sum(m.takes_part and m.connection >= 0 for m in self.members.values())

    def to_see_off(self) -> set[int]:
        """The agents that may not know yet that they may leave."""
        return {member.rank for member in self.members.values() if member.to_see_off}

    def lost(self, connection: int) -> Member | None:
        """Mark the agent that lost this connection as away, and return it; it may come back.

        None for agents that were started here: the process that starts them knows more.
        """
        for member in self.members.values():
            if member.connection == connection and member.incarnation:
                member.connection = -1
                return member
        return None

    def ended(self, rank: int) -> bool:
        """Mark an agent as ended; False if that was known."""
        member = self.members.get(rank)
        if member is None or member.ended:
            return False
        member.ended = True
        return True

    def dead(self) -> list[int]:
        """The ranks of agents that took part and have ended."""
        return sorted(m.rank for m in self.members.values() if m.ended and m.takes_part)

    def vacate(self, rank: int) -> None:
        """Let another process that is started here take this agent's place."""
        if (member := self.members.get(rank)) is not None:
            member.connection = -1
            member.ended = member.quit = False
            member.starts += 1

    def admit(
        self, join: control.Join, peer: Peer, now: float, wall: float
    ) -> tuple[Member, Member | None]:
        """Let an agent join; returns it and the agent whose place it takes. Or `NotAdmitted`.

        `now` is the loop's clock and `wall` this machine's, both in seconds.
        """
        rank = self._rank(join, peer.key)
        if join.incarnation:
            self._check(join, wall)
        elif not self._token or join.token != self._token:
            raise NotAdmitted("join", "it claims to have been started here, but was not")
        if join.incarnation in self._superseded.get(rank, ()):
            raise NotAdmitted("superseded", SUPERSEDED)
        old = self.members.get(rank)
        returns = old is not None and old.incarnation == join.incarnation != b""
        if old is not None and not returns and self._keys is None and old.connection >= 0:
            raise NotAdmitted("taken", f"rank {rank} is taken; leave out --rank, or use another")
        arrived = not join.incarnation  # an agent that was started here shares our clock
        member = Member(
            rank,
            peer.identity,
            join.incarnation,
            join.inbox if arrived else "",
            arrived,
            peer.connection,
            heard=now,
            host=peer.host,
            pid=0 if join.incarnation else join.pid,
            key=peer.key,
        )
        self.link(member)
        if arrived and (trouble := self.inbox_trouble(member, join.inbox)):
            raise NotAdmitted("bad-inbox", trouble)
        if old is not None:
            if not returns and old.incarnation:
                before = self._superseded.setdefault(rank, deque(maxlen=_REMEMBERED))
                before.append(old.incarnation)
            self.by_identity.pop(old.identity, None)
        self.members[rank] = member
        self.by_identity[peer.identity] = member
        return member, old

    def inbox_trouble(self, member: Member, inbox: str) -> str:
        """Why neighbours must not connect to this inbox; "" if they may."""
        if not inbox:
            return ""
        if inbox == FORWARDED:
            return "" if member.key else "an agent that accepts no connections needs keys"
        others = (m for m in self.members.values() if m.rank != member.rank)
        taken = [m.rank for m in others if m.inbox == inbox]
        if taken:
            return f"its inbox {printable(inbox)} is already agent {taken[0]}'s"
        host = member.host
        if member.incarnation:
            if is_loopback(host) and self._owns(split(inbox)[0]):
                host = ""  # it joined beside its coordinator, on the machine that has this address
            return inbox_trouble(inbox, host, self._networks)
        local = inbox.startswith("ipc://") or is_local(inbox)
        return "" if local else f"its inbox {printable(inbox)} is not on this machine"

    def misplaced(self, member: Member, *, before_run: bool) -> tuple[Member, str] | None:
        """Whose inbox cannot be, now that `member` has come, and why; None if all can.

        Where `engine.inboxes` allows both, who is on an inbox's host has the better right to it.
        Of those on loopback others cannot reach any: a name such as the machine's own may mean it
        (Debian's is 127.0.1.1).
        """
        inbox, everybody = member.inbox, self.members.values()
        host = split(inbox)[0]
        others = [m for m in everybody if m.inbox == inbox and m.rank != member.rank]
        for other in others if before_run and host == member.host else ():
            if other.host != host:
                return other, f"its inbox {printable(inbox)} is on the host of agent {member.rank}"
        if trouble := self.inbox_trouble(member, inbox):
            return member, trouble
        away = [m for m in everybody if m.host and not is_loopback(m.host)]
        near = [m for m in everybody if is_loopback(split(m.inbox)[0])]
        if not (away and near):
            return None
        return near[0], (
            f"its inbox {printable(near[0].inbox)} is on loopback, where agent {away[0].rank} at "
            f"{away[0].host} cannot reach it; join by an address of the network in place of a "
            "name, or give it --inbox tcp://ADDRESS:PORT"
        )

    def expel(self, member: Member) -> None:
        """Forget an agent that may not take part; it may join again."""
        self.by_identity.pop(member.identity, None)
        self.members.pop(member.rank, None)

    def resume(self, asked: control.Resume, peer: Peer, now: float) -> Member | None:
        """The agent that continues over a new connection; None if it is not known as it says.

        A request that is outdated or comes too soon leaves the agent's connection as it was.
        """
        if self._keys is not None:
            known = self._keys.rank_of(peer.key) == asked.rank
        else:
            known = asked.token == self._token
        member = self.members.get(asked.rank)
        if not known or member is None or member.incarnation != asked.incarnation:
            return None
        if member.key not in ("", peer.key):
            return None
        until = max(member.resumes_until, now) + 1 / RESUMES_PER_SECOND
        if asked.connection <= member.resumed or until > now + RESUMES_AT_ONCE / RESUMES_PER_SECOND:
            return member
        member.resumes_until = until
        member.resumed, member.pid = asked.connection, 0 if asked.incarnation else asked.pid
        member.syncs = 0
        self.by_identity.pop(member.identity, None)
        member.identity, member.connection, member.heard = peer.identity, peer.connection, now
        member.host = peer.host
        self.by_identity[peer.identity] = member
        return member

    def _rank(self, join: control.Join, key: str) -> int:
        if self._keys is not None:
            return self._bound_rank(self._keys, join, key)
        if join.token != self._token:
            raise NotAdmitted("join", "its token is not this run's")
        if join.rank >= self.agents:
            raise NotAdmitted("join", self._beyond(join.rank))
        if join.rank >= 0:
            return join.rank
        own = [
            m.rank
            for m in self.members.values()
            if m.incarnation and m.incarnation == join.incarnation
        ]
        taken = {rank for rank, member in self.members.items() if member.connection >= 0}
        free = own or [n for n in range(self.agents) if n not in taken]
        free.sort(key=self.members.__contains__)  # an agent that is away may come back
        if not free:
            raise NotAdmitted(
                "join",
                f"all {self.agents} agents are here; for more, raise agents.count in the "
                "coordinator's run file",
            )
        return free[0]

    def _beyond(self, rank: int) -> str:
        return (
            f"rank {rank} must be below {self.agents}, which is agents.count in the coordinator's "
            "run file; use a lower rank, or raise agents.count"
        )

    def _bound_rank(self, keys: CoordinatorKeys, join: control.Join, key: str) -> int:
        rank = keys.rank_of(key)
        if rank is None:
            raise NotAdmitted("join", "its key is not an agent's")
        if keys.trouble:
            raise NotAdmitted("allowlist", "the coordinator's allowlist cannot be read")
        if join.rank not in (-1, rank):
            raise NotAdmitted(
                "wrong-rank",
                f"the key of agent {rank} cannot join as agent {join.rank}; use --rank {rank}, "
                f"or the key of agent {join.rank}",
            )
        if rank >= self.agents:
            raise NotAdmitted("join", self._beyond(rank))
        return rank

    def _check(self, join: control.Join, wall: float) -> None:
        off = join.wall - wall
        if not abs(off) <= CLOCK_TOLERANCE:  # a peer may send NaN
            raise NotAdmitted(
                "clock",
                f"its clock is {abs(off):.0f} s {'ahead' if off > 0 else 'behind'}; set it (NTP) "
                "and start the agent again",
            )
        if join.configuration:
            different = differences(self._configuration, join.configuration)
            if different:
                raise NotAdmitted(
                    "configuration",
                    "its run file differs from the coordinator's in "
                    f"{printable(', '.join(different[:20]), 1_000)}; "
                    "give both the same",
                )
