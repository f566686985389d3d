"""How the results of a system are put together and said; one value per system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posse.results.record import Detail, RunRecord
from posse.spec.runfile import RunSpec


def nothing_to_add(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """The record is complete."""


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a system adds to the record of a run.

    `complete`  fills in status and answer where no server decides, the cost, and the `detail`
    `detail`    the struct that is filled in
    """

    complete: Callable[[RunSpec, Any, RunRecord], None] = nothing_to_add
    detail: type[Detail] = Detail


PLAIN = Results()
"""Of a system whose server says all there is to say."""
