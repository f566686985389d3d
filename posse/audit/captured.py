"""Checks of captured frames, without knowing the truth.

They cannot show that a claim holds. They show whether no statistic left twice under two noises,
whether noisy numbers lie on the grid of safe noise, and whether only kinds of the system were sent,
none longer than its content and none too often.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from posse.durable.frames import Frame
from posse.errors import InputError
from posse.measure.numbers import named
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.machine import COORDINATOR, peer_name
from posse.protocol.message import kind_name
from posse.protocol.privacy import FARTHEST
from posse.protocol.wire import HEADER
from posse.system import get_system, ours
from posse.system.reading import MessageReader, Statistic, floats_in, leaves

_ENVELOPE = 12
"""Bytes that a session adds to a frame."""

_ZEROS = 4
"""Low bits that are 0 on the grid of safe noise; elsewhere they are all 0 once in 16 times."""

_STEP = 2.0**-40
"""The grid's step in units of the noise's scale, at least (Google's `GetGranularity`)."""

_LIMITS = ("epsilon", "horizon")

_MOST = 20
"""Largest number of sentences for one check."""

_ANEW = 1 << 32
"""Added to the number of a run that is begun anew: more than a capture has runs."""

_LABS = {kind_name(kind) for kind in control.TO_LABS_COORDINATOR}
_OURS = control.TO_AGENT + control.TO_COORDINATOR + control.TO_JOINING + control.TO_LOBBY
_ALLOWED = {kind_name(kind) for kind in _OURS}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check: how much it looked at, and a sentence for each violation.

    `untold` has a sentence for each kind of message that the check cannot judge.
    """

    name: str
    looked_at: int
    violations: list[str]
    untold: list[str] = []

    @property
    def says(self) -> str:
        """The outcome in words."""
        yes = f"yes, in {self.looked_at:,}" if self.looked_at else "nothing to look at"
        return "; ".join(self.violations + self.untold) or yes


def checks(frames: Iterable[Frame], plan: Plan | None = None) -> list[Check]:
    """Make all checks; the kinds allowed are known only with the run's `plan`."""
    heard = [*_told_apart(f for f in frames if f.plane != "session" and not f.resent)]
    if not heard:
        raise InputError("the capture has no frames")
    reader = _find_reader(heard, plan)
    statistics = [(f.run, s) for f in heard if _is_said(f) for s in _read(f, reader)]
    means = bool(reader.kinds) if plan is None else plan.spec.system in ours()
    noise = [_check_names(statistics), _check_grid(statistics, plan, means=means)]
    return [
        _check_kinds(heard, plan, reader),
        _check_sizes(heard),
        *_check_releases(heard, reader),
        *noise,
    ]


def _told_apart(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames, of which each run that an agent begins anew has another number.

    After a coordinator was replaced by one that knows nothing the agents get ready again, and what
    they then say is of other rewards, though of a run, and rounds, of the same numbers.
    """
    anew: Counter[int | None] = Counter()
    spoke: set[int | None] = set()
    for f in frames:
        if f.kind == kind_name(control.Ready) and f.source in spoke:
            anew[f.source] += 1
            spoke.remove(f.source)
        if _is_said(f):
            spoke.add(f.source)
        before = anew[f.source] * _ANEW
        yield replace(f, run=f.run + before) if before and f.run is not None else f


def _find_reader(heard: list[Frame], plan: Plan | None) -> MessageReader:
    """The reader of the plan's system; without a plan, of the first of ours with these kinds."""
    if plan is not None:
        return plan.system.make_reader(plan.spec, plan.parameters)
    kinds = {f.kind for f in heard if _is_said(f)}
    for name in ours() if kinds else ():
        reader = get_system(name).make_reader(None, None)
        if kinds <= reader.kinds.keys():
            return reader
    return MessageReader((), None, None)


def _read(frame: Frame, reader: MessageReader) -> Iterable[Statistic]:
    """The statistics in a frame, also if its kind is not known."""
    message = reader.decode(frame.kind, frame.fields)
    if message is None:
        return [Statistic(frame.source, frame.kind, list(floats_in(frame.fields)))]
    return reader.statistics(message, frame.source)


def _is_said(frame: Frame) -> bool:
    """Whether an agent's algorithm sent it."""
    return frame.source not in (None, COORDINATOR) and frame.plane == "data"


def _check(
    name: str, looked_at: int, violations: Iterable[str], untold: Iterable[str] = ()
) -> Check:
    return Check(
        name=name, looked_at=looked_at, violations=list(violations)[:_MOST], untold=sorted(untold)
    )


def _check_kinds(heard: list[Frame], plan: Plan | None, reader: MessageReader) -> Check:
    """Check that all kinds are the system's or posse's own, and none is the lab's in the field."""
    senders: dict[str, set[int | None]] = {}
    for f in heard:
        senders.setdefault(f.kind, set()).add(f.source)
    known = (
        senders.keys() - _LABS
        if plan is None
        else _ALLOWED | _find_reader(heard, plan).kinds.keys()
    )
    if plan is not None and not plan.field:
        known = known | _LABS
    wrong = (
        f"{_all(who)} sent `{kind or 'bytes that are no message'}`"
        + ", as only the lab does" * (kind in _LABS)
        for kind, who in sorted(senders.items())
        if not kind or kind not in known
    )
    return _check("nothing is sent but the kinds that the system has", len(heard), wrong)


def _all(sources: set[int | None]) -> str:
    """Those who sent something, by name."""
    agents = sorted(source for source in sources if source is not None and source != COORDINATOR)
    others = [peer_name(source) for source in sources if source is None or source == COORDINATOR]
    return ", ".join([*sorted(others), *([named(agents)] if agents else [])])


def _check_sizes(heard: list[Frame]) -> Check:
    """Check that no frame is longer than its message."""
    wrong = []
    for f in heard:
        if not f.kind:
            continue
        whole = HEADER.size + len(msgspec.msgpack.encode([f.kind, *f.fields]))
        size = f.size - (_ENVELOPE if f.number is not None else 0)
        if size > whole:
            wrong.append(
                f"{peer_name(f.source)}'s `{f.kind}` has {size - whole} bytes beside its message"
            )
    return _check("no frame is longer than what it says", len(heard), wrong)


def _split(frame: Frame) -> tuple[tuple[str, ...], list[Any]]:
    """Split a message into what it is about (whole numbers and lists of them) and what it says."""
    says = [v for v in frame.fields if _has_floats(v)]
    return tuple(repr(v) for v in frame.fields if not _has_floats(v)), says


def _has_floats(value: Any) -> bool:
    """Whether the value contains floats, or bytes, which may pack floats."""
    return any(isinstance(leaf, bytes | float) for leaf in leaves(value))


def _is_numbered(fields: Sequence[Any]) -> bool:
    """Whether a whole number names the round, slot or statistic that the message is about."""
    return any(isinstance(v, int) and not isinstance(v, bool) for v in fields)


def _check_releases(heard: list[Frame], reader: MessageReader) -> list[Check]:
    """Check that each agent says one thing once on a link, and with one set of numbers.

    An agent that a loss brought to a stop repeats some messages for the agents that are left.
    """
    seen: dict[tuple[Any, ...], set[bytes]] = defaultdict(set)
    lengths: dict[tuple[Any, ...], set[tuple[int, ...]]] = defaultdict(set)
    losses: Counter[tuple[int | None, int | None]] = Counter()
    forwarding = set(map(kind_name, reader.forwards))
    twice, often, long, untold = [], [], [], set()
    for f in heard:
        losses[f.run, f.source] += f.kind == kind_name(control.AgentStanding)
        about, says = _split(f)
        if not says or not _is_said(f):
            continue
        subject, numbers = ", ".join(about), msgspec.msgpack.encode(says)
        before = seen[f.run, f.source, f.target, f.kind, about, losses[f.run, f.source]]
        if before and not _is_numbered(f.fields):
            untold.add(f"cannot be told of `{f.kind}`, which has no number of its own")
        elif before:
            often.append(f"{peer_name(f.source)} sent `{f.kind}` of {subject} more than once")
            if numbers not in before:
                twice.append(
                    f"{peer_name(f.source)} sent `{f.kind}` of {subject} again, with other numbers"
                )
        before.add(numbers)
        if f.kind not in forwarding and _is_numbered(f.fields):
            sizes = tuple(len(v) for v in says if not isinstance(v, float))
            lengths[f.run, f.kind, about].add(sizes)
    for (_, kind, about), sizes_said in lengths.items():
        if len(sizes_said) > 1:
            long.append(f"`{kind}` of {', '.join(about)} is not equally long from all agents")
    count = sum(map(_is_said, heard))
    return [
        _check("no statistic is sent again with other noise", count, twice, untold),
        _check("nothing is said more than once of one thing", count, often, untold),
        _check("what agents say of one thing is equally long", len(lengths), long),
    ]


Statistics = list[tuple[int | None, Statistic]]
"""Statistics, each with its run."""


def _check_names(statistics: Statistics) -> Check:
    """Check that what has a name has one value, or as many as it may."""
    values: dict[tuple[int | None, int | None, str], set[tuple[float, ...]]] = defaultdict(set)
    most: dict[tuple[int | None, int | None, str], int] = {}
    for run, s in statistics:
        if s.name:
            values[run, s.origin, s.name].add(tuple(s.values))
            most[run, s.origin, s.name] = s.most
    wrong = [
        f"agent {origin}'s {name} has {len(different)} values"
        for (run, origin, name), different in values.items()
        if len(different) > most[run, origin, name]
    ]
    return _check("an arm that rests is not noised again", len(values), wrong)


def _check_grid(statistics: Statistics, plan: Plan | None, *, means: bool) -> Check:
    """Check that the first numbers of each series end in zeros; with Laplace noise also named ones.

    Later numbers are averages of several, which lie on no grid. The grid's step is at least 2^-40
    of the noise's scale, so that over many rewards it is as fine as numbers are: then a number
    that ends in no zeros tells nothing, unless the scale is known to be larger. `means`: the
    numbers are noisy means of rewards in [0, 1].
    """
    named = plan is not None and plan.claim.mechanism == "laplace"
    first: dict[tuple[Any, ...], Sequence[float]] = {}
    for run, s in statistics:
        if named or not s.name:
            first.setdefault((run, s.origin, s.series), s.values)
    values = [v for numbers in first.values() for v in numbers if v and not v.is_integer()]
    # what lies so far outside of [0, 1] has noise of a scale that is not much smaller
    beyond = max((max(v - 1, -v) for v in values if means), default=0.0)
    scale = max(beyond / FARTHEST, _least_scale(plan))
    off = sum(_lowest_bit(v) < scale * _STEP for v in values)
    rough = sum(_lowest_bit(v) < math.ulp(v) * 2**_ZEROS for v in values)
    wrong, untold = [], []
    if off > len(values) / 2:
        wrong.append(
            f"{off} of {len(values)} first numbers use all their bits: the lab's noise, or none, "
            "whose low bits give the input away"
        )
    elif rough > len(values) / 2:
        untold.append(
            "cannot be told: over so many rewards the grid is as fine as numbers are; with the run "
            "file, fewer rewards or a smaller epsilon it can"
        )
    return _check("noisy numbers lie on a grid", len(values), wrong, untold)


def _least_scale(plan: Plan | None) -> float:
    """The least scale of noise in a run of the plan, by how many rewards there may be."""
    epsilon, horizon = (getattr(plan and plan.parameters, name, None) for name in _LIMITS)
    return 1 / (plan.spec.agents.count * epsilon * horizon) if plan and epsilon and horizon else 0.0


def _lowest_bit(value: float) -> float:
    """The value of the last bit of a number that is 1."""
    mantissa, exponent = math.frexp(value)
    whole = int(abs(mantissa) * 2**53)
    return math.ldexp(whole & -whole, exponent - 53)
