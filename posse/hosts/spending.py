"""The interface to the ledger of what a run's rewards cost in privacy."""

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
    """The purpose for which agent `rank` of `agents` is about to use rewards.

    `claim` says what one reward costs at most, `privacy` what it is allowed to cost.
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
        """The task of a run, from its file or an agent's setup."""
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
        """The ε that one reward costs; None if nothing is claimed or the claim does not hold."""
        return self.claim.epsilon if self.claim.holds else None

    @property
    def says(self) -> str:
        """The system and its parameters, for people."""
        given = [f"{name} = {value}" for name, value in self.parameters.items()]
        printed = ["printed"] if self.variant == "printed" else []
        return ", ".join([self.system, *printed, *given])


class Spending:
    """The ledger of the lab, which keeps nothing; `posse.durable.ledger` has the field's."""

    def begin(self, task: Task, arms: Arms) -> None:
        """Enter a run, and remove from `arms` the rows that it must not use.

        `PosseError` if the run must not begin.
        """

    def mark(self) -> tuple[int, list[NDArray[np.int64]] | None]:
        """The arguments for `go_on`: the run's number, and the rows of each arm it may use."""
        return 0, None

    def go_on(self, run: int, rows: list[NDArray[np.int64]] | None) -> None:
        """Continue a run after a restart of the process, instead of `begin`."""

    def uses(self, pulls: NDArray[np.int64]) -> None:
        """Write down how many rewards of each arm are used, shape (arms,), before a result is told.

        `PosseError` if that fails; then nothing may be told.
        """

    def end(self, spent: float | None) -> str:
        """Close the run; return a sentence on what all runs cost so far.

        `spent` is the total ε of the run's releases, None if unknown.
        """
        return ""


NOT_KEPT = Spending()
