"""A machine written as a generator, in the order of the paper's lines.

    def agent(me):
        for _ in range(me.parameters.rounds):
            sums = yield Pull(range(me.arms), me.parameters.explore)
            yield Send(COORDINATOR, Sums(sums))
            _, best = yield Best
            yield Pull([best.arm], me.parameters.exploit)
        return best.arm

What it yields is an effect of `posse.protocol.machine`, or something to wait for:

    Pull(arms, times)      answers the sums of rewards, or all rewards with `each=True`
    PullUntil(arms, acts)  answers all rewards of the turns up to one after which `acts`, or so far
    Kind, One(Kind)        the next message of this kind, as (sender, message)
    FromAll(Kind)          one from each neighbour (at the server: agent), as {sender: message}
    FromSome(Kind, count)  one each from `count` of them, whoever is first
    Pending(Kind)          those that are here, as [(sender, message)]; waits for nothing
    Noisy(values, …)       the values with Laplace noise, entered into the agent's account

A message is kept until it is waited for, within bounds; of each sender the earliest is taken first.
Everything that may be wrong with a message is found before the script takes it, so that a refusal
changes nothing. What an agent returns is its answer. What the server returns becomes the run's
answer once all agents have finished; `yield Finish(status, arm)` ends the run at once.

A generator cannot be written down, so a process that was killed plays its whole journal again.
"""

import math
import operator
from collections import deque
from collections.abc import Callable, Collection, Generator
from functools import cache
from typing import Annotated, Any, NamedTuple, get_type_hints

import msgspec
import numpy as np

from posse.protocol.arrays import FloatArray
from posse.protocol.bounds import MOST_ARMS, Arm
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import (
    COORDINATOR,
    Broadcast,
    Disclose,
    Explore,
    Finish,
    Observed,
    PeerFinished,
    PeerLost,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
    Timer,
    TimerFired,
    peer_name,
)
from posse.protocol.message import Message
from posse.protocol.privacy import Release

Script = Generator[Any, Any, Any]
"""What a function that is written as a script returns."""

PerArm = Annotated[list[float], msgspec.Meta(max_length=MOST_ARMS, title="PerArm")]
"""In a message: a number for each arm. Another length is refused."""

_MOST_KEPT, _SHARE = 16 << 20, 1 << 18
"""Most bytes of messages that wait to be read, of all senders. Each has an equal share, of 256 KiB
at least: one that is read too seldom fills its own place, and nobody else's."""

_NEAR = 192
"""A script that explores is asked for this many turns first: it mostly acts within these."""

_OVERHEAD = 256
"""Bytes that a kept message counts besides its own."""


class One:
    """Wait for the next message of this kind, whose fields have these values."""

    def __init__(self, kind: type[Message], **fields: Any) -> None:
        self.kind, self.fields = kind, fields

    def fits(self, message: Message) -> bool:
        """Whether it waits for this message."""
        return type(message) is self.kind and all(
            getattr(message, name) == value for name, value in self.fields.items()
        )

    def __str__(self) -> str:
        fields = "".join(f", {name}={value!r}" for name, value in self.fields.items())
        return f"{type(self).__name__}({self.kind.__name__}{fields})"


class FromAll(One):
    """Wait for a message of this kind from each neighbour or agent that is still there.

    `within`: seconds after which the server goes on with what it has.
    """

    def __init__(self, kind: type[Message], within: float = math.inf, **fields: Any) -> None:
        super().__init__(kind, **fields)
        self.within = within


class FromSome(FromAll):
    """Wait for a message of this kind from this many of them; later ones are kept."""

    def __init__(
        self, kind: type[Message], count: int, within: float = math.inf, **fields: Any
    ) -> None:
        super().__init__(kind, within, **fields)
        self.count = count


class PullUntil(NamedTuple):
    """Pull each of these arms once per activation, until the script acts or hears something.

    `acts` is handed the next rewards, shape (arms, turns), and says for each turn, as an array of
    true and false, whether the script acts after it. It must change nothing: it looks ahead. The
    answer are the rewards of the turns that were pulled: up to the first after which it acts; fewer
    if a message came, perhaps none. For the clocks `virtual` and `wall`.
    """

    arms: Any
    acts: Callable[[FloatArray], Any]


class Pending(One):
    """Take the messages of this kind that are here."""


class Heard(NamedTuple):
    """A message and who sent it."""

    sender: int
    message: Any


class Noisy(NamedTuple):
    """Draw Laplace noise of scale `sensitivity` / `epsilon` for these values, and account for it.

    `sensitivity`: the most by which one reward moves the values. `block` names the rewards covered;
    see `posse.protocol.privacy.Release`.
    """

    values: Any
    epsilon: float
    block: str
    sensitivity: float = 1.0


class Ended(Message, frozen=True):
    """A script with neighbours has returned: nobody waits for anything more of it."""

    reveals = "that the agent, or the server, has ended"


class NobodyLeft(Exception):
    """Raised in a script that waits for a message which nobody is left to send."""


def scripted(
    make: Callable[[Any], Script], *, tells: bool = False, served: bool = True
) -> Callable[[Any], "ScriptMachine"]:
    """The function that makes the machine of an agent or a server from its context.

    `tells`: who ends tells so those that it may write to, who must hear `Ended`. `served`: there is
    a server.
    """

    def machine(context: Any) -> ScriptMachine:
        return ScriptMachine(make, context, tells=tells, served=served)

    machine.__module__, machine.__qualname__ = make.__module__, make.__qualname__
    machine.__doc__ = make.__doc__
    return machine


class ScriptMachine:
    """Runs a script: hands it what it waits for, keeps what comes early, collects its effects.

    Above 300 lines: one branch for each thing that a script can wait for.
    """

    def __init__(
        self,
        make: Callable[[Any], Script],
        context: Any,
        *,
        tells: bool = False,
        served: bool = True,
    ) -> None:
        self._tells = tells
        neighbours: Collection[int] | None = getattr(context, "neighbours", None)
        self._serves = neighbours is None
        self._peers = tuple(range(context.agents)) if neighbours is None else tuple(neighbours)
        self._name = "the server's script" if self._serves else f"agent {context.rank}'s script"
        self._context, self._make = context, make
        self._script = make(context)
        self._writes = self._peers if self._serves or not served else (COORDINATOR, *self._peers)
        """Who may write to this script."""
        self._wait: One | Pull | PullUntil | None = None
        self._lacks: set[int] = set()
        """The senders whose message a `FromAll` still waits for."""
        self._has: dict[int, Message] = {}
        """The messages for a `FromAll` that are here, by sender."""
        self._kept: dict[int, deque[tuple[Message, int]]] = {}
        self._bytes: dict[int, int] = {}
        self._senders = (COORDINATOR, *self._peers)
        self._share = max(_SHARE, _MOST_KEPT // max(1, len(self._peers)))
        self._gone: set[int] = set()
        self._empty = False
        self._answer: Finish | None = None

    def handle(self, event: Any, now: float) -> list[Any]:
        """Take one event, and return the effects to carry out."""
        kind = type(event)
        if kind is Received:
            if type(event.message) is Ended:
                return self._without(event.sender)
            self._check(event)
            if self._takes(event):
                return self._resumed(event)
            if isinstance(self._wait, PullUntil):
                return self._run(np.zeros((len(self._wait.arms), 0)))
            return []
        if kind is Observed:
            return self._run(event.rewards)
        if kind is Pulled:
            return self._run(event.sums if event.rewards is None else event.rewards)
        if kind is Started:
            if not isinstance(self._script, Generator):
                raise LocalProtocolError(f"{self._name} has no yield, so it is not a script")
            return self._run(None)
        if kind is PeerFinished:
            return self._without(event.sender)
        if kind is PeerLost:
            return self._without(event.peer)
        if kind is TimerFired and isinstance(self._wait, FromAll):
            return self._run(self._taken(self._wait))
        return []

    def lookahead(self, rewards: FloatArray) -> int:
        """How many of these next activations pass before the script acts."""
        if not isinstance(self._wait, PullUntil):
            raise LocalProtocolError(f"{self._name}: write PullUntil(arms, acts) for Explore(arms)")
        turns: int = rewards.shape[1]
        for ahead in (turns,) if turns <= _NEAR else (_NEAR, turns):
            acts = np.asarray(self._wait.acts(rewards[:, :ahead]), dtype=bool)
            if acts.shape != (ahead,):
                raise LocalProtocolError(
                    f"{self._name}: acts answers an array of shape {acts.shape} for {ahead} turns; "
                    "it must say true or false for each"
                )
            if acts.any():
                return int(acts.argmax())
        return turns

    def missing(self) -> list[int]:
        """The agents that the server waits for."""
        if self._answer is not None:
            return [n for n in self._peers if n not in self._gone]
        return sorted(self._lacks)

    @property
    def awaited(self) -> int:
        """The fewest messages that it must receive before it acts; 0 if it does not wait."""
        if not isinstance(self._wait, One):
            return 0
        return max(1, self._still(self._wait)) if isinstance(self._wait, FromAll) else 1

    @property
    def place(self) -> tuple[str, int, dict[str, Any], str] | None:
        """Where the script stands: file, line, variables, and what it waits for; None at its end.

        For people who look at a replay.
        """
        frame = getattr(self._script, "gi_frame", None)
        if frame is None:
            return None
        return frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals), str(self._wait)

    def keep(self, received: Collection[Received]) -> bool:
        """Take messages that come before the last awaited one; False, and none, if one is bad.

        Also if they could be all: more come at once from who is at a later slot.
        """
        if len(received) >= self.awaited:
            return False
        try:
            for event in received:
                self._check(event)
        except RemoteProtocolError:
            return False
        for event in received:
            if type(event.message) is Ended:
                self._gone.add(event.sender)
                self._lacks.discard(event.sender)
            else:
                self._takes(event)
        return True

    def _without(self, peer: int) -> list[Any]:
        self._gone.add(peer)
        if self._answer is not None:
            return self._end() if self._serves and self._alone else []
        self._lacks.discard(peer)
        if isinstance(self._wait, FromAll):
            return self._run(self._taken(self._wait)) if not self._still(self._wait) else []
        if isinstance(self._wait, One) and self._left_alone:
            return self._run(NobodyLeft(f"{self._name} waits for {self._wait}, but nobody is left"))
        return []

    @property
    def _alone(self) -> bool:
        """Whether all agents that could write to this server are done."""
        return self._serves and self._gone.issuperset(self._peers)

    @property
    def _left_alone(self) -> bool:
        """Whether nobody is left who could write to this script."""
        return self._gone.issuperset(self._writes)

    def _still(self, wait: FromAll) -> int:
        """How many more messages this wait needs."""
        if isinstance(wait, FromSome):
            return min(wait.count - len(self._has), len(self._lacks))
        return len(self._lacks)

    # --- messages --------------------------------------------------------------------------------

    def _check(self, event: Received) -> None:
        """Refuse what the script cannot take, before anything changes."""
        message, sender = event.message, event.sender
        for name, what in _checks(type(message)):
            value = getattr(message, name)
            if what == "arm" and not value < self._context.arms:
                raise RemoteProtocolError("no-such-arm", f"{type(message).__name__}.{name}")
            if what == "arms" and not max(value, default=0) < self._context.arms:
                raise RemoteProtocolError("no-such-arm", f"{type(message).__name__}.{name}")
            if what == "per arm" and len(value) != self._context.arms:
                raise RemoteProtocolError(
                    "wrong-length", f"{type(message).__name__}.{name} has {len(value)} numbers"
                )
            if what in ("number", "per arm") and not _finite(value):
                raise RemoteProtocolError("not-finite", f"{type(message).__name__}.{name}")
        if sender in self._kept and self._bytes[sender] >= self._share:
            raise RemoteProtocolError(
                "unread", f"{self._name} reads no {type(message).__name__} of {peer_name(sender)}"
            )

    def _takes(self, event: Received) -> bool:
        """Whether the script waits for this message; if it does not, keep it."""
        wait, sender, message = self._wait, event.sender, event.message
        if isinstance(wait, One) and wait.fits(message):
            if not isinstance(wait, FromAll):
                return True
            if sender in self._lacks:
                self._lacks.discard(sender)
                self._has[sender] = message
                return True
        size = len(_encode(message)) + _OVERHEAD
        self._kept.setdefault(sender, deque()).append((message, size))
        self._bytes[sender] = self._bytes.get(sender, 0) + size
        return False

    def _resumed(self, event: Received) -> list[Any]:
        """Go on, if this message was the last that the script waits for."""
        wait = self._wait
        if not isinstance(wait, FromAll):
            return self._run(Heard(event.sender, event.message))
        return self._run(self._taken(wait)) if self._still(wait) <= 0 else []

    def _first(self, wait: One, senders: Collection[int]) -> Heard | None:
        """The earliest message that fits, of the first of these senders that has one."""
        if not self._kept:  # as it is most of the time
            return None
        for sender in senders:
            if kept := self._kept.get(sender):
                for place, (message, size) in enumerate(kept):
                    if wait.fits(message):
                        del kept[place]
                        self._bytes[sender] -= size
                        if not kept:
                            del self._kept[sender]
                        return Heard(sender, message)
        return None

    def _taken(self, wait: FromAll) -> dict[int, Any]:
        """The messages that are here, in the order of their senders' ranks."""
        found = dict(sorted(self._has.items()))
        if self._alone and not found:
            if self._empty:
                raise LocalProtocolError(
                    f"{self._name} waits for {wait} again, though all agents have finished; it "
                    "must return when the answer is empty"
                )
            self._empty = True
        return found

    # --- the script ------------------------------------------------------------------------------

    def _run(self, value: Any) -> list[Any]:
        """Go on with the answer `value` until the script waits or ends; return its effects."""
        effects: list[Any] = []
        if isinstance(self._wait, FromAll) and self._wait.within < math.inf:
            effects.append(Timer(math.inf))
        self._wait, self._lacks, self._has = None, set(), {}
        send = self._script.send
        while self._wait is None:
            try:
                asked = self._script.throw(value) if type(value) is NobodyLeft else send(value)
            except StopIteration as stop:
                return [*effects, *self._returned(stop.value)]
            except RemoteProtocolError as error:
                raise LocalProtocolError(
                    f"{self._name} refuses a message that it has taken: {error}; it may ignore it, "
                    "or say in its fields' types what they must be"
                ) from error
            if isinstance(asked, Finish):
                self._script.close()
                effects += self._last(asked)
                break
            value = self._obtain(asked, effects)
        return effects

    def _obtain(self, asked: Any, effects: list[Any]) -> Any:
        """The answer to what was yielded, or None and a `_wait`; adds to the effects."""
        kind = type(asked)  # the commonest first: each is yielded once a round
        if kind is Pull:
            self._wait = asked
            arms = tuple(map(operator.index, asked.arms))
            effects.append(Pull(arms, operator.index(asked.times), asked.each))
            return None
        if kind is PullUntil:
            asked = self._wait = PullUntil(tuple(map(operator.index, asked.arms)), asked.acts)
            effects.append(Explore(asked.arms))
            return None
        if kind is Send or kind is Broadcast:
            effects.append(_plain(asked))
            return None
        if isinstance(asked, type) and issubclass(asked, Message):
            asked = One(asked)
        if isinstance(asked, Pending):
            found = []
            while (heard := self._first(asked, self._senders)) is not None:
                found.append(heard)
            return found
        if isinstance(asked, One):
            answer = self._await(asked)
            if isinstance(self._wait, FromAll) and self._wait.within < math.inf:
                effects.append(Timer(self._wait.within))
            return answer
        if isinstance(asked, Noisy):
            return self._noisy(asked, effects)
        effects.append(asked)
        return None

    def _await(self, wait: One) -> Any:
        """What the script waits for, if it is here; else None."""
        if not isinstance(wait, FromAll):
            heard = self._first(wait, self._senders)
            if heard is None and self._left_alone:
                return NobodyLeft(f"{self._name} waits for {wait}, but nobody is left")
            self._wait = None if heard else wait
            return heard
        if wait.within < math.inf and not self._serves:
            raise LocalProtocolError(f"{self._name}: only the server can wait within a time")
        most = wait.count if isinstance(wait, FromSome) else len(self._peers)
        for peer in self._peers if self._kept else ():
            if len(self._has) < most and (heard := self._first(wait, (peer,))) is not None:
                self._has[peer] = heard.message
        self._lacks = {n for n in self._peers if n not in self._has and n not in self._gone}
        if self._still(wait) <= 0:
            found = self._taken(wait)
            self._lacks, self._has = set(), {}
            return found
        self._wait = wait
        return None

    def _noisy(self, asked: Noisy, effects: list[Any]) -> Any:
        scale = asked.sensitivity / asked.epsilon
        values = np.atleast_1d(np.asarray(asked.values, dtype=float))
        noisy = self._context.noise.noisy(values, asked.sensitivity, scale)
        release = Release("laplace", asked.sensitivity, scale, asked.epsilon, asked.block)
        effects.append(Disclose(release))
        return noisy

    def _returned(self, answer: Any) -> list[Any]:
        """The effects of a script's end; a server's waits until all agents have finished."""
        status, arm = answer if isinstance(answer, tuple) else ("finished", answer)
        self._answer = Finish(status, None if arm is None else operator.index(arm))
        if self._serves and not self._alone:
            return [Broadcast(Ended())] if self._tells else []
        return self._end()

    def _end(self) -> list[Any]:
        assert self._answer is not None
        return self._last(self._answer)

    def _last(self, finish: Finish) -> list[Any]:
        return [Broadcast(Ended()), finish] if self._tells and not self._serves else [finish]


@cache
def _checks(kind: type[Message]) -> tuple[tuple[str, str], ...]:
    """The fields of a message that `ScriptMachine` looks at, and what they are."""
    found = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if name not in kind.__struct_fields__:
            continue
        if hint in (Arm, PerArm):
            found.append((name, "arm" if hint == Arm else "per arm"))
        elif hint in (tuple[Arm, ...], list[Arm]):
            found.append((name, "arms"))
        elif hint in (float, list[float], tuple[float, ...]):
            found.append((name, "number"))
    return tuple(found)


_SHORT = 64
"""Numbers of a list up to which Python looks at each."""

_encode = msgspec.msgpack.Encoder().encode


def _finite(value: Any) -> bool:
    """Whether a number, or each of a list, is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    # numpy's way takes longer for a short list
    return all(map(math.isfinite, value)) if len(value) < _SHORT else bool(np.isfinite(value).all())


def _plain(effect: Send | Broadcast) -> Send | Broadcast:
    """An effect whose message has Python's numbers where the script gave numpy's."""
    message = effect.message
    given = {}
    for name in getattr(message, "__struct_fields__", ()):  # the host refuses what is no message
        value = getattr(message, name)
        if isinstance(value, _NUMPY):
            given[name] = value.tolist()
    if not given:
        return effect
    message = msgspec.structs.replace(message, **given)
    return Send(effect.to, message) if isinstance(effect, Send) else Broadcast(message)


_NUMPY = (np.ndarray, np.generic)
