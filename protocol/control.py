"""posse's own messages: joining, the virtual clock, losses, the report at a run's end.

The papers have none of them. Traffic counts them apart, as plane `control`.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from posse.protocol.bounds import (
    MOST_ITEMS,
    AnyRank,
    Arm,
    ArmNumbers,
    Count,
    Name,
    Nanoseconds,
    PackedBytes,
    Rank,
    RankNumbers,
    Seed,
    Whole,
)
from posse.protocol.message import WHOLE, Follows, Message, Plane
from posse.protocol.privacy import Release
from posse.protocol.signing import SIGNATURE_BYTES, STATEMENT_BYTES

Sentence = Annotated[str, Meta(max_length=4000)]
ShortText = Annotated[str, Meta(max_length=64)]
Address = Annotated[str, Meta(max_length=200)]
MAX_SETUP = 8 << 20
"""Bytes of what only a coordinator sends, in a frame of its own: `MAX_FRAME`."""
HEAD_BYTES = 16
"""Bytes of a ledger's head, as agents tell it."""
MOST_HEADS = 256
"""Most heads that are told: those of 128 runs, with any coordinators."""
ShortHash = Annotated[str, Meta(max_length=16)]
Statement = Annotated[bytes, Meta(min_length=STATEMENT_BYTES, max_length=STATEMENT_BYTES)]
Configuration = Annotated[dict[Name, ShortHash], Meta(max_length=1000)]


class Control(Message, frozen=True):
    """Base of the control plane."""

    plane: ClassVar[Plane] = Plane.CONTROL


class Unclaimed(Control, frozen=True):
    """Base of what the lab alone measures, its clock, and how far an agent is.

    No claim covers these.
    """

    follows: ClassVar[dict[str, Follows]] = {WHOLE: "rewards"}


class Given(Control, frozen=True):
    """Base of what is said in any run, with nothing in it but its number."""

    follows: ClassVar[dict[str, Follows]] = {WHOLE: "run"}


class Join(Control, frozen=True):
    """An agent asks to join. `rank` is -1 if the coordinator is to choose.

    An agent on another machine is answered by `Welcome`. It also says which start of its process
    this is (`incarnation`), its clock (`wall`, seconds since 1970), a short hash of each key of its
    own run file, if it has one (`configuration`), and posse's `version`, empty for other software.
    """

    reveals = (
        "the agent's rank, a random number of this start, its wall clock, posse's version; with "
        "`--run`, short hashes of its run file without the place of its rewards"
    )

    rank: AnyRank
    token: Annotated[str, Meta(max_length=64)]
    inbox: Address
    pid: Count
    incarnation: Annotated[bytes, Meta(max_length=16)] = b""
    wall: float = 0.0
    configuration: Configuration = msgspec.field(default_factory=dict)
    version: ShortText = ""


class Refused(Control, frozen=True):
    """The coordinator does not let an agent join, or a newer process has taken its place."""

    reveals = "why the agent is not let in"

    reason: Sentence


class Welcome(Control, frozen=True):
    """An agent on another machine may join; `system` says whether agents talk to each other."""

    reveals = "the agent's rank, and whether agents talk to each other"

    rank: Rank
    system: Sentence


class Resume(Control, frozen=True):
    """An agent that joined has reconnected; it took `taken` frames over its old connections.

    `connection` counts the agent's connections, because the coordinator may read a `Resume` from an
    older one later. `starts` counts how often the agent was killed and started again; `pid` is as
    in `Join`. `inbox` is where neighbours reach the agent now, "" if it has no inbox. `sent` is how
    many frames it has sent, -1 if it does not say. The answer is `Resumed`, `Unknown` or `Refused`.
    """

    reveals = (
        "over a new connection: rank, the random number of its start, how many connections, "
        "frames and starts it had, its inbox; its process id if the coordinator started it"
    )

    rank: AnyRank
    token: Annotated[str, Meta(max_length=64)]
    incarnation: Annotated[bytes, Meta(max_length=16)]
    connection: Count
    taken: Count
    starts: Count = 0
    pid: Count = 0
    inbox: Address = ""
    sent: Annotated[int, Meta(ge=-1, le=1 << 53)] = -1


class Resumed(Control, frozen=True):
    """The coordinator took `taken` frames of this agent over its old connections.

    Each end then retransmits what the other lacks.
    """

    reveals = "how many of the agent's frames the coordinator took"

    taken: Count


class Moved(Control, frozen=True):
    """An agent's neighbour is now reached at another inbox."""

    reveals = "a neighbour's rank, and the new address of its inbox"

    agent: Rank
    inbox: Address


class Unknown(Control, frozen=True):
    """The coordinator was restarted and cannot resume this session; the agent must join anew."""

    reveals = "that the coordinator was started again"


class Whose(Control, frozen=True):
    """The coordinator got a numbered frame over a connection on which no agent has resumed."""

    reveals = "that a frame came over a connection that the coordinator does not know"


class Sync(Control, frozen=True):
    """An agent asks what the coordinator's clock shows."""

    reveals = "the agent's monotonic clock: about how long its machine has been up"

    sent: Nanoseconds


class Synced(Control, frozen=True):
    """The coordinator's clock, in nanoseconds, when it read the `Sync` with this `sent`."""

    reveals = "the coordinator's monotonic clock"

    sent: Nanoseconds
    clock: Nanoseconds


class Arrived(Control, frozen=True):
    """An agent knows the coordinator's clock; its neighbours can reach it at `inbox`."""

    reveals = "the address where neighbours reach the agent, if they do"

    inbox: Address


class Configure(Given, frozen=True):
    """All that an agent may know: its own rank, its arms, its neighbours, the parameters."""

    reveals = (
        "system, parameters, arms' kind, the neighbours' names, addresses and public keys; with "
        "keys a hash of each agent's random number; never the graph"
    )

    rank: Rank
    setup: Annotated[bytes, Meta(max_length=MAX_SETUP)]


class Ready(Given, frozen=True):
    """An agent is ready to begin: it has built its arms and opened its links.

    `first` is that of the setup which it was sent last: another `Configure` may be under way.
    """

    reveals = "that the agent is configured"

    first: Count


class LedgerHead(Control, frozen=True):
    """An agent with keys, before `Ready` and `Stopped`: where the ledger of its rewards is.

    `log` tells the agent's ledgers apart. `heads` are the last that this one told anybody; the
    newest is at the end, has this `number`, and is signed. See `posse.coordinator.witness`.
    """

    reveals = (
        "with keys: how often the agent's ledger told anybody where it is, and random numbers that "
        "only that ledger has"
    )

    log: Annotated[bytes, Meta(min_length=HEAD_BYTES, max_length=HEAD_BYTES)]
    number: Count
    heads: Annotated[bytes, Meta(min_length=HEAD_BYTES, max_length=MOST_HEADS * HEAD_BYTES)]
    statement: Statement


class Begin(Given, frozen=True):
    """Run `run` begins."""

    reveals = "the number of the run; no seed"

    seed: Seed
    run: Count


class Due(Unclaimed, frozen=True):
    """Virtual clock: when this agent acts next unless a message reaches it first; inf for never."""

    reveals = "when the agent acts next"

    time: float


class Advance(Unclaimed, frozen=True):
    """Virtual clock: the agent is to act now, at the header's `now`."""

    reveals = "that the agent is to act"


class SlotReached(Unclaimed, frozen=True):
    """An agent has reached the header's `now`; a sign of life that it sends from time to time.

    Where agents talk only to each other, the coordinator sees their progress by it alone. With
    clock `slots` it comes once in a number of slots, with `wall` at most every five seconds.
    """

    reveals = "a sign of life, at most one in five seconds: it acted or heard a neighbour"


class Finished(Control, frozen=True):
    """An agent is done. `exhausted` names the arm that ran out of rewards, if that is why."""

    reveals = "that the agent is done, and its answer; see [the end](#the-end)"

    arm: Arm | None
    exhausted: Sentence = ""


class Vouched(Control, frozen=True):
    """An agent with keys, before `Finished`: it signs its answer, and what it took part in."""

    reveals = "with keys: its signature of that answer"

    signature: Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]


class Attested(Control, frozen=True):
    """What an agent holds after a step; the coordinator compares it with the other agents'."""

    reveals = "which means and arms the agent holds after a step"

    step: Count
    value: Annotated[bytes, Meta(max_length=500_000)]


class Complaint(Control, frozen=True):
    """An agent refused a message of its neighbour `about`, or of the coordinator (-1, lab only).

    Where sums are masked, also of a member whose tags of survivors were wrong ("not-settled").
    """

    reveals = (
        "that a neighbour, or a member of a masked sum, sent what no honest one sends, and which "
        "rule it broke, by a fixed word; at most ten complaints"
    )

    about: AnyRank
    reason: ShortText


class Contradicted(Control, frozen=True):
    """Two statements of agent `about` for one place of the run: a hash and a signature each.

    They prove that it told others different things; whoever sends them only shows it.
    """

    reveals = (
        "that an agent signed two values for one round or slot: two hashes of what it told its "
        "neighbours, and its signatures"
    )

    about: Rank
    kind: Annotated[bytes, Meta(max_length=32)]
    place: Annotated[bytes, Meta(min_length=8, max_length=16)]
    first: Statement
    second: Statement


class Linked(Control, frozen=True):
    """An agent's connection to neighbour `about` was lost, or is `up` again; in any run or none."""

    reveals = "that the connection to a neighbour was lost, or is there again"

    about: Rank
    up: bool


class Failed(Control, frozen=True):
    """An agent cannot go on; `mistake` says that the fault is in a file that it read."""

    reveals = (
        "that the agent cannot go on; the reason stays in its own log, except which round's means "
        "did not arrive, and whose. If a reward that is NaN or outside [0, 1] ends the run, the "
        "end says that there was one; with `arms.clip` the run goes on. Arms that raise always "
        "end it"
    )

    reason: Sentence
    mistake: bool = False


class Gone(Control, frozen=True):
    """To agents that must know: do not wait for this agent, it will not act any more.

    With `exhausted` its rewards are used up; its process lives and may take part in the next run.
    """

    reveals = (
        "that an agent is gone, or its rewards are used up: to its neighbours, in `ddp-mab` and "
        "`hdp-mab` to all"
    )

    agent: Rank
    exhausted: bool = False


class AgentStanding(Unclaimed, frozen=True, tag="Standing"):
    """After `view` losses: where an agent that must agree with others is; see `machine.Stand`."""

    reveals = (
        "`ddp-mab`, `hdp-mab`: the agent's round and slot, and the arms left, functions of the "
        "noisy means that were sent: covered by the claim"
    )

    view: Count
    round: Count
    begun: Count
    slot: Count
    arms: ArmNumbers


class Regroup(Control, frozen=True):
    """After `view` losses, where the agents that are left go on; see `machine.Regrouped`."""

    reveals = "the same of the agents that came furthest, and whose means are averaged from then on"

    view: Count
    neighbours: RankNumbers
    knowledge: Annotated[bytes, Meta(max_length=4 << 20)]
    round: Count
    begun: Count
    slot: Count
    arms: ArmNumbers


class Stop(Given, frozen=True):
    """The run is over at the header's `now`; report."""

    reveals = "that the run is over"


class Stopped(Control, frozen=True):
    """An agent in the field has ended its run. It reports nothing else."""

    reveals = "that the agent has stopped; the same empty message for every agent"


class ResourceUse(msgspec.Struct, frozen=True, array_like=True):
    """What an agent's process used so far: processor seconds, peak and proportional memory."""

    cpu_seconds: float
    peak_bytes: Whole
    proportional_bytes: Whole


class LinkCount(msgspec.Struct, frozen=True, array_like=True, order=True):
    """What one sender sent to one target, a row of `posse.measure.traffic`."""

    source: AnyRank
    target: AnyRank
    plane: Annotated[int, Meta(ge=0, le=255)]
    kind: ShortText
    messages: Count
    payload_bytes: Count
    frame_bytes: Count

    def plus(self, other: "LinkCount") -> "LinkCount":
        """This and another count of the same link and kind."""
        return LinkCount(
            self.source,
            self.target,
            self.plane,
            self.kind,
            self.messages + other.messages,
            self.payload_bytes + other.payload_bytes,
            self.frame_bytes + other.frame_bytes,
        )


_MANY = Meta(max_length=MOST_ITEMS)
_FEW = Meta(max_length=1_000)
"""Names of tables, means and reasons: a system has a handful."""
_ROWS = 5_000
"""Rows of a report in one message: some 43 to 90 bytes each, and a message has a MiB at most."""
_LONG = 1 << 18
"""Bytes of rewards by arm that go before the report: it has counts of pulls as long as half."""
_PART = Meta(max_length=_ROWS)
MOST_PARTS = 64
"""Messages of rows before a report: more are no honest agent's."""


class Report(Unclaimed, frozen=True):
    """What an agent measured of itself in one run (lab only).

    `rewards`: how many of each arm its machine was given and their sum, shape (arms, 2), float64;
    empty if it does not say.
    """

    reveals = "pulls, regret, delays, its account, the system's log"

    pulls: PackedBytes
    activations: Count
    slots: Count
    regret: Annotated[dict[Name, float], _FEW]
    curve: Annotated[dict[Name, PackedBytes], _FEW]
    links: Annotated[list[LinkCount], _MANY]
    delays: Annotated[dict[AnyRank, Annotated[dict[Whole, Count], _MANY]], _MANY]
    refused: Annotated[dict[ShortText, Count], _FEW]
    releases: Annotated[list[Release], _MANY]
    log: Annotated[dict[Name, Annotated[list[Annotated[list[float], _MANY]], _MANY]], _FEW]
    seconds: Annotated[dict[Name, Annotated[list[float], _MANY]], _FEW]
    resources: ResourceUse
    rewards: PackedBytes = b""


class ReportRows(Unclaimed, frozen=True):
    """Rows of a `Report` that has too many for one message; they come before it."""

    reveals = "the same, in parts"

    releases: Annotated[list[Release], _PART]
    log: Annotated[dict[Name, Annotated[list[Annotated[list[float], _FEW]], _PART]], _FEW]
    rewards: PackedBytes = b""


def in_parts(report: Report) -> Iterator[ReportRows | Report]:
    """A report as messages of which each is small enough: a long run has a release per slot."""
    longest = max([len(report.releases), *map(len, report.log.values())])
    if longest <= _ROWS and len(report.rewards) <= _LONG:
        yield report
        return
    releases, log = report.releases, {table: [*rows] for table, rows in report.log.items()}
    while len(releases) > _ROWS:
        yield ReportRows(releases[:_ROWS], {})
        releases = releases[_ROWS:]
    for table, rows in log.items():
        while len(rows) > _ROWS:
            yield ReportRows([], {table: rows[:_ROWS]})
            del rows[:_ROWS]
    rewards = report.rewards
    if len(rewards) > _LONG:
        yield ReportRows([], {}, rewards)
        rewards = b""
    yield msgspec.structs.replace(report, releases=releases, log=log, rewards=rewards)


def whole(parts: Sequence[ReportRows], last: Report) -> Report:
    """The report that `in_parts` took apart."""
    releases = [release for part in parts for release in part.releases]
    log = {
        table: [row for part in parts for row in part.log.get(table, ())] + rows
        for table, rows in last.log.items()
    }
    rewards = b"".join(part.rewards for part in parts) + last.rewards
    releases += last.releases
    return msgspec.structs.replace(last, releases=releases, log=log, rewards=rewards)


class Goodbye(Control, frozen=True):
    """No further run: the agent exits with the runs' exit `code`, 0 if each had an answer."""

    reveals = "that no run follows, and the exit code of those there were"

    code: Annotated[int, Meta(ge=0, le=255)] = 0


TO_AGENT: tuple[type[Message], ...] = (Begin, Advance, Gone, Regroup, Stop)
TO_COORDINATOR: tuple[type[Message], ...] = (
    Complaint,
    Contradicted,
    Linked,
    SlotReached,
    AgentStanding,
    Vouched,
    LedgerHead,
    Finished,
    Failed,
    Stopped,
)
TO_LABS_COORDINATOR: tuple[type[Message], ...] = (Due, Attested, ReportRows, Report)
"""Messages that each of the two hosts may be sent during a run; these last in the lab only."""

TO_JOINING: tuple[type[Message], ...] = (
    Refused,
    Welcome,
    Resumed,
    Moved,
    Unknown,
    Whose,
    Synced,
    Configure,
    Goodbye,
)
TO_LOBBY: tuple[type[Message], ...] = (
    Join,
    Resume,
    Sync,
    Arrived,
    LedgerHead,
    Ready,
    Linked,
    Failed,
)
"""Messages that an agent and the coordinator's lobby may be sent outside of runs."""

OF_ONE_CONNECTION: tuple[type[Message], ...] = (Join, Resume, Sync)
"""An agent's messages that concern one connection only, so that no session numbers them."""


def _wire() -> str:
    kinds = (*TO_AGENT, *TO_COORDINATOR, *TO_LABS_COORDINATOR, *TO_JOINING, *TO_LOBBY)
    said = [f"{kind.__name__} {kind.__struct_fields__}" for kind in dict.fromkeys(kinds)]
    return f"{zlib.crc32(' '.join(said).encode()):08x}"


WIRE = _wire()
"""Names the messages of this module and their fields. Two programs that differ in it have other
conversations, in which one may wait for ever for what the other does not say."""
