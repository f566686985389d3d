"""Steps over arrays: a second reading of a system, for the lab, where nobody asks for frames.

The machines are the truth. Steps move all agents of all repetitions of a series at once, draw from
the same streams as the machines, and add numbers in the same order, so that the records of both are
equal, field by field. `posse.engines.arrays` carries them out, and falls back on machines.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.log import Row
from posse.protocol.machine import AgentMachine, ServerEffects, Variant
from posse.protocol.message import Message
from posse.protocol.privacy import Release
from posse.seeds import Purpose, generator, generators
from posse.spec.runfile import RunSpec
from posse.system.context import AgentContext
from posse.system.network import Network


class Declined(Exception):
    """Raised by steps for what they cannot do; machines run instead."""


@dataclass(frozen=True)
class ManyRuns:
    """The runs that move together. Each agent of each has a row: those of a run follow each other.

    `runs` are their numbers, and `networks` has the links of each. `variant` is the form of the
    algorithm, and corrected where both are the same.
    """

    spec: RunSpec
    parameters: Any
    runs: Sequence[int]
    networks: Sequence[Network]
    variant: Variant

    @property
    def agents(self) -> int:
        """The number of agents of each run."""
        return self.spec.agents.count

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return self.spec.arms.arm_count()

    @property
    def rows(self) -> int:
        """The number of rows: agents of all runs."""
        return len(self.runs) * self.agents

    def generator(self, row: int, purpose: Purpose) -> np.random.Generator:
        """The stream of the agent of this row for one purpose, from its beginning."""
        place, rank = divmod(row, self.agents)
        return generator(self.spec.seed, self.runs[place], rank, purpose)

    def generators(self, purpose: Purpose) -> list[np.random.Generator]:
        """Those of all rows."""
        made: list[np.random.Generator] = []
        for run in self.runs:
            made += generators(self.spec.seed, run, self.agents, purpose)
        return made


class Sent(NamedTuple):
    """What an agent sent to each of `targets`: this many messages of a kind, and their payload."""

    kind: type[Message]
    targets: Sequence[int]
    messages: int
    payload_bytes: int


class Steps(ABC):
    """All agents of a series in lockstep: in slots 1, 2, … `slots` each pulls one arm.

    A subclass takes the `ManyRuns`; its constructor or any method may raise `Declined`.
    """

    slots: int

    @abstractmethod
    def choose(self, t: int) -> IntArray:
        """The arm that each row pulls in slot t, shape (rows,)."""

    @abstractmethod
    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        """Take the rewards of slot t, shape (rows,), and send and hear what follows from them."""

    @abstractmethod
    def answers(self) -> Sequence[int]:
        """Each row's own arm, after the last slot."""

    def sent(self, row: int) -> Iterable[Sent]:
        """What the agent of this row sent to others in all slots."""
        return ()

    def notes(self, row: int) -> Iterable[Row]:
        """What it noted at its end."""
        return ()

    def releases(self, row: int) -> Iterable[Release]:
        """What it disclosed, in order."""
        return ()


class Crowd(Protocol):
    """All agents of one run, as a `RunStep` moves them; what they do goes into their accounts."""

    run: int
    agents: int
    network: Network

    @property
    def slot(self) -> int: ...

    @property
    def server(self) -> Any: ...

    def generators(self, purpose: Purpose) -> list[np.random.Generator]:
        """The agents' streams for one purpose."""

    def pull(self, arms: tuple[int, ...] | IntArray, times: int) -> FloatArray:
        """The sums of `times` rewards of each of these arms, shape (agents, n).

        An array has one arm for each agent, shape (agents,).
        """

    def draw(
        self, arms: IntArray, times: int, take: Callable[[slice, FloatArray], None]
    ) -> FloatArray:
        """Those of one arm each, shape (agents,).

        Before it returns, `take` gets all ranks' rewards in order, of some ranks at a time, shape
        (n, times).
        """

    def disclose(self, release: Release) -> None:
        """All agents enter this release."""

    def note(self, *rows: Row) -> None:
        """All agents note this row, or each its own."""

    def say(self, message: Message, ranks: Sequence[int] | slice = slice(None)) -> None:
        """These agents, or all, send the server a message of this size."""

    def told(self, message: Message, ranks: Sequence[int] | slice = slice(None)) -> None:
        """The server sends one to these agents, or to all, besides what it `decided`."""

    def attest(self, step: int, value: bytes) -> None:
        """All agents attest this."""

    def sent(self, by_rank: Sequence[Iterable[Sent]]) -> None:
        """Each agent sent this to others in the whole run."""

    def decided(self, effects: ServerEffects) -> None:
        """Carry out what the server's machine answered."""


class RunStep(ABC):
    """Moves all agents of one run at a time, in orders that take all of them the same slots.

    A subclass takes the `ManyRuns`; its constructor or `carry_out` may raise `Declined`.
    """

    @abstractmethod
    def carry_out(self, crowd: Crowd) -> Sequence[int | None]:
        """Move the agents to their end; returns each one's answer."""


class Turns(Protocol):
    """All agents of one run by the clock `virtual`, as a `TurnStep` moves them.

    An agent's order is some activations, in each of which it pulls every one of its arms; what it
    pulls goes into its account.
    """

    agents: int

    @property
    def server(self) -> Any: ...

    def generator(self, rank: int, purpose: Purpose) -> np.random.Generator:
        """An agent's stream for one purpose, from its beginning."""

    def order(self, rank: int, arms: tuple[int, ...], count: int) -> None:
        """From now on the agent pulls these arms, until its `count`-th activation is its turn."""

    def next(self) -> tuple[int, tuple[int, ...], int] | None:
        """Come to the next turn: whose it is, and its order, now at an end; None after the last."""

    def interrupt(self, rank: int) -> tuple[tuple[int, ...], int]:
        """The arms of an agent's order, and its activations since its beginning or this call."""

    def peek(self, rank: int, arms: tuple[int, ...], times: int) -> FloatArray:
        """The agent's next rewards of these arms, shape (len(arms), times)."""

    def take(self, rank: int, arms: tuple[int, ...], times: int) -> FloatArray:
        """The same, which are then used."""

    def sums(self, rank: int, arms: tuple[int, ...], times: int) -> FloatArray:
        """Their sums, shape (len(arms),), if single ones do not matter."""

    def disclose(self, rank: int, release: Release) -> None:
        """The agent enters a release."""

    def send(self, rank: int, message: Message) -> None:
        """The agent sends the server a message, which it hears."""

    def told(self) -> None:
        """All agents have heard from the server, and say when they act next."""

    def finish(self, rank: int, arm: int | None) -> None:
        """The agent is done, with this answer."""


class TurnStep(ABC):
    """Moves all agents of one run, each in its turn; a subclass takes the `ManyRuns` of one.

    Its constructor or `carry_out` may raise `Declined`.
    """

    @abstractmethod
    def carry_out(self, turns: Turns) -> None:
        """Move the agents to the end of the run."""


class Groups(Protocol):
    """The runs of a series whose agents share the arms of their run, as a `GroupStep` moves them.

    Agents have rows as in `ManyRuns`. Arm k of the i-th run is queue i K + k.
    """

    @property
    def pulls(self) -> IntArray:
        """How often each row pulled each arm, shape (rows, K), as it grows."""

    def server(self, place: int) -> Any:
        """The server's machine of the run at this place, which has begun."""

    def pull(self, queues: IntArray) -> FloatArray:
        """The next reward of each of these arms; none comes twice."""

    def played(self, arms: IntArray, payoffs: FloatArray, paid: BoolArray) -> None:
        """A slot is over: what each row pulled, and what it was paid, if it was; shape (rows,)."""

    def note(self, row: int, noted: Row) -> None:
        """The agent of this row notes this."""

    def disclose(self, row: int, release: Release) -> None:
        """It enters a release."""

    def sent(self, row: int, sent: Sent) -> None:
        """It sent this in the whole run."""

    def told(self, place: int, sent: Sent) -> None:
        """The server of the run at this place sent this in the whole run."""

    def decided(self, place: int, effects: ServerEffects) -> None:
        """Carry out what its machine would answer now."""


class GroupStep(ABC):
    """Moves all agents of a series whose agents share arms, and what the servers' machines do.

    A subclass takes the `ManyRuns`; its constructor or `carry_out` may raise `Declined`.
    """

    @abstractmethod
    def carry_out(self, groups: Groups) -> None:
        """Move the agents to the end of their runs."""


MakeSteps = Callable[[ManyRuns], Steps | RunStep | TurnStep | GroupStep]


@dataclass(frozen=True)
class Stepped:
    """Makes an agent's machine, and says what steps are equal to it; another maker has none."""

    make: Callable[[AgentContext], AgentMachine]
    steps: MakeSteps

    def __post_init__(self) -> None:
        # a checkpoint goes by the module of who makes the machine
        object.__setattr__(self, "__module__", getattr(self.make, "__module__", __name__))

    def __call__(self, context: AgentContext) -> AgentMachine:
        return self.make(context)


class Queues:
    """Numbers drawn ahead in blocks, a queue for each stream or part of one.

    `draw(queue, count)` gives the next `count`, or fewer; a block must be what single draws would
    give. Those of queues that end together are drawn in the order in which these are given.
    """

    def __init__(
        self,
        queues: int,
        draw: Callable[[int, int], FloatArray],
        block: int = 64,
        kind: str = "f8",
    ) -> None:
        self._draw, self._block = draw, block
        self._drawn = np.empty(queues * block, dtype=kind)
        self._ends = (1 + np.arange(queues)) * block
        self._next = self._ends.copy()

    def take(self, queues: IntArray) -> FloatArray:
        """The next number of each of these queues; none comes twice."""
        places, ends = self._next.take(queues), self._ends.take(queues)
        if np.count_nonzero(places == ends):
            for i in np.flatnonzero(places == ends).tolist():
                fresh = self._draw(int(queues[i]), self._block)
                places[i] -= len(fresh)
                self._drawn[places[i] : ends[i]] = fresh
        self._next[queues] = places + 1
        return self._drawn.take(places).astype(float)


class Ties:
    """Breaks ties as an agent's machine does, by the stream that it has for them."""

    def __init__(self, series: ManyRuns) -> None:
        self._streams = series.generators(Purpose.TIES)

    def argmax(self, index: FloatArray) -> IntArray:
        """The argmax of each row of `index`, shape (rows, K); ties are broken at random."""
        leads = index == index.max(axis=1)[:, None]
        arms: IntArray = leads.argmax(axis=1)
        if np.count_nonzero(leads) > len(arms):
            tied = np.flatnonzero(np.add.reduce(leads, axis=1) > 1)
            row, leaders = leads[tied].nonzero()
            ends = row.searchsorted(np.arange(len(tied) + 1)).tolist()
            arms[tied] = leaders[
                [
                    ends[i] + int(self._streams[tie].integers(ends[i + 1] - ends[i]))
                    for i, tie in enumerate(tied.tolist())
                ]
            ]
        return arms
