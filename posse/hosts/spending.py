"""What a run's rewards cost, said to whoever keeps it longer than a process lives."""

from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms
from posse.hosts.agent_setup import AgentSetup
from posse.spec.privacy import PrivacySpec
from posse.spec.runfile import RunSpec
from protocol.privacy import Claim


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What rewards are about to be used for, by agent `rank` of `agents`.

    `claim` says what one reward may cost, `privacy` what it is allowed to.
    """

    system: str
    variant: str
    parameters: dict[str, Any]
    agents: int
    rank: int
    claim: Claim
    privacy: PrivacySpec

    @classmethod
    def of(cls, run: AgentSetup | RunSpec, agents: int, rank: int, claim: Claim) -> Self:
        """What a run uses them for, as its file or an agent's setup has it."""
        return cls(
            system=run.system,
            variant=run.variant,
            parameters=run.parameters,
            agents=agents,
            rank=rank,
            claim=claim,
            privacy=run.privacy,
        )

    @property
    def epsilon(self) -> float | None:
        """What one reward costs; None where nothing is claimed, or the claim does not hold."""
        return self.claim.epsilon if self.claim.holds else None

    @property
    def says(self) -> str:
        """For a person: the system and its parameters."""
        given = [f"{name} = {value}" for name, value in self.parameters.items()]
        printed = ["printed"] if self.variant == "printed" else []
        return ", ".join([self.system, *printed, *given])


class Spending:
    """Nobody keeps it: the lab's rewards cost nothing. `posse.durable.ledger` has the other."""

    def begin(self, task: Task, arms: Arms) -> None:
        """A run begins. Take from `arms` the rows that it must not use.

        `PosseError` if it must not begin.
        """

    def mark(self) -> tuple[int, list[NDArray[np.int64]] | None]:
        """What `go_on` needs: the run's number, and the rows of each arm that it may use."""
        return 0, None

    def go_on(self, run: int, rows: list[NDArray[np.int64]] | None) -> None:
        """Instead of `begin`: the run that it began goes on, in a process that is started again."""

    def uses(self, pulls: NDArray[np.int64]) -> None:
        """So many rewards of each arm are used, shape (arms,), and something is about to be told.

        `PosseError` if that cannot be written down: then nothing may be told.
        """

    def end(self, spent: float | None) -> str:
        """The run is over; what all runs cost so far.

        `spent` is the ε that its releases add up to, None where that is not known.
        """
        return ""


NOT_KEPT = Spending()
