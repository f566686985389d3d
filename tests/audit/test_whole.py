"""Whole audits: planted faults are found, what is honest is not refuted, pieces are kept."""

import pytest

from posse.audit.judge import Verdict
from posse.audit.whole import Audit
from posse.plan import prepare
from protocol.privacy import Neighbours
from tests.support.planted import planted

CASE = (Neighbours(levels=(1.0, 0.0)),)


def verdict(fault, runs=800, **more):
    found = Audit(plan=prepare(planted(fault)), runs=runs, jobs=1, cases=CASE, **more).verdict()
    assert isinstance(found, Verdict)
    return found


@pytest.mark.slow
def test_what_is_honest_is_not_refuted_and_its_epsilon_is_nearly_found():
    found = verdict("none", 2000)
    assert not found.refuted
    assert not found.overspent
    assert found.found > 0.6
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
        ("early", "agent 0's end"),
    ],
)
def test_planted_faults_are_refuted(fault, by):
    found = verdict(fault, 2000)
    assert found.refuted
    assert found.found > found.claimed == 1.0
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
