"""Whole audits: planted faults are found, what is honest is not refuted, pieces are kept."""

import re
import tomllib
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from posse.audit import trials
from posse.audit.event import ViewTable
from posse.audit.judge import AuditVerdict, judge
from posse.audit.neighbours import propose_cases
from posse.audit.whole import Audit, choose_numbers
from posse.errors import SpecError
from posse.plan import prepare
from posse.protocol.privacy import Neighbours
from posse.security import noise
from posse.security.noise import AuditedNoise
from tests.support.planted import planted
from tests.support.runfile import describe_run

ROOT = Path(__file__).parents[2]
CASE = (Neighbours(levels=(1.0, 0.0)),)


def verdict(fault, runs=800, **more):
    found = Audit(plan=prepare(planted(fault)), runs=runs, jobs=1, cases=CASE, **more).verdict()
    assert isinstance(found, AuditVerdict)
    return found


def test_what_is_always_the_same_or_a_copy_tells_nothing_more():
    names = ("said to 0", "said to 1", "always", "other")
    one = ViewTable(names, np.array([[1.0, 1, 7, 3], [np.nan, np.nan, 7, 3]]))
    two = ViewTable(names, np.array([[2.0, 2, 7, 4], [1, 1, 7, np.nan]]))
    assert choose_numbers((one, two)) == ("said to 0", "other")


def test_of_too_many_numbers_those_are_kept_whose_means_differ_most():
    names = tuple(map(str, range(300)))
    rows = np.random.default_rng(0).normal(size=(2, 50, 300))
    rows[1, :, 299] += 5
    kept = choose_numbers((ViewTable(names, rows[0]), ViewTable(names, rows[1])))
    assert len(kept) == 256
    assert "299" in kept


def test_runs_that_were_cut_count_against_the_bound():
    (one, other) = (ViewTable(("said",), np.full((40, 1), side)) for side in (1.0, 0.0))
    whole = judge((one, other), (one, other), 0.1)
    assert (whole.hits, whole.others, whole.trials, whole.cut) == (40, 0, 40, 0)
    less = judge((one, other), tuple(replace(table, cut=5) for table in (one, other)), 0.1)
    assert (less.hits, less.others, less.trials, less.cut) == (40, 5, 45, 10)
    assert whole.lower_bound > less.lower_bound > 0


def test_an_audit_says_beforehand_how_long_it_takes_at_most():
    plan = prepare(planted("none"))
    said = Audit(plan=plan, runs=800, jobs=1, cases=CASE).forecast
    assert re.fullmatch(r"at most about 2,000 runs of \S+ s: .+ at most, and [0-9,]+ MB", said)


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


def test_data_sets_of_ones_own_for_sums_differ_in_who_has_what_unless_epsilon_is_asked_for():
    plan = anonymous()
    (tried,) = Audit(plan=plan, cases=CASE).tried
    assert tried.grouped
    assert tried.levels == CASE[0].levels
    assert Audit(plan=plan, cases=CASE, epsilon=1.0).tried == list(CASE)


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


@pytest.mark.parametrize(
    ("watched", "sees", "said"),
    [
        (2, "messages", "does not apply to what is seen, which is 'messages'"),
        (4, "agent", "is 4; there are 3 agents"),
        (0, "agent", "is 0; there are 3 agents"),
    ],
)
def test_as_many_agents_are_watched_as_there_are(watched, sees, said):
    plan = prepare(planted("none") | {"agents": {"count": 3}})
    with pytest.raises(SpecError, match=f"--watched: {said}"):
        Audit(plan=plan, sees=sees, watched=watched).require()


def test_an_audit_that_can_never_refute_says_so_before_it_starts():
    plan = prepare(
        describe_run(
            "private-ucb",
            6,
            [0.9, 0.5, 0.1],
            variant="printed",
            topology="ring",
            parameters={"epsilon": 0.5, "horizon": 60},
            engine="memory",
        )
    )
    audit = Audit(plan=plan, runs=2_000)
    assert audit.hopeless == (
        "2,000 runs can never refute this claim: they show at most ε = 5.24, and 7.013 is claimed; "
        "--runs 11840 could"
    )
    assert Audit(plan=plan, runs=11_840).hopeless == ""
    small = Audit(plan=plan, runs=60, epsilon=3.0, noise="python-dp")
    assert small.hopeless.endswith("could, and guessing canaries may")


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


def test_nothing_is_judged_where_nothing_is_seen():
    with pytest.raises(SpecError, match="--sees: is 'agent', which shows nothing of random-p"):
        Audit(plan=players("random-player"), runs=100, sees="agent").verdict()
    # without privacy it is not said how much, and pulls are what tells
    assert players("tdfs-ucb").claim.sees == "pulls"


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
