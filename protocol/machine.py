"""The machine interface: an algorithm is a pair of machines without input or output.

A machine is handed events, each with the time at which it happened, and answers with effects:

    handle(event, now) -> effects

The rules, which every machine and every engine keeps:

1.  The first event is `Started`. No event follows `Finish`.
2.  An agent has at most one order to its arms under way, `Pull`, `Explore` or `Ready`. A new one
    replaces it. A `Pull` that was begun is never torn apart: replacing it after its first pull is a
    `LocalProtocolError`.
3.  `Pull` is answered by one `Pulled`. `Explore` is answered by any number of `Observed`, each
    with one or more whole activations, of which only the last may make the machine act: the engine
    asks `silent` how far it may go. So the order costs one event per decision, not per pull.
    `Ready` is answered by `Turn`, when the agent is to act, and that by another order: so machines
    that live in one process can decide together.
4.  Before a message is handed to an exploring agent, it is given what it observed up to then.
5.  `now` is in the unit of the run's clock: rounds of the paper in expectation (`virtual`), slots
    (`slots`), seconds (`wall`). A machine never reads a clock.
6.  What a peer did wrong raises `RemoteProtocolError` and leaves the machine's state as it was.
7.  A coordinator's machine may order `Pull` and say `Played` where all agents share the arms: they
    are then its own, and agents order nothing. Its `Pull` is answered before anything else happens.
8.  `Timer` is the one place where seconds come in, whatever the run's clock: silence has no other
    measure. Engines without a clock fire it when nothing else can happen any more.
9.  State is plain data: numbers, arrays, tuples, and the sampler of noise it was given.

Events and effects are msgspec structs because one or more are made for each message, and a frozen
dataclass takes five times as long to make.
"""

from collections.abc import Sequence
from math import inf
from types import UnionType
from typing import Any, Literal, Never, NoReturn, Protocol, get_args, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from protocol.errors import WORD, LocalProtocolError
from protocol.log import Row
from protocol.message import Message
from protocol.privacy import LONGEST_BLOCK, Release

FloatArray = NDArray[np.float64]

COORDINATOR = -1
"""The coordinator's name among peers; agents are named by their rank, 0 to N - 1."""

OnMissing = Literal["wait", "continue", "end"]
"""What follows when an agent does not come back in its time."""

Variant = Literal["corrected", "printed"]
"""An algorithm without its paper's slips, or as the paper prints it."""


def who(name: int | None) -> str:
    """A peer for a sentence."""
    return "the coordinator" if name == COORDINATOR else f"agent {name}"


class Started(msgspec.Struct, frozen=True):
    """The run begins."""


class Pulled(msgspec.Struct, frozen=True):
    """A `Pull` is complete.

    `sums` has one sum of rewards per arm, shape (len(arms),). `rewards`, shape (len(arms), times),
    is there only if the order said `each`.
    """

    arms: tuple[int, ...]
    times: int
    sums: FloatArray
    rewards: FloatArray | None = None


class Observed(msgspec.Struct, frozen=True):
    """Rewards of one or more activations of an `Explore`, shape (len(arms), activations)."""

    arms: tuple[int, ...]
    rewards: FloatArray


class Turn(msgspec.Struct, frozen=True):
    """The agent that said `Ready` is to act: what does it order?"""


class Received(msgspec.Struct, frozen=True):
    """A message arrived from `sender` (a rank, or `COORDINATOR`)."""

    sender: int
    message: Message


class PeerFinished(msgspec.Struct, frozen=True):
    """To a coordinator's machine: agent `sender` will not act any more.

    `now` is the agent's own time where it said so itself: it does not depend on whose message
    overtook whose.
    """

    sender: int


class PeerLost(msgspec.Struct, frozen=True):
    """Agent `peer` was declared gone for the rest of the run: it will not act any more.

    Told where a run goes on without it: to the coordinator's machine, of an agent that has not
    finished, and to the machines of its neighbours.
    """

    peer: int


class Regrouped(msgspec.Struct, frozen=True):
    """After `view` losses: who is left, and from where all go on together.

    `neighbours` and `knowledge` are as at the beginning, on the graph that is left. All have come
    to `round`, which began in slot `begun` over these `arms`, and go on in slot `slot` of it; who
    is not there yet takes it from here. A coordinator's machine is told its `knowledge` alone.
    """

    view: int
    knowledge: dict[str, Any]
    neighbours: tuple[int, ...] = ()
    round: int = 0
    begun: int = 0
    slot: int = 0
    arms: tuple[int, ...] = ()


class TimerFired(msgspec.Struct, frozen=True):
    """To a coordinator's machine: the time that its last `Timer` asked for has passed."""


AgentEvent = Started | Turn | Pulled | Observed | Received | PeerLost | Regrouped
"""What happens to an agent's machine."""

ServerEvent = Started | Pulled | Received | PeerFinished | PeerLost | Regrouped | TimerFired
"""What happens to a coordinator's machine."""


MOST_PULLS = (1 << 53) - 1
"""Of one agent: beyond, a sum of rewards no longer counts one by one, and no report is taken."""


class Pull(msgspec.Struct, frozen=True):
    """Pull each of these arms `times` times, in turn: one of each, then one of each again."""

    arms: tuple[int, ...]
    times: int
    each: bool = False


class Explore(msgspec.Struct, frozen=True):
    """Pull each of these arms once per activation until another order replaces this one."""

    arms: tuple[int, ...]


class Ready(msgspec.Struct, frozen=True):
    """This machine has all that it waits for, and orders something at its next `Turn`."""


class Send(msgspec.Struct, frozen=True):
    """Send `message` to the peer `to`."""

    to: int
    message: Message


class Broadcast(msgspec.Struct, frozen=True):
    """Send `message` to every agent (a coordinator) or to every neighbour (an agent)."""

    message: Message


class Disclose(msgspec.Struct, frozen=True):
    """Enter a noisy release into the agent's privacy ledger; nothing is sent by it."""

    release: Release


class Note(msgspec.Struct, frozen=True):
    """Enter a row into the log of the run; nothing is sent by it.

    `at`: when it happened, if not just now.
    """

    row: Row
    at: float | None = None


class Stopwatch(msgspec.Struct, frozen=True):
    """Something that the lab measures in seconds begins, or ends, under `name`."""

    name: str
    running: bool


class Attest(msgspec.Struct, frozen=True):
    """After `step` this agent holds `value`, which every agent must hold alike.

    The lab compares; a run in which two differ stops and says so.
    """

    step: int
    value: bytes


class Refuse(msgspec.Struct, frozen=True):
    """Count as refused what came inside a good message, or was kept and proved bad later.

    `sender` is who sent it, if one neighbour is to blame.
    """

    reason: str
    sender: int | None = None
    count: int = 1


class Abort(msgspec.Struct, frozen=True):
    """This machine cannot go on, by no fault of its own; the run ends with this sentence."""

    reason: str


class Played(msgspec.Struct, frozen=True):
    """One slot of arms that all share is over: agent n pulled `arms[n]` and got `payoffs[n]`.

    An agent that did not pull has the arm -1 and the payoff 0. `winners` are those that were paid
    where several had one arm: a payoff may be 0 like that of who got nothing.
    """

    arms: tuple[int, ...]
    payoffs: tuple[float, ...]
    winners: tuple[int, ...] = ()


class Dismiss(msgspec.Struct, frozen=True):
    """A coordinator goes on without this agent, for the fault that `reason` names.

    Nothing more is sent to it, waited for from it, or taken from it in this run.
    """

    agent: int
    reason: str


class Timer(msgspec.Struct, frozen=True):
    """Hand a coordinator's machine `TimerFired` in `after` seconds; replaces the timer before.

    Infinite: not any more.
    """

    after: float


class Stand(msgspec.Struct, frozen=True):
    """After a loss this agent stands still here until it is told `Regrouped`; see there."""

    round: int
    begun: int
    slot: int
    arms: tuple[int, ...]


class Finish(msgspec.Struct, frozen=True):
    """This machine is done. `status` is the run's when a coordinator says it."""

    status: str
    arm: int | None = None


AgentEffect = (
    Pull
    | Explore
    | Ready
    | Send
    | Broadcast
    | Disclose
    | Note
    | Stopwatch
    | Attest
    | Refuse
    | Abort
    | Stand
    | Finish
)
"""What an agent's machine may ask for."""

ServerEffect = Pull | Send | Broadcast | Note | Played | Dismiss | Timer | Finish
"""What a coordinator's machine may ask for."""

AgentEffects = Sequence[AgentEffect]
ServerEffects = Sequence[ServerEffect]


def assert_never_effect(effect: Never, machine: object, whose: str, allowed: UnionType) -> NoReturn:
    """`typing.assert_never` for effects: a machine without types may ask for anything at all."""
    asked: object = effect
    named = f"the class {asked.__name__}" if isinstance(asked, type) else type(asked).__name__
    raise LocalProtocolError(
        f"{whose} machine {type(machine).__name__} asked for {named}, which is none of its "
        f"effects: {', '.join(kind.__name__ for kind in get_args(allowed))}"
    )


def no_effects(machine: object, answer: object) -> LocalProtocolError:
    """The error of answering an event with what is no list of effects.

    A generator would be empty once it was looked through.
    """
    return LocalProtocolError(
        f"{type(machine).__name__}.handle answered {answer!r:.80}; it must be a list or a tuple of "
        "effects, [] where there are none"
    )


def require_arms(order: Pull | Explore, count: int) -> None:
    """`LocalProtocolError` for an order that no `count` arms can carry out."""
    arms, times = order.arms, order.times if isinstance(order, Pull) else 1
    ints = isinstance(arms, tuple) and all(
        isinstance(n, int) and not isinstance(n, bool) for n in (*arms, times)
    )
    if not ints or not arms or min(arms) < 0 or max(arms) >= count or not 0 < times <= MOST_PULLS:
        raise LocalProtocolError(
            f"{order} cannot be carried out: arms is a tuple of ints from 0 to {count - 1}, and "
            "times an int from 1 to 2^53 - 1"
        )


def require_answer(finish: Finish, count: int) -> None:
    """`LocalProtocolError` for an end without a status, or whose answer is none of `count` arms."""
    arm = finish.arm
    if not isinstance(finish.status, str):
        raise LocalProtocolError(f"{finish}: status must be a str")
    if arm is not None and not (isinstance(arm, int) and 0 <= arm < count):
        raise LocalProtocolError(f"{finish}: arm must be None or an int from 0 to {count - 1}")


def require_release(release: Release) -> None:
    """`LocalProtocolError` for what is no release, or has numbers that none can have."""
    fits = isinstance(release, Release) and (
        all(
            type(n) in (int, float) and 0 <= n < (1 << 63 if type(n) is int else inf)
            for n in (release.sensitivity, release.scale, release.epsilon)
        )
        and isinstance(release.mechanism, str)
        and WORD.fullmatch(release.mechanism)
        and isinstance(release.block, str)
        and len(release.block) < LONGEST_BLOCK
        and release.block.isprintable()
    )
    if not fits:
        raise LocalProtocolError(
            f"{release!r:.200} is disclosed: it must be a Release, its mechanism of letters, "
            "digits, blanks, - and _, its block a short line, and its numbers Python's own, finite "
            "and 0 or more"
        )


def require_machine(made: object) -> None:
    """`LocalProtocolError` for what was made as a machine and is none."""
    if isinstance(made, type) or not hasattr(made, "handle"):
        raise LocalProtocolError(f"its machine is {made!r}, which cannot handle(event, now)")


class AgentMachine(Protocol):
    """An agent's part of an algorithm."""

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event and say what is to be done."""
        ...


class ServerMachine(Protocol):
    """The coordinator's part of an algorithm."""

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Take one event and say what is to be done."""
        ...


@runtime_checkable
class GatheringMachine(ServerMachine, Protocol):
    """A coordinator's machine that can say whom it waits for."""

    def missing(self) -> list[int]:
        """The agents without whose message it does not go on."""
        ...


@runtime_checkable
class PatientMachine(Protocol):
    """A machine that goes on when several messages are here, whatever their order."""

    @property
    def awaited(self) -> int:
        """How many messages it must receive at least before it acts; 0 if it waits for none."""
        ...

    def keep(self, received: Sequence[Received]) -> bool:
        """Take messages before the last of those awaited: nothing follows from them yet.

        False, and nothing is taken, where one of them is to be refused.
        """
        ...


@runtime_checkable
class ExploringMachine(AgentMachine, Protocol):
    """A machine that may order `Explore`."""

    def silent(self, rewards: FloatArray) -> int:
        """How many of these further activations, shape (arms, activations), change nothing.

        The next one after them, if there is one, makes the machine act.
        """
        ...


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every system's `[parameters]`: checked when read, immutable, sent to agents as is."""
