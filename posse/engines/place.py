"""What depends on where an agent runs."""

import sys

from posse.engines.guard import Guard
from posse.measure.account import Account
from posse.measure.traffic import Delays
from protocol.privacy import Claim
from protocol.signing import Signer


class Place:
    """Beside its coordinator, on the same machine; `inbox` is where neighbours reach the agent.

    `posse.engines.remote_agent` has the other place.
    """

    def __init__(self, guard: Guard, inbox: str) -> None:
        self.guard = guard
        self._inbox = inbox

    def bind(self, system: str) -> str:
        """Where to open the inbox, "" if this system's agents have no neighbours."""
        return self._inbox

    def reached_at(self, at: str) -> str:
        """The address by which neighbours reach an inbox that is open there."""
        return at

    def why_alone(self) -> str:
        """The sentence for an agent that no coordinator answered."""
        return "no coordinator answered"

    def say_failure(self, reason: str, *, field: bool) -> None:
        """Say to the people of this machine why the agent cannot go on.

        Here the coordinator says it, but for what it is not told in the field.
        """
        if field:
            # in one piece: other agents say theirs
            sys.stderr.write(f"posse: {reason.splitlines()[0]}\n")

    def signer(self, agents: int, name: bytes) -> Signer | None:
        """Who signs for this agent in the run of this name; here nobody has keys."""
        return None

    def run_ended(self, claim: Claim, ledger: Account, delays: Delays) -> None:
        """A run of the field is over: what this agent did, and how long what it was sent took."""
