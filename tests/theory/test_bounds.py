"""The theory's bounds: exact values by hand, and the runs of small systems below them."""

import math
from typing import Any

import numpy as np
import pytest

from posse import api, systems
from posse.durable.directory import RunDirectory
from posse.plan import prepare
from posse.report import read
from posse.report.regret import regret
from posse.systems.base import NO_THEORY
from posse.theory import bounds

GAPS = np.array([0.0, 0.5, 0.25])


def test_ucb1_by_hand():
    # 8 log(e²) (2 + 4) + (1 + π²/3) (0.5 + 0.25)
    found = bounds.ucb1_regret(GAPS, np.array([math.e**2]))
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
    return {
        "system": system,
        "seed": 3,
        "repeat": 3,
        "agents": {"count": 6},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.1]},
        "engine": {"kind": "memory"},
        **SMALL.get(system, {}),
        **changes,
    }


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
    for name in systems.names():
        assert systems.get_system(name).bound is not NO_THEORY, name


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
