"""`[privacy]`: what an agent allows its rewards to cost, set in its own run file."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from posse.arms.persons import Persons
from posse.protocol.privacy import format_cost

Reuse = Literal["never", "budget", "unlimited"]

LOOSE = 10.0
"""ε above which noise protects next to nothing: e^10 is 22,026 to 1."""

MOST = 1_000.0
"""An ε above this is refused as a mistake."""

MOST_OF_PERSON = 1_000_000
"""More `rewards_per_person` are refused as a mistake."""

RARE = 1e-3
"""δ above which (ε, δ) promises little. With probability δ a reward may be disclosed as it is, so δ
should be well below one over the number of rewards."""

TOO_MUCH = (
    "a reward of this run would cost ε = {:.4g} and the budget is {:g}; use a smaller epsilon, or "
    "allow more by [privacy] budget, or by --budget if the agent has --data alone"
)

TOO_LIKELY = (
    "a reward of this run would cost δ = {:.4g}, a probability with which all of it may be "
    "revealed, and {:g} is allowed; use a smaller delta_prime, or allow more by [privacy] delta, "
    "or by --delta if the agent has --data alone"
)


class PrivacySpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one reward may cost over its whole life, and how often it may be used.

    `budget` and `delta` are the ε and δ that all runs together may spend on a reward. `reuse`:

    - "never": each row of a reward log is used in one run only; the next run continues after it
    - "budget": rows may be used again while all runs together stay within `budget` and `delta`
      `slack` (default 0: only that of the runs) is the δ at which their losses may be added up
    - "unlimited": for users who know that each pull gives a new reward, or who want no promise

    With `person`, a column of the reward log that names the person of each row, `budget` and
    `delta` are a person's. The first `rewards_per_person` rows of a person are used, no others.
    With your own arms it is any word: `pull` returns a pair, rewards and the names of persons.
    """

    budget: Annotated[
        float, Meta(gt=0, le=MOST, description="ε that all runs may spend on one reward")
    ] = LOOSE
    delta: Annotated[
        float, Meta(ge=0, lt=1, description="δ that all runs may spend on one reward")
    ] = RARE
    reuse: Reuse = "never"
    slack: Annotated[
        float, Meta(ge=0, lt=1, description="δ at which the losses of all runs are added up")
    ] = 0.0
    person: Annotated[
        str,
        Meta(description="column that names the person of each reward, or any word if pull does"),
    ] = ""
    rewards_per_person: Annotated[
        int,
        Meta(
            ge=1, le=MOST_OF_PERSON, description="the most rewards of one person that are ever used"
        ),
    ] = 1

    def __post_init__(self) -> None:
        if self.person in ("arm", "reward"):
            raise ValueError(f"person = '{self.person}' must be a column besides arm and reward")
        if not self.person and self.rewards_per_person != 1:
            raise ValueError("rewards_per_person needs person, the column that names persons")

    @property
    def persons(self) -> Persons | None:
        """The persons whose rewards are counted, and how many of each are used."""
        return Persons(self.person, self.rewards_per_person) if self.person else None

    @property
    def says(self) -> str:
        """The limits as a sentence."""
        if self.reuse == "unlimited":
            return "rows may be used again and again, and what all runs cost has no bound"
        once = "each row of a log is used in one run only"
        used = once if self.reuse == "never" else "rows may be used again"
        each = "reward"
        if self.person:
            each = f"person ('{self.person}'), with {self.rewards_per_person} rewards"
        return f"at most {self.bound} for each {each}, ever; {used}"

    @property
    def bound(self) -> str:
        """What one reward may cost."""
        return format_cost(self.budget, self.delta)


ALONE = PrivacySpec(budget=1.0)
"""What an agent allows with `--data` alone, where its coordinator chooses the run."""
