"""The host of one agent: frames in, frames out, without sockets.

Both engines run this same object; they differ only in how they carry its frames.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from mypy_extensions import mypyc_attr

from posse import defect
from posse.agent.run import AgentRun
from posse.arms import Arms
from posse.errors import PosseError
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import AgentHostEffect
from posse.hosts.endpoint import BETWEEN_RUNS, Endpoint, blamed_peer
from posse.hosts.sources import Chance, Sources
from posse.hosts.spending import head_of
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, Received
from posse.protocol.message import Message, Plane
from posse.protocol.wire import HEADER, read_header
from posse.system import get_system

_LOBBY_KINDS = tuple(msgspec.msgpack.encode(kind.__name__) for kind in control.TO_JOINING)
_CONTROL: Final = int(Plane.CONTROL)
_CONTROL_BYTE: Final = bytes([_CONTROL])

_MOST_EARLY, _SHARE = 16 << 20, 1 << 18
"""Most bytes of frames kept for a run that has not begun here. Each neighbour has an equal share of
the first, and the second at least, so that none takes another's place. Honest neighbours are at
most one slot ahead: a few kB each where there are a thousand."""

ONE_RUN = (
    "the coordinator began a second run, or was started again; in the field an agent takes part in "
    "one run only: to let it join the next, start it again"
)

_KEPT = 128
"""Bytes of memory that a kept frame costs besides its own."""


@mypyc_attr(allow_interpreted_subclasses=True)
class AgentHost:
    """A configured agent: it begins runs and hands each run its frames.

    The engine carries out the effects that each event returns, `ready` first.
    """

    def __init__(self, setup: AgentSetup, rank: int, sources: Sources) -> None:
        self.setup = setup
        self.rank = rank
        self.field = setup.mode == "field"
        self._effects: list[AgentHostEffect] = []
        """Those of the event under way, which returns them."""
        self.sources = sources = sources.coarse() if self.field else sources
        self._stepped, self._arrived = sources.stepped, sources.arrived
        self._system = get_system(setup.system)
        self._has_server = self._system.server is not None
        self._parameters = msgspec.convert(setup.parameters, self._system.parameters)
        self._codec = self._system.agents_codec
        if self.field and self._system.agent.signs:
            sources.signer(setup.agents, setup.signed_name)  # a missing key must fail before a run
        self._peers = frozenset((COORDINATOR, *setup.neighbours))
        self._endpoint = self._new_endpoint(BETWEEN_RUNS)
        self.run: AgentRun | None = None
        """The current run, or the last one; None before the first."""
        self._early: list[tuple[int | None, bytes]] = []
        self._early_kept: dict[int, tuple[int, int]] = {}
        """By neighbour: the run of its frames in `_early`, and their bytes."""
        self._refused_early: Counter[int] = Counter()
        self._early_share = max(_SHARE, _MOST_EARLY // max(1, len(setup.neighbours)))
        self._own_arms: Arms | None = None
        if self.field and not isinstance(setup.arms, int):
            # faulty arms must end the run before it costs the others anything
            chance = Chance(self.sources, True, 0, 0, rank)
            self._own_arms = chance.arms(
                setup.arms, setup.agents, setup.base, setup.privacy.persons
            )
        if self.field and (load := self._system.agent.load) is not None:
            load(self._parameters, sources.noise())

    def ready(self) -> Sequence[AgentHostEffect]:
        """Say that this agent is ready for a run."""
        if (head := self._ledger_head()) is not None:
            self._say(head)
        return self.say(control.Ready(self.setup.first))

    def _take_effects(self) -> Sequence[AgentHostEffect]:
        if not self._effects:
            return ()
        effects = self._effects.copy()
        self._effects.clear()  # its endpoints and runs have the same list
        return effects

    def _ledger_head(self) -> control.LedgerHead | None:
        """Where the ledger of this agent's rewards is; None without keys or a ledger."""
        setup = self.setup
        if not self.field or isinstance(setup.arms, int):
            return None
        ledger = self.sources.spending(setup.arms, setup.base, self.rank)
        signer = self.sources.signer(0, setup.signed_name)
        return head_of(ledger, signer, self.sources.randbits)

    def knows(self, frame: bytes) -> bool:
        """Whether the coordinator's frame is for this host, not for the process around it."""
        return frame[3:4] != _CONTROL_BYTE or not frame.startswith(_LOBBY_KINDS, HEADER.size + 1)

    @property
    def spends(self) -> bool:
        """Whether this agent has begun to use real rewards; it then takes part in no other run."""
        return self.field and self.run is not None

    def leave(self) -> None:
        """Give up the run under way, which another one may follow in this process."""
        if self.run is not None:
            self.run.leave()

    @property
    def hears_neighbours_only(self) -> bool:
        """Whether the agent acts next on a neighbour's message, not on one of the coordinator's."""
        if self.run is None or self._has_server:
            return False
        pace = self.run.pace
        return pace.under_way and pace.order is None

    @property
    def awaited(self) -> int:
        """How many more of its neighbours' messages this agent needs before it acts."""
        return self.run.awaited if self.run is not None else 1

    @property
    def slot(self) -> float:
        """This agent's slot, to tell whether a neighbour is ahead; infinite with other clocks."""
        return self._now if self.setup.clock == "slots" else math.inf

    @property
    def busy(self) -> bool:
        """Whether `step` has something to do without another message."""
        run = self.run
        return run is not None and run.pace.acts

    @property
    def alarm(self) -> int | None:
        """What is readable when rewards of live arms have come; None if no order awaits any.

        Also if they came a moment ago, after whoever asks saw that it was not `busy`.
        """
        run = self.run
        return None if run is None or run.pace.order is None else run.pace.alarm

    @property
    def done(self) -> bool:
        """Whether the last run is over and no other has begun."""
        return self.run is not None and self.run.over

    @property
    def running(self) -> bool:
        """Whether a run has begun and is not over."""
        return self.run is not None and not self.run.over

    @property
    def refused(self) -> Counter[str]:
        """The number of refusals by reason, since the last `Begin` or else since the start."""
        return self._endpoint.refused

    @property
    def delays(self) -> Counter[int]:
        """The delays of the frames that this agent received in this run; see `Endpoint`."""
        return sum(self._endpoint.delays.values(), Counter())

    def defect(self, error: BaseException) -> str:
        """The sentence for users about an error that this host raised."""
        machine = self.run.machine if self.run is not None else self._system.agent.make
        return defect.report(f"agent {self.rank}", error, machine)

    def step(self) -> Sequence[AgentHostEffect]:
        """Carry out the order under way (clocks `slots` and `wall`)."""
        if self._stepped is not None:
            self._stepped()
        if self.run is not None:
            self.run.pace.step()
        return self._take_effects()

    def say(self, message: Message) -> Sequence[AgentHostEffect]:
        """Send the coordinator a message of the control plane."""
        self._say(message)
        return self._take_effects()

    def fail(self, message: Message) -> Sequence[AgentHostEffect]:
        """As `say` after an error: other effects are dropped, as a journal may lack their cause."""
        self._effects.clear()
        return self.say(message)

    def _say(self, message: Message) -> None:
        self._endpoint.send(COORDINATOR, message, self._now)

    def receive(
        self, sender: int | None, frame: bytes, arrived: int = 0
    ) -> Sequence[AgentHostEffect]:
        """Take one frame; refuse and count it if the peer did something wrong.

        `sender` is the peer as the transport knows it, None if it does not. `arrived` is the value
        of `stamp` when the frame arrived, 0 if that is now.
        """
        self._receive(sender, frame, arrived)
        return self._take_effects()

    def _receive(self, sender: int | None, frame: bytes, arrived: int = 0) -> None:
        if self._arrived is not None:
            arrived = self._arrived(arrived)
        endpoint, run = self._endpoint, self.run
        try:
            source, plane, now, sent, message = endpoint.open(sender, frame)
            if run is None or message is None:
                self._of_another_run(sender, frame)
            else:
                run.receive(source, plane, now, sent, message, arrived)
        except RemoteProtocolError as error:
            if run is None:
                endpoint.refused[error.reason] += 1
            else:
                run.refuse(error, blamed_peer(sender, frame))

    def receive_all(
        self, frames: Sequence[tuple[int | None, bytes, int]]
    ) -> Sequence[AgentHostEffect]:
        """As `receive` for each frame; only the last may complete the `awaited` messages."""
        endpoint, run = self._endpoint, self.run
        if run is None or len(frames) < 2 or self._arrived is not None:
            for sender, frame, arrived in frames:
                self._receive(sender, frame, arrived)
            return self._take_effects()
        heard: list[Received] = []
        last = 0.0
        for sender, frame, arrived in frames:
            try:
                source, plane, now, sent, message = endpoint.open(sender, frame)
                if message is None:
                    self._of_another_run(sender, frame)
                elif plane == _CONTROL and isinstance(message, control.Control):
                    run.receive(source, plane, now, sent, message, arrived)
                else:
                    endpoint.arrived(source, sent, arrived)
                    heard.append(Received(source, message))
                    last = now
            except RemoteProtocolError as error:
                run.refuse(error, blamed_peer(sender, frame))
        run.hear(heard, last)
        return self._take_effects()

    def hear(self, heard: Sequence[Received], now: float) -> Sequence[AgentHostEffect]:
        """Take decoded messages from hosts in this process; the last was sent at `now`.

        There are at most as many as are `awaited`, if any are.
        """
        if self.run is not None:
            self.run.hear(heard, now)
        return self._take_effects()

    @property
    def _now(self) -> float:
        return self.run.pace.now if self.run is not None else 0.0

    def _of_another_run(self, sender: int | None, frame: bytes) -> None:
        header = read_header(frame)
        if header.plane == _CONTROL and header.source == COORDINATOR:
            message = self._codec.decode(header.plane, frame)
            if not isinstance(message, control.Begin) or header.run <= self._endpoint.run:
                raise RemoteProtocolError("out-of-turn", type(message).__name__)
            self._begin(header.run, message)
        elif header.run > self._endpoint.run:
            # `Begin` reached a neighbour before it reached us
            self._keep_early(sender, header.source, header.run, frame)

    def _keep_early(self, sender: int | None, source: int, run: int, frame: bytes) -> None:
        """Keep a frame for the next run: of each neighbour, only those of the lowest number."""
        kept_run, size = self._early_kept.get(source, (run, 0))
        if run < kept_run:
            kept = [early for early in self._early if read_header(early[1]).source != source]
            self._refused_early[source] += len(self._early) - len(kept)
            self._early = kept
            kept_run, size = run, 0
        size += len(frame) + _KEPT
        if size > self._early_share or run > kept_run:
            self._refused_early[source] += 1
            raise RemoteProtocolError("too-early", f"run {run}")
        self._early_kept[source] = run, size
        self._early.append((sender, frame))

    def _begin(self, number: int, begin: control.Begin) -> None:
        if self.field and self.run is not None:
            raise PosseError(ONE_RUN)
        self.run = None  # an error from here on belongs to the new run
        self._endpoint = self._new_endpoint(number)
        chance = Chance(self.sources, self.field, begin.seed, begin.run, self.rank)
        own, self._own_arms = self._own_arms, None
        if (begin.seed, begin.run) != (0, 0):
            own = None  # they were built for run 0
        self.run = AgentRun(
            self.setup, self._system, self._parameters, self._endpoint, chance, own, self._effects
        )
        self.run.pace.start()
        early, self._early, self._early_kept = self._early, [], {}
        refused, self._refused_early = self._refused_early, Counter()
        for sender, frame in early:
            header = read_header(frame)
            if header.run == number:
                self._receive(sender, frame)
            else:  # a neighbour can be in the next run, but in no later one
                refused[header.source] += 1
        for source, count in sorted(refused.items()):
            self.run.refuse(RemoteProtocolError("too-early", f"run {number}"), source, count)

    def _new_endpoint(self, run: int) -> Endpoint:
        return Endpoint(
            name=self.rank,
            run=run,
            peers=self._peers,
            codec=self._codec,
            stamp=self.sources.stamp,
            effects=self._effects,
            together=self.sources.together,
        )
