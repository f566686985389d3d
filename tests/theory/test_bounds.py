"""The theory's bounds: exact values by hand, and the runs of small systems below them."""

import math
from typing import Any

import numpy as np
import pytest

from posse import api, systems
from posse.plan import prepare
from posse.report import figures, read
from posse.results.directory import RunDirectory
from posse.theory import bounds
from protocol.federated import Schedule
from protocol.mase import epoch_length
from topologies import graphs

GAPS = np.array([0.0, 0.5, 0.25])


def test_ucb1_by_hand():
    # 8 log(e²) (2 + 4) + (1 + π²/3) (0.5 + 0.25)
    found = bounds.ucb1_regret(GAPS, np.array([math.e**2]))
    assert found == pytest.approx([96 + (1 + math.pi**2 / 3) * 0.75])


def test_private_cooperation_by_hand():
    # χ̄ = 2, M = 10, γ = 1, ε = .5: 2 · 8 · 6 log T + .75 (2 · 12 + 10 (2 + ζ(1.5)))
    found = bounds.private_cooperation_regret(
        GAPS, np.array([math.e]), cliques=2, agents=10, gamma=1, epsilon=0.5
    )
    assert found == pytest.approx([96 + 0.75 * (24 + 10 * (2 + 2.6123753486854883))])


def test_byzantine_cooperation_by_hand():
    # χ̄ = 2, M = 10, γ = 3, σ = .5, ε = .01, so 2σ sqrt ε = .1: 4σ² / .4² + 4σ² / .15²
    leading = 2 * (1 / 0.4**2 + 1 / 0.15**2)
    found = bounds.byzantine_cooperation_regret(
        GAPS, np.array([math.e]), cliques=2, agents=10, gamma=3, sigma=0.5, epsilon=0.01
    )
    assert found == pytest.approx([leading + (30 + 3 * 2 * 9) * 0.75])
    with pytest.raises(ValueError, match="every gap"):
        bounds.byzantine_cooperation_regret(
            GAPS, np.array([2.0]), cliques=2, agents=10, gamma=3, sigma=0.5, epsilon=0.0625
        )


@pytest.mark.parametrize(
    ("graph", "gamma", "cliques"),
    [
        (graphs.complete(6), 1, 1),
        (graphs.ring(6), 1, 3),
        (graphs.ring(6), 0, 6),
        (graphs.ring(6), 3, 1),
        (graphs.star(5), 1, 4),
        (graphs.star(5), 2, 1),
    ],
)
def test_cliques_of_small_graphs(graph, gamma, cliques):
    assert bounds.clique_cover(graph, gamma) == cliques


@pytest.mark.parametrize(("gap", "rounds"), [(1.0, 1), (0.5, 2), (0.25, 3), (0.3, 3), (0.2, 4)])
def test_rounds_of_elimination(gap, rounds):
    assert bounds.elimination_rounds(gap) == rounds


def _schedule(**more):
    return Schedule(arms=3, senders=4, horizon=1000, epsilon=100.0, **more)


def test_elimination_regret_by_hand():
    # without a privacy term S(r) = ⌈8 log(8 · 3 r² T) / (4 · 4^-r)⌉; r = 2 for .5 and 3 for .25
    s = [math.ceil(8 * math.log(24 * r * r * 1000) / (4 * 4.0**-r)) for r in (1, 2, 3)]
    t = np.array([10.0, 1e6])
    found = bounds.elimination_regret(GAPS, t, _schedule(), agents=4)
    assert found == pytest.approx([4 * 0.5 * 10, 4 * (0.5 * s[1] + 0.25 * s[2])])
    delayed = bounds.elimination_regret(GAPS, t, _schedule(), agents=4, delay=5)
    assert delayed - found == pytest.approx([0, 4 * 0.5 * 5 * 3])


def test_elimination_regret_of_few_rounds():
    schedule = _schedule(max_rounds=1, gap=0.25)
    s = math.ceil(8 * math.log(24 * 1000) / (4 * 0.25**2))
    found = bounds.elimination_regret(GAPS, np.array([1e6]), schedule, agents=4)
    assert found == pytest.approx([4 * 0.75 * s])


def test_samples_of_elimination_are_the_first_that_suffice():
    def width(t):
        return 4 * math.sqrt(math.log(10 * t * t / 0.05) / t)

    t = bounds.samples_of_elimination(0.2, 10, 0.05)
    assert width(t) <= 0.2 < width(t - 1)


def test_samples_of_epochs_by_hand():
    # gap .2: Δ_e = .5, .25, .125, so three epochs
    wanted = sum(epoch_length(10, e, 0.5, 0.1) for e in (1, 2, 3))
    assert bounds.samples_of_epochs(0.2, 10, 0.5, 0.1) == wanted
    # a gap of exactly 2^-e needs the next epoch: the test is strict
    assert bounds.samples_of_epochs(0.5, 10, 0.5, 0.1) == sum(
        epoch_length(10, e, 0.5, 0.1) for e in (1, 2)
    )


@pytest.mark.parametrize(("votes", "rounds"), [(29, 114_098), (18, 113_535), (11, 112_908)])
def test_rounds_of_votes_against_known_values(votes, rounds):
    # T_η = 1700, N = 64, a = 1/2
    assert bounds.rounds_of_votes(1700, 64, votes, 0.5) == pytest.approx(rounds, abs=1)


def test_rounds_of_votes_against_a_simulation():
    generator = np.random.default_rng(5)
    samples, agents, votes, confidence = 40, 64, 3, 0.9
    rounds = bounds.rounds_of_votes(samples, agents, votes, confidence)
    active = generator.multinomial(int(rounds), [1 / agents] * agents, size=10_000)
    done = (active[:, :votes] >= samples).all(axis=1).mean()
    # the standard error is .003; at a fixed number of rounds the counts vary by 1/N less
    assert done == pytest.approx(confidence, abs=0.02)


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
        assert systems.get_system(name).bound.__name__ != "no_bound", name


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
    RunDirectory(tmp_path, spec).complete(api.run(spec))
    return figures.regret([read.read(tmp_path)])


def test_the_bound_is_drawn_dashed_and_kept_in_the_table(tmp_path):
    chart = _report(tmp_path, system="cdp-mab")
    assert "Dashed: theory, on the event E_R, " in chart.caption
    assert "stroke-dasharray" in chart.svg
    told = [row for row in chart.rows if row[0] == "theory, on the event E_R"]
    spec = prepare(_raw("cdp-mab"))
    bound = spec.bound(0)
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
