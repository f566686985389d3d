"""What frames that were captured show, without the truth: nothing is counted, all is looked at.

That a claim holds cannot be seen here. What can: that no statistic left twice under two noises,
that noisy numbers lie on a grid as those of safe noise do, that nothing was sent but the kinds that
the system has, none longer than what it says, and none more often.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from posse.audit.sums import MASKING
from posse.audit.view import fields_of, numbers_in
from posse.durable.frames import Frame
from posse.errors import InputError
from posse.plan import Plan
from protocol import control
from protocol.anonymous import Sums
from protocol.cooperative import means_record
from protocol.machine import COORDINATOR, who
from protocol.wire import HEADER

_ENVELOPE = 12
"""Bytes of a session around a frame."""

_ZEROS = 4
"""Low bits of a number that are 0 on the grid of safe noise; of another they are so once in 16."""

_NO_NOISE = MASKING | {"Bundle", Sums.__name__}
"""Kinds whose numbers lie on no grid, or are no noisy ones."""

_MOST = 20
"""Sentences of one check."""

_LABS = {kind.__name__ for kind in control.TO_LABS_COORDINATOR}
_OURS = control.TO_AGENT + control.TO_COORDINATOR + control.TO_JOINING + control.TO_LOBBY
_ALLOWED = {kind.__name__ for kind in _OURS}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, how much of it there was, and a sentence for each thing that is wrong."""

    name: str
    looked_at: int
    violations: list[str]


def checks(frames: Iterable[Frame], plan: Plan | None = None) -> list[Check]:
    """All checks; `plan` is the run's, by which the kinds are known that it may send."""
    heard = [f for f in frames if f.plane != "session" and not f.resent]
    if not heard:
        raise InputError("the capture has no frames")
    said = [f for f in heard if f.source not in (None, COORDINATOR) and f.plane == "data"]
    return [_kinds(heard, plan), _sizes(heard), *_releases(said), _noise(said, plan), _grid(said)]


def _check(name: str, looked_at: int, violations: Iterable[str]) -> Check:
    return Check(name=name, looked_at=looked_at, violations=list(violations)[:_MOST])


def _kinds(heard: list[Frame], plan: Plan | None) -> Check:
    """Only what the system and posse's own protocol have, and nothing of the lab's."""
    known = None if plan is None else _ALLOWED | fields_of(plan).keys()
    wrong = {
        f"{who(f.source)} sent `{f.kind or 'bytes that are no message'}`"
        for f in heard
        if not f.kind or f.kind in _LABS or (known is not None and f.kind not in known)
    }
    return _check("nothing is sent but the kinds that the system has", len(heard), sorted(wrong))


def _sizes(heard: list[Frame]) -> Check:
    """No frame is longer than its message."""
    wrong = []
    for f in heard:
        if not f.kind:
            continue
        whole = HEADER.size + len(msgspec.msgpack.encode([f.kind, *f.fields]))
        size = f.size - (_ENVELOPE if f.number is not None else 0)
        if size > whole:
            wrong.append(
                f"{who(f.source)}'s `{f.kind}` has {size - whole} bytes beside its message"
            )
    return _check("no frame is longer than what it says", len(heard), wrong)


def _parts(frame: Frame) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a message is about (whole numbers and lists), and what it says of it."""
    about = tuple(repr(v) for v in frame.fields if not isinstance(v, bytes | float))
    says = tuple(v for v in frame.fields if isinstance(v, bytes | float))
    return about, says


def _releases(said: list[Frame]) -> list[Check]:
    """One message of each kind about one thing on one link, and the same numbers in it."""
    seen: dict[tuple[Any, ...], set[tuple[Any, ...]]] = defaultdict(set)
    lengths: dict[tuple[Any, ...], set[tuple[int, ...]]] = defaultdict(set)
    twice, often, long = [], [], []
    for f in said:
        about, says = _parts(f)
        if not says:
            continue
        before = seen[f.run, f.source, f.target, f.kind, about]
        if before:
            of = ", ".join(about)
            often.append(f"{who(f.source)} sent `{f.kind}` of {of} more than once")
            if says not in before:
                twice.append(f"{who(f.source)} sent `{f.kind}` of {of} again, with other numbers")
        before.add(says)
        if f.kind != "Bundle":  # which has what others said, too
            lengths[f.run, f.kind, about].add(tuple(len(v) for v in says if isinstance(v, bytes)))
    for (_, kind, about), found in lengths.items():
        if len(found) > 1:
            long.append(f"`{kind}` of {', '.join(about)} is not equally long from all agents")
    return [
        _check("no statistic is sent again with other noise", len(said), twice),
        _check("nothing is said more than once of one thing", len(said), often),
        _check("what agents say of one thing is equally long", len(lengths), long),
    ]


def _noise(said: list[Frame], plan: Plan | None) -> Check:
    """In bundles of means: one mean for one count of an arm, whoever passes it on."""
    means: dict[tuple[Any, ...], set[float]] = defaultdict(set)
    for f in said:
        for origin, arm, count, mean in _means(f, plan):
            means[f.run, origin, arm, count].add(mean)
    wrong = [
        f"agent {origin}'s mean of arm {arm} after {count} pulls has {len(found)} values"
        for (_, origin, arm, count), found in means.items()
        if len(found) > 1
    ]
    return _check("an arm that rests is not noised again", len(means), wrong)


def _means(frame: Frame, plan: Plan | None) -> Iterable[tuple[int, int, int, float]]:
    if frame.kind != "Bundle" or plan is None or plan.system.name == "byzantine-ucb":
        return
    record = means_record(plan.spec.arms.arm_count())
    items = frame.fields[1]
    if len(items) % record.itemsize:
        return
    for row in np.frombuffer(items, record):
        for arm, (mean, count) in enumerate(zip(row["means"], row["counts"], strict=True)):
            if math.isfinite(mean):
                yield int(row["origin"]), arm, int(count), float(mean)


def _grid(said: list[Frame]) -> Check:
    """The first numbers of each agent have zeros at their end, as on a grid; later ones are means
    of several, which lie on none.
    """
    first: dict[tuple[Any, ...], list[float]] = {}
    for f in said:
        if f.kind not in _NO_NOISE and (f.run, f.source, f.kind) not in first:
            packed = [v for v in f.fields if isinstance(v, bytes)]
            first[f.run, f.source, f.kind] = [
                v for data in packed for v in numbers_in(data) if v and not v.is_integer()
            ]
    values = [v for found in first.values() for v in found]
    off = sum(int(math.frexp(v)[0] * 2**53) % 2**_ZEROS != 0 for v in values)
    wrong = []
    if off > len(values) / 2:
        wrong.append(
            f"{off} of {len(values)} first numbers use all their bits: the lab's noise, or none, "
            "whose low bits give the input away"
        )
    return _check("noisy numbers lie on a grid", len(values), wrong)
