"""What must hold of a simulated run to which nothing happens, whatever its system.

All that is sent comes, and each thing is said once; nobody complains, nobody waits for a timer, and
the record has what was sent. A run under faults may end as one without them and still have broken
all of this.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from posse.engines.simulated.cluster import SimulatedCluster
from posse.protocol.machine import COORDINATOR
from posse.results.record import RunRecord

_A_RUN = ("Begin", "Stop")
"""Kinds of messages of which an agent sends or gets one in each run."""

_A_SETUP = ("Configure", "Ready")
"""Those of which it sends or gets one for each setup: for all runs, or one for each."""

_EVER = ("Join", "Goodbye")
"""Those of which it sends or gets one in all."""

_APART = ("Welcome", "Arrived", "confirms")
"""And those besides where its coordinator did not start it."""

_NEVER = frozenset(
    (
        *("Resume", "Resumed", "Whose", "Unknown", "Refused", "Failed", "Gone", "Regroup"),
        *("Moved", "Forwarded", "asks again", "asks how far"),
    )
)
"""What is said only where something was lost."""

_SOON, _EACH = 0.1, 2e-4
"""Seconds, of virtual time, and more for each message: what is sent comes in half of that."""


def amiss(cluster: SimulatedCluster) -> Iterator[tuple[str, str]]:
    """What is wrong with an undisturbed run: the invariant, and how it was broken."""
    for text in cluster.defects:
        yield "no exception", text
    for ended in cluster.ended:
        if ended.code:
            yield "a healthy run is never ended", ended.why
    if type(cluster.plan.parameters).__module__.startswith("posse_systems"):  # others may warn
        yield from (("nobody complains of nothing", text) for text in cluster.warned)
    yield from (("each thing is said once", how) for how in _conversations(cluster))
    came = [event.when for event in cluster.events if event.what == "came"]
    if came and came[-1] - came[0] > _SOON + _EACH * len(came):
        yield "nobody waits for nothing", f"the run took {came[-1] - came[0]:.3f} s"
    for number in cluster.numbers:
        if (record := cluster.records.get(number)) is None:
            yield "a healthy run is never ended", f"run {number} has no record"
        else:
            yield from (("a record adds up", how) for how in sums(record))
            yield from (("delays are those of the links", how) for how in _delays(cluster, record))
    if len(cluster.records) == len(cluster.numbers):
        yield from (("a record has what was sent", how) for how in _uncounted(cluster))


def _conversations(cluster: SimulatedCluster) -> Iterator[str]:
    """What is said too often, out of order, or never."""
    sent, kinds = defaultdict[tuple[int, int], list[str]](list), Counter[tuple[int, str]]()
    came = defaultdict[tuple[int, int], list[str]](list)
    for event in cluster.events:
        if event.what in {"sent", "came"}:
            (sent if event.what == "sent" else came)[event.source, event.target].append(
                event.detail
            )
        if event.what == "sent" and COORDINATOR in (event.source, event.target):
            kinds[event.source + event.target - COORDINATOR, _kind(event.detail)] += 1
    for link, details in sent.items():
        yield from (f"{link}: {d}" for d in details if _kind(d) in _NEVER)
        # whom a coordinator started it does not wait for
        ended = cluster.starts and _kind(details[-1]) == "Goodbye"
        if details[: len(details) - ended] != came[link]:
            yield f"{link}: {len(details)} frames were sent, and {len(came[link])} came"
        numbers = [int(n) for d in details if (n := _number(d)) and _kind(d) != "confirms"]
        if numbers and numbers != [*range(numbers[0], numbers[0] + len(numbers))]:
            yield f"{link}: frames have the numbers {numbers[:20]}"
    runs = len(cluster.numbers)
    expected = {**dict.fromkeys(_EVER, 1), **dict.fromkeys(_A_RUN, runs)}
    if not cluster.starts:
        expected |= dict.fromkeys(_APART, 1)
    for rank in range(cluster.plan.spec.agents.count):
        for kind, number in expected.items():
            if kinds[rank, kind] != number:
                yield f"{kind} of agent {rank}: {kinds[rank, kind]} times"
        setups = {kinds[rank, kind] for kind in _A_SETUP}
        if len(setups) > 1 or not setups <= {1, runs}:
            yield f"{' and '.join(_A_SETUP)} of agent {rank}: {sorted(setups)} times"
        if kinds[rank, "Sync"] != kinds[rank, "Synced"]:
            yield f"agent {rank} was not told the time as often as it asked"


def _kind(detail: str) -> str:
    return detail.rsplit(" ", 2)[0] if detail[-1:].isdigit() else detail


def _number(detail: str) -> str:
    return detail.rsplit(" ", 2)[1].rstrip(",") if detail[-1:].isdigit() else ""


def sums(record: RunRecord) -> Iterator[str]:
    """Where the parts of a record do not add up to what it says of the whole."""
    parts: list[tuple[str, float | None, Sequence[float] | None]] = [
        ("pulls", record.pulls, record.pulls_per_arm),
        ("pulls", record.pulls, record.pulls_per_agent),
        ("regret", record.regret, record.regret_per_agent),
    ]
    for name, whole, of_all in parts:
        if whole is not None and of_all and not math.isclose(whole, sum(of_all), abs_tol=1e-6):
            yield f"run {record.run}: {name} are {whole:g}, and of all {sum(of_all):g}"
    if (
        record.slots is None
        and record.activations_per_agent
        and record.rounds != sum(record.activations_per_agent)
    ):
        yield f"run {record.run}: {record.rounds} rounds, {record.activations_per_agent}"
    for plane in (record.communication.data, record.communication.control):
        kinds = plane.kinds.values()
        if plane.messages is not None and plane.messages != sum(k.messages or 0 for k in kinds):
            yield f"run {record.run}: {plane.messages} messages, and of all kinds {plane.kinds}"
    if (delay := record.delay) is not None and delay.messages:
        steps = [delay.p50, delay.p90, delay.p99, delay.p100]
        quantiles = [0.0 if step is None else step for step in steps]
        if quantiles != sorted(quantiles):
            yield f"run {record.run}: quantiles of the delay are {quantiles}"
        for link in delay.links:
            if link.p50 > link.p99:
                yield f"run {record.run}: half of the messages take longer than nearly all: {link}"
        if delay.links and sum(link.messages for link in delay.links) != delay.messages:
            yield f"run {record.run}: links had not the {delay.messages} messages of all"


def _delays(cluster: SimulatedCluster, record: RunRecord) -> Iterator[str]:
    """Data whose delay was not measured, or is not what the network took.

    In the field agents keep theirs, and who was started here has its coordinator's clock.
    """
    if cluster.plan.field or cluster.starts:
        return
    delay, sent = record.delay, record.communication.data.messages or 0
    # the last over each link may come to an agent that has ended
    last = sum(map(len, cluster.plan.network(record.run).neighbours))
    if sent and (delay is None or (delay.messages or 0) < sent - last):
        yield f"run {record.run}: {delay and delay.messages} of {sent} messages were timed"
    for link in [] if delay is None else delay.links:
        if not cluster.network.base.delay / 2 <= link.p50 <= link.p99 <= _SOON:
            yield f"run {record.run}: {link}"


def _uncounted(cluster: SimulatedCluster) -> Iterator[str]:
    """Links of which a record has another number of messages than were sent over them."""
    sent = Counter(
        (event.source, event.target, _kind(event.detail))
        for event in cluster.events
        if event.what == "sent"
    )
    counted = Counter[tuple[int, int, str]]()
    for record in cluster.records.values():
        for link in record.links:
            counted[link.source, link.target, link.kind] += link.messages
    for of_link, number in counted.items():
        if sent[of_link] != number:
            yield f"{of_link}: {sent[of_link]} were sent, and {number} are counted"
