"""Planted faults are found by coupled runs, in the field's own code; honest code passes."""

import pytest

from tests.audit.plants import MECHANISMS, PLANTS, find, try_plant

pytest.importorskip("pydp")

FOUND = [
    ("noise-halved", "single-mab", "not of the law that was asked for"),
    ("noise-reused", "dp-mase", "noise that another has too"),
    ("wrong-clip", "dp-mase", "the noise is sized for"),
    ("last-forgotten", "cdp-mab", "follows raw rewards"),
    ("last-not-entered", "dp-mase", "ledger lacks a release"),
    ("raw-count", "private-ucb", "raw rewards"),
    ("new-after-restart", "single-mab", "started again"),
    ("drawn-twice", "adap-ucb", "ledger lacks a release"),
    ("taking-part", "dp-mase", "follows raw rewards"),
    ("raw-decides", "private-ucb", "raw rewards"),
    ("sized-half", "single-mab", "is claimed"),
    ("first-exact", "single-mab", "released without noise"),
    ("logs-uncut", "single-mab", "not cut to arms.clip"),
    ("unsafe-floats", "single-mab", "low bits"),
    ("fractions-count-more", "dp-mase", "is claimed"),
    ("complains-of-a-one", "dp-mase", "`Complaint` follows raw rewards"),
]
"""Each is found in a second or two; other pairs are tried as slow tests."""

MORE = [
    ("seeded-by-rank", "dp-mase", ""),
    ("sized-for-all", "cdp-gauss", "is claimed"),
    ("sized-for-all", "cdp-polya", "is claimed"),
    ("last-not-entered", "cdp-polya", "ledger lacks a release"),
    ("once-for-each-arm", "hdp-mab", "follows raw rewards"),
    ("round-2-half", "dp-mase", "is claimed"),
    ("scale-of-before", "adap-ucb", "is claimed"),
    ("rounded-before", "ddp-mab", ""),
    ("tree-too-shallow", "tdfs-tree", "is claimed"),
    ("last-agent-bare", "robust", ""),
    ("last-agent-half", "dp-mase", "agent 4 is not of the law"),
    ("two-coarse-draws", "single-mab", "not of the law"),
    ("last-agent-half", "cdp-polya", "agent 3 is not of the law"),
    ("between-two-agents", "dp-mase", "noise that another has too"),
    ("depends-on-before", "single-mab", "noise depends on"),
    ("cut-at-five-scales", "single-mab", "not of the law"),
    ("none-at-zero", "single-mab", "released without noise"),
    ("drawn-twice", "tdfs-tree", "is claimed"),
    ("new-after-restart", "cdp-gauss", "started again"),
]


@pytest.mark.parametrize(
    "mechanism",
    [
        name if name == "single-mab" else pytest.param(name, marks=pytest.mark.slow)
        for name in MECHANISMS
    ],
)
def test_what_is_honest_is_not_accused(mechanism):
    if mechanism == "cdp-gauss":
        pytest.importorskip("opendp")
    result = find(mechanism)
    assert result.violations == []
    assert result.noise == "FieldNoise"
    assert result.draws > 1_000
    assert result.cost > 0


@pytest.mark.parametrize(
    ("plant", "mechanism", "told"),
    [*FOUND, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in MORE)],
)
def test_a_planted_fault_is_found(plant, mechanism, told):
    if mechanism == "cdp-gauss":
        pytest.importorskip("opendp")
    word, violations = try_plant(plant, mechanism)
    assert word == "found"
    assert told in str(violations)


@pytest.mark.slow
def test_who_watches_several_agents_learns_no_more_unless_their_noise_is_alike():
    for watched in (1, 2, 5):
        honest = find("dp-mase", watched)
        assert honest.violations == []
        assert honest.cost == pytest.approx(1.0)  # ε
    _, violations = try_plant("between-two-agents", "dp-mase", watched=2)
    assert "noise that another has too" in str(violations)


def test_every_plant_is_tried():
    assert {plant for plant, *_ in FOUND + MORE} == PLANTS.keys()
