"""Whole audits: planted faults are found, what is honest is not refuted, pieces are kept."""

import re
import tomllib
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from posse.audit import trials
from posse.audit.judge import AuditVerdict
from posse.audit.neighbours import propose_cases
from posse.audit.whole import Audit
from posse.plan import prepare
from posse.protocol.privacy import Neighbours
from posse.security import noise
from posse.security.noise import AuditedNoise
from tests.support.conversations import examples
from tests.support.planted import planted
from tests.support.runfile import describe_run

ROOT = Path(__file__).parents[2]
CASE = (Neighbours(levels=(1.0, 0.0)),)


def verdict(fault, runs=800, **more):
    found = Audit(plan=prepare(planted(fault)), runs=runs, jobs=1, cases=CASE, **more).verdict()
    assert isinstance(found, AuditVerdict)
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["README.md", "examples/first_ride.toml", ""])
def test_the_documents_first_runs_are_audited_by_default(name):
    raw = describe_run("dp-mase", 8, [0.7, 0.4], parameters={"epsilon": 1.0})
    if name.endswith(".md"):
        raw = tomllib.loads(re.findall(r"```toml\n(.*?)```", (ROOT / name).read_text(), re.S)[0])
    elif name:
        raw = tomllib.loads((ROOT / name).read_text())
    plan = prepare(raw | {"engine": {"kind": "memory"}})
    found = Audit(plan=plan, noise=noise.names()).document()
    assert found.word == "not refuted"
    assert found.one_run is not None
    assert found.one_run.power > 0.98


@pytest.mark.slow
def test_what_a_ledger_adds_up_to_beyond_what_is_tested_is_a_finding():
    plan = prepare(
        describe_run("dp-mase", 5, [0.9, 0.1], parameters={"epsilon": 4.0}, engine="memory")
    )
    small, whole = (
        Audit(plan=plan, runs=60, jobs=1, cases=CASE, epsilon=epsilon).document()
        for epsilon in (0.01, None)
    )
    rows = dict(small.rows)
    assert rows["done"].endswith(", claimed ε = 0.01")
    assert rows["overspent"].endswith(", more than 0.01")
    assert small.finding
    said = dict(whole.rows)["done"]
    assert said.startswith("Not refuted: ε is at least ")
    assert said.endswith(", claimed ε = 4")
    assert not whole.finding


def players(system, **parameters):
    """Two players, two arms, three slots."""
    given = {"horizon": 3, **parameters}
    return prepare(describe_run(system, 2, [0.9, 0.1], parameters=given, engine="memory"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        players("random-player"),
        players("tdfs-private", epsilon=0.1, shared_sample=False),
    ],
    ids=["random-player", "tdfs-private"],
)
def test_what_players_see_of_arms_is_no_part_of_what_others_see(plan):
    case = Neighbours(levels=(0.0, 0.0))
    found = Audit(plan=plan, runs=100, jobs=1, cases=(case,)).verdict()
    assert isinstance(found, AuditVerdict)
    assert not found.refuted


def anonymous(**parameters):
    """Six users, two arms, so that users 0 and 1 are often in two groups."""
    given = {"horizon": 12, "group_size": 2, **parameters}
    run = describe_run("explore-then-commit", 6, [0.9, 0.1], parameters=given, engine="memory")
    return prepare(run)


@pytest.mark.slow
@pytest.mark.parametrize(("aggregation", "runs"), [("masked", 200), ("sink", 800)])
def test_honest_sums_over_groups_are_not_refuted_wherever_users_are_grouped(aggregation, runs):
    plan = anonymous(aggregation=aggregation)
    found = Audit(plan=plan, runs=runs, jobs=1, cases=propose_cases(plan)[:1]).verdict()
    assert isinstance(found, AuditVerdict)
    assert not found.refuted
    assert found.claimed == 0


@pytest.mark.parametrize(("alike", "watched", "refuted"), [
    (False, 2, False),
    (True, 1, False),
    (True, 2, True),
], ids=["honest", "one alone", "two alike"])  # fmt: skip
def test_who_watches_two_agents_finds_noise_that_both_have(monkeypatch, alike, watched, refuted):
    pytest.importorskip("pydp")
    made = count()

    class Seeded(AuditedNoise):
        def __init__(self):
            number = next(made)
            self.generator = np.random.default_rng(number // 3 if alike else number)

        def noisy(self, values, sensitivity, scale):
            return values + self.generator.laplace(0, scale, len(values))

    monkeypatch.setattr(trials, "AuditedNoise", Seeded)
    plan = prepare(planted("none") | {"agents": {"count": 3}})
    audit = Audit(
        plan=plan, runs=100, jobs=1, cases=CASE, sees="agent", watched=watched, noise="seeded"
    )
    found = audit.verdict()
    assert isinstance(found, AuditVerdict)
    assert found.refuted == refuted
    assert ("agent 1" in found.words) == refuted


@pytest.mark.slow
def test_canaries_are_guessed_instead_of_counted_where_that_takes_fewer_runs():
    pytest.importorskip("pydp")
    given = {"epsilon": 1.0, "horizon": 2000, "noise": "per_agent"}
    plan = prepare(describe_run("cdp-mab", 4, [0.9, 0.5, 0.1], parameters=given, engine="memory"))
    found = Audit(plan=plan, noise="python-dp").document()
    assert found.word == "not refuted"
    assert found.verdict is None
    assert found.one_run is not None
    assert found.one_run.runs < 100  # counting takes 8,000 and those that choose the data sets
    rows = dict(found.rows)
    assert rows["guessed"].startswith("ε is at least 0.")
    assert rows["power"].startswith("twice the claimed ε would show with probability ")


@pytest.mark.slow
def test_what_is_honest_is_not_refuted_and_its_epsilon_is_nearly_found():
    found = verdict("none", 2000)
    assert not found.refuted
    assert not found.overspent
    assert found.lower_bound > 0.6
    assert found.words.startswith("`value` of agent 0's first `Told` ")
    assert found.needed
    assert found.needed < 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "by"),
    [
        ("half", "`value` of agent 0's first `Told`"),
        ("twice", "`value` of agent 0's "),
        ("longer", "`length of note` of agent 0's first `Told`"),
        ("other", "`hash of note` of agent 0's first `Told`"),
        ("early", "agent 0's end"),
    ],
)
def test_planted_faults_are_refuted(fault, by):
    found = verdict(fault, 2000)
    assert found.refuted
    assert found.lower_bound > found.claimed == 1.0
    assert by in found.words
    assert found.overspent is (fault in ("half", "twice"))


@pytest.mark.slow
def test_pieces_are_kept_and_give_the_same_verdict_again(tmp_path):
    before: list[bool] = []
    first = verdict("early", 200, folder=tmp_path, done=before.append)
    assert not any(before)
    again = verdict("early", 200, folder=tmp_path, done=before.append)
    assert first == again
    assert before == [False] * (len(before) // 2) + [True] * (len(before) // 2)
    audit = Audit(plan=prepare(planted("early")), runs=200, cases=CASE)
    assert audit.pieces == len(before) // 2


@examples(Path(__file__).with_name("whole.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
