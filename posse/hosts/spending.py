"""The interface to the ledger of what a run's rewards cost in privacy."""

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms, ArmsSpec
from posse.hosts.agent_setup import AgentSetup
from posse.protocol.control import HEAD_BYTES, LedgerHead
from posse.protocol.privacy import Claim
from posse.protocol.signing import Signer
from posse.spec.runfile import RunSpec

RowsByArm = list[NDArray[np.int64]] | None
"""By arm, the rows of a log, in order; None where posse knows no rows."""

LedgerHeads = tuple[str, int, bytes]
"""A ledger's file, how often it was told where it is, and the last heads that were."""


HEAD_KIND = b"ledger"
"""The kind of what agents sign of a head."""


class SpendingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The purpose for which agent `rank` of `agents` is about to use rewards.

    `run` is its run, from an agent's setup or a run file, whose `privacy` says what one reward is
    allowed to cost; `claim` says what it costs at most.
    """

    run: AgentSetup | RunSpec
    agents: int
    rank: int
    claim: Claim

    @property
    def epsilon(self) -> float | None:
        """The ε that one reward costs; None if nothing is claimed or the claim does not hold."""
        return self.claim.epsilon if self.claim.holds else None

    @property
    def name(self) -> bytes:
        """What tells the run from every other of this agent; empty outside processes."""
        shared = self.shared
        return shared and shared[:4] + self.rank.to_bytes(4, "little") + shared[4:]

    @property
    def shared(self) -> bytes:
        """What tells the run from every other, the same for all its agents; or empty, too."""
        run = self.run
        if not isinstance(run, AgentSetup) or not (run.first or run.name):
            return b""
        return run.first.to_bytes(4, "little") + run.name

    @property
    def says(self) -> str:
        """The system and its parameters, for people."""
        parameters = [f"{name} = {value}" for name, value in self.run.parameters.items()]
        printed = ["printed"] if self.run.variant == "printed" else []
        return ", ".join([self.run.system, *printed, *parameters])


class Spending:
    """The ledger of the lab, which keeps nothing; `posse.durable.ledger` has the field's."""

    def begin(self, task: SpendingRequest, arms: Arms) -> tuple[int, RowsByArm]:
        """Enter a run, and remove from `arms` the rows that it must not use.

        Returns the arguments for `go_on`: the run's number, and the rows that it may use.
        `PosseError` if the run must not begin.
        """
        return 0, None

    def go_on(self, run: int, rows: RowsByArm) -> None:
        """Continue a run after a restart of the process, instead of `begin`."""

    def count_persons(self, task: SpendingRequest, arms: Arms) -> None:
        """Have the user's own arms leave out rewards of persons of whom no more may be used."""

    def uses(self, pulls: NDArray[np.int64]) -> None:
        """Write down how many rewards of each arm are used, shape (arms,), before a result is told.

        `PosseError` if that fails; then nothing may be told.
        """

    def tell(self, salt: bytes, *, really: bool) -> LedgerHeads | None:
        """Where the ledger is, for somebody else to keep; it is entered that this was told.

        `salt` has `HEAD_BYTES` random bytes, which go into it. None if there is no ledger, or
        nobody is `really` told.
        """
        return None

    def end(self, spent: float | None) -> str:
        """Close the run; return a sentence on what all runs cost so far.

        `spent` is the total ε of the run's releases, None if unknown.
        """
        return ""

    def leave(self) -> None:
        """Let the next run have the ledger; this one, which has begun, stays without an end."""


def head_of(
    ledger: Spending, signer: Signer | None, randbits: Callable[[int], int]
) -> LedgerHead | None:
    """What an agent that signs says of its ledger; None if it has none, or does not sign."""
    salt = randbits(8 * HEAD_BYTES).to_bytes(HEAD_BYTES, "little")
    told = ledger.tell(salt, really=signer is not None)
    if told is None or signer is None:
        return None
    name, number, heads = told
    log = signer.alias(name)
    statement = signer.state(HEAD_KIND, heads[-HEAD_BYTES:], head_content(log, number))
    return LedgerHead(log, number, heads, statement)


def head_content(log: bytes, number: int) -> bytes:
    """What an agent states of a head."""
    return log + number.to_bytes(8, "little")


NOT_KEPT = Spending()


def keep_none(arms: ArmsSpec, base: str, rank: int) -> Spending:
    """No ledger, whatever the arms are."""
    return NOT_KEPT
