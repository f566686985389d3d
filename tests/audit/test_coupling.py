"""Twelve planted faults are found by coupled runs, in the field's own code; honest code passes."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from posse.agent.cooperative import PrivateMeans
from posse.agent.mase import DpMaseVoter
from posse.agent.players import UcbPrivate
from posse.agent.tree import TreeSums
from posse.arms import base
from posse.audit.coupling import coupled
from posse.durable.recording import RecordedNoise
from posse.plan import prepare
from posse.protocol.machine import Send
from posse.protocol.shared import SharedNoise
from posse.security.noise import FieldNoise

pytest.importorskip("pydp")

RING = {"kind": "ring"}
PATH = {"topology": {"kind": "path"}}
SYSTEMS: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    "dp-mase": (5, {"epsilon": 1.0}, {}),
    "private-ucb": (2, {"epsilon": 0.5, "horizon": 20}, PATH),
    "private-ucb, trees": (2, {"epsilon": 0.5, "horizon": 20, "releases": "trees"}, PATH),
    "adap-ucb": (2, {"epsilon": 1.0, "horizon": 60}, {}),
    "dp-ucb-int": (1, {"epsilon": 0.5, "horizon": 60}, {}),
    "tdfs-private": (2, {"epsilon": 1.0, "horizon": 30, "shared_sample": False}, {}),
    "tdfs-private-bound": (2, {"epsilon": 1.0, "horizon": 30, "shared_sample": False}, {}),
    "cdp-mab": (4, {"epsilon": 0.5, "horizon": 2000, "noise": "per_agent"}, {}),
    "ddp-mab": (3, {"epsilon": 0.5, "horizon": 2000, "noise": "per_agent"}, {"topology": RING}),
    "hdp-mab": (3, {"epsilon": 0.5, "horizon": 2000, "noise": "per_agent"}, {"topology": RING}),
    "single-mab": (1, {"epsilon": 0.5, "horizon": 4000}, {}),
}


def found(system, watched=0, **parameters):
    """What coupled runs find, and say; `watched`: by who reads so many agents, if any."""
    agents, given, more = SYSTEMS[system]
    plan = prepare({
        "system": system.partition(",")[0],
        "agents": {"count": agents},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.1]},
        "parameters": given | parameters,
        "engine": {"kind": "memory"},
        **more,
    })  # fmt: skip
    claim = plan.claim
    assert claim.epsilon is not None
    sees = "agent" if watched else claim.sees
    result = coupled(plan, sees, claim.epsilon, claim.delta or 0.0, watched or 1)
    assert result is not None
    return result


def replaced(monkeypatch, owner, name, made):
    """Replace a method by what `made` makes of it."""
    monkeypatch.setattr(owner, name, made(getattr(owner, name)))


def halved(noisy):
    return lambda self, values, sensitivity, scale: noisy(self, values, sensitivity, scale / 2)


def seeded_by_the_agents_number(monkeypatch, agents):
    made: Counter[str] = Counter()
    begin = FieldNoise.__init__

    def seeded(self):
        begin(self)
        self.generator = np.random.default_rng(made["agents"] % agents)
        made["agents"] += 1

    monkeypatch.setattr(FieldNoise, "__init__", seeded)
    monkeypatch.setattr(
        FieldNoise,
        "noisy",
        lambda self, values, s, scale: values + self.generator.laplace(0, scale, len(values)),
    )


def reused(noisy):
    def once(self, values, sensitivity, scale):
        if not hasattr(self, "kept"):
            self.kept = noisy(self, np.zeros(8), 1.0, 1.0)
        return values + scale * np.resize(self.kept, len(values))

    return once


def on_a_wrong_clip(rewards, clip):
    low, high = clip
    return (np.clip(rewards, low, high + 9 * (high - low)) - low) / (high - low)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_honest_is_not_accused_and_costs_no_more_than_claimed(system):
    result = found(system)
    assert result.violations == []
    assert result.noise == "FieldNoise"
    assert result.draws > 20


@pytest.mark.slow
def test_shared_noise_costs_what_is_claimed_and_half_of_it_twice_as_much(monkeypatch):
    pytest.importorskip("opendp")
    assert found("cdp-mab", noise="shared").violations == []
    for_all = property(lambda self: self.deviation / self.agents**0.5)
    monkeypatch.setattr(SharedNoise, "share", for_all)
    assert "by the noise that is asked for" in found("cdp-mab", noise="shared").violations[0]


@pytest.mark.slow
def test_shares_of_laplace_noise_are_judged_by_their_sums(monkeypatch):
    parameters = {"noise": "shared", "noise_law": "laplace"}
    assert found("cdp-mab", **parameters).violations == []
    polya = FieldNoise.polya
    monkeypatch.setattr(FieldNoise, "polya", lambda self, v, scale, n: polya(self, v, scale / 2, n))
    assert "not of the law" in str(found("cdp-mab", **parameters).violations)


@pytest.mark.parametrize("system", ["dp-mase", "tdfs-private", "adap-ucb"])
def test_halved_noise_is_found(monkeypatch, system):
    replaced(monkeypatch, FieldNoise, "noisy", halved)
    assert "not of the law that was asked for" in str(found(system).violations)


@pytest.mark.parametrize("system", ["dp-mase", "tdfs-private"])
def test_noise_seeded_by_the_agents_number_is_found(monkeypatch, system):
    seeded_by_the_agents_number(monkeypatch, SYSTEMS[system][0])
    assert "noise that another has too" in str(found(system).violations)


def test_who_watches_several_agents_learns_no_more_unless_their_noise_is_alike(monkeypatch):
    for watched in (1, 2, 5):
        honest = found("dp-mase", watched)
        assert honest.violations == []
        assert honest.cost == pytest.approx(1.0)  # ε
    seeded_by_the_agents_number(monkeypatch, 1)
    assert "noise that another has too" in str(found("dp-mase", 2).violations)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["private-ucb", "ddp-mab"])
def test_noise_reused_over_releases_is_found(monkeypatch, system):
    replaced(monkeypatch, FieldNoise, "noisy", reused)
    said = str(found(system).violations)
    # eight numbers that are always the same may be far from their law, which is said first
    assert "noise that another has too" in said or "not of the law" in said


@pytest.mark.parametrize("system", ["dp-mase", "private-ucb", "tdfs-private"])
def test_noise_on_a_wrong_clip_is_found(monkeypatch, system):
    monkeypatch.setattr(base, "rescale", on_a_wrong_clip)
    assert "the noise is sized for" in str(found(system).violations)


def test_a_last_release_without_noise_is_found(monkeypatch):
    def forgotten(release):
        def last(self, arm, n, row):
            mean = self.sums[row, arm] / n
            effects = release(self, arm, n, row)
            if n == self.releases[3]:
                self.sent_means[row, arm] = mean
            return effects

        return last

    replaced(monkeypatch, PrivateMeans, "release", forgotten)
    assert "raw rewards" in str(found("private-ucb").violations)


def test_a_last_release_that_the_ledger_lacks_is_found(monkeypatch):
    def forgotten(end):
        def last(self, sums):
            effects = end(self, sums)
            return effects[1:] if len(self.local) <= 1 else effects

        return last

    replaced(monkeypatch, DpMaseVoter, "_end_epoch", forgotten)
    assert "ledger lacks a release" in str(found("dp-mase").violations)


def test_a_raw_count_is_found(monkeypatch):
    def raw(release):
        def counted(self, arm, n, row):
            ones = self.sums[row, arm]
            effects = release(self, arm, n, row)
            self.sent_counts[row, arm] = n + ones
            return effects

        return counted

    replaced(monkeypatch, PrivateMeans, "release", raw)
    assert "follows raw rewards" in str(found("private-ucb").violations)


def test_new_noise_after_a_restart_is_found(monkeypatch):
    monkeypatch.setattr(RecordedNoise, "noisy", lambda self, *given: self._noise.noisy(*given))
    assert "started again" in found("adap-ucb").violations[-1]


def test_nodes_of_a_tree_that_are_drawn_twice_are_found(monkeypatch):
    def twice(grow):
        def again(self, item, level):
            grow(self, item, level)
            node = self.nodes[level]
            self.noisy[level] = (
                self.noisy[level] + self.noise.noisy(node, 1.0, self.scale)
            ) / 2  # fmt: skip

        return again

    replaced(monkeypatch, TreeSums, "_grow", twice)
    assert "by the noise that is asked for" in str(found("tdfs-private", counter="tree").violations)


@pytest.mark.parametrize(
    ("counted", "told"), [(True, "follows raw rewards"), (False, "")], ids=["raw", "noisy"]
)
def test_taking_part_by_raw_rewards_is_found(monkeypatch, counted, told):
    def some(end):
        def silent(self, sums):
            effects = end(self, sums)
            out = counted and sums.sum() > 1.2 * self.pulls
            return [e for e in effects if not (out and isinstance(e, Send))]

        return silent

    replaced(monkeypatch, DpMaseVoter, "_end_epoch", some)
    assert told in str(found("dp-mase").violations)


@pytest.mark.parametrize("system", ["private-ucb", "tdfs-private"])
def test_decisions_by_raw_sums_are_found(monkeypatch, system):
    if system == "private-ucb":
        monkeypatch.setattr(PrivateMeans, "own", lambda self: self.own_numbers)
    else:
        totals: Counter[Any] = Counter()

        def observed(self, arm, sample):
            totals[id(self), arm] += sample
            self.s = [totals[id(self), a] for a in range(self.arms)]
            self.sums.insert(arm, sample)
            n = self.n[arm] + 1
            self.n[arm], self.share[arm], self.width[arm] = n, 1 / n, 1 / np.sqrt(n)
            return self.sums.new_releases()

        monkeypatch.setattr(UcbPrivate, "observe", observed)
    assert "raw rewards" in str(found(system).violations)
