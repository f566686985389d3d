"""What the closing table says of each family, in its own words."""

from typing import Any

import pytest

from posse.results import words
from posse.results.record import Detail, RunRecord
from posse.system import names
from posse_systems.dubey2020.system import CooperativeDetail, HopDelay
from posse_systems.esfandiari2022.system import AnonymousDetail
from posse_systems.li2022.messages import ExploredRow
from posse_systems.li2022.system import FederatedDetail
from posse_systems.rio2023.system import ServerDetail
from posse_systems.tossou2015.system import Players, PlayersDetail
from tests.support.lab import record_of


def run(detail: Detail, **told: Any) -> RunRecord:
    ended: dict[str, Any] = {
        "run": 0,
        "seed": 0,
        "status": "horizon",
        "elapsed_seconds": 1.0,
    } | told
    return RunRecord(detail=detail, **ended)


def lines(record: RunRecord) -> dict[str, str]:
    return dict(record.detail.lines(record))


def test_votes_and_removed_arms() -> None:
    log = {"votes": [[0.1, 0, 1], [0.2, 1, 1]], "eliminations": [[0.2, 1]]}
    assert lines(run(ServerDetail(), log=log)) == {"votes": "2 counted, 1 arm removed"}
    assert lines(run(ServerDetail(), log={})) == {"arms": "0 arms removed"}


def test_answers_of_agents_and_delays_by_distance() -> None:
    detail = CooperativeDetail(
        {"0": 2, "3": 1}, delay_by_hops={"1": HopDelay(9, 1.0), "2": HopDelay(3, 2.5)}
    )
    assert lines(run(detail, answers=[0, 3, 0, None])) == {
        "answers": "arm 0 by 2 of 4, arm 3 by 1 of 4",
        "delay in slots": "1 over 1 hop, 2.5 over 2 hops",
    }
    assert lines(run(CooperativeDetail({}), answers=[None])) == {"answers": "none"}


def test_what_players_got() -> None:
    players = Players(
        reward_per_player=[120.0, 100.0],
        jain_index=0.9917,
        collisions_per_player=[3, 4],
        collisions=7,
        collision_curve=[],
        fairness_curve=[],
    )
    assert lines(run(PlayersDetail(players))) == {
        "rewards": "100 to 120 a player; Jain's index 0.992 (1: all alike)",
        "collisions": "7, all players together",
    }
    assert lines(run(PlayersDetail())) == {}


def test_arms_by_round() -> None:
    explored = [ExploredRow(1, 5, 10, 10), ExploredRow(2, 2, 30, 20)]
    assert lines(run(FederatedDetail(explored))) == {"arms explored": "5, 2 by round"}


def test_what_anonymous_users_explored_and_earned() -> None:
    detail = AnonymousDetail(
        batches=[],
        assignments_sent=20,
        explored_rounds=1_200,
        group_sizes={4: 3, 6: 1},
        feedback_used=9,
        no_feedback={},
        vanished=[],
        expelled=[],
        rewards=[[0.0, 0.0], [5_000.0, 1_234.5]],
        trust="",
    )
    assert lines(run(detail)) == {
        "explored": "1,200 rounds, in groups of 4 to 6 users; then each its own arm",
        "rewards": "1,234 of all users",
    }


@pytest.mark.parametrize(
    ("detail", "wanted"),
    [
        (Detail(), "3 (activations, all agents together)"),
        (FederatedDetail(), "3 (of communication)"),
    ],
)
def test_rounds_are_what_the_family_calls_rounds(detail: Detail, wanted: str) -> None:
    assert dict(words.rows([run(detail, rounds=3)]))["rounds"] == wanted


@pytest.mark.parametrize(
    ("detail", "wanted"),
    [
        (Detail(), "No arm was named in 1 run (horizon)"),
        (PlayersDetail(), "No arm was named in 1 run (nothing: players play to the end)"),
    ],
)
def test_where_no_one_arm_is_found(detail: Detail, wanted: str) -> None:
    assert dict(words.rows([run(detail)]))["done"] == wanted


@pytest.mark.parametrize("system", names())
def test_every_label_stands_once(system: str) -> None:
    labels = [label for label, _ in words.rows([record_of(system)])]
    assert len(labels) == len(set(labels))


def test_a_tie_that_a_lot_decided_says_so() -> None:
    # votes against arms 0, 1, 1 and 2 of four; arm 3 has none, and neither has arm 4
    log = {
        "votes": [[1.0, 0, 0], [1.0, 0, 1], [2.0, 1, 1], [2.0, 0, 2]],
        "eliminations": [[2.0, 1]],
    }
    ended = run(ServerDetail(), log=log, status="no_consensus", best_arm=4, pulls_per_arm=[9] * 5)
    assert lines(ended)["lot"] == "drew arm 4 of 2 with as few votes against it"
    alone = run(ServerDetail(), log=log, status="no_consensus", best_arm=3, pulls_per_arm=[9] * 4)
    assert "lot" not in lines(alone)
