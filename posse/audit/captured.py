"""Checks of captured frames, without knowing the truth.

They cannot show that a claim holds. They show whether no statistic left twice under two noises,
whether noisy numbers lie on the grid of safe noise, and whether only kinds of the system were sent,
none longer than its content and none too often.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from posse.audit.sums import MASKING
from posse.audit.view import Bundles, are_floats, fields_of, numbers_in
from posse.durable.frames import Frame
from posse.errors import InputError
from posse.measure.numbers import named
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.anonymous import Sums
from posse.protocol.cooperative import Bundle
from posse.protocol.federated import SinkMeans
from posse.protocol.machine import COORDINATOR, peer_name
from posse.protocol.message import kind_name
from posse.protocol.signing import SIGNATURE_BYTES
from posse.protocol.wire import HEADER

_ENVELOPE = 12
"""Bytes that a session adds to a frame."""

_ZEROS = 4
"""Low bits that are 0 on the grid of safe noise; elsewhere they are all 0 once in 16 times."""

_NO_NOISE = MASKING | {"Bundle", Sums.__name__, SinkMeans.__name__}
"""Kinds whose numbers lie on no grid: averages, and numbers without noise."""

_MOST = 20
"""Largest number of sentences for one check."""

_LABS = {kind.__name__ for kind in control.TO_LABS_COORDINATOR}
_OURS = control.TO_AGENT + control.TO_COORDINATOR + control.TO_JOINING + control.TO_LOBBY
_ALLOWED = {kind.__name__ for kind in _OURS}


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
    heard = [f for f in frames if f.plane != "session" and not f.resent]
    if not heard:
        raise InputError("the capture has no frames")
    said = [f for f in heard if _is_said(f)]
    means = _means(said, plan)
    released = means if plan is not None and plan.claim.mechanism == "laplace" else {}
    noise = [_noise(means, plan), _grid(said, released)]
    return [_kinds(heard, plan), _sizes(heard), *_releases(heard), *noise]


def _is_said(frame: Frame) -> bool:
    """Whether an agent's algorithm sent it."""
    return frame.source not in (None, COORDINATOR) and frame.plane == "data"


def _check(
    name: str, looked_at: int, violations: Iterable[str], untold: Iterable[str] = ()
) -> Check:
    return Check(
        name=name, looked_at=looked_at, violations=list(violations)[:_MOST], untold=sorted(untold)
    )


def _kinds(heard: list[Frame], plan: Plan | None) -> Check:
    """Check that all kinds are the system's or posse's own, and none is the lab's in the field."""
    senders: dict[str, set[int | None]] = {}
    for f in heard:
        senders.setdefault(f.kind, set()).add(f.source)
    known = senders.keys() - _LABS if plan is None else _ALLOWED | fields_of(plan).keys()
    if plan is not None and not plan.field:
        known = known | _LABS
    wrong = (
        f"{_all(of)} sent `{kind or 'bytes that are no message'}`"
        + ", as only the lab does" * (kind in _LABS)
        for kind, of in sorted(senders.items())
        if not kind or kind not in known
    )
    return _check("nothing is sent but the kinds that the system has", len(heard), wrong)


def _all(sources: set[int | None]) -> str:
    """Those who sent something, by name."""
    agents = sorted(one for one in sources if one is not None and one != COORDINATOR)
    others = [peer_name(one) for one in sources if one is None or one == COORDINATOR]
    return ", ".join([*sorted(others), *([named(agents)] if agents else [])])


def _sizes(heard: list[Frame]) -> Check:
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


def _parts(frame: Frame) -> tuple[tuple[str, ...], list[Any]]:
    """Split a message into what it is about (whole numbers and lists of them) and what it says."""
    says = [v for v in frame.fields if _has_floats(v)]
    return tuple(repr(v) for v in frame.fields if not _has_floats(v)), says


def _has_floats(value: Any) -> bool:
    """Whether the value contains floats, or bytes, which may pack floats."""
    return any(isinstance(leaf, bytes | float) for leaf in _leaves(value))


def _leaves(value: Any) -> Iterator[Any]:
    match value:
        case list():
            for item in value:
                yield from _leaves(item)
        case dict():
            yield from _leaves(list(value.values()))
        case _:
            yield value


def _is_numbered(fields: Sequence[Any]) -> bool:
    """Whether a whole number names the round, slot or statistic that the message is about."""
    return any(isinstance(v, int) and not isinstance(v, bool) for v in fields)


def _releases(heard: list[Frame]) -> list[Check]:
    """Check that each agent says one thing once on a link, and with one set of numbers.

    An agent that a loss brought to a stop repeats some messages for the agents that are left.
    """
    seen: dict[tuple[Any, ...], set[bytes]] = defaultdict(set)
    lengths: dict[tuple[Any, ...], set[tuple[int, ...]]] = defaultdict(set)
    losses: Counter[tuple[int | None, int | None]] = Counter()
    twice, often, long, untold = [], [], [], set()
    for f in heard:
        losses[f.run, f.source] += f.kind == kind_name(control.AgentStanding)
        about, says = _parts(f)
        if not says or not _is_said(f):
            continue
        of, numbers = ", ".join(about), msgspec.msgpack.encode(says)
        before = seen[f.run, f.source, f.target, f.kind, about, losses[f.run, f.source]]
        if before and not _is_numbered(f.fields):
            untold.add(f"cannot be told of `{f.kind}`, which has no number of its own")
        elif before:
            often.append(f"{peer_name(f.source)} sent `{f.kind}` of {of} more than once")
            if numbers not in before:
                twice.append(
                    f"{peer_name(f.source)} sent `{f.kind}` of {of} again, with other numbers"
                )
        before.add(numbers)
        if f.kind != "Bundle" and _is_numbered(f.fields):  # bundles also have what others said
            sizes = tuple(len(v) for v in says if not isinstance(v, float))
            lengths[f.run, f.kind, about].add(sizes)
    for (_, kind, about), found in lengths.items():
        if len(found) > 1:
            long.append(f"`{kind}` of {', '.join(about)} is not equally long from all agents")
    count = sum(map(_is_said, heard))
    return [
        _check("no statistic is sent again with other noise", count, twice, untold),
        _check("nothing is said more than once of one thing", count, often, untold),
        _check("what agents say of one thing is equally long", len(lengths), long),
    ]


Means = dict[tuple[int | None, int, int, int], set[float]]
"""By run, origin, arm and number of pulls: the different means that were said."""


def _means(said: list[Frame], plan: Plan | None) -> Means:
    """The means in bundles, whoever forwarded them; none for systems that send rewards."""
    means: Means = defaultdict(set)
    hears = () if plan is None else plan.system.agent.hears
    if plan is None or Bundle not in hears or plan.system.name == "byzantine-ucb":
        return means
    bundles = Bundles(plan)
    for f in said:
        for row in bundles.rows(f.fields[1]) if f.kind == "Bundle" else ():
            for arm, (mean, count) in enumerate(zip(row["means"], row["counts"], strict=True)):
                if math.isfinite(mean):
                    means[f.run, int(row["origin"]), arm, int(count)].add(float(mean))
    return means


def _noise(means: Means, plan: Plan | None) -> Check:
    """Check that each arm has one mean per count; with doubling releases, two after one pull."""
    doubling = plan is not None and getattr(plan.parameters, "releases", "") != "intervals"
    wrong = [
        f"agent {origin}'s mean of arm {arm} after {count} pulls has {len(found)} values"
        for (_, origin, arm, count), found in means.items()
        if len(found) > 1 + (doubling and count == 1)
    ]
    return _check("an arm that rests is not noised again", len(means), wrong)


def _grid(said: list[Frame], means: Means) -> Check:
    """Check that the first numbers of each agent, or each arm's first of `means`, end in zeros.

    Later numbers are averages of several, which lie on no grid.
    """
    first: dict[tuple[Any, ...], list[float]] = {}
    for f in said:
        if f.kind not in _NO_NOISE and (f.run, f.source, f.kind) not in first:
            first[f.run, f.source, f.kind] = list(_numbers(_unsigned(f)))
    for (run, origin, arm, _), found in means.items():
        first.setdefault((run, origin, arm), list(found))
    values = [v for found in first.values() for v in found if v and not v.is_integer()]
    off = sum(int(math.frexp(v)[0] * 2**53) % 2**_ZEROS != 0 for v in values)
    wrong = []
    if off > len(values) / 2:
        wrong.append(
            f"{off} of {len(values)} first numbers use all their bits: the lab's noise, or none, "
            "whose low bits give the input away"
        )
    return _check("noisy numbers lie on a grid", len(values), wrong)


def _unsigned(frame: Frame) -> list[Any]:
    """The fields of a message, without the signatures of forwarded means."""
    match frame.kind, frame.fields:
        case "Data" | "Hop", [*at, list(origins), bytes(means)]:
            end = max(0, len(means) - SIGNATURE_BYTES * len(origins))
            return [*at, means if are_floats(means[end:]) else means[:end]]
        case _:
            return list(frame.fields)


def _numbers(value: Any) -> Iterator[float]:
    """All floats in it."""
    for leaf in _leaves(value):
        match leaf:
            case float() if math.isfinite(leaf):
                yield leaf
            case bytes():
                yield from numbers_in(leaf)
