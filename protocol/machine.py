"""The machine interface: an algorithm is a pair of machines without input or output.

A machine is handed events, each with the time at which it happened, and answers with effects:

    handle(event, now) -> effects

Every machine and every engine keeps these rules:

1.  The first event is `Started`. No event follows `Finish`.
2.  An agent has at most one order to its arms under way: `Pull` or `Explore`. A new order replaces
    it. Replacing a `Pull` after its first pull is a `LocalProtocolError`.
3.  One `Pulled` answers a `Pull`. Any number of `Observed` answer an `Explore`, each with one or
    more whole activations, of which only the last may make the machine act: the engine asks
    `lookahead` how far it may go. So an order costs one event per decision, not per pull.
4.  An exploring agent is given everything it has observed before it is given a message.
5.  `now` is in the unit of the run's clock: rounds of the paper in expectation (`virtual`), slots
    (`slots`), seconds (`wall`). A machine never reads a clock.
6.  A peer's fault raises `RemoteProtocolError` and leaves the machine's state as it was.
7.  Where all agents share the arms, these belong to the coordinator's machine: it orders `Pull` and
    says `Played`, and agents order nothing. Its `Pull` is answered before anything else happens.
8.  Only `Timer` is in seconds whatever the run's clock, because nothing else measures silence.
    Engines without a clock fire it when nothing else can happen.
9.  State is plain data: numbers, arrays, tuples, and the noise sampler that the machine was given.

Events and effects are msgspec structs because each message makes one or more, and making a frozen
dataclass takes five times as long. Their kinds are told apart by `type(event) is Pulled` where each
frame or pull goes through: of a struct that is something else `isinstance` takes .09 µs, not .02.
"""

from collections.abc import Sequence
from math import inf
from types import UnionType
from typing import Any, Literal, Never, NoReturn, Protocol, final, get_args, runtime_checkable

import msgspec

from posse.protocol.arrays import FloatArray
from posse.protocol.bounds import MOST_ARMS as MOST_ARMS  # noqa: PLC0414
from posse.protocol.bounds import MOST_PULLS as MOST_PULLS  # noqa: PLC0414
from posse.protocol.errors import WORD, Contradiction, LocalProtocolError, RemoteProtocolError
from posse.protocol.log import Row
from posse.protocol.message import Message
from posse.protocol.privacy import LONGEST_BLOCK, Release

COORDINATOR = -1
"""The coordinator as a peer; agents are known by their rank, 0 to N - 1."""

OnMissing = Literal["wait", "continue", "end"]
"""What the run does when an agent stays absent for too long."""

Variant = Literal["corrected", "printed"]
"""Whether the slips in the paper's algorithm are corrected or kept as printed."""


def peer_name(name: int | None) -> str:
    """A peer's name in a sentence."""
    return "the coordinator" if name == COORDINATOR else f"agent {name}"


@final
class Started(msgspec.Struct, frozen=True):
    """The run begins."""


@final
class Pulled(msgspec.Struct, frozen=True):
    """A `Pull` is complete.

    `sums` has one sum of rewards per arm, shape (len(arms),). `rewards` has every reward, shape
    (len(arms), times); it is None unless the order said `each`.
    """

    arms: tuple[int, ...]
    times: int
    sums: FloatArray
    rewards: FloatArray | None = None


@final
class Observed(msgspec.Struct, frozen=True):
    """Rewards of one or more activations of an `Explore`, shape (len(arms), activations)."""

    arms: tuple[int, ...]
    rewards: FloatArray


@final
class Received(msgspec.Struct, frozen=True):
    """A message arrived from `sender` (a rank, or `COORDINATOR`)."""

    sender: int
    message: Message


@final
class PeerFinished(msgspec.Struct, frozen=True):
    """To a coordinator's machine: agent `sender` has finished and will not act again.

    If the agent itself said so, `now` is its own time, which does not depend on the order in which
    messages arrived.
    """

    sender: int


@final
class PeerLost(msgspec.Struct, frozen=True):
    """Agent `peer` is gone for the rest of the run, lost or out of rewards; the run goes on.

    Told to the coordinator's machine and to those of its neighbours, or of all agents where all
    must agree. The loss of an agent that had finished is told to nobody.
    """

    peer: int


@final
class Regrouped(msgspec.Struct, frozen=True):
    """After `view` losses: the graph that is left, and where all agents continue together.

    `neighbours` and `knowledge` are as at the beginning, but on the graph that is left. All agents
    continue in slot `slot` of `round`, which began in slot `begun` over `arms`; an agent that is
    behind takes these over. A coordinator's machine is told only its `knowledge`.
    """

    view: int
    knowledge: dict[str, Any]
    neighbours: tuple[int, ...] = ()
    round: int = 0
    begun: int = 0
    slot: int = 0
    arms: tuple[int, ...] = ()


@final
class TimerFired(msgspec.Struct, frozen=True):
    """To a coordinator's machine: its last `Timer` has run out."""


AgentEvent = Started | Pulled | Observed | Received | PeerLost | Regrouped
"""Events that an agent's machine may be handed."""

ServerEvent = Started | Pulled | Received | PeerFinished | PeerLost | Regrouped | TimerFired
"""Events that a coordinator's machine may be handed."""


@final
class Pull(msgspec.Struct, frozen=True):
    """Pull each of these arms `times` times, in turn: each arm once, then each again.

    Only arms that all agents share may be named more than once.
    """

    arms: tuple[int, ...]
    times: int
    each: bool = False


@final
class Explore(msgspec.Struct, frozen=True):
    """Pull each of these arms once per activation until another order replaces this one."""

    arms: tuple[int, ...]


@final
class Send(msgspec.Struct, frozen=True):
    """Send `message` to the peer `to`."""

    to: int
    message: Message


@final
class Broadcast(msgspec.Struct, frozen=True):
    """Send `message` to every agent (a coordinator) or to every neighbour (an agent)."""

    message: Message


@final
class Disclose(msgspec.Struct, frozen=True):
    """Enter a noisy release into the agent's account; this sends nothing."""

    release: Release


@final
class Note(msgspec.Struct, frozen=True):
    """Enter a row into the log of the run; this sends nothing.

    `time` is the time of the row if it is not now.
    """

    row: Row
    time: float | None = None


@final
class Stopwatch(msgspec.Struct, frozen=True):
    """Start or stop timing something under `name`; the lab reports the seconds."""

    name: str
    running: bool


@final
class Attest(msgspec.Struct, frozen=True):
    """After `step` this agent holds `value`, which must be the same at every agent.

    The lab compares the values and stops a run in which two differ.
    """

    step: int
    value: bytes


@final
class Refuse(msgspec.Struct, frozen=True):
    """Count `count` refusals inside a valid message, or of a message that proved bad later.

    `sender` is the neighbour that is to blame, None if it is not known. A `proof` blames an agent
    that is not to be seen from here, and no neighbour.
    """

    reason: str
    sender: int | None = None
    count: int = 1
    proof: Contradiction | None = None


@final
class Abort(msgspec.Struct, frozen=True):
    """The machine cannot go on, by no fault of its own; the run ends with `reason`, a sentence."""

    reason: str


@final
class Played(msgspec.Struct, frozen=True):
    """One slot on shared arms is over: agent n pulled `arms[n]` and got `payoffs[n]`.

    An agent that did not pull has arm -1 and payoff 0. `winners` are the agents that were paid
    where several pulled the same arm: a reward of 0 would not tell them from the others.
    """

    arms: tuple[int, ...]
    payoffs: tuple[float, ...]
    winners: tuple[int, ...] = ()


@final
class Dismiss(msgspec.Struct, frozen=True):
    """The coordinator continues without this agent, for the fault that `reason` names.

    In this run it sends the agent nothing more, and neither awaits nor takes anything from it.
    """

    agent: int
    reason: str


@final
class Timer(msgspec.Struct, frozen=True):
    """Hand the coordinator's machine `TimerFired` in `after` seconds; replaces its earlier timer.

    inf cancels the timer.
    """

    after: float


@final
class Stand(msgspec.Struct, frozen=True):
    """After a loss, where this agent stands still until it is `Regrouped`; see there."""

    round: int
    begun: int
    slot: int
    arms: tuple[int, ...]


@final
class Finish(msgspec.Struct, frozen=True):
    """The machine is done. A coordinator's `status` becomes the run's status."""

    status: str
    arm: int | None = None


AgentEffect = (
    Pull
    | Explore
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


def assert_never_effect(effect: Never, machine: object, owner: str, allowed: UnionType) -> NoReturn:
    """`typing.assert_never` for effects, which also says what an untyped machine asked for."""
    untyped: object = effect
    named = type(untyped).__name__
    if isinstance(untyped, type):
        named = f"the class {untyped.__name__}"
    raise LocalProtocolError(
        f"{owner} machine {type(machine).__name__} asked for {named}, which is not one of "
        f"its effects: {', '.join(kind.__name__ for kind in get_args(allowed))}"
    )


def no_effects_error(machine: object, answer: object) -> LocalProtocolError:
    """The error for a machine whose answer is not a list or tuple of effects.

    A generator is not enough: it would be empty after the first look at it.
    """
    return LocalProtocolError(
        f"{type(machine).__name__}.handle answered {answer!r:.80}; it must be a list or a tuple of "
        "effects, [] if there are none"
    )


def two_orders_error(effect: object, order: object) -> LocalProtocolError:
    """The error for an answer with two orders, or with an order and `Finish`."""
    return LocalProtocolError(f"{effect} comes beside {order}; return only one of them at a time")


def own_refusal_error(
    machine: object, event: object, error: RemoteProtocolError
) -> LocalProtocolError:
    """The error for a machine that refused an event which no peer sent."""
    return LocalProtocolError(
        f"{type(machine).__name__} refused {type(event).__name__}, which no peer sent: {error}"
    ).with_traceback(error.__traceback__)


def require_arms(order: Pull | Explore, count: int) -> None:
    """Raise `LocalProtocolError` unless `count` arms can carry out the order."""
    arms, times = order.arms, order.times if isinstance(order, Pull) else 1
    ints = isinstance(arms, tuple) and all(
        isinstance(n, int) and not isinstance(n, bool) for n in (*arms, times)
    )
    if not ints or not arms or min(arms) < 0 or max(arms) >= count or not 0 < times <= MOST_PULLS:
        raise LocalProtocolError(
            f"{order} cannot be carried out: arms must be a tuple of ints from 0 to {count - 1}, "
            "and times an int from 1 to 2^53 - 1"
        )


LONGEST_STATUS = 64
"""Characters of a run's status, which tables show in a column."""


def require_answer(finish: Finish, count: int) -> None:
    """Raise `LocalProtocolError` unless it has a status, and None or one of `count` arms."""
    arm, status = finish.arm, finish.status
    if (
        not isinstance(status, str)
        or not 0 < len(status) <= LONGEST_STATUS
        or not (status.isprintable())
    ):
        raise LocalProtocolError(
            f"{finish!r:.200}: status must be a str, a word or a few ({LONGEST_STATUS} characters)"
        )
    if arm is not None and not (isinstance(arm, int) and 0 <= arm < count):
        raise LocalProtocolError(f"{finish}: arm must be None or an int from 0 to {count - 1}")


def require_reason(abort: Abort) -> None:
    """Raise `LocalProtocolError` unless it says why."""
    if not isinstance(abort.reason, str) or not abort.reason.strip():
        raise LocalProtocolError(f"{abort}: reason must be a sentence")


def require_release(release: Release) -> None:
    """Raise `LocalProtocolError` unless this is a `Release` with possible values."""
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
            f"{release!r:.200} cannot be disclosed: it must be a Release with a mechanism of "
            "letters, digits, blanks, - and _, a short line as block, and Python's own numbers, "
            "finite and 0 or more"
        )


def require_machine(made: object) -> None:
    """Raise `LocalProtocolError` unless this is a machine."""
    if isinstance(made, type) or not hasattr(made, "handle"):
        raise LocalProtocolError(f"its machine is {made!r}, which has no method handle(event, now)")


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
    """A coordinator's machine that can name the agents it waits for."""

    def missing(self) -> list[int]:
        """The agents whose messages it needs to go on."""
        ...


class PatientMachine(Protocol):
    """A machine that waits for several messages, whose order does not matter."""

    @property
    def awaited(self) -> int:
        """The fewest messages that it must receive before it acts; 0 if it does not wait."""
        ...

    def keep(self, received: Sequence[Received]) -> bool:
        """Take messages that come before the last awaited one, so that no effect follows yet.

        Returns False, and takes none, if one of them is to be refused.
        """
        ...


class ExploringMachine(AgentMachine, Protocol):
    """A machine that may order `Explore`."""

    def lookahead(self, rewards: FloatArray) -> int:
        """How many of these next activations pass before the machine acts; changes nothing.

        The lookahead of conservative discrete-event simulation (Chandy and Misra 1979). `rewards`
        has shape (arms, activations). The activation after those, if any, makes it act.
        """
        ...


def as_patient(machine: Any) -> PatientMachine | None:
    """The machine if it has a `PatientMachine`'s methods; `isinstance` takes 60 µs for that."""
    return machine if hasattr(machine, "awaited") and hasattr(machine, "keep") else None


def as_exploring(machine: Any) -> ExploringMachine | None:
    """The machine if it has an `ExploringMachine`'s methods."""
    return machine if hasattr(machine, "lookahead") else None


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every system's `[parameters]`: checked when read, immutable, sent to agents as is."""
