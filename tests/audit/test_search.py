"""Drawn data sets, losses and lies find faults of kinds that no list has; what is honest passes."""

import math

import msgspec
import pytest

from posse.audit import replay
from posse.audit.search import SearchTask, carry_out
from posse.protocol import control
from tests.audit.plants import MECHANISMS, plan_of
from tests.audit.searched import SEARCHED, seek

pytest.importorskip("pydp")

QUICK = {
    "field-wired-to-lab": "ask their source of noise for nothing",
    "half-in-the-field": "is claimed",
    "features-named": "`sums[0]` of agent 0's first `LinearSums` follows raw rewards",
    "ledger-is-late": "its ledger knows of 0",
    "link-lost-by-luck": "`Linked` follows raw rewards",
    "statement-of-a-sum": "`Attested` follows raw rewards",
}
"""Each is found in the first few tries, in a second; the others are tried as slow tests."""

MOST = 150
"""Tries of a search: minutes."""


def _needs(mechanism):
    if mechanism.startswith("cdp"):
        pytest.importorskip("opendp")


@pytest.mark.parametrize(
    "plant",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SEARCHED],
)
def test_a_fault_that_no_list_names_is_found(plant):
    _needs(SEARCHED[plant][0])
    found = seek(plant, MOST)
    assert found.violations
    assert QUICK.get(plant, "") in found.violations[0]


@pytest.mark.parametrize(
    "mechanism",
    [
        name if name == "linear" else pytest.param(name, marks=pytest.mark.slow)
        for name in MECHANISMS
    ],
)
def test_what_is_honest_is_not_accused(mechanism):
    _needs(mechanism)
    found = seek("honest", 5, mechanism)
    assert found.violations == []
    assert found.tries == 5
    assert found.dearest <= 1 + 1e-6
    assert sum(found.tried.values()) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_hundred_honest_audits_accuse_nobody(mechanism):
    """Five of each of 20 mechanisms, by other numbers than above."""
    _needs(mechanism)
    assert len(MECHANISMS) == 20
    found = [seek("honest", 2, mechanism, first) for first in range(100_000, 100_050, 10)]
    assert [one.violations for one in found] == [[]] * 5


def of_linear():
    """A search of a minute."""
    plan = plan_of("linear")
    return SearchTask(
        document=msgspec.msgpack.encode(plan.spec),
        sees=plan.claim.sees,
        watched=1,
        claimed=plan.claim.epsilon,
        delta=0.0,
        first=1,
        stride=2,
        seconds=60.0,
    )


def test_a_search_ends_in_the_middle_of_a_try(monkeypatch):
    looks: list[float] = []

    def clock():
        looks.append(math.inf if len(looks) == 200 else 0.0)
        return looks[-1]

    monkeypatch.setattr(replay, "monotonic", clock)
    found = carry_out(of_linear())
    assert looks[-1] == math.inf
    assert len(looks) == 201
    assert found.tries >= 1
    assert found.violations == []


def test_a_search_is_repeated_by_its_numbers_and_stops_at_its_budget():
    task = of_linear()
    one, other = (carry_out(task, most=4) for _ in range(2))
    assert (one.tries, one.tried, one.dearest) == (other.tries, other.tried, other.dearest)
    assert one.violations == []
    assert carry_out(msgspec.structs.replace(task, seconds=0.0)).tries == 0
    assert one.says.startswith("4 drawn data sets in ")
    assert one.says.endswith("fewer than 100 show little, so give it more seconds (--search)")


def test_a_message_says_what_its_fields_may_follow():
    assert not control.Complaint.follows
    given = {kind.__name__ for kind in control.Given.__subclasses__()}
    assert given == {"Ready", "Configure", "Begin", "Stop"}
    assert {kind.__name__ for kind in control.Unclaimed.__subclasses__()} == {
        *("Due", "Advance", "SlotReached", "AgentStanding", "Report", "ReportRows")
    }
