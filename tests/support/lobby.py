"""A lobby over scripted time and without a socket."""

from collections.abc import Collection, Sequence
from typing import Any, cast

from posse.coordinator.host import CoordinatorHost
from posse.coordinator.lobby import Lobby
from posse.coordinator.roster import Member, Peer, Roster
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import Fail, HostEffect, LobbyEffect, ResendFrames
from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.wire import VERSION, encode
from posse.security.keys import CoordinatorKeys, KeyPair
from posse.spec.runfile import EngineSpec
from posse.system.network import Network

WALL = 1e9
DEADLINE = 10.0
TOKEN = "of those who were started here"
ABSENCE = 25.0


def path(agents: int) -> Network:
    """Agents in a row."""
    near = [tuple(n for n in (k - 1, k + 1) if 0 <= n < agents) for k in range(agents)]
    return Network(near, [{}] * agents)


class Run:
    """What the lobby sees of a run's host: who is waited for, and what it was told."""

    def __init__(
        self, *, outlives: bool = False, silence_ends: bool = False, waits: bool = False
    ) -> None:
        self.outlives_agents = outlives
        self.waits = waits
        self.timer = float("inf")
        self.trouble = self.deadlock = ""
        self.late: list[int] = [1]
        self.lost: list[int] = []
        self.fired = 0
        self._silence_ends = silence_ends
        self.network = path(4)

    def waiting_for(self) -> list[int]:
        return self.late

    @property
    def dismissed(self) -> dict[int, str]:
        return dict.fromkeys(self.lost, "lost")

    def lose(self, rank: int) -> Sequence[HostEffect]:
        self.lost.append(rank)
        return ()

    def fire(self) -> Sequence[HostEffect]:
        self.fired += 1
        self.timer = float("inf")
        return ()

    def put_off(self, seconds: float, not_before: float) -> None:
        self.timer = max(self.timer + seconds, not_before)

    def suspects(self) -> list[int]:
        return self.late

    def fall_silent(self, mute: Collection[int]) -> Sequence[HostEffect] | None:
        return () if self._silence_ends else None


class Script:
    """A lobby and what happens to it, as a conversation calls it; `now` is moved by hand."""

    def __init__(
        self,
        agents: int = 2,
        keys: Collection[str] = (),
        joining: float = DEADLINE,
        system: str = "mase",
        token: str = TOKEN,
        restarts: int = 0,
        **roster: Any,
    ) -> None:
        self.keys = CoordinatorKeys(KeyPair("operator", ""), tuple(keys)) if keys else None
        self.roster = Roster(agents, token, self.keys, {"repeat": "1"}, **roster)
        engine = EngineSpec(deadline=DEADLINE, absence=ABSENCE, joining=joining, restarts=restarts)
        self.lobby = Lobby(self.roster, engine, system)
        self.began = self.now = 100.0
        self.run: Run | None = None
        self.lobby.gather(self.now)

    def says(
        self, peer: str, message: Message | bytes, key: str = "", host: str = ""
    ) -> list[LobbyEffect]:
        """`peer` names a connection; its number is the name's last character."""
        frame = message if isinstance(message, bytes) else framed(message)
        at = Peer(peer.encode(), key, ord(peer[-1]), host)
        return self.lobby.receive(at, frame, self.now, WALL)

    def linked(self, by: int, about: int, *, up: bool) -> list[LobbyEffect]:
        return self.lobby.linked(by, about, self.now, up=up)

    def closes(self, peer: str) -> list[LobbyEffect]:
        return self.lobby.closed(ord(peer[-1]), self.now)

    def joins(
        self, peer: str, rank: int = -1, key: str = "", start: bytes = b""
    ) -> list[LobbyEffect]:
        """All that an agent on another machine says until it has arrived."""
        effects = self.says(peer, joining(rank, start or peer.encode()), key)
        return effects + self.says(peer, control.Arrived(f"tcp://192.0.2.{ord(peer[-1])}:1"))

    def all_join(self) -> None:
        for rank in range(self.roster.agents):
            self.joins(f"peer-{rank}", rank)

    def arrives(self, rank: int, inbox: str, host: str) -> list[LobbyEffect]:
        """Both words of joining, from this host."""
        effects = self.says(f"peer-{rank}", joining(rank, b"%d" % rank), host=host)
        return effects + self.says(f"peer-{rank}", control.Arrived(inbox), host=host)

    def configure(self) -> list[LobbyEffect]:
        return self.lobby.configure([setup(n) for n in range(self.roster.agents)], self.now)

    def gather(self, wanted: Collection[int] | None = None) -> None:
        self.lobby.gather(self.now, wanted)

    def fire(self) -> list[LobbyEffect]:
        return self.lobby.fire(self.now)

    def died(self, rank: int | None, *, killed: bool = False) -> list[LobbyEffect]:
        return self.lobby.died(rank, "killed by SIGKILL", self.now, killed=killed)

    def quit(self, rank: int) -> list[LobbyEffect]:
        return self.lobby.quit(rank, "no such file", self.now)

    def revoke(self, rank: int, *, replaced: bool = False) -> list[LobbyEffect]:
        return self.lobby.revoke(rank, self.now, replaced=replaced)

    def syncs(self, peer: str, count: int) -> int:
        """How many of so many questions for the time are answered."""
        return sum(bool(self.says(peer, control.Sync(n))) for n in range(count))

    def resumes(self, key: str, start: bytes, count: int, every: float) -> int:
        """How many of so many reconnections are answered."""
        answered = 0
        for number in range(1, count + 1):
            self.now += every
            asked = control.Resume(0, "", start, number, 0)
            answered += ResendFrames(0, 0) in self.says("bc"[number % 2], asked, key)
        return answered

    def replaces(self, key: str, count: int) -> int:
        """How many of so many processes that replaced each other are remembered."""
        for number in range(count):
            self.joins("bc"[number % 2], key=key, start=number.to_bytes(2, "little"))
        (remembered,) = self.roster._superseded.values()
        return len(remembered)

    def begin(self, **run: bool) -> None:
        """A run is carried, in place of the one that is."""
        self.carries(Run(**run))

    def carries(self, run: Run) -> Run:
        if self.lobby.running:
            self.lobby.release()
        self.lobby.carry(cast(CoordinatorHost, run), self.now)
        self.run = run
        return run

    def roll(self) -> list[int]:
        return self.lobby.call_roll(self.now)

    def answer(self, *ranks: int) -> None:
        for rank in ranks:
            self.member(rank).answered = self.now

    def set(self, of: Any, **values: Any) -> None:
        """Set attributes of the run, the lobby, a member, a session or the keys."""
        for name, value in values.items():
            setattr(of, name, value)

    def member(self, rank: int) -> Member:
        return self.roster.members[rank]

    def state(self) -> dict[str, object]:
        lobby, members, run = self.lobby, self.roster.members, self.run
        return {
            "timer": f"{lobby.timer:g}",
            "roll": f"{lobby.roll_at:g}",
            "missing": lobby.missing(),
            "complete": lobby.complete,
            "changed": lobby.changed,
            "refused": dict(lobby.refused),
            "agent": {n: f"{m.identity.decode()} {m.inbox}".strip() for n, m in members.items()},
            "to_see_off": [n for n, m in members.items() if m.to_see_off],
            "dead": self.roster.dead(),
            "lost": [] if run is None else list(run.lost),
            "fired": 0 if run is None else run.fired,
            "run_timer": "inf" if run is None else f"{run.timer:g}",
        }


def carrying(agents: int = 2, restarts: int = 0, **run: bool) -> Script:
    """All agents have joined, and a run goes on."""
    script = Script(agents, restarts=restarts)
    script.all_join()
    script.begin(**run)
    return script


def standing() -> Script:
    """All of four have joined, and all wait."""
    script = carrying(4)
    assert script.run is not None
    script.run.late = [0, 1, 2, 3]
    return script


def of_next_version(frame: Message | bytes) -> bytes:
    frame = frame if isinstance(frame, bytes) else framed(frame)
    return frame[:2] + bytes([VERSION + 1]) + frame[3:]


def resuming(rank: int = 1, start: bytes = b"peer-1", connection: int = 2, taken: int = 7) -> Any:
    return control.Resume(rank, TOKEN, start, connection, taken)


def moving(inbox: str, rank: int = 1, start: bytes = b"peer-1", connection: int = 2) -> Any:
    return control.Resume(rank, TOKEN, start, connection, 7, inbox=f"tcp://192.0.2.{inbox}:1")


def framed(message: Message) -> bytes:
    return encode(message, run=0, source=0, sequence=0, now=0.0, sent=0)


def joining(rank: int = -1, incarnation: bytes = b"a", **changes: Any) -> control.Join:
    return control.Join(rank, TOKEN, "", 0, incarnation, changes.pop("wall", WALL), **changes)


def setup(rank: int) -> AgentSetup:
    return AgentSetup(
        system="mase",
        variant="corrected",
        parameters={},
        agents=2,
        arms=3,
        rate=float(rank),
        clock="wall",
        base="",
        neighbours=(1 - rank,) if rank < 2 else (),
    )


def failed(effects: list[LobbyEffect]) -> str:
    (reason,) = [effect.reason for effect in effects if isinstance(effect, Fail)]
    assert effects[-1] == Fail(reason)
    return reason
