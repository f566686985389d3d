"""The lab's own messages: joining, the virtual clock, the closing report.

None of them exists in the papers, and they are counted apart (plane `control`).
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from protocol.privacy import Release
from protocol.wire import Message, Plane

Text = Annotated[str, Meta(max_length=4000)]


class Control(Message, frozen=True):
    """Base of the control plane."""

    plane: ClassVar[Plane] = Plane.CONTROL


class Join(Control, frozen=True):
    """An agent asks to be let in. `rank` is -1 if the coordinator is to choose."""

    rank: int
    token: Annotated[str, Meta(max_length=64)]
    inbox: Annotated[str, Meta(max_length=200)]
    pid: int


class Refused(Control, frozen=True):
    """The coordinator does not let an agent in."""

    reason: Text


class Configure(Control, frozen=True):
    """All that an agent may know: its own rank, its arms, its neighbours, the parameters."""

    rank: int
    setup: bytes


class Ready(Control, frozen=True):
    """An agent has built its arms and opened its links."""


class Begin(Control, frozen=True):
    """Run `run` begins."""

    seed: int
    run: int


class Due(Control, frozen=True):
    """Virtual clock: when this agent acts next if nothing reaches it before (infinite: never)."""

    time: float


class Advance(Control, frozen=True):
    """Virtual clock: your time has come (the header's `now`)."""


class SlotReached(Control, frozen=True):
    """Clock `slots`: the agent has come to the header's `now`; said at every so many slots.

    Where agents talk to each other alone, it is how the coordinator knows that they go on.
    """


class Finished(Control, frozen=True):
    """An agent is done. `exhausted` says which of its arms has no rewards left, if that is why."""

    arm: int | None
    exhausted: Text = ""


class Attested(Control, frozen=True):
    """What an agent holds after a step, to be compared with the others'."""

    step: int
    value: Annotated[bytes, Meta(max_length=500_000)]


class Complaint(Control, frozen=True):
    """An agent refused what a neighbour sent it."""

    about: int
    reason: Annotated[str, Meta(max_length=64)]


class Failed(Control, frozen=True):
    """An agent cannot go on; the run ends with this sentence."""

    reason: Text


class Stop(Control, frozen=True):
    """The run is over at the header's `now`; report."""


class Resources(msgspec.Struct, frozen=True, array_like=True):
    """What an agent's process used so far: processor seconds, largest and shared-out memory."""

    cpu_seconds: float
    peak_bytes: int
    proportional_bytes: int


class LinkCount(msgspec.Struct, frozen=True, array_like=True):
    """What one sender sent to one target: the rows of `posse.meter`."""

    source: int
    target: int
    plane: int
    kind: Annotated[str, Meta(max_length=64)]
    messages: int
    payload_bytes: int
    frame_bytes: int


class Report(Control, frozen=True):
    """What an agent measured of itself in one run (lab only)."""

    pulls: bytes
    activations: int
    slots: int
    regret: dict[str, float]
    curve: dict[str, bytes]
    links: list[LinkCount]
    delays: dict[int, int]
    refused: dict[str, int]
    releases: list[Release]
    log: dict[str, list[list[float]]]
    seconds: dict[str, list[float]]
    resources: Resources


class Goodbye(Control, frozen=True):
    """No further run: leave."""


TO_AGENT: tuple[type[Message], ...] = (Refused, Configure, Begin, Advance, Stop, Goodbye)
TO_COORDINATOR: tuple[type[Message], ...] = (
    Join,
    Ready,
    Due,
    Attested,
    Complaint,
    SlotReached,
    Finished,
    Failed,
    Report,
)
