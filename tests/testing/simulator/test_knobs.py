"""Tests of constants that seeds turn."""

from importlib import import_module

import pytest

from posse.agent import process
from posse.engines import memory
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.testing.simulator.check import attempt, own_plan, result_of
from posse.testing.simulator.faults import InjectedFault
from posse.testing.simulator.knobs import KNOBS, draw_forwarded, draw_knobs, turned
from posse.testing.small import SMALL
from posse.wire import restraint, sockets


def knob(name: str, value: float) -> InjectedFault:
    return InjectedFault(what="knob", after=0, ends=(), knob=name, amount=value)


@pytest.mark.parametrize("name", KNOBS)
def test_each_is_a_number_in_the_code_and_may_be_another(name: str) -> None:
    module, _, constant = name.rpartition(".")
    own = getattr(import_module(module), constant)
    assert type(own) in (int, float)
    assert own not in KNOBS[name]
    assert all(type(own)(value) == value for value in KNOBS[name])


def test_a_turned_one_is_so_wherever_it_was_imported_to_and_only_within() -> None:
    modules = (sockets, process, restraint)
    own = sockets.PROBE_EVERY
    with turned([knob("posse.wire.sockets.PROBE_EVERY", 0.02)]):
        assert [vars(module)["PROBE_EVERY"] for module in modules] == [0.02] * 3
    assert [vars(module)["PROBE_EVERY"] for module in modules] == [own] * 3


def test_a_quarter_of_the_seeds_turns_some_and_says_which() -> None:
    drawn = [draw_knobs(seed) for seed in range(400)]
    assert 60 < sum(map(bool, drawn)) < 140
    seed = next(seed for seed, knobs in enumerate(drawn) if knobs)
    trial = attempt(own_plan(seed), seed)
    assert trial.faults[-len(drawn[seed]) :] == drawn[seed]
    again = attempt(own_plan(seed), seed, trial.faults)
    assert (again.violations, again.events) == (trial.violations, trial.events)


@pytest.mark.parametrize("name", sorted(KNOBS)[::6])
def test_a_run_without_faults_does_not_depend_on_it(name: str) -> None:
    for value in KNOBS[name]:
        assert attempt(own_plan(8), 8, [knob(name, value)]).violations == []


@pytest.mark.parametrize("name", SMALL)
def test_no_run_in_memory_depends_on_any(name: str) -> None:
    """With the most rewards read ahead or the fewest, say, one system had others summed."""
    plan = prepare({"system": name, **SMALL[name]})
    own = result_of(memory.run(plan, 0))
    for end in (0, -1):
        with turned([knob(each, values[end]) for each, values in KNOBS.items()]):
            assert result_of(memory.run(plan, 0)) == own


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(SMALL)))
@pytest.mark.parametrize("end", [0, -1])
def test_no_run_of_processes_depends_on_any(seed: int, end: int) -> None:
    knobs = [knob(each, values[end]) for each, values in KNOBS.items()]
    assert attempt(own_plan(seed), seed, knobs).violations == []


@pytest.mark.parametrize("name", ["ddp-mab", "private-ucb"])
def test_a_run_survives_as_much_where_agents_accept_no_connections(name: str) -> None:
    """Neighbours' frames are lost with either link to the coordinator, and with the coordinator."""
    plan = prepare({"system": name, **SMALL[name], "engine": {"durable": True}})
    forwarded = InjectedFault(what="forwarded", after=0, ends=(0, 1))
    for fault in (
        InjectedFault(what="lose", after=0, ends=(0, COORDINATOR), lasts=20.0, amount=0.2),
        InjectedFault(what="kill", after=60, ends=(1,), lasts=2.0),
        InjectedFault(what="kill", after=90, ends=(COORDINATOR,), lasts=2.0),
        InjectedFault(what="drop", after=60, ends=(1, COORDINATOR), lasts=8.0),
    ):
        trial = attempt(plan, 1, [fault, forwarded])
        assert trial.violations == []
        assert any(e.what == "came" and e.detail == "Forwarded" for e in trial.events)


def test_some_seeds_with_keys_have_agents_that_accept_no_connections() -> None:
    drawn = [draw_forwarded(seed, 4) for seed in range(200)]
    assert 50 < sum(map(bool, drawn)) < 120
    assert all(set(fault.ends) <= set(range(4)) for (fault,) in filter(None, drawn))
