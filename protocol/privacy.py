"""Releases of noisy values and what they cost, and the claims of a run about them."""

import math
from operator import itemgetter
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta

from posse.protocol.accounting import NO_LOSSES, Losses, laplace_losses
from posse.protocol.bounds import Name, Whole
from posse.protocol.errors import LocalProtocolError

REWARD = "the value of one reward of one agent, its arm and place fixed"
"""The unit of a claim about rewards: neighbouring data sets differ in the value of one reward. They
do not lack it or have it at another arm: all later rewards would then shift to other statistics.
"""

PULL = "one pull of one agent, its features and its reward"
"""The unit of a claim about records."""

PERSON = "all rewards of one person at one agent"
"""The unit of a claim about persons begins with this."""


LEAST_EPSILON = 1e-9

Epsilon = Annotated[float, Meta(ge=LEAST_EPSILON, le=1e9)]
"""A parameter ε. Beyond these limits results overflow or vanish, and no use of it is known."""

FARTHEST = 41.0
"""In units of its scale, the distance that a Laplace number exceeds once in e^41 = 6e17 draws."""


LONGEST_BLOCK = 200
"""A release's `block` has fewer characters than this."""


class Release(msgspec.Struct, frozen=True, array_like=True):
    """One noisy release of an agent.

    - `mechanism`: the law of the noise: "laplace", "discrete-gaussian", "discrete-laplace" or
      "randomized-response"; at most 64 letters, digits, blanks, - and _
    - `sensitivity`: the most by which one reward moves the released value, in units of reward
    - `scale`: the noise's scale, in the same units
    - `epsilon`: the cost to each reward covered: sensitivity / scale for Laplace noise (discrete:
      that of one word more), the ε at the claim's δ for Gaussian noise
    - `block`: the rewards covered, a line of less than 200 characters. Costs in equal blocks add up
      (sequential composition); different blocks cover disjoint rewards and the largest cost counts
      (parallel composition; Dwork and Roth 2014, section 3.5)
    - `times`: how often it was made, each time with new noise
    """

    mechanism: Name
    sensitivity: float
    scale: float
    epsilon: float
    block: Name
    times: Whole = 1


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """(ε, δ) against one adversary; `formula` is the ε in the paper's symbols, if it is not "ε"."""

    adversary: str
    epsilon: float
    delta: float | None = None
    formula: str = ""

    @property
    def number(self) -> str:
        """ε and δ as text."""
        return format_cost(self.epsilon, self.delta) + (
            f" ({self.formula})" if self.formula else ""
        )


AdversaryView = Literal["messages", "agent", "coordinator", "pulls"]
"""What an adversary sees. "messages": all agents' messages. "agent": one agent's. "coordinator":
those that the coordinator sends and receives, with the sums that masked reports reveal. "pulls":
all messages, and each agent's pulls and collisions."""


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """Two data sets that differ in one reward: a worst case, on which a claim is tight.

    Reward number `place` (from 0) of `arm` at `agent` is `values[0]` in one and `values[1]` in the
    other. Every other reward of arm k is `levels[k]`, or `levels[-1]` for arms beyond the list;
    without levels the rewards are the run file's own, drawn once.

    `exchanged` is an agent with the other value in the same place, so that the data sets differ
    only in which agent has which; -1 for none. With `grouped` (`anonymous`) it is the next member
    of the first group that `agent` is in, and the place is that group's first round, whatever its
    arm.
    """

    levels: tuple[float, ...] = ()
    agent: int = 0
    arm: int = 0
    place: int = 0
    values: tuple[float, float] = (1.0, 0.0)
    exchanged: int = -1
    grouped: bool = False

    @property
    def says(self) -> str:
        """The difference in words."""
        value, other = self.values
        if self.grouped:
            return (
                f"agent {self.agent}'s reward in the first round of its first group is {value:g} "
                f"and that of the group's next member {other:g}, or the reverse"
            )
        reward = f"agent {self.agent}'s reward number {self.place + 1} of arm {self.arm}"
        if self.exchanged >= 0:
            return f"{reward} is {value:g} and agent {self.exchanged}'s {other:g}, or the reverse"
        rest = ", ".join(f"{level:.4g}" for level in self.levels) or "the run file's own"
        return f"{reward} is {value:g} or {other:g}; all others by arm: {rest}"


class OneReward(msgspec.Struct, frozen=True, tag=True):
    """Neighbouring data sets differ in the value of one reward, its arm and place fixed."""

    unit: ClassVar[str] = REWARD


class OneRecord(msgspec.Struct, frozen=True, tag=True):
    """They differ in one pull's record: what was seen of the arms before it, and its reward."""

    unit: ClassVar[str] = PULL


class OnePerson(msgspec.Struct, frozen=True, tag=True):
    """They differ in the values of all rewards of one person at one agent, at most `rewards`."""

    rewards: Annotated[int, Meta(ge=1)]

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return f"{PERSON}, at most {self.rewards}, with arm and place fixed"


Change = OneReward | OneRecord | OnePerson
"""What a mechanism protects: the change between two data sets for which it computes."""


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What a system promises: the part of a `Claim` that results show.

    `epsilon`, `delta` and `formula` are the cost of one `unit` against `adversary`, the strongest
    that the claim covers; `besides` has the costs against weaker ones. `holds` is False where our
    own analysis refutes the printed claim; `note` then says why. `proof` says why the claim holds,
    or where that is shown; `uncovered` says what it does not cover.
    """

    mechanism: str
    epsilon: float | None = None
    delta: float | None = None
    formula: str = ""
    unit: str = REWARD
    adversary: str = "whoever reads the agent's messages"
    besides: tuple[Guarantee, ...] = ()
    holds: bool = True
    note: str = ""
    proof: str = ""
    uncovered: str = ""

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The numbers, for the strongest adversary first; empty if the claim has no ε."""
        if self.epsilon is None:
            return ()
        first = Guarantee(**{name: getattr(self, name) for name in Guarantee.__struct_fields__})
        return (first, *self.besides)

    @property
    def brief(self) -> str:
        """The strongest number, for what and against whom, in one sentence."""
        if self.mechanism == "none":
            return "Nothing is protected."
        strongest = next(iter(self.guarantees), None)
        cost = format_cost(strongest.epsilon, strongest.delta) if strongest is not None else ""
        first = f"{cost} for " if cost else ""
        text = f"{first}{self.unit}, against {self.adversary}."
        fails = "" if self.holds else " The paper's claim does not hold."
        return text[:1].upper() * (not first) + text[bool(not first) :] + fails

    @property
    def says(self) -> str:
        """The claim in sentences, without its proof."""
        costs = [f"{g.number} against {g.adversary}" for g in self.guarantees]
        parts = [f"{'; '.join(costs)}, for {self.unit}." if costs else ""]
        if self.mechanism == "none":
            parts = ["Nothing is protected."]
        elif not costs:
            parts = [f"{self.unit[:1].upper()}{self.unit[1:]}, against {self.adversary}."]
        if not self.holds:
            parts.append("The paper's claim does not hold.")
        parts.append(self.note)
        if self.uncovered:
            parts.append(f"Not covered: {self.uncovered}.")
        return " ".join(part for part in parts if part)


class Claim(Promise, frozen=True, kw_only=True):
    """What a system promises, and how `posse audit` tests it.

    `change` is what the numbers are for, without which there are none (`LocalProtocolError`);
    `unit` says it in words, its own unless others are given.
    `sees` is what the adversary sees and `worst` has data sets on which the claim is tight. `guess`
    bounds the probability that the adversary names the best arm, if that is the claim. `losses` is
    what one unit costs by the law of the noise; without it no more is known than `epsilon`.
    `honest` agents' noise in one sum protects it, where noise is shared.
    """

    unit: str = ""
    change: Change | None = None
    sees: AdversaryView = "messages"
    worst: tuple[Neighbours, ...] = ()
    guess: float | None = None
    losses: Losses = NO_LOSSES
    honest: int = 1

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.change is None:
            raise LocalProtocolError(
                f"a claim of ε = {self.epsilon:.4g} must say for which change: "
                "Claim(change=OneReward(), …), OneRecord() or OnePerson(m)"
            )
        if not self.unit:
            unit = REWARD if self.change is None else self.change.unit
            msgspec.structs.force_setattr(self, "unit", unit)

    @property
    def cost(self) -> Losses:
        """What one unit costs, to be composed with other runs."""
        if self.losses != NO_LOSSES or self.epsilon is None:
            return self.losses
        return Losses(pure=((self.epsilon, 1),), delta=self.delta or 0.0)

    def of_person(self, rewards: int) -> Guarantee:
        """The guarantee of a person who is behind that many rewards, which is `rewards` ε or more.

        Without a δ the costs add up. With one, noise of a known law is accounted for at this many
        times the sensitivity and the same δ; else it is group privacy's (m ε, m e^{(m-1)ε} δ).
        `LocalProtocolError` if the claim has no ε.
        """
        if self.epsilon is None:
            raise LocalProtocolError("nothing is claimed of a person where nothing is of a reward")
        if not self.delta:
            return Guarantee(adversary=self.adversary, epsilon=rewards * self.epsilon)
        cost = self.cost.of_rewards(rewards)
        delta = max(self.delta, cost.delta)
        return Guarantee(adversary=self.adversary, epsilon=cost.epsilon(delta), delta=delta)

    def of_persons(self, rewards: int) -> "Claim":
        """The claim about persons, of each of whom at most that many rewards are used.

        `LocalProtocolError` if the claim has no ε.
        """
        person = self.of_person(rewards)
        cost = format_cost(self.epsilon or 0.0, self.delta)
        rest = "rewards of the same person at other agents"
        return msgspec.structs.replace(
            self,
            epsilon=person.epsilon,
            delta=person.delta,
            formula=f"one reward: {cost}{f', {self.formula}' * bool(self.formula)}",
            change=OnePerson(rewards),
            unit=OnePerson(rewards).unit,
            besides=tuple(
                Claim(
                    change=self.change,
                    mechanism=self.mechanism,
                    epsilon=other.epsilon,
                    delta=other.delta,
                    adversary=other.adversary,
                ).of_person(rewards)
                for other in self.besides
            ),
            losses=self.cost.of_rewards(rewards),
            uncovered=f"{self.uncovered}; {rest}" if self.uncovered else rest,
        )

    @property
    def promise(self) -> Promise:
        """The claim without the fields for audits."""
        return Promise(**{name: getattr(self, name) for name in Promise.__struct_fields__})


def slack(delta_prime: float | None, rewards: int) -> float:
    """δ' as it was given, else a hundredth of one over the number of all agents' rewards.

    It is at most 1e-6. With probability δ' a reward may be disclosed as it is.
    """
    return min(1e-6, 0.01 / max(1, rewards)) if delta_prime is None else delta_prime


def format_cost(epsilon: float, delta: float | None = None) -> str:
    """ε, and δ if there is one, as text."""
    return f"ε = {epsilon:.4g}" + (f", δ = {delta:.2g}" if delta else "")


def total_cost(releases: list[Release], delta: float | None = None) -> float:
    """The ε that these releases cost the most exposed reward.

    Without `delta` the costs of a block add up, and the sum holds whenever a run stops. With it, a
    block of Laplace releases is composed at that δ. The number of releases depends on rewards, so
    this is the cost *after the fact* and no guarantee; that is the claim, over all possible
    releases.
    """
    blocks: dict[str, list[Release]] = {}
    for release in releases:
        blocks.setdefault(release.block, []).append(release)
    sums = [(sum(one.epsilon * one.times for one in block), block) for block in blocks.values()]
    most, order = 0.0, math.inf
    for exact, block in sorted(sums, key=itemgetter(0), reverse=True):
        if exact <= most:
            break  # a block costs its sum at most
        costs = np.array([release.epsilon for release in block])
        times = np.array([release.times for release in block])
        cost = float((costs * times).sum())
        if delta is not None and all(release.mechanism == "laplace" for release in block):
            losses = laplace_losses(costs, times)
            if math.isfinite(order) and losses.at_most(delta, order) <= most:
                continue
            epsilon, order = losses.searched(delta)
            cost = min(cost, epsilon)
        most = max(most, cost)
    return most
