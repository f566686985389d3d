"""What all claims have in common: no number without its adversary and its unit."""

import json
from typing import Any

import pytest

from posse.engines import memory
from posse.errors import SpecError
from posse.plan import prepare
from posse.protocol.privacy import Claim, Guarantee, OneReward, Release, format_cost, total_cost
from posse.system import names
from posse.system.claims import records
from tests.support.claims import LOGS, ONE_LOG, plan
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


@pytest.mark.parametrize("system", ["independent", "parallel-ucb"])
def test_who_sends_nothing_but_its_end_protects_nothing(system: str) -> None:
    parameters = {} if system == "independent" else {"horizon": 100}
    claim = plan(system, parameters=parameters).claim
    assert claim.mechanism == "none"
    assert "whoever sees its pulls" in claim.note


def test_every_system_is_among_the_cases() -> None:
    assert {case["run"]["system"] for case in CASES.values()} == set(names())


@pytest.mark.parametrize(("repeat", "said"), [(1, ""), (3, "cost at most ε = 1.5.")])
def test_repetitions_over_one_log_add_up(repeat: int, said: str) -> None:
    run = plan("dp-mase", 16, parameters={"epsilon": 0.5}, arms=LOGS, repeat=repeat)
    told = records(run.spec, run.claim)
    assert "Each row is used once" in told
    assert ("repetitions use the same rows" in told) is bool(said)
    assert told.endswith(said)
    # simulated rewards are new in every repetition
    simulated = plan("dp-mase", 16, parameters={"epsilon": 0.5}, repeat=3).spec
    assert records(simulated, run.claim).startswith("A reward is protected, not a person")
    assert "repetitions" not in records(simulated, run.claim)


def test_a_log_is_not_used_twice_in_the_field() -> None:
    with pytest.raises(SpecError, match=r"repeat"):
        plan("dp-mase", 16, mode="field", parameters={"epsilon": 0.5}, repeat=2)


def test_amounts_have_their_delta() -> None:
    assert format_cost(2.6537, 4.54e-5) == "ε = 2.654, δ = 4.5e-05"
    assert format_cost(0.5) == "ε = 0.5"
    claim = Claim(
        change=OneReward(),
        mechanism="laplace", epsilon=4.0, formula="M ε", adversary="all",
        besides=(Guarantee(adversary="one", epsilon=0.5),), note="So it is.", uncovered="time",
    )  # fmt: skip
    assert claim.says == (
        "ε = 4 (M ε) against all; ε = 0.5 against one, for the value of one reward of one agent, "
        "its arm and place fixed. So it is. Not covered: time."
    )


def test_a_ledger_is_composed_up_to_delta_only_where_a_claim_has_one() -> None:
    def ledger(mechanism: str) -> list[Release]:
        return [Release(mechanism, 1.0, 10.0, 0.1, "arm 0", times=200)]

    assert total_cost(ledger("laplace")) == pytest.approx(20.0)
    assert total_cost(ledger("laplace"), 1e-5) < 10.0
    assert total_cost(ledger("discrete-gaussian"), 1e-5) == pytest.approx(20.0)
    assert total_cost([], 1e-5) == 0.0


WHO: dict[str, Any] = {"person": "who", "rewards_per_person": 4}
OWN = {"kind": "python", "target": "wards:Ward", "count": 2}


def test_what_is_claimed_of_persons_is_computed_at_their_number_of_rewards() -> None:
    run = plan("dp-mase", 16, parameters={"epsilon": 0.5}, arms=LOGS, privacy=WHO)
    assert (run.claim.epsilon, run.reward_claim.epsilon) == (2.0, 0.5)
    assert records(run.spec, run.claim) == (
        "A person is whoever the column 'who' of an agent's log names: the first 4 rows of each in "
        "the file may be used, and no others ever."
    )
    players = plan(
        "tdfs-private", parameters={"horizon": 90, "epsilon": 0.5}, arms=ONE_LOG, privacy=WHO
    )
    assert players.claim.epsilon == 4 * 4 * 0.5  # 4 players, 4 rewards


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
