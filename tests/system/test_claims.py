"""What all claims have in common: no number without its adversary and its unit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.errors import SpecError
from posse.plan import prepare
from posse.protocol.privacy import Release, total_cost
from tests.support.claims import LOGS, plan
from tests.support.conversations import examples
from tests.support.golden import FILE, write_logs

CASES: dict[str, Any] = json.loads(FILE.read_text())["cases"]


@pytest.mark.parametrize("name", CASES)
def test_every_number_has_its_adversary_and_unit_and_is_said(name: str) -> None:
    claim = prepare(CASES[name]["run"]).claim
    for guarantee in claim.guarantees:
        assert guarantee.adversary
        assert guarantee.number in claim.says
        assert guarantee.adversary in claim.says
    if claim.guarantees:
        assert "arm and place fixed" in claim.unit
        assert claim.unit in claim.says
        assert claim.uncovered or not claim.holds
    if claim.holds and claim.mechanism not in ("none",):
        assert claim.proof


@pytest.mark.parametrize("name", CASES)
def test_no_ledger_spends_more_than_is_claimed(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the lab, where ledgers are reported, for every claim that holds."""
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    made = prepare({"base": str(tmp_path), **CASES[name]["run"]})
    if made.field or not made.claim.holds or not made.claim.guarantees:
        return
    privacy = memory.run(made, 0).privacy
    assert privacy is not None
    assert privacy.spent_per_agent is not None
    weakest = min(guarantee.epsilon for guarantee in made.claim.guarantees)
    if (
        name == "cdp-mab, shared"
    ):  # a run is charged what was asked for; its claim is exact, and less
        weakest = max(weakest, made.spec.parameters["epsilon"])
    assert max(privacy.spent_per_agent) <= weakest * (1 + 1e-9)
    assert not privacy.protects


def test_a_ledger_is_composed_up_to_delta_only_where_a_claim_has_one() -> None:
    def ledger(mechanism: str) -> list[Release]:
        return [Release(mechanism, 1.0, 10.0, 0.1, "arm 0", times=200)]

    assert total_cost(ledger("laplace")) == pytest.approx(20.0)
    assert total_cost(ledger("laplace"), 1e-5) < 10.0
    assert total_cost(ledger("discrete-gaussian"), 1e-5) == pytest.approx(20.0)
    assert total_cost([], 1e-5) == 0.0


WHO: dict[str, Any] = {"person": "who", "rewards_per_person": 4}
OWN = {"kind": "python", "target": "wards:Ward", "count": 2}


@pytest.mark.parametrize(
    ("system", "changes", "said"),
    [
        ("mase", {"arms": LOGS}, r"privacy\.person: cannot be kept: mase claims no ε"),
        ("corrupted-elimination", {"arms": LOGS}, "cannot be kept"),
        ("dp-mase", {"arms": {**LOGS, "replace": True}}, r"arms\.replace: draws a person's rows"),
        (
            "dp-mase",
            {},
            "needs arms of kind csv, python or live, whose rewards are somebody's",
        ),
        (
            "dp-mase",
            {"arms": OWN, "engine": {"durable": True}},
            r"engine\.durable: keeps no count of the persons",
        ),
        ("dp-mase", {"arms": LOGS, "mode": "field"}, r"would cost ε = 12 and the budget is 10"),
    ],
)
def test_what_a_mechanism_cannot_promise_of_persons_is_refused(
    system: str, changes: dict[str, Any], said: str
) -> None:
    parameters = {"xi": 0.1} if system == "corrupted-elimination" else {}
    parameters |= {"epsilon": 3.0} if system == "dp-mase" else {}
    with pytest.raises(SpecError, match=said):
        plan(system, 16, parameters=parameters, privacy=WHO, **changes)


@examples(Path(__file__).with_name("claims.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
