"""A coordinator that tells an agent twice how to go on after a loss, and differently."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from posse.coordinator.host import CoordinatorHost
from posse.engines import memory
from posse.hosts.effects import HostEffect
from posse.plan import prepare
from posse.protocol.control import Regroup
from posse.protocol.signing import Signer

pytestmark = pytest.mark.inside

VICTIM, LOST = 1, 3


@pytest.mark.parametrize("lost_at", [9, 12, 14, 17, 20, 25, 30])
def test_a_second_word_about_one_loss_makes_no_agent_sign_twice(
    lost_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer arms it would share other means in the same round, and be convicted of it."""
    stated: dict[tuple[int, bytes, bytes], set[bytes]] = {}
    state, regroup, receive = Signer.state, CoordinatorHost._regroup, CoordinatorHost.receive
    frames, words = [0], list[Regroup]()

    def states(self: Signer, kind: bytes, place: bytes, content: bytes) -> bytes:
        made = state(self, kind, place, content)
        stated.setdefault((id(self), kind, place), set()).add(made)
        return made

    def regroups(self: CoordinatorHost) -> None:
        sent: list[tuple[int, Any]] = []
        send = self._server.send

        def spies(to: int, said: Any) -> None:
            sent.append((to, said))
            send(to, said)

        monkeypatch.setattr(self._server, "send", spies)
        regroup(self)
        monkeypatch.setattr(self._server, "send", send)
        for to, said in sent:
            if isinstance(said, Regroup) and to == VICTIM and not words:
                words.append(said)
                send(to, msgspec.structs.replace(said, arms=said.arms[:-1] or said.arms))

    def receives(self: CoordinatorHost, rank: int, frame: bytes) -> Sequence[HostEffect]:
        effects = receive(self, rank, frame)
        frames[0] += 1
        if frames[0] == lost_at and self.attendance.verdict is None:
            effects = [*effects, *self.lose(LOST)]
        return effects

    monkeypatch.setattr(Signer, "state", states)
    monkeypatch.setattr(CoordinatorHost, "_regroup", regroups)
    monkeypatch.setattr(CoordinatorHost, "receive", receives)
    plan = prepare(
        {
            "system": "ddp-mab",
            "seed": 3,
            "agents": {"count": 4},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.8, 0.7, 0.6]},
            "topology": {"kind": "complete"},
            "parameters": {"epsilon": 1.0, "horizon": 20000, "exchange": "flooding"},
            "engine": {"sign": True, "on_missing": "continue"},
        }
    )
    record = memory.run(plan, 0)
    assert [len(made) for made in stated.values()] == [1] * len(stated)
    assert record.dismissed == {LOST: "lost"}
    assert record.refused.get("out-of-turn", 0) == len(words)
