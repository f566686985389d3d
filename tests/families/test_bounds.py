"""The theory's bounds: exact values by hand, and the runs of small systems below them."""

import math
from typing import Any

import numpy as np
import pytest

from posse import api, families
from posse.durable.directory import RunDirectory
from posse.families import bounds
from posse.families.players import fair_sharing_regret
from posse.families.system import NO_THEORY
from posse.plan import prepare
from posse.report import read
from posse.report.regret import regret
from tests.support.runfile import describe_run

GAPS = np.array([0.0, 0.5, 0.25])


def test_ucb1_by_hand():
    # 8 log(e²) (2 + 4) + (1 + π²/3) (0.5 + 0.25)
    found = bounds.ucb1_regret(GAPS)(np.array([math.e**2]))
    assert found == pytest.approx([96 + (1 + math.pi**2 / 3) * 0.75])


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


def test_every_system_has_a_bound_or_says_why_not():
    for name in families.names():
        assert families.get_system(name).bound is not NO_THEORY, name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"system": "byzantine-ucb", "topology": {"kind": "ring"},
          "parameters": {"horizon": 100, "assumed_contamination": 0.4}}, "every gap"),
        ({"system": "anonymous", "agents": {"count": 12}}, "without constants"),
        ({"system": "tdfs-private", "agents": {"count": 2},
          "parameters": {"horizon": 100, "epsilon": 1.0, "counter": "tree"}}, "hybrid"),
        ({"system": "corrupted-elimination", "parameters": {"xi": 0.1}, "agents": {"count": 32}},
         "withheld"),
        ({"system": "mase", "agents": {"count": 6, "activity": {"kind": "power", "gamma": 0.8}}},
         "equally active"),
    ],
)  # fmt: skip
def test_no_constant_is_made_up(changes, words):
    raw = {**_raw(changes["system"]), **changes}
    raw.setdefault("parameters", {"horizon": 5000})
    spec = prepare(raw)
    bound = spec.bound(0)
    assert bound.regret is None
    assert bound.rounds is None
    assert words in bound.note


CLIPPED = {"kind": "gaussian", "means": [60.0, 50.0, 40.0], "sd": 5.0, "clip": [0.0, 100.0]}
WIDE = {"kind": "gaussian", "means": [0.9, 0.5, 0.1], "sd": 0.6}
APART = {"kind": "bernoulli", "means": [[0.36, 0.67, 0.1], [0.86, 0.06, 0.1]] * 3}
LEVEL = {"kind": "bernoulli", "means": [[0.9, 0.1], [0.1, 0.9]] * 3}
DRAWN = [*SMALL, "adap-ucb", "byzantine-ucb"]
MORE: dict[str, dict[str, Any]] = {
    "adap-ucb": {"parameters": {"horizon": 500, "epsilon": 1.0}},
    "byzantine-ucb": {"parameters": {"horizon": 500}, "topology": {"kind": "ring"}},
}
FEDERATED = ["cdp-mab", "ddp-mab", "hdp-mab"]


def _note(system, arms, **changes):
    bound = prepare(_raw(system, **(MORE.get(system, {}) | {"arms": arms, **changes}))).bound(0)
    assert bound.regret is None
    assert bound.rounds is None
    assert bound.note.startswith("No bound is drawn: ")
    return bound.note


@pytest.mark.parametrize("system", DRAWN)
def test_there_is_no_bound_by_means_that_clipping_moves(system):
    assert "before arms.clip" in _note(system, CLIPPED)


@pytest.mark.parametrize("system", ["mase", "central", "independent", "ucb1", "parallel-ucb"])
def test_there_is_no_bound_on_rewards_that_spread_wider_than_its_proof_takes(system):
    assert "at most 0.5, and arms.sd is 0.6" in _note(system, WIDE)
    assert prepare(_raw(system, arms=WIDE | {"sd": 0.5})).bound(0).label


def test_algorithm_3s_bound_is_about_its_own_deviation():
    parameters = {"horizon": 500, "sigma": 0.6, "contamination": {"rate": 0.0}}
    raw = _raw("byzantine-ucb", topology={"kind": "ring"}, arms=WIDE, parameters=parameters)
    assert prepare(raw).bound(0).label == "Theorem 4.3"
    assert "at most 0.6, and arms.sd is 0.7" in _note(
        "byzantine-ucb", WIDE | {"sd": 0.7}, parameters=parameters
    )


OF_EQUALS = [n for n in DRAWN if n not in (*FEDERATED, "parallel-ucb", "corrupted-elimination")]


@pytest.mark.parametrize("system", OF_EQUALS)
def test_there_is_no_bound_against_average_means_of_who_goes_to_its_own_best_arm(system):
    said = _note(system, APART)
    assert "on average" in said or "average means" in said


@pytest.mark.parametrize("system", FEDERATED)
def test_there_is_no_bound_where_all_arms_are_level_on_average(system, tmp_path):
    assert "level on average" in _note(system, LEVEL)
    assert "level on average" in _report(tmp_path, system=system, arms=LEVEL).caption


def test_there_is_no_bound_where_the_gap_that_is_told_is_above_the_smallest():
    def parameters(gap):
        return {"horizon": 4000, "epsilon": 1.0, "max_rounds": 2, "gap": gap}

    arms = {"kind": "bernoulli", "means": [0.8, 0.5, 0.1]}
    said = "the R-round form needs the smallest gap, 0.3, and was told 0.4."
    assert said in _note("cdp-mab", arms, parameters=parameters(0.4))
    told = prepare(_raw("cdp-mab", arms=arms, parameters=parameters(0.3)))
    assert told.bound(0).label
    assert told.advice() == []


@pytest.mark.parametrize("system", ["tdfs-private", "tdfs-private-bound"])
def test_there_is_no_bound_on_players_whose_targets_are_level(system):
    def told(*means, players=2):
        arms = {"kind": "bernoulli", "means": list(means)}
        parameters = {"horizon": 500, "epsilon": 10.0}
        return {"arms": arms, "agents": {"count": players}, "parameters": parameters}

    assert "two of the 2 best arms are level" in _note(system, **told(0.5, 0.5))
    assert "two of the 3 best arms are level" in _note(system, **told(0.9, 0.5, 0.5, players=3))
    # who targets the second best may take either of two
    assert prepare(_raw(system, **told(0.9, 0.5, 0.5))).bound(0).label == "Theorem 6"
    assert prepare(_raw(system, **told(0.5, 0.5, players=1))).bound(0).label == "Theorem 6"


@pytest.mark.slow
@pytest.mark.parametrize("system", ["tdfs-private", "tdfs-private-bound"])
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


@pytest.mark.parametrize(
    "system", ["mase", "dp-mase", "corrupted-elimination", "central", "independent"]
)
@pytest.mark.parametrize(("means", "ties"), [([0.5, 0.5], 2), ([0.9, 0.1, 0.9, 0.9], 3)])
def test_there_is_no_bound_on_how_long_level_arms_take(system, means, ties):
    said = f"{ties} arms share the best mean"
    assert said in _note(system, {"kind": "bernoulli", "means": means})
    level_below = {"kind": "bernoulli", "means": [0.9, 0.5, 0.5]}
    assert prepare(_raw(system, arms=level_below)).bound(0).rounds


def _report(tmp_path, **changes):
    spec = prepare(_raw(**changes))
    RunDirectory(tmp_path, spec).open().complete(api.run(spec))
    return regret([read.read(tmp_path)])


def test_the_bound_is_drawn_dashed_and_kept_in_the_table(tmp_path):
    changes = {
        "arms": {"kind": "bernoulli", "means": [0.55, 0.45]},
        "parameters": {"horizon": 1000, "epsilon": 10.0},
    }
    chart = _report(tmp_path, system="cdp-mab", **changes)
    assert "Dashed: theory, on the event E_R, " in chart.caption
    assert "stroke-dasharray" in chart.svg
    told = [row for row in chart.rows if row[0] == "theory, on the event E_R"]
    bound = prepare(_raw("cdp-mab", **changes)).bound(0)
    assert told[-1][2] == pytest.approx(float(bound.regret(np.array([told[-1][1]]))[0]))


@pytest.mark.slow
def test_a_bound_far_away_is_said_and_not_drawn(tmp_path):
    near = {"kind": "bernoulli", "means": [0.5, 0.499, 0.498]}
    chart = _report(tmp_path, system="private-ucb", arms=near)
    assert "Theorem 3.7 allows" in chart.caption
    assert "too far to draw" in chart.caption
    assert "γ < 1/ε" not in chart.caption  # γ = 1 is below 1/ε = 2
    assert "stroke-dasharray" not in chart.svg


def test_the_proofs_condition_is_said():
    spec = prepare(_raw("private-ucb", parameters={"horizon": 300, "epsilon": 1.0, "gamma": 1}))
    assert "γ < 1/ε (here γ = 1, 1/ε = 1)" in spec.bound(0).note


@pytest.mark.slow
@pytest.mark.parametrize("system", [n for n in families.names() if families.get_system(n).one_form])
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
