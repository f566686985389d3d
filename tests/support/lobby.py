"""A lobby over scripted time and without a socket."""

import logging
from collections.abc import Collection
from typing import Any, cast

from posse.coordinator.host import CoordinatorHost
from posse.coordinator.lobby import Lobby
from posse.coordinator.roster import Peer, Roster
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import Fail, LobbyEffect, LogLine
from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.wire import encode
from posse.security.keys import CoordinatorKeys, KeyPair
from posse.spec.runfile import EngineSpec
from posse.system.network import Network

WALL = 1e9
DEADLINE = 10.0
TOKEN = "of those who were started here"
ABSENCE = 25.0
ENGINE = EngineSpec(deadline=DEADLINE, absence=ABSENCE, joining=DEADLINE)


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
        self.network = Network([(1,), (0, 2), (1,)], [{}] * 3)

    def waiting_for(self) -> list[int]:
        return self.late

    @property
    def dismissed(self) -> dict[int, str]:
        return dict.fromkeys(self.lost, "lost")

    def lose(self, rank: int) -> None:
        self.lost.append(rank)

    def fire(self) -> None:
        self.fired += 1
        self.timer = float("inf")

    def put_off(self, seconds: float, not_before: float) -> None:
        self.timer = max(self.timer + seconds, not_before)

    def suspects(self) -> list[int]:
        return self.late

    def fall_silent(self, mute: Collection[int]) -> bool:
        return self._silence_ends


class Script:
    """A lobby and what happens to it; `now` is moved by hand."""

    def __init__(
        self, agents: int = 2, keys: tuple[str, ...] = (), joining: float = DEADLINE
    ) -> None:
        pairs = CoordinatorKeys(KeyPair("operator", ""), keys) if keys else None
        roster = Roster(agents, TOKEN, pairs, {"repeat": "1"})
        engine = EngineSpec(deadline=DEADLINE, absence=ABSENCE, joining=joining)
        self.lobby = Lobby(roster, engine, "mase")
        self.now = 100.0
        self.lobby.gather(self.now)

    def says(self, peer: str, message: Message | bytes, key: str = "") -> list[LobbyEffect]:
        """`peer` names a connection; its number is the name's last character."""
        frame = message if isinstance(message, bytes) else framed(message)
        at = Peer(peer.encode(), key, ord(peer[-1]))
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
        for rank in range(self.lobby.roster.agents):
            self.joins(f"peer-{rank}", rank)

    def carries(self, run: Run) -> Run:
        if self.lobby.running:
            self.lobby.release()
        self.lobby.carry(cast(CoordinatorHost, run), self.now)
        return run


def carrying(agents: int = 2, **run: bool) -> tuple[Script, Run]:
    """All agents have joined, and a run goes on."""
    script = Script(agents)
    script.all_join()
    return script, script.carries(Run(**run))


def configuring() -> Script:
    """Two agents have joined, and are waited for to be ready."""
    script = Script()
    script.all_join()
    script.lobby.configure([setup(0), setup(1)], script.now)
    return script


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
    )


def warned(effects: list[LobbyEffect]) -> list[str]:
    return [e.text for e in effects if isinstance(e, LogLine) and e.level == logging.WARNING]


def failed(effects: list[LobbyEffect]) -> str:
    (reason,) = [effect.reason for effect in effects if isinstance(effect, Fail)]
    assert effects[-1] == Fail(reason)
    return reason
