"""Failures that were seen once, each as faults of a simulated run."""

import msgspec
import pytest

from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR
from posse.testing.simulator.check import attempt, own_plan
from posse.testing.simulator.faults import (
    FaultKind,
    InjectedFault,
    KeyFault,
    TrialSetting,
    draw_mode,
    draw_of_keys,
)
from posse.testing.simulator.field import field_plan
from posse.testing.small import SMALL


def durable(name: str) -> Plan:
    return prepare({"system": name, **SMALL[name], "engine": {"durable": True}})


def fault(
    what: FaultKind | KeyFault | TrialSetting,
    after: int,
    *ends: int,
    lasts: float,
    amount: float = 0,
) -> InjectedFault:
    return InjectedFault(what=what, after=after, ends=ends, lasts=lasts, amount=amount)


def later(after: InjectedFault, seconds: float) -> InjectedFault:
    return msgspec.structs.replace(after, later=seconds)


SEEN = {
    "everything stood still longer than the deadline": (
        durable("private-ucb"),
        fault("stop", 300, COORDINATOR, *range(6), lasts=200.0),
    ),
    "everything stood still while agents asked to join, and their clocks in that are old": (
        durable("private-ucb"),
        fault("stand still", 3, COORDINATOR, *range(6), lasts=98.4),
    ),
    "a link comes back in the second in which the run would end": (
        durable("private-ucb"),
        fault("drop", 300, 1, 2, lasts=59.5),
    ),
    "packets were dropped in silence for 40 s": (
        durable("cdp-mab"),
        fault("drop", 100, COORDINATOR, 2, lasts=40.0),
    ),
    "packets were dropped for so long that the system asks for a connection each minute": (
        durable("independent"),
        fault("drop", 18, COORDINATOR, 0, lasts=97.5),
    ),
    "slow arms, so that a run takes longer than its deadline": (
        durable("private-ucb"),
        fault("slow arms", 0, 2, lasts=100.0, amount=2.0),
    ),
    "an agent's disk is full during a run": (
        durable("private-ucb"),
        fault("disk full", 300, 2, lasts=8.0),
    ),
    "an agent's disk breaks before its first run": (
        durable("private-ucb"),
        fault("disk error", 20, 2, lasts=8.0),
    ),
    "a twentieth of all frames is lost while agents join": (
        durable("cdp-mab"),
        fault("lose", 0, COORDINATOR, 1, lasts=25.0, amount=0.05),
    ),
    "frames of two agents are lost for a whole run": (
        durable("private-ucb"),
        fault("lose", 0, 1, 2, lasts=1e4, amount=0.3),
    ),
}


OF_SEEDS = {
    "packets of one direction were dropped, and no heartbeat there was answered": (
        302386,
        [fault("drop one way", 243, 4, 5, lasts=87.422)],
    ),
    "a full disk ended the coordinator once, and a slow one outlasted the run": (
        302060,
        [
            fault("slow disk", 95, COORDINATOR, lasts=23.576, amount=0.0071),
            fault("disk full", 150, COORDINATOR, lasts=8.703),
        ],
    ),
    "the coordinator's machine lost its power when all agents had been let go": (
        311531,
        [fault("power off", 450, COORDINATOR, lasts=20.712)],
    ),
    "a coordinator was killed just after a second one was started": (
        190,
        [
            fault("kill", 85, COORDINATOR, 0, 1, 2, lasts=0.193),
            fault("second coordinator", 85, COORDINATOR, lasts=0.011),
        ],
    ),
    "the coordinator's machine lost its power when some agents had been let go": (
        320498,
        [fault("power off", 177, COORDINATOR, lasts=6.0)],
    ),
    "a severed connection should have been noticed while its machine stood still": (
        321288,
        [
            fault("move", 12, 1, lasts=0.0),
            fault("drop", 41, 0, COORDINATOR, lasts=0.003),
            fault("stand still", 42, COORDINATOR, 0, 1, 2, lasts=10.382),
        ],
    ),
    "a disk was full for a shorter time than the coordinator took to end of it": (
        320667,
        [fault("disk full", 21, COORDINATOR, lasts=0.005)],
    ),
    "an older journal said again, to the byte, what the newer one had said": (
        311747,
        [
            fault("duplicate", 314, COORDINATOR, 5, lasts=2.104, amount=0.0406),
            fault("disk error", 369, 3, lasts=23.321),
            fault("journal older", 500, 1, lasts=0.005),
        ],
    ),
    "an agent's question after a restart from an older journal was lost, and nobody was named": (
        2002585,
        [
            fault("queue full", 160, 3, 2, lasts=26.864),
            later(fault("journal older", 160, 2, lasts=3.471), 0.9623),
        ],
    ),
    "an agent left with exit code 0 whose last word nobody had confirmed": (
        4000718,
        [
            fault("drop one way", 104, 0, COORDINATOR, lasts=29.906),
            later(fault("out of patience", 104, 0, lasts=6.676, amount=0.9406), 6.6465),
        ],
    ),
    "the end of one stop let a machine go on that stood still": (
        2003811,
        [
            fault("stop", 280, COORDINATOR, lasts=0.783),
            later(fault("stand still", 280, COORDINATOR, 0, 1, lasts=13.0), 0.0217),
        ],
    ),
    "an agent was killed before the run began, which others cannot go on with": (
        2001369,
        [fault("kill", 4, 0, lasts=16.8), fault("stop", 16, 2, lasts=0.549)],
    ),
    "another program answered an agent that was not let in yet, until it left": (
        9100177,
        [fault("wrong answers", 0, 2, COORDINATOR, lasts=6.826)],
    ),
    "an agent moved before its arrival, which says where it was, had come": (
        202606937,
        [fault("move", 73, 3, lasts=0.0)],
    ),
    "an agent moved so while frames came twice": (
        202604906,
        [
            fault("slow arms", 58, 5, lasts=0.496, amount=0.8481),
            later(fault("move", 58, 5, lasts=0.0), 0.2491),
        ],
    ),
    "a link was down when the agents of another coordinator began, and no agent said so": (
        202601764,
        [
            fault("coordinator replaced", 777, COORDINATOR, lasts=0.007),
            fault("drop one way", 704, 5, 0, lasts=1e6),
        ],
    ),
    "a link was cut while the coordinator was away before a run": (
        202603547,
        [
            fault("disk full", 108, COORDINATOR, lasts=4.492),
            fault("cut", 152, 3, 4, lasts=1e6),
        ],
    ),
    "each answer of an agent waited 60 s for room in the queue to its coordinator": (
        202604265,
        [fault("queue full", 242, 5, COORDINATOR, lasts=1e6)],
    ),
    "an agent that waited for room in a queue answered all questions of that time": (
        202603186,
        [
            fault("out of patience", 160, 2, lasts=0.54, amount=1.9669),
            later(fault("slow disk", 160, 2, lasts=2.268, amount=0.1792), 0.3936),
            fault("queue full", 276, 2, COORDINATOR, lasts=1e6),
        ],
    ),
    "the slowest agent was blamed for another that did not answer": (
        202603261,
        [
            fault("stop", 167, 2, lasts=2.483),
            later(fault("slow disk", 186, 4, lasts=15.735, amount=0.1807), 0.0002),
            fault("queue full", 507, 2, 3, lasts=1e6),
        ],
    ),
    "all agents shared a process whose disk was full, and none was named": (
        202606575,
        [
            fault("journal flipped", 100, 2, lasts=24.085),
            fault("disk full", 25, 1, lasts=1e6),
        ],
    ),
    "an agent ran out of patience twice at once": (
        202601764,
        [
            fault("out of patience", 100, 1, lasts=5.0, amount=1.0),
            later(fault("out of patience", 100, 1, lasts=3.0, amount=1.0), 1.0),
        ],
    ),
    "two runs of one number in a capture, as another coordinator began anew over other rewards": (
        202606799,
        [
            fault("restart elsewhere", 140, 3, lasts=0.1),
            later(fault("coordinator replaced", 140, COORDINATOR, lasts=4.222), 0.0005),
            fault("out of patience", 151, 1, lasts=0.018, amount=8.8985),
        ],
    ),
    "who accepts no connections lost a link whose other end has nothing to see": (
        64013407,
        [
            fault("drop one way", 603, 0, 5, lasts=23.4),
            fault("forwarded", 0, 0, lasts=0.0),
        ],
    ),
    "who accepts no connections was started again elsewhere": (
        64014585,
        [
            fault("restart elsewhere", 465, 5, lasts=0.018),
            fault("forwarded", 0, 0, 1, 2, 3, 4, 5, lasts=0.0),
        ],
    ),
    "a neighbour that the run goes on without asked for what it had missed": (
        202602286,
        [
            fault("journal lost", 345, 1, lasts=0.478),
            fault("journal torn", 804, 0, lasts=6.274),
            fault("queue full", 164, 3, 2, lasts=1e6),
        ],
    ),
    "a coordinator was killed for ever, and the one in its place carried the run": (
        203004918,
        [
            later(fault("coordinator replaced", 100, COORDINATOR, lasts=18.288), 1.236),
            fault("kill", 107, COORDINATOR, lasts=1e6),
        ],
    ),
    "an agent moved as it was configured, and its old `Ready` passed for one of its new setup": (
        203003627,
        [fault("move", 145, 4, lasts=0.0)],
    ),
    "the simulator's own file of a socket was removed by way of a disk that was broken": (
        203010091,
        [
            fault("journal flipped", 132, COORDINATOR, lasts=17.597),
            fault("disk error", 50, COORDINATOR, lasts=1e6),
        ],
    ),
    "the last agent's key was revoked just before neighbours were told the keys": (
        203017238,
        [
            fault("coordinator replaced", 31, COORDINATOR, lasts=21.245),
            fault("revoked key", 101, 5, lasts=8.686),
        ],
    ),
    "a coordinator that waited for a reader said goodbye to whose key was revoked meanwhile": (
        203020536,
        [
            fault("queue full", 49, COORDINATOR, 0, lasts=1e6),
            fault("revoked key", 132, 2, lasts=24.309),
        ],
    ),
    "configured anew, an agent did not say again that a link was down": (
        203017417,
        [
            fault("drop one way", 22, 3, 2, lasts=40.458),
            later(fault("out of patience", 22, 2, lasts=3.037, amount=0.821), 5.9682),
        ],
    ),
}


@pytest.mark.parametrize("seed", [203015825, 203016166, 203018807, 50066, 50071, 7067])
def test_a_seed_that_failed_once_by_what_it_draws(seed: int) -> None:
    """A head of whose key was revoked; a group all of which is killed, each then by itself; an
    agent whose capture has no disk for a moment, or whose ledger no locks; a second run that never
    begins, as an agent is lost before it; a `Begin` that is sent again, and begins no run."""
    assert attempt(own_plan(seed), seed).violations == []


@pytest.mark.parametrize("seed", [203011235, 203011455])
def test_a_seed_that_turned_how_many_rewards_are_read_ahead(seed: int) -> None:
    """Of `parallel-ucb`, whose sums follow from that; no other system's do."""
    assert attempt(own_plan(seed), seed).violations == []


@pytest.mark.parametrize("name", OF_SEEDS)
def test_a_seed_that_failed_once(name: str) -> None:
    seed, faults = OF_SEEDS[name]
    assert attempt(own_plan(seed), seed, faults).violations == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEN)
def test_a_run_ends_as_if_it_had_not_been(name: str) -> None:
    plan, *faults = SEEN[name]
    assert attempt(plan, 0, faults).violations == []


@pytest.mark.slow
def test_no_agent_is_lost_on_a_star_where_half_of_all_frames_are() -> None:
    name = "byzantine-ucb"
    longer = {"parameters": {"horizon": 300}, "engine": {"deadline": 10.0}}
    plan = prepare({"system": name, **SMALL[name], "topology": {"kind": "star"}, **longer})
    links = [(0, rank) for rank in range(1, 6)] + [(COORDINATOR, rank) for rank in range(6)]
    lost = [fault("lose", 0, *ends, lasts=1e4, amount=0.49) for ends in links]
    assert attempt(plan, 1, lost).violations == []


@pytest.mark.parametrize("what", ["move", "restart elsewhere"])
def test_neighbours_learn_the_new_address_of_an_agent(what: FaultKind) -> None:
    trial = attempt(durable("private-ucb"), 0, [fault(what, 300, 2, lasts=7.0)])
    assert trial.violations == []
    told = {
        event.source
        for event in trial.events
        if "agent 2 is now reached at tcp://127.1.2." in event.detail
    }
    assert told == {COORDINATOR, 1, 3}


@pytest.mark.parametrize("seed", [1, 8])
def test_a_second_coordinator_is_refused_twice_and_the_run_goes_on(seed: int) -> None:
    """At a port, and at a file, which ZeroMQ would have taken over in silence."""
    assert draw_mode(seed) == ("here" if seed == 8 else "apart")
    trial = attempt(field_plan("cdp-mab"), seed, [fault("second coordinator", 60, -1, lasts=3.0)])
    assert trial.violations == []
    said = sorted(e.detail for e in trial.events if e.what == "a second ends")
    assert len(said) == 2
    assert "is in use" in said[0] + said[1]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_coordinator_that_knows_nothing_begins_no_second_run_of_the_field(seed: int) -> None:
    replaced = fault("coordinator replaced", 60, COORDINATOR, lasts=30.0)
    assert attempt(field_plan("cdp-mab"), seed, [replaced]).violations == []


@pytest.mark.parametrize("what", ["journal lost", "journal torn", "journal older"])
@pytest.mark.parametrize("rank", [COORDINATOR, 1])
def test_a_damaged_journal_of_the_field_costs_no_second_run(what: FaultKind, rank: int) -> None:
    """The loss is said, everything ends, and each ledger has one run."""
    trial = attempt(field_plan("cdp-mab"), 150, [fault(what, 150, rank, lasts=1.0)])
    assert trial.violations == []


def test_an_agent_that_was_killed_as_it_asked_to_join_joins_when_it_is_started_again() -> None:
    """The coordinator read that the connection was lost, then the question that came over it."""
    trial = attempt(field_plan("cdp-mab"), 200063, [fault("kill", 2, 0, lasts=3.252)])
    assert trial.violations == []


def test_a_coordinator_s_older_journal_is_named() -> None:
    trial = attempt(durable("central"), 1, [fault("journal older", 150, COORDINATOR, lasts=0.05)])
    assert trial.violations == []
    texts = " ".join(event.detail for event in trial.events)
    assert "the coordinator's journal is a copy of an earlier one, or torn" in texts


def test_an_agent_that_stood_still_for_three_handshakes_is_let_in_by_its_own_key_again() -> None:
    """The next attempts were made with the key of another neighbour, for ever."""
    seed = 2
    assert draw_of_keys(seed, 6, 100) is not None
    stop = fault("stop", 418, 2, lasts=40.0)
    trial = attempt(durable("cooperative-ucb"), seed, [stop])
    assert trial.violations == []
    assert any("tries ever less often" in event.detail for event in trial.events)


@pytest.mark.parametrize("what", ["restart elsewhere", "out of patience"])
def test_who_is_started_again_before_its_loss_is_noticed_is_let_in(what: FaultKind) -> None:
    """Without keys another agent seems to have its rank."""
    plan = durable("cdp-mab")
    trial = attempt(plan, 2, [fault(what, 66, 0, lasts=0.5, amount=0.2)])
    assert trial.violations == []


def test_an_agent_whose_queue_is_full_for_longer_than_it_waits_asks_again() -> None:
    full = fault("queue full", 145, 3, COORDINATOR, lasts=78.959)
    assert attempt(field_plan("anonymous"), 15917, [full]).violations == []


@pytest.mark.parametrize("ends", [(COORDINATOR, 1), (0, 1)])
@pytest.mark.parametrize("name", ["private-ucb", "ddp-mab"])
def test_another_program_at_an_address_for_six_seconds_costs_nothing(
    name: str, ends: tuple[int, int]
) -> None:
    """ZeroMQ itself tries no more after most such answers."""
    for seed in (4, 5):
        trial = attempt(durable(name), seed, [fault("wrong answers", 100, *ends, lasts=6.0)])
        assert trial.violations == []
        assert any(event.what == "wrong answer" for event in trial.events)
