"""What came of one point of a sweep."""

import msgspec

from posse.results.means import Mean


class PointResult(msgspec.Struct, kw_only=True):
    """`at`: the swept keys and their values, as they were given; the rest is of all its runs."""

    at: dict[str, str]
    summary: dict[str, Mean]
    statuses: list[str]
    best_arms: list[int | None]
