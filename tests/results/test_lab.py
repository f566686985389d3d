"""What agents report of themselves becomes part of a run's record."""

from dataclasses import replace
from typing import Any

from posse.engines.processes import ProcessEngine
from posse.protocol.machine import AgentEffects, AgentEvent, Started, Stopwatch
from posse.system import get_system
from posse.system.shapes import Alone
from tests.support.runs import spec


class Timed:
    """An agent that also takes the time."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        effects = self._machine.handle(event, now)
        if isinstance(event, Started):
            return [Stopwatch("begin", True), *effects, Stopwatch("begin", False)]
        return effects


SINGLE = get_system("single-mab")
SYSTEM = replace(SINGLE, shape=Alone(lambda context: Timed(SINGLE.agent.make(context))))


def test_what_agents_took_the_time_of_is_there_also_where_no_message_was_sent() -> None:
    plan = spec(f"{__name__}:SYSTEM", 3, parameters={"horizon": 100, "epsilon": 1.0})
    with ProcessEngine(plan) as engine:
        record = engine.run(plan, 0)
    assert record.delay is not None
    assert (record.delay.messages, record.delay.taken["begin"].count) == (None, 3)
