"""The theory's bounds: exact values by hand, and the runs of small systems below them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse import (
    api,
)
from posse import system as systems
from posse.durable.directory import RunDirectory
from posse.plan import prepare
from posse.reading import folder as folders
from posse.report.regret import regret
from posse_systems.tossou2015.system import fair_sharing_regret
from tests.support.conversations import examples
from tests.support.runfile import describe_run

GAPS = np.array([0.0, 0.5, 0.25])


SMALL: dict[str, dict[str, Any]] = {
    "mase": {"parameters": {"beta": 0.3}},
    "dp-mase": {"parameters": {"epsilon": 0.5}},
    "corrupted-elimination": {"parameters": {}, "agents": {"count": 32}},
    "central": {},
    "independent": {},
    "ucb1": {"parameters": {"horizon": 500}},
    "private-ucb": {
        "parameters": {"horizon": 300, "epsilon": 0.5, "gamma": 1},
        "topology": {"kind": "ring"},
    },
    "robust-private-ucb": {
        "parameters": {
            "horizon": 300,
            "epsilon": 0.5,
            "gamma": 1,
            "contamination": {"agents": 1, "rate": 1.0, "law": "informed"},
        },
        "topology": {"kind": "ring"},
    },
    "parallel-ucb": {"parameters": {"horizon": 500}},
    "cdp-mab": {"parameters": {"horizon": 4000, "epsilon": 1.0}},
    "ddp-mab": {"parameters": {"horizon": 4000, "epsilon": 1.0}, "topology": {"kind": "ring"}},
    "hdp-mab": {"parameters": {"horizon": 4000, "epsilon": 1.0}, "topology": {"kind": "ring"}},
    "single-mab": {"parameters": {"horizon": 4000, "epsilon": 1.0}},
}


def _raw(system, **changes):
    return (
        describe_run(system, 6, [0.9, 0.5, 0.1], seed=3, repeat=3, engine="memory")
        | SMALL.get(system, {})
        | changes
    )


@pytest.mark.slow
@pytest.mark.parametrize("system", SMALL)
def test_runs_stay_below_the_bound(system):
    spec = prepare(_raw(system))
    for record in api.run(spec).runs:
        bound = spec.bound(record.run)
        assert bound.label
        if bound.regret is not None:
            times, regret = np.array(record.regret_curve).T
            assert (regret <= bound.regret(times) + 1e-9).all()
        else:
            assert record.rounds <= bound.rounds


CLIPPED = {"kind": "gaussian", "means": [60.0, 50.0, 40.0], "sd": 5.0, "clip": [0.0, 100.0]}
WIDE = {"kind": "gaussian", "means": [0.9, 0.5, 0.1], "sd": 0.6}
APART = {"kind": "bernoulli", "means": [[0.36, 0.67, 0.1], [0.86, 0.06, 0.1]] * 3}
LEVEL = {"kind": "bernoulli", "means": [[0.9, 0.1], [0.1, 0.9]] * 3}
MORE: dict[str, dict[str, Any]] = {
    "adap-ucb": {"parameters": {"horizon": 500, "epsilon": 1.0}},
    "byzantine-ucb": {"parameters": {"horizon": 500}, "topology": {"kind": "ring"}},
    "tdfs-private": {"parameters": {"horizon": 500, "epsilon": 10.0}, "agents": {"count": 2}},
    "tdfs-private-bound": {"parameters": {"horizon": 500, "epsilon": 10.0}, "agents": {"count": 2}},
}
PLAYERS = ["tdfs-private", "tdfs-private-bound"]
FEDERATED = ["cdp-mab", "ddp-mab", "hdp-mab"]
VOTES = ["mase", "dp-mase", "corrupted-elimination", "central", "independent"]
SUBGAUSSIAN = ["mase", "central", "independent", "ucb1", "parallel-ucb"]
DRAWN = [*SMALL, "adap-ucb", "byzantine-ucb"]
OF_EQUALS = [n for n in DRAWN if n not in (*FEDERATED, "parallel-ucb", "corrupted-elimination")]
POWER = {"kind": "power", "gamma": 0.8}
OWN_SIGMA = {"horizon": 500, "sigma": 0.6, "contamination": {"rate": 0.0}}


def _bernoulli(*means):
    return {"arms": {"kind": "bernoulli", "means": list(means)}}


def _gap(gap):
    """The smallest gap is .3."""
    parameters = {"horizon": 4000, "epsilon": 1.0, "max_rounds": 2, "gap": gap}
    return {"parameters": parameters, **_bernoulli(0.8, 0.5, 0.1)}


NOT_DRAWN = [
    ("byzantine-ucb", {"parameters": {"horizon": 100, "assumed_contamination": 0.4}}, "every gap"),
    ("anonymous", {"agents": {"count": 12}, "parameters": {"horizon": 5000}}, "without constants"),
    ("tdfs-private", {"parameters": {"horizon": 100, "epsilon": 1.0, "counter": "tree"}}, "hybrid"),
    ("corrupted-elimination", {"parameters": {"xi": 0.1}}, "withheld"),
    ("mase", {"agents": {"count": 6, "activity": POWER}}, "equally active"),
    *((system, {"arms": CLIPPED}, "before arms.clip") for system in DRAWN),
    *((system, {"arms": WIDE}, "at most 0.5, and arms.sd is 0.6") for system in SUBGAUSSIAN),
    ("byzantine-ucb", {"arms": WIDE | {"sd": 0.7}, "parameters": OWN_SIGMA}, "0.6, and arms.sd"),
    # who goes to its own best arm, against average means
    *((system, {"arms": APART}, "average") for system in OF_EQUALS),
    *((system, {"arms": LEVEL}, "level on average") for system in FEDERATED),
    ("cdp-mab", _gap(0.4), "the R-round form needs the smallest gap, 0.3, and was told 0.4."),
    *((system, _bernoulli(0.5, 0.5), "two of the 2 best arms are level") for system in PLAYERS),
    *((system, _bernoulli(0.5, 0.5), "2 arms share the best mean") for system in VOTES),
    *((system, _bernoulli(0.9, 0.1, 0.9, 0.9), "3 arms share the best mean") for system in VOTES),
]  # fmt: skip


@pytest.mark.parametrize(("system", "changes", "words"), NOT_DRAWN)
def test_no_bound_is_drawn_where_it_is_not_proved(system, changes, words):
    bound = prepare(_raw(system, **(MORE.get(system, {}) | changes))).bound(0)
    assert bound.regret is None
    assert bound.rounds is None
    assert words in bound.note


@pytest.mark.parametrize(
    ("system", "changes", "label"),
    [
        *((system, {"arms": WIDE | {"sd": 0.5}}, "") for system in SUBGAUSSIAN),
        ("byzantine-ucb", {"arms": WIDE, "parameters": OWN_SIGMA}, "Theorem 4.3"),
        ("cdp-mab", _gap(0.3), ""),
        # who targets the second best may take either of two
        *((system, _bernoulli(0.9, 0.5, 0.5), "Theorem 6") for system in PLAYERS),
        *((s, _bernoulli(0.5, 0.5) | {"agents": {"count": 1}}, "Theorem 6") for s in PLAYERS),
        *((system, _bernoulli(0.9, 0.5, 0.5), "") for system in VOTES),
    ],
)  # fmt: skip
def test_a_bound_is_drawn_up_to_what_its_proof_takes(system, changes, label):
    bound = prepare(_raw(system, **(MORE.get(system, {}) | changes))).bound(0)
    assert bound.regret or bound.rounds
    assert bound.label
    assert label in bound.label


@pytest.mark.slow
@pytest.mark.parametrize("system", PLAYERS)
def test_players_whose_targets_are_level_collide_for_ever(system):
    """Above what Theorem 6 adds up for two level arms, which is 0."""
    raw = _raw(
        system,
        arms={"kind": "bernoulli", "means": [0.5, 0.5]},
        agents={"count": 2},
        parameters={"horizon": 5000, "epsilon": 10.0},
    )
    sums = fair_sharing_regret(
        np.array([0.5, 0.5]), np.array([5000.0]), players=2, plays=lambda gap, t: t
    )
    assert sums == pytest.approx([0.0])
    assert min(record.regret for record in api.run(prepare(raw)).runs) > 200


def _report(tmp_path, **changes):
    spec = prepare(_raw(**changes))
    RunDirectory(tmp_path, spec).open().complete(api.run(spec))
    return regret([folders.read(tmp_path)])


@pytest.mark.slow
def test_a_bound_far_away_is_said_and_not_drawn(tmp_path):
    near = {"kind": "bernoulli", "means": [0.5, 0.499, 0.498]}
    chart = _report(tmp_path, system="private-ucb", arms=near)
    assert "Theorem 3.7 allows" in chart.caption
    assert "too far to draw" in chart.caption
    assert "γ < 1/ε" not in chart.caption  # γ = 1 is below 1/ε = 2
    assert "stroke-dasharray" not in chart.svg
    assert "level on average" in _report(tmp_path / "level", system="cdp-mab", arms=LEVEL).caption


@pytest.mark.slow
@pytest.mark.parametrize("system", [n for n in systems.names() if systems.get_system(n).one_form])
def test_systems_of_one_form_run_alike_in_both_variants(system):
    extras: dict[str, dict[str, Any]] = {
        "cooperative-ucb": {"parameters": {"horizon": 60}, "topology": {"kind": "ring"}},
        "tdfs-ucb": {"parameters": {"horizon": 200}, "agents": {"count": 2}},
        "tdfs-private": {"parameters": {"horizon": 200, "epsilon": 1.0}, "agents": {"count": 2}},
        "random-player": {"parameters": {"horizon": 200}, "agents": {"count": 2}},
        "adap-ucb": {"parameters": {"horizon": 200, "epsilon": 1.0}},
        "explore-then-commit": {
            "parameters": {"horizon": 300, "group_size": 3}, "agents": {"count": 9},
        },
    }  # fmt: skip
    one, other = (
        api.run(prepare(_raw(system, repeat=1, variant=variant, **extras.get(system, {})))).runs[0]
        for variant in ("corrected", "printed")
    )
    assert one.regret_curve == other.regret_curve
    assert one.communication == other.communication
    assert one.privacy.claim == other.privacy.claim


@examples(Path(__file__).with_name("bounds.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
