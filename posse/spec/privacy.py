"""`[privacy]`: what an agent lets its rewards cost, in its own run file."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Reuse = Literal["never", "budget", "unlimited"]

LOOSE = 10.0
"""ε beyond which noise protects next to nothing: e^10 is 22,026 to 1."""

MOST = 1_000.0
"""What nobody can have meant."""

TOO_MUCH = (
    "a reward of this run would cost ε = {:.4g} and the budget is {:g}; take a smaller epsilon, or "
    "say that this is meant: {}"
)


class PrivacySpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one reward may cost over its whole life, and how often it may be used.

    `budget` is the ε that all runs together may spend on one reward. `reuse`: "never", each row of
    a reward log is used in one run only, and the next run goes on with the rows behind; "budget",
    rows may be used again as long as all runs together stay within the budget; "unlimited", by
    whoever knows that each pull gives a new reward, or wants no promise.
    """

    budget: Annotated[
        float, Meta(gt=0, le=MOST, description="ε that all runs may spend on one reward")
    ] = LOOSE
    reuse: Reuse = "never"

    @property
    def says(self) -> str:
        """The whole, as a sentence."""
        if self.reuse == "unlimited":
            return "rows may be used again and again, and what all runs cost has no bound"
        once = "each row of a log is used in one run only"
        used = once if self.reuse == "never" else "rows may be used again"
        return f"at most ε = {self.budget:g} for each reward, ever; {used}"
