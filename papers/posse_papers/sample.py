"""What an experiment keeps of one repetition, and the numbers that it is judged by.

This is the one place where experiments read a run's record.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from posse import RunRecord


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One repetition, without what no figure needs: a thousand agents' links are large.

    `cost` and `communications` are what the run counted of links and of rounds, `messages` what
    agents sent to the coordinator. `numbers` is what a computation gave, by name; `log` is there
    only if the experiment keeps it. `seconds` is the processor time it took.
    """

    status: str
    best_arm: int | None = None
    answers: list[int | None] = []
    rounds: float | None = None
    regret: float | None = None
    curve: list[list[float]] | None = None
    pulls_per_arm: list[int] = []
    cost: float | None = None
    communications: int | None = None
    messages: int | None = None
    numbers: dict[str, Any] = {}
    log: dict[str, list[list[float]]] = {}
    seconds: float = 0.0


def of_run(record: RunRecord, keep_log: bool, seconds: float) -> Sample:
    """The sample of a run that took this many processor seconds."""
    traffic = record.communication
    return Sample(
        status=record.status,
        best_arm=record.best_arm,
        answers=record.answers,
        rounds=record.rounds,
        regret=record.regret,
        curve=record.regret_curve,
        pulls_per_arm=record.pulls_per_arm,
        cost=traffic.cost,
        communications=traffic.rounds,
        messages=traffic.links.agent_coordinator,
        log=record.log if keep_log else {},
        seconds=seconds,
    )


Metric = Callable[[Sample], float | None]


rounds: Metric = attrgetter("rounds")
"""Rounds until the answer: activations of one agent (Rio et al.)."""
regret: Metric = attrgetter("regret")
"""Regret at the end."""
messages: Metric = attrgetter("messages")
"""Data messages from agents to the coordinator."""
communications: Metric = attrgetter("communications")
"""Rounds of communication."""
cost: Metric = attrgetter("cost")
"""The cost of all links, C(T)."""


def cost_of_a_round(sample: Sample) -> float | None:
    """The cost of the links of one round."""
    return None if sample.cost is None else sample.cost / (sample.communications or 1)


def named(name: str) -> Metric:
    """A number of a computation, by its name."""
    return lambda sample: sample.numbers.get(name)


value: Metric = named("value")
"""The number "value" of a computation."""


def regret_at(sample: Sample, t: float) -> float:
    """Regret up to the time t, between the points of the curve."""
    times, found = np.array(sample.curve).T
    return float(np.interp(t, times, found))
