"""Whether what a coordinator says of times is true, by all that happened."""

import re
from collections.abc import Iterator

from posse.engines.simulated.cluster import SimulatedCluster
from posse.protocol.machine import COORDINATOR

_NEARLY = 0.5
"""Seconds, of virtual time, by which it may be wrong."""

_BEGINS = re.compile(r"run \d+ of \d+ begins")
_LEFT = re.compile(r"the connection of agent (\d+) was lost; waiting [\d.]+ s for it to come back")
_BACK = re.compile(r"agent (\d+) (?:is back over a new connection|starts over)")
_AWAY = re.compile(
    r"agent (\d+) (?:was away for|lost its connection and did not come back within) ([\d.]+) s"
)
_SILENT = re.compile(
    r"nothing was heard for [\d.]+ s; the run goes on without agents? ([\d, and]+)"
)


def untrue(cluster: SimulatedCluster) -> Iterator[str]:
    """What a coordinator that no fault touched said of absences and silences, and is not so.

    Of an agent that is lost its absences in the run add up to the time that is named, and one that
    is left out as silent had said nothing since the roll was called.
    """
    deadline = cluster.plan.spec.engine.deadline
    left: dict[int, float] = {}
    away: dict[int, float] = {}
    heard: dict[int, float] = {}
    for event in cluster.events:
        if event.target == COORDINATOR and event.what == "came":
            heard[event.source] = event.when
        if event.source != COORDINATOR or event.what not in {"logs", "ends"}:
            continue
        if _BEGINS.match(event.detail):  # its `Begin` may be sent again later
            away, left = {}, dict.fromkeys(left, event.when)
        elif found := _LEFT.match(event.detail):
            left[int(found[1])] = event.when
        elif found := _BACK.match(event.detail):
            rank = int(found[1])
            away[rank] = away.get(rank, 0.0) + event.when - left.pop(rank, event.when)
        elif (found := _AWAY.search(event.detail)) and (rank := int(found[1])) in left:
            was = away.get(rank, 0.0) + event.when - left.pop(rank)
            if abs(was - float(found[2])) > _NEARLY:
                yield f"{event.detail}: it was for {was:.1f} s"
        elif found := _SILENT.match(event.detail):
            for rank in map(int, re.findall(r"\d+", found[1])):
                ago = event.when - heard.get(rank, 0.0)
                if ago < min(deadline / 2, 10.0) - _NEARLY:
                    yield f"{event.detail}: agent {rank} was heard {ago:.1f} s before"
