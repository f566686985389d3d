"""How large what a peer says may be, and why: every number, text and list of a message has one.

A number that honest software never reaches is refused by name where it is decoded, so that no sum,
no array and no loop behind can be made large by it. `tests/protocol/test_bounds.py` finds whatever
has none.
"""

from typing import Annotated

from msgspec import Meta

MOST_AGENTS = 100_000
"""A coordinator keeps some kB for each: these are all that one machine can hold."""

MOST_ARMS = 60_000
"""Arms that a run may have: a message takes at most 16 bytes for each, and has a MiB at most."""

MOST_PULLS = (1 << 53) - 1
"""No run is longer: up to here counts are exact as floats, which regret is computed with."""

MOST_ITEMS = 1 << 20
"""Items of a list or bytes of a text in what is at most `MAX_DATA` long: each takes a byte."""

Count = Annotated[int, Meta(ge=0, le=MOST_PULLS)]
Rank = Annotated[int, Meta(ge=0, lt=MOST_AGENTS)]
AnyRank = Annotated[int, Meta(ge=-1, lt=MOST_AGENTS)]
"""-1: the coordinator, or nobody yet."""

Arm = Annotated[int, Meta(ge=0, lt=MOST_ARMS)]
RankNumbers = Annotated[tuple[Rank, ...], Meta(max_length=MOST_AGENTS)]
ArmNumbers = Annotated[tuple[Arm, ...], Meta(max_length=MOST_ARMS)]
Candidates = Annotated[
    tuple[Arm, ...],
    Meta(max_length=MOST_ARMS, description="the arms that the run begins with; without it all"),
]
"""In `[parameters]` of systems that eliminate arms: `posse.resume_from` leaves out what is known to
be worse, and a user what is not to be had today."""

Nanoseconds = Annotated[int, Meta(ge=-(1 << 61), le=1 << 61)]
"""73 years. A header has 64 signed bits, and the sum of two of these still fits."""

Seed = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""As a run file may have it: TOML knows no larger integer."""

Whole = Annotated[int, Meta(ge=-MOST_PULLS, le=MOST_PULLS)]
"""A number of a report, of which `posse.coordinator.report` checks what it stands for."""

Name = Annotated[str, Meta(max_length=200)]
"""A name or an address: a path component has at most 255 bytes, and an address fewer than 200."""

PackedBytes = Annotated[bytes, Meta(max_length=MOST_ITEMS)]
"""Numbers or records, packed; how many there must be depends on the run, and is checked there."""
