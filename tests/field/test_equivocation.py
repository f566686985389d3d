"""An agent of the field that signs two values for one round, over real sockets and keys."""

import re
from pathlib import Path

import pytest

from posse.security import keys
from tests.agent.test_comparison import RING, Liar
from tests.support.field import MEANS, field, logs
from tests.support.remote import Agent, Coordinator

pytest.importorskip("pydp", reason="python-dp is not installed (extra: field)")


@pytest.mark.inside
@pytest.mark.parametrize("on_missing", ["continue", "end"])
def test_its_two_signatures_are_in_the_result_or_in_why_there_is_none(
    on_missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Liar(monkeypatch, {1: 0.001, 5: -0.001})
    folder = logs(tmp_path / "rewards", MEANS, seed=5)
    keys.create(tmp_path / "keys", 6)
    topology = {"kind": "edges", "edges": RING}
    engine = {"deadline": 30.0, "on_missing": on_missing}
    plan = field("ddp-mab", folder, agents={"count": 6}, topology=topology, engine=engine)
    coordinator = Coordinator(plan, "tcp://127.0.0.1:*", tmp_path / "keys")
    agents = [
        Agent(coordinator.endpoint, r, keys=keys.for_agent(tmp_path / "keys", r), plan=plan)
        for r in range(6)
    ]
    record = coordinator.ended()
    codes = [agent.ended() for agent in agents]
    if on_missing == "continue":
        assert coordinator.error is None
        assert (record.dismissed, record.answers) == ({0: "equivocation"}, [None, 0, 0, 0, 0, 0])
        one, other = record.proofs[0].statements
    else:
        assert str(coordinator.error).startswith("agent 0 told others different things, as two sig")
        (proof,) = coordinator.error.__notes__
        one, other = re.findall("[0-9a-f]{192}", proof)
        assert codes == [3] * 6
    assert one != other
