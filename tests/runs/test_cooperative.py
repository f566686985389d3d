"""Cooperation on a graph, run: what the record says, what agents are told."""

from typing import Any

import msgspec
import numpy as np
import pytest

from posse.coordinator.setups import agent_setups
from posse.engines import memory
from posse.errors import SpecError
from posse.plan import Plan, prepare
from posse.protocol.accounting import composed
from tests.support.runs import assert_same_run, detail

SYSTEMS: dict[str, dict[str, Any]] = {
    "private-ucb": {"epsilon": 0.5},
    "byzantine-ucb": {"contamination": {"rate": 0.05, "agents": 3, "law": "outlier"}},
    "robust-private-ucb": {
        "epsilon": 0.5,
        "contamination": {"rate": 1.0, "agents": 2, "law": "informed"},
    },
    "cooperative-ucb": {},
    "ucb1": {},
    "dp-ucb-int": {"epsilon": 0.5},
    "adap-ucb": {"epsilon": 0.5},
}
MESHES = ("private-ucb", "byzantine-ucb", "robust-private-ucb", "cooperative-ucb")


def spec(system: str, variant: str = "corrected", M: int = 9, **changes: Any) -> Plan:
    raw: dict[str, Any] = {
        "system": system,
        "variant": variant,
        "seed": 5,
        "agents": {"count": M},
        "arms": {"kind": "bernoulli", "means": [0.8, 0.5, 0.3]},
        "parameters": {"horizon": 60, **SYSTEMS[system], **changes.pop("parameters", {})},
        "engine": {"deadline": 20.0},
    }
    if system in MESHES:
        raw["topology"] = {"kind": "erdos-renyi", "p": 0.35}
    return prepare(raw | changes)


def test_with_a_mean_and_no_liars_it_is_private_ucb_by_doubling_batches() -> None:
    nobody = {"rate": 0.0, "agents": 0}
    one = spec("robust-private-ucb", parameters={"estimator": "mean", "contamination": nobody})
    other = spec("private-ucb", parameters={"releases": "doubling"})
    assert_same_run(memory.run(one, 0), memory.run(other, 0))


@pytest.mark.parametrize("releases", ["doubling", "trees"])
def test_releases_that_the_paper_lacks_cost_epsilon_and_are_refused_as_printed(
    releases: str,
) -> None:
    one = memory.run(spec("private-ucb", parameters={"releases": releases}), 0)
    assert one.privacy.claim.epsilon == 0.5
    assert one.privacy.claim.delta is None
    assert one.privacy.spent_per_agent == [0.5] * 9
    with pytest.raises(SpecError, match=r"parameters.releases: .*variant"):
        spec("private-ucb", "printed", parameters={"releases": releases})
    with pytest.raises(SpecError, match=r"parameters.noise_at: .*intervals"):
        spec("private-ucb", parameters={"releases": releases, "noise_at": "destination"})


def test_the_record() -> None:
    record = memory.run(spec("private-ucb"), 0)
    assert (record.status, record.best_arm) == ("horizon", 0)
    assert (record.slots, record.pulls, record.rounds) == (60, 9 * 60, None)
    edges = record.network.edges
    data = record.communication.data
    assert data.messages == 60 * 2 * edges
    assert record.communication.links.agent_agent == data.messages
    assert record.regret_per_agent is not None
    assert sum(record.regret_per_agent) == pytest.approx(record.regret)
    pulls = np.array(record.pulls_per_arm)
    assert record.regret == pytest.approx(pulls @ [0.0, 0.3, 0.5])
    assert record.regret_curve is not None
    assert record.regret_curve[-1] == pytest.approx([60.0, record.regret])
    by_hops = detail(record).delay_by_hops
    assert [by_hops[d].mean_slots for d in sorted(by_hops)] == [float(d) for d in sorted(by_hops)]
    assert by_hops["1"].messages == 59 * 2 * edges
    assert detail(record).duplicates == sum(detail(record).duplicates_per_agent) > 0


def test_the_ledger_and_what_follows_from_it() -> None:
    record = memory.run(spec("private-ucb"), 0)
    assert record.privacy is not None
    claim, spent = record.privacy.claim, record.privacy.spent_per_agent
    assert spent is not None
    assert claim.epsilon is not None
    assert claim.delta is not None
    for ledger, after in zip(record.ledgers, spent, strict=True):
        costs: dict[str, list[float]] = {}
        for release in ledger:
            costs.setdefault(release.block, []).append(release.epsilon)
        dearest = max(costs.values(), key=sum)
        ones = np.ones(len(dearest), dtype=np.int64)
        assert after == pytest.approx(composed(np.array(dearest), ones, claim.delta))
        assert after < sum(dearest)
        assert after <= claim.epsilon  # the schedule has every release that there may be
    assert record.privacy.claim.holds
    assert not memory.run(spec("private-ucb", "printed"), 0).privacy.claim.holds


def test_half_a_diameter_is_said_in_the_result() -> None:
    record = memory.run(
        spec("cooperative-ucb", M=6, topology={"kind": "path"}, parameters={"horizon": 10}), 0
    )
    assert record.network.diameter == 5
    assert (record.network.gamma, record.network.gamma_asked) == (3, "diameter/2")


def test_hearing_further_helps() -> None:
    regret = [
        np.mean(
            [
                memory.run(
                    spec("cooperative-ucb", M=12, parameters={"gamma": g, "horizon": 150}), n
                ).regret
                for n in range(3)
            ]
        )
        for g in (0, 1, "diameter")
    ]
    assert regret[0] > regret[1] > regret[2]


def test_who_is_byzantine_is_told_to_nobody_else() -> None:
    run = spec("byzantine-ucb", parameters={"contamination": {"agents": [2, 4], "law": "opposite"}})
    network = run.network(0)
    assert network.facts.byzantine == [2, 4]
    setups = agent_setups(run, network)
    for rank, setup in enumerate(setups):
        told = msgspec.json.encode(setup).decode()
        assert ("opposite" in told) == (rank in (2, 4))
        assert '"agents":[2,4]' not in told


def test_a_number_of_byzantine_agents_is_drawn_by_the_seed() -> None:
    run = spec("byzantine-ucb")
    drawn = [run.network(n).facts.byzantine for n in range(6)]
    assert all(len(set(liars)) == 3 for liars in drawn)
    assert len({tuple(liars) for liars in drawn}) > 1


@pytest.mark.parametrize("law", ["point", "uniform", "opposite", "outlier"])
@pytest.mark.parametrize("form", ["source", "relay"])
def test_lies_of_every_kind(law, form) -> None:
    does = {"rate": 0.02, "agents": 4, "law": law, "form": form}
    record = memory.run(spec("byzantine-ucb", parameters={"contamination": does}), 0)
    assert (record.status, record.best_arm) == ("horizon", 0)
    assert record.refused == {}


@pytest.mark.parametrize(
    ("system", "parameters", "path"),
    [
        ("private-ucb", {"epsilon": 0.01}, "parameters.horizon"),
        ("private-ucb", {"v": 1.7}, "parameters.v"),
        ("private-ucb", {"gamma": "radius"}, "parameters.gamma"),
        ("private-ucb", {"gamma": -1}, "parameters.gamma"),
        ("ucb1", {"horizon": 2}, "parameters.horizon"),
        ("ucb1", {"gamma": 1}, "parameters.gamma"),
        ("byzantine-ucb", {"contamination": {"agents": 10}}, "parameters.contamination.agents"),
        ("byzantine-ucb", {"contamination": {"agents": [9]}}, "parameters.contamination.agents"),
        ("byzantine-ucb", {"contamination": {"rate": 0.6}}, "parameters.contamination.rate"),
        ("byzantine-ucb", {"contamination": {"law": "cauchy"}}, "parameters.contamination.law"),
        ("byzantine-ucb", {"contamination": {"law": "informed"}}, "parameters.contamination.law"),
        (
            "robust-private-ucb",
            {"contamination": {"agents": "all", "rate": 0.1}},
            "parameters.contamination.agents",
        ),
        ("cooperative-ucb", {"reward_range": [1, 0]}, "parameters.reward_range"),
    ],
)
def test_bad_parameters_are_named(system, parameters, path) -> None:
    with pytest.raises(SpecError) as error:
        spec(system, parameters=parameters)
    assert error.value.path == path


def test_a_graph_that_falls_apart_is_refused() -> None:
    with pytest.raises(SpecError) as error:
        spec("private-ucb", M=4, topology={"kind": "edges", "edges": [[0, 1], [2, 3]]})
    assert error.value.path == "topology"
