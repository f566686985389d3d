"""Anonymous bandits for tests: runs that are checked, players, and a server with a fake link."""

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from posse.agent.masking import Masker
from posse.engines import memory
from posse.plan import Plan, prepare
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    COORDINATOR,
    Finish,
    Note,
    PeerFinished,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from posse.protocol.masking import Keys, PublicKey
from posse.protocol.message import Message, Plane
from posse.protocol.wire import encode, read_header
from posse.results.record import RunRecord
from posse.system.reading import Recorder
from posse_systems.esfandiari2022.agent import AnonymousPlayer, Earnings
from posse_systems.esfandiari2022.anonymity import Observations, check
from posse_systems.esfandiari2022.decomposition import Assignment
from posse_systems.esfandiari2022.learners import AnonymousLearner
from posse_systems.esfandiari2022.server import AnonymousServer
from tests.support.runfile import describe_run
from tests.support.runs import detail

SYSTEMS = ("anonymous", "explore-then-commit", "parallel-ucb")


def spec(system: str = "anonymous", agents: int = 20, **changes: Any) -> Plan:
    """Each agent with its own means; C = 3, T = 1,200."""
    parameters: dict[str, Any] = {"horizon": 1_200}
    if system != "parallel-ucb":
        parameters["group_size"] = 3
    arms = {
        "kind": "bernoulli",
        "means": {"random": "uniform", "count": 3, "per_agent": True},
    }
    parameters |= changes.pop("parameters", {})
    raw = describe_run(
        system, agents, arms, seed=5, parameters=parameters, engine={"deadline": 20.0}
    )
    return prepare(raw | changes)


def verdict(spec: Plan, heard: Recorder) -> Observations:
    """What the server of this run could see."""
    parameters: Any = spec.parameters
    if spec.spec.system == "parallel-ucb":
        return check(heard, 2, 16)
    return check(heard, parameters.group_size, parameters.precision, parameters.dropouts)


def run(spec: Plan, number: int = 0) -> RunRecord:
    """A run in memory, checked: every observation covers at least C users."""
    heard = Recorder()
    record = memory.run(spec, number, tap=heard)
    seen = verdict(spec, heard)
    assert not seen.violations
    if spec.spec.system == "parallel-ucb":
        assert not any(read_header(frame).plane == Plane.DATA for *_, frame in heard)
    elif detail(record).group_sizes:
        parameters: Any = spec.parameters
        assert seen.smallest is not None
        assert seen.smallest >= parameters.group_size
    return record


def players(
    users: int, aggregation: Any = "masked", horizon: int = 10_000
) -> list[AnonymousPlayer]:
    """Players of three arms with C = 3 and a precision of 8 bits."""
    generator = np.random.default_rng(2)
    return [
        AnonymousPlayer(
            rank=n,
            arms=3,
            horizon=horizon,
            precision=8,
            aggregation=aggregation,
            masker=Masker(n, 3, generator.bytes(32)),
            earnings=Earnings(horizon),
        )
        for n in range(users)
    ]


def ready(users: int = 5, **changes: Any) -> list[AnonymousPlayer]:
    """Players that have each other's keys."""
    agents = players(users, **changes)
    keys = {}
    for agent in agents:
        (send,) = agent.handle(Started(), 0.0)
        assert isinstance(send, Send)
        assert isinstance(send.message, PublicKey)
        keys[agent.rank] = send.message.key
    for agent in agents:
        assert agent.handle(Received(COORDINATOR, Keys(keys)), 0.0) == []
    return agents


def told(agent: AnonymousPlayer, message: Message, sender: int = COORDINATOR) -> Any:
    """What the agent does when it is told so."""
    return agent.handle(Received(sender, message), 0.0)


def report(agent: AnonymousPlayer, rewards: np.ndarray) -> Any:
    """The agent's rewards are there."""
    assert agent.order is not None
    row = rewards.reshape(1, -1)
    return agent.handle(Pulled((agent.order.arm,), row.shape[1], row.sum(axis=1), row), 0.0)


class Link:
    """Server and players with a queue in between; rewards come from `reward(user, arm, count)`.

    `lost(user, message)` says whether a user vanishes instead of sending this message; `altered`
    may replace one. Messages arrive as they were sent, or each time from one of the links that
    `order` chooses: a link keeps its own order. Everything sent is captured.
    """

    def __init__(
        self,
        plan: list[Assignment],
        users: int = 10,
        aggregation: Any = "masked",
        lost: Callable[[int, Message], bool] = lambda user, message: False,
        altered: Callable[[int, Message], Message] = lambda user, message: message,
        order: np.random.Generator | None = None,
    ) -> None:
        self.horizon = 400
        self.players = players(users, aggregation, self.horizon)
        self.learner = Script(plan, users)
        self.server = AnonymousServer(users, self.horizon, 3, 8, aggregation, self.learner)
        self.lost, self.altered, self.order = lost, altered, order
        self.gone: set[int] = set()
        self.heard = Recorder()
        self.queue: deque[tuple[int, int, Message | None]] = deque()
        self.notes: list[Note] = []
        self.refused: Counter[str] = Counter()
        self.pulls = np.zeros((users, 3), dtype=int)
        self.status = ""

    def run(self) -> "Link":
        self.take(COORDINATOR, self.server.handle(Started(), 0.0))
        for player in self.players:
            self.take(player.rank, player.handle(Started(), 0.0))
        while self.queue and not self.status:
            source, target, message = self.next()
            if message is None:
                self.take(COORDINATOR, self.server.handle(PeerFinished(source), 0.0))
                continue
            machine = self.server if target == COORDINATOR else self.players[target]
            if target in self.gone:
                continue
            try:
                self.take(target, machine.handle(Received(source, message), 0.0))
            except RemoteProtocolError as error:
                self.refused[error.reason] += 1
        return self

    def next(self) -> tuple[int, int, Message | None]:
        """What arrives next; None in place of a message is the end of its sender."""
        if self.order is None:
            return self.queue.popleft()
        heads: dict[tuple[int, int], int] = {}
        for index, (source, target, _) in enumerate(self.queue):
            heads.setdefault((source, target), index)
        chosen = list(heads.values())[int(self.order.integers(len(heads)))]
        found = self.queue[chosen]
        del self.queue[chosen]
        return found

    def take(self, source: int, effects: Any) -> None:
        for effect in effects:
            match effect:
                case Send(to, message):
                    self.send(source, to, message)
                case Pull((arm,), times, _):
                    self.pulls[source, arm] += times
                    rewards = np.full((1, times), self.reward(source, arm))
                    event = Pulled((arm,), times, rewards.sum(axis=1), rewards)
                    if source not in self.gone:
                        self.take(source, self.players[source].handle(event, 0.0))
                case Note() if source == COORDINATOR:
                    self.notes.append(effect)
                case Finish(status) if source == COORDINATOR:
                    self.status = status
                case Finish():
                    self.queue.append((source, COORDINATOR, None))

    def send(self, source: int, to: int, message: Message) -> None:
        if source in self.gone:
            return
        if source != COORDINATOR:
            if self.lost(source, message):
                self.gone.add(source)
                self.queue.append((source, COORDINATOR, None))
                return
            message = self.altered(source, message)
        frame = encode(message, run=0, source=source, sequence=0, now=0.0, sent=0)
        self.heard(source, to, frame)
        self.queue.append((source, to, message))

    @staticmethod
    def reward(user: int, arm: int) -> float:
        return ((3 * user + 5 * arm) % 16) / 16

    def verdict(self) -> Observations:
        return check(self.heard, 3, 8)

    def named(self, name: str) -> list[tuple[float, ...]]:
        return [tuple(note.row.line(0.0)[1:]) for note in self.notes if note.row.table == name]


class Script(AnonymousLearner):
    """A learner that plans what it is told and keeps what it learns."""

    def __init__(self, plan: list[Assignment], users: int) -> None:
        self.todo, self.arms = [plan], 3
        self.generator = np.random.default_rng(4)
        self.alive = np.ones((users, 3), dtype=bool)
        self.learned: dict[tuple[int, int], list[tuple[float, int]]] = {}

    def plan(self, active: np.ndarray) -> Any:
        return (self.todo.pop(), []) if self.todo else None

    def learn(self, users: np.ndarray, arm: Any, means: np.ndarray, copies: int) -> int:
        for user, mean in zip(users, means, strict=True):
            self.learned.setdefault((int(user), arm), []).append((float(mean), copies))
        return len(users) * copies

    def best(self) -> np.ndarray:
        return np.zeros(len(self.alive), dtype=int)


def assign(*arms: int, copies: int = 1) -> Assignment:
    return Assignment(np.array(arms), copies)


FIVE_FIVE = assign(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, copies=2)
"""Two groups of C + 2."""


FOUR_SIX = assign(0, 0, 0, 0, 1, 1, 1, 1, 1, 1)
"""A group of C + 1 and one of C + 3."""
