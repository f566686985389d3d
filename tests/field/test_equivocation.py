"""An agent of the field that signs two values for one round, over real sockets and keys."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse.coordinator.regrouping import Regrouping
from posse.security import keys
from tests.support.field import MEANS, field, logs
from tests.support.noise import needs_noise
from tests.support.remote import Agent, Coordinator
from tests.support.signing import RING
from tests.systems.dubey2020.test_evidence import TwoTongued
from tests.systems.li2022.test_comparison import Liar

needs_noise()


def ended(
    system: str, folder: Path, on_missing: str, **parameters: object
) -> tuple[Coordinator, list[int]]:
    """The coordinator and the exit codes of six agents in a ring, over keys."""
    rewards = logs(folder / "rewards", MEANS, seed=5)
    keys.create(folder / "keys", 6)
    plan = field(
        system,
        rewards,
        agents={"count": 6},
        topology={"kind": "edges", "edges": RING},
        engine={"deadline": 30.0, "on_missing": on_missing},
        parameters=parameters,
    )
    coordinator = Coordinator(plan, "tcp://127.0.0.1:*", folder / "keys")
    agents = [
        Agent(coordinator.endpoint, r, keys=keys.for_agent(folder / "keys", r), plan=plan)
        for r in range(6)
    ]
    coordinator.ended()
    return coordinator, [agent.ended() for agent in agents]


@pytest.mark.inside
@pytest.mark.parametrize("exchange", ["gis", "flooding", "gossip"])
@pytest.mark.parametrize("on_missing", ["continue", "end"])
def test_its_two_signatures_are_in_the_result_or_in_why_there_is_none(
    on_missing: str, exchange: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Liar(monkeypatch, {1: 0.001, 5: -0.001})
    coordinator, codes = ended("ddp-mab", tmp_path, on_missing, exchange=exchange)
    record = coordinator.record
    if on_missing == "continue":
        assert coordinator.error is None
        assert (record.dismissed, record.answers) == ({0: "equivocation"}, [None, 0, 0, 0, 0, 0])
        one, other = record.proofs[0].statements
        assert sorted(record.signed.answers) == [1, 2, 3, 4, 5]
    else:
        assert str(coordinator.error).startswith("agent 0 told others different things, as two sig")
        (proof,) = coordinator.error.__notes__
        one, other = re.findall("[0-9a-f]{192}", proof)
        assert codes == [3] * 6
    assert one != other


@pytest.mark.inside
@pytest.mark.parametrize("lie", [{"diameter": 3}, {"members": (0, 1, 2, 3, 4, 5)}])
def test_a_coordinator_that_lies_about_the_graph_that_is_left_is_left(
    lie: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Liar(monkeypatch, {1: 0.001, 5: -0.001})
    go_on = Regrouping.go_on

    def lies(self: Regrouping, present: Collection[int], *, together: bool) -> Any:
        if (found := go_on(self, present, together=together)) is not None:
            for rank, order in found[1].items():
                known = msgspec.msgpack.encode(msgspec.msgpack.decode(order.knowledge) | lie)
                found[1][rank] = msgspec.structs.replace(order, knowledge=known)
        return found

    monkeypatch.setattr(Regrouping, "go_on", lies)
    _, codes = ended("ddp-mab", tmp_path, "continue")
    assert codes[1:] == [1] * 5


@pytest.mark.slow
@pytest.mark.inside
@pytest.mark.parametrize("system", ["private-ucb", "byzantine-ucb", "robust-private-ucb"])
def test_where_messages_are_passed_on_the_others_go_on_without_it(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = TwoTongued(monkeypatch, 1)
    coordinator, codes = ended(system, tmp_path, "continue", horizon=60, gamma="diameter")
    assert coordinator.error is None
    record = coordinator.record
    assert record.dismissed == {0: "equivocation"}
    assert codes[1:] == [0] * 5
    proof = record.proofs[0]
    one, other = (bytes.fromhex(statement) for statement in proof.statements)
    for statement in (one, other):
        liar.signer.check_statement(0, b"bundle", bytes.fromhex(proof.place), statement)
    assert one[:32] != other[:32]
