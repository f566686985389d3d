"""What depends on where an agent runs."""

import sys
from collections import Counter

from posse.agent.guard import Guard
from posse.measure.account import Account
from posse.protocol.privacy import Claim
from posse.protocol.signing import Signer
from posse.wire.forwarding import Forwarding
from posse.wire.line import Transmit


class AgentSite:
    """The place of an agent on its coordinator's machine; neighbours reach it at `inbox`.

    `posse.agent.remote` has the place of an agent on another machine.
    """

    def __init__(self, guard: Guard | None, inbox: str) -> None:
        self.guard = guard
        self._inbox = inbox

    def bind(self, system: str) -> str:
        """The address at which to open the inbox, "" if this system's agents have no neighbours."""
        return self._inbox

    def elsewhere(self, bound: str) -> str:
        """Where to bind an inbox if `bound` is no address of this machine any more, else ""."""
        return ""

    def address_for_neighbours(self, bound: str) -> str:
        """The address by which neighbours reach an inbox that is bound to `bound`."""
        return bound

    def why_alone(self) -> str:
        """The error message of an agent that no coordinator answered."""
        return "no coordinator answered"

    def say_failure(self, reason: str, *, field: bool) -> None:
        """Tell the people of this machine why the agent cannot go on.

        Here the coordinator tells them, except in the field, where it may not know the reason.
        """
        if field:
            # in one write, so that lines of several agents do not mix
            sys.stderr.write(f"posse: {reason.splitlines()[0]}\n")

    def signer(self, agents: int, name: bytes) -> Signer | None:
        """The signer for this agent in the run `name`; None here, where agents have no keys."""
        return None

    def forwarding(self, send: Transmit) -> Forwarding | None:
        """How to reach neighbours that accept no connections; None where all do."""
        return None

    def run_ended(self, claim: Claim, ledger: Account, delays: Counter[int]) -> None:
        """A field run is over: `ledger` has what this agent did, `delays` how long frames took."""
