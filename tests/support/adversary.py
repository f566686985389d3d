"""Adversaries of docs/security.md as state machines, whose steps hypothesis draws in any order."""

import os
import time

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

SECONDS = float(os.environ.get("ADVERSARY_SECONDS", "0"))
"""How long each adversary plays at least; 0: as many orders as the test says."""


def plays(machine: type[RuleBasedStateMachine], orders: int, steps: int) -> None:
    """Draw this many orders of this many steps, and go on with others until `SECONDS` are over."""
    taken = 0

    class Counted(machine):  # type: ignore[misc, valid-type]
        @invariant()
        def one_more(self) -> None:
            nonlocal taken
            taken += 1

    until = time.monotonic() + SECONDS
    chosen = settings(
        max_examples=orders,
        stateful_step_count=steps,
        deadline=None,
        derandomize=not SECONDS,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    while True:
        run_state_machine_as_test(Counted, settings=chosen)
        if time.monotonic() >= until:
            print(f"{machine.__name__}: {taken} steps")
            return
