"""Results of players on shared arms."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from posse.protocol.players import CollisionsRow, DismissedRow, OffsetRow, RewardsRow, jain
from posse.results.base import Results, Standing
from posse.results.record import Detail, Lines, RunRecord
from posse.spec.runfile import RunSpec


class Players(msgspec.Struct, kw_only=True):
    """Rewards, collisions and fairness; curves are [[slot, total or index so far], …]."""

    reward_per_player: list[float]
    jain_index: float | None
    collisions_per_player: list[int]
    collisions: int
    collision_curve: list[list[int | float]]
    fairness_curve: list[list[float | None]]


class PlayersDetail(Detail, omit_defaults=True):
    """`players` is None if no slot was played to its end."""

    players: Players | None = None

    seeks: ClassVar[str] = "nothing: players play to the end"

    def lines(self, run: RunRecord) -> Lines:
        """What players earned, how evenly, and how often they collided."""
        if self.players is None:
            return []
        got, jain_index = self.players.reward_per_player, self.players.jain_index
        fair = "" if jain_index is None else f"; Jain's index {jain_index:.3f} (1: all alike)"
        return [
            ("rewards", f"{min(got):,.0f} to {max(got):,.0f} a player{fair}"),
            ("collisions", f"{self.players.collisions:,}, all players together"),
        ]


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    rewards, collisions = RewardsRow.of(record.log), CollisionsRow.of(record.log)
    if not rewards:
        record.detail = PlayersDetail()
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


def _progress(standing: Standing) -> Sequence[str]:
    rows = standing.log.get(CollisionsRow.table)
    met = [f"{sum(rows[-1][1:]):,.0f} collisions"] if rows else []
    return [standing.time(), *met]


PLAYERS = Results(
    progress=_progress,
    log=(RewardsRow, CollisionsRow, DismissedRow, OffsetRow),
    detail=PlayersDetail,
    complete=_complete,
)
