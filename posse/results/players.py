"""What runs of players on shared arms turned out to be."""

from __future__ import annotations

from typing import Any

import msgspec

from posse.results.base import Results
from posse.results.record import Detail, RunRecord
from posse.spec.runfile import RunSpec
from protocol.players import CollisionsRow, DismissedRow, OffsetRow, RewardsRow, jain


class Players(msgspec.Struct, kw_only=True):
    """Rewards, collisions and fairness; curves are [[slot, so far], …]."""

    reward_per_player: list[float]
    jain_index: float | None
    collisions_per_player: list[int]
    collisions: int
    collision_curve: list[list[float]]
    fairness_curve: list[list[float | None]]


class PlayersDetail(Detail, omit_defaults=True):
    """`players` is there if any slot was played to its end."""

    players: Players | None = None


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """From what the medium noted."""
    rewards = RewardsRow.of(record.log)
    collisions = CollisionsRow.of(record.log)
    record.detail = PlayersDetail()
    if not rewards:
        return
    final = list(rewards[-1][1].player)
    met = list(collisions[-1][1].player)
    record.detail = PlayersDetail(
        Players(
            reward_per_player=final,
            jain_index=jain(final),
            collisions_per_player=met,
            collisions=sum(met),
            collision_curve=[[slot, sum(row.player)] for slot, row in collisions],
            fairness_curve=[[slot, jain(list(row.player))] for slot, row in rewards],
        )
    )


PLAYERS = Results(
    log=(RewardsRow, CollisionsRow, DismissedRow, OffsetRow),
    detail=PlayersDetail,
    complete=_complete,
)
