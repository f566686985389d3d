"""The lab's own messages: joining, the virtual clock, the report at a run's end.

None of them exists in the papers, and they are counted apart (plane `control`).
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from protocol.message import Message, Plane
from protocol.privacy import Release

Text = Annotated[str, Meta(max_length=4000)]
ShortText = Annotated[str, Meta(max_length=64)]
Address = Annotated[str, Meta(max_length=200)]
Count = Annotated[int, Meta(ge=0)]
MOST_AGENTS = 100_000
Rank = Annotated[int, Meta(ge=0, lt=MOST_AGENTS)]
ShortHash = Annotated[str, Meta(max_length=16)]
Configuration = Annotated[dict[str, ShortHash], Meta(max_length=1000)]


class Control(Message, frozen=True):
    """Base of the control plane."""

    plane: ClassVar[Plane] = Plane.CONTROL


class Join(Control, frozen=True):
    """An agent asks to be let in. `rank` is -1 if the coordinator is to choose.

    An agent on another machine also says which start of it this is (`incarnation`), what its clock
    shows (`wall`, seconds since 1970), and, if it has a run file of its own, a short hash per key
    of it (`configuration`). `version` is posse's; who is none leaves it empty. It is answered by
    `Welcome`.
    """

    rank: int
    token: Annotated[str, Meta(max_length=64)]
    inbox: Address
    pid: int
    incarnation: Annotated[bytes, Meta(max_length=16)] = b""
    wall: float = 0.0
    configuration: Configuration = msgspec.field(default_factory=dict)
    version: ShortText = ""


class Refused(Control, frozen=True):
    """The coordinator does not let an agent in, or has let a newer one in for it."""

    reason: Text


class Welcome(Control, frozen=True):
    """An agent on another machine is let in; `system` says whether agents talk to each other."""

    rank: Rank
    system: Text


class Resume(Control, frozen=True):
    """An agent that joined has a new connection, and took `taken` frames over the old ones.

    `connection` counts its connections: what it said over an older one may be read later. `starts`:
    how often it was killed and started again; `pid` as in `Join`. Answered by `Resumed`, or by
    `Unknown`.
    """

    rank: int
    token: Annotated[str, Meta(max_length=64)]
    incarnation: Annotated[bytes, Meta(max_length=16)]
    connection: Count
    taken: Count
    starts: Count = 0
    pid: Count = 0


class Resumed(Control, frozen=True):
    """The coordinator took `taken` frames of this agent over its old connections.

    What is missing at either end follows.
    """

    taken: Count


class Unknown(Control, frozen=True):
    """The coordinator knows nothing of what is to be resumed: it was started again. Join."""


class Whose(Control, frozen=True):
    """The coordinator was sent a numbered frame over a connection that nobody resumed on."""


class Sync(Control, frozen=True):
    """An agent asks what the coordinator's clock shows."""

    sent: int


class Synced(Control, frozen=True):
    """The coordinator's clock, in nanoseconds, when it read the `Sync` that was sent at `sent`."""

    sent: int
    clock: int


class Arrived(Control, frozen=True):
    """An agent knows the coordinator's clock and is reached by its neighbours at `inbox`."""

    inbox: Address


class Configure(Control, frozen=True):
    """All that an agent may know: its own rank, its arms, its neighbours, the parameters."""

    rank: Rank
    setup: bytes


class Ready(Control, frozen=True):
    """An agent has built its arms and opened its links."""


class Begin(Control, frozen=True):
    """Run `run` begins."""

    seed: Count
    run: Count


class Due(Control, frozen=True):
    """Virtual clock: when this agent acts next if nothing reaches it before (infinite: never)."""

    time: float


class Advance(Control, frozen=True):
    """Virtual clock: your time has come (the header's `now`)."""


class SlotReached(Control, frozen=True):
    """An agent in lockstep has come to the header's `now`; said now and then.

    Where agents talk to each other alone, it is how the coordinator knows that they go on. By the
    clock `slots` it is said at every so many of them, in the field at most once in five seconds.
    """


class Finished(Control, frozen=True):
    """An agent is done. `exhausted` says which of its arms has no rewards left, if that is why."""

    arm: Count | None
    exhausted: Text = ""


class Attested(Control, frozen=True):
    """What an agent holds after a step, to be compared with the others'."""

    step: int
    value: Annotated[bytes, Meta(max_length=500_000)]


class Complaint(Control, frozen=True):
    """An agent refused what a neighbour sent it."""

    about: int
    reason: ShortText


class Linked(Control, frozen=True):
    """An agent's connection to neighbour `about` was lost, or is `up` again; in any run or none."""

    about: Count
    up: bool


class Failed(Control, frozen=True):
    """An agent cannot go on, for this reason; a `mistake` is what a file has that it read."""

    reason: Text
    mistake: bool = False


class Gone(Control, frozen=True):
    """To those who must know: this agent will not act any more, and is not to be waited for.

    `exhausted`: its rewards are used up; its process is there, and may take part in the next run.
    """

    agent: Count
    exhausted: bool = False


class Standing(Control, frozen=True):
    """After `view` losses an agent that must agree with others stands here; see `machine.Stand`."""

    view: Count
    round: Count
    begun: Count
    slot: Count
    arms: Annotated[tuple[Count, ...], Meta(max_length=100_000)]


class Regroup(Control, frozen=True):
    """After `view` losses: go on from here with those who are left; see `machine.Regrouped`."""

    view: Count
    neighbours: Annotated[tuple[Count, ...], Meta(max_length=100_000)]
    knowledge: Annotated[bytes, Meta(max_length=4 << 20)]
    round: Count
    begun: Count
    slot: Count
    arms: Annotated[tuple[Count, ...], Meta(max_length=100_000)]


class Stop(Control, frozen=True):
    """The run is over at the header's `now`; report."""


class Stopped(Control, frozen=True):
    """An agent in the field has ended its run. It says no more than that."""


class Resources(msgspec.Struct, frozen=True, array_like=True):
    """What an agent's process used so far: processor seconds, largest and shared-out memory."""

    cpu_seconds: float
    peak_bytes: int
    proportional_bytes: int


class LinkCount(msgspec.Struct, frozen=True, array_like=True):
    """What one sender sent to one target: the rows of `posse.measure.traffic`."""

    source: int
    target: int
    plane: int
    kind: ShortText
    messages: Count
    payload_bytes: Count
    frame_bytes: Count


class Report(Control, frozen=True):
    """What an agent measured of itself in one run (lab only)."""

    pulls: bytes
    activations: Count
    slots: Count
    regret: dict[str, float]
    curve: dict[str, bytes]
    links: list[LinkCount]
    delays: dict[int, Count]
    refused: dict[ShortText, Count]
    releases: list[Release]
    log: dict[str, list[list[float]]]
    seconds: dict[str, list[float]]
    resources: Resources


class Ask(Control, frozen=True):
    """An operator asks how the coordinator is."""


class Status(Control, frozen=True):
    """How the coordinator is, as JSON; to an operator."""

    document: bytes


class Goodbye(Control, frozen=True):
    """No further run: leave, with the exit `code` of the runs; 0 with an answer in each."""

    code: Annotated[int, Meta(ge=0, le=255)] = 0


TO_AGENT: tuple[type[Message], ...] = (Begin, Advance, Gone, Regroup, Stop)
TO_COORDINATOR: tuple[type[Message], ...] = (
    Complaint,
    Linked,
    SlotReached,
    Standing,
    Finished,
    Failed,
    Stopped,
)
TO_LABS_COORDINATOR: tuple[type[Message], ...] = (Due, Attested, Report)
"""What the two hosts are sent during a run; the last only in the lab."""

TO_JOINING: tuple[type[Message], ...] = (
    Refused,
    Welcome,
    Resumed,
    Unknown,
    Whose,
    Synced,
    Configure,
    Goodbye,
)
TO_LOBBY: tuple[type[Message], ...] = (Join, Resume, Sync, Arrived, Ready, Linked, Failed, Ask)
"""What the two ends are sent outside of runs."""

OF_ONE_CONNECTION: tuple[type[Message], ...] = (Join, Resume, Sync)
"""What an agent says that makes sense on this one connection only: no session numbers it."""
