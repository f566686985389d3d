"""What cooperation on a graph is built from in the field."""

from typing import Any

import numpy as np
import pytest

from posse.engines import memory
from posse.errors import SpecError
from posse.plan import prepare
from posse.protocol.noise import SeededNoise
from posse.system import get_system
from posse.system.context import AgentContext
from posse_systems.dubey2020 import robust
from posse_systems.dubey2020.messages import means_record, noise_scale, release_counts
from posse_systems.dubey2020.robust import radii
from posse_systems.dubey2020.trimmed import TrimmedMeans
from tests.support.claims import plan


def learner(releases: str, *, field: bool) -> Any:
    system = get_system("private-ucb")
    machine: Any = system.agent.make(
        AgentContext(
            rank=0,
            agents=3,
            arms=2,
            parameters=system.parameters(horizon=400, epsilon=0.5, releases=releases),
            variant="corrected",
            neighbours=(1,),
            knowledge={"gamma": 1},
            noise=SeededNoise(np.random.default_rng(1)),
            generator=lambda purpose: np.random.default_rng(int(purpose)),
            secret=lambda purpose: bytes(32),
            field=field,
        )
    )
    return machine.learner


@pytest.mark.parametrize("releases", ["intervals", "doubling"])
def test_in_the_field_private_means_that_no_noise_makes_are_refused(releases: str) -> None:
    """The first release has the widest noise: Lap(n^(v/2 - 1)) at W_1 pulls, or Lap(1/ε) at one."""
    scale = 2.0
    if releases == "intervals":
        scale = noise_scale(release_counts(0.5, 1.1, 400)[0], 1.1)
    records = np.zeros(3, dtype=means_record(2))
    records["origin"], records["created"] = [1, 1, 2], 300
    records["means"] = [[0.5, -41.1 * scale], [0.5, 41.1 * scale + 1], [0.5, 40.9 * scale]]
    found = dict(learner(releases, field=True).find_faults(records))
    assert found["out-of-range"].tolist() == [True, True, False]
    assert "out-of-range" not in dict(learner(releases, field=False).find_faults(records))


@pytest.mark.parametrize("mode", ["lab", "field"])
@pytest.mark.parametrize(
    ("system", "more", "way"),
    [
        ("private-ucb", {"releases": "intervals"}, "releases = 'doubling'"),
        ("dp-ucb-int", {}, "system = 'adap-ucb'"),
    ],
)
def test_a_horizon_whose_releases_are_too_many_to_list_is_refused_at_once(
    system: str, more: dict[str, Any], way: str, mode: str
) -> None:
    wires: dict[str, Any] = {"topology": {"kind": "ring"}} if system == "private-ucb" else {}
    told = {"epsilon": 0.5, "horizon": 10**15, **more}
    with pytest.raises(SpecError) as caught:
        plan(system, mode=mode, parameters=told, **wires)
    assert str(caught.value) == (
        "parameters: horizon = 1,000,000,000,000,000 is too long: all releases at intervals are "
        f"listed before a run, for 10,000,000 slots at most; take no more, or {way}"
    )


def test_a_horizon_of_releases_that_double_may_be_long() -> None:
    told = {"epsilon": 0.5, "horizon": 10**15, "releases": "doubling"}
    asked = plan("private-ucb", parameters=told, topology={"kind": "ring"})
    assert asked.claim.epsilon == 0.5


@pytest.mark.parametrize(
    ("believed", "more", "warned"),
    [(0.1, {}, False), (0.125, {}, True), (0.3, {}, True), (0.3, {"winsor": True}, False)],
)
def test_who_believes_in_too_many_lies_to_trim_is_warned(believed, more, warned) -> None:
    parameters = {"horizon": 50, "assumed_contamination": believed, **more}
    asked = plan("byzantine-ucb", parameters=parameters, topology={"kind": "complete"})
    assert any("nothing is trimmed" in said for said in asked.advice()) is warned
    # a tenth of lies, as many in each half
    estimator = TrimmedMeans(1, winsor=more.get("winsor", False))
    samples = np.tile([0.5] * 18 + [9.0] * 2, 5000)
    estimator.add(np.zeros(len(samples), dtype=int), samples)
    bears_lies = float(estimator.estimate(believed, [0.5])[0, 0]) < 1
    assert bears_lies is not warned


@pytest.mark.parametrize("form", ["source", "relay"])
def test_informed_lies_are_in_every_message_and_none_is_refused(form: str) -> None:
    """On a ring of 6 what agents two hops apart say comes one way from either side."""
    lies: dict[str, Any] = {"rate": 1.0, "agents": [2], "law": "informed", "form": form}
    raw: dict[str, Any] = {
        "system": "robust-private-ucb",
        "agents": {"count": 6},
        "arms": {"kind": "bernoulli", "means": [0.6, 0.4]},
        "topology": {"kind": "ring"},
        "parameters": {"horizon": 100, "epsilon": 1.0, "gamma": 2, "contamination": lies},
    }
    without = {**raw, "parameters": raw["parameters"] | {"contamination": lies | {"rate": 0.0}}}
    assert memory.run(prepare(raw), 0).refused == {}
    assert memory.run(prepare(raw), 0).regret != memory.run(prepare(without), 0).regret
    with pytest.raises(
        SpecError, match=r"^parameters.contamination.rate: is 0.5, but .*set rate = 1"
    ):
        prepare({**raw, "parameters": {**raw["parameters"], "contamination": lies | {"rate": 0.5}}})


@pytest.mark.parametrize("share", [None, 1 / 49])
def test_a_liar_is_not_lost_to_rounding(share: float | None, monkeypatch: Any) -> None:
    seen = set()

    def watched(t: int, agents: int, liars: int, epsilon: float) -> Any:
        seen.add(liars)
        return radii(t, agents, liars, epsilon)

    monkeypatch.setattr(robust, "radii", watched)
    lies = {"rate": 1.0, "agents": [7], "law": "informed"}
    believed = {} if share is None else {"assumed_contamination": share}
    raw = {
        "system": "robust-private-ucb",
        "agents": {"count": 49},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.5]},
        "topology": {"kind": "star"},
        "parameters": {"horizon": 5, "epsilon": 20.0, "contamination": lies, **believed},
    }
    memory.run(prepare(raw), 0)
    assert seen == {1}
