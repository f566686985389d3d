"""What a release gives away, and what a run claims about it."""

from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from protocol.accounting import composed

REWARD = "the value of one reward of one agent, its arm and place fixed"
"""The unit of a claim about rewards: another value in its place. A reward that is taken out, or
moved to another arm, shifts all that come after it into other statistics; that is another matter.
"""


LEAST_EPSILON = 1e-9

Epsilon = Annotated[float, Meta(ge=LEAST_EPSILON, le=1e9)]
"""A parameter ε. Beyond, what is computed from it leaves the numbers, and no use of it is known."""

FARTHEST = 41.0
"""A Laplace number is farther out than so many times its scale once in e^41, 6e17, draws."""


LONGEST_BLOCK = 200
"""Letters of what a release says that it covers."""


class Release(msgspec.Struct, frozen=True, array_like=True):
    """One noisy release of an agent.

    - `mechanism`: the law of the noise: "laplace", "discrete-gaussian" or "randomized-response"; of
      letters, digits, blanks, - and _, 64 at most
    - `sensitivity`: by how much one reward may move the released value (in units of reward)
    - `scale`: the noise's scale, in the same units
    - `epsilon`: what one release costs the rewards it covers: sensitivity / scale with Laplace
      noise, with Gaussian noise what the claim's δ makes of them
    - `block`: releases with equal `block` cover the same rewards and add up (sequential
      composition); different blocks cover disjoint rewards, and the largest counts
      (parallel composition; Dwork and Roth 2014, section 3.5); a line of less than 200 letters
    - `times`: how often it was made, each time with new noise
    """

    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float
    block: str
    times: int = 1


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """(ε, δ) against one adversary; `formula` is ε in the paper's symbols, where it is not ε."""

    adversary: str
    epsilon: float
    delta: float | None = None
    formula: str = ""

    @property
    def number(self) -> str:
        """ε and δ, for a person."""
        return amount(self.epsilon, self.delta) + (f" ({self.formula})" if self.formula else "")


View = Literal["messages", "agent", "coordinator", "pulls"]
"""What an adversary sees: all agents' messages, one agent's, those that the coordinator sends and
is sent with the sums that masked reports tell, or, besides all messages, each agent's pulls and
collisions."""


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """Two data sets that differ in one reward: a worst case, on which a claim is tight.

    Reward number `place` (from 0) that `agent` has of `arm` is `values[0]` in one and `values[1]`
    in the other. Every other reward of arm k is `levels[k]`, and `levels[-1]` of arms beyond; with
    no levels the rewards are the run file's own, drawn once. `exchanged`: an agent that has the
    other value in that place, so that who has which is all that differs; -1 for none. `grouped`:
    it is the next of the first group that `agent` is in that has it, and both have it in the first
    round of that group, whichever arm that plays (groups of `anonymous`).
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
        """In words."""
        one, other = self.values
        if self.grouped:
            return (
                f"agent {self.agent}'s reward in the first round of its first group is {one:g} and "
                f"that of the group's next member {other:g}, or the reverse"
            )
        whose = f"agent {self.agent}'s reward number {self.place + 1} of arm {self.arm}"
        if self.exchanged >= 0:
            return f"{whose} is {one:g} and agent {self.exchanged}'s {other:g}, or the reverse"
        rest = ", ".join(f"{level:.4g}" for level in self.levels) or "the run file's own"
        return f"{whose} is {one:g} or {other:g}; all others by arm: {rest}"


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What is promised, in words and numbers: what a result tells of a `Claim`.

    `epsilon`, `delta` and `formula` are what one `unit` costs against `adversary`, the strongest
    that the claim is about; `besides` has what it costs against weaker ones. `holds` is False where
    the specification's own analysis refutes the printed claim; `note` then says why. `proof`: why
    it holds, or where that is shown. `uncovered`: what the claim is not about.
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
        """The numbers, the strongest adversary's first; none where there is no number."""
        if self.epsilon is None:
            return ()
        first = Guarantee(
            adversary=self.adversary,
            epsilon=self.epsilon,
            delta=self.delta,
            formula=self.formula,
        )
        return (first, *self.besides)

    @property
    def says(self) -> str:
        """The whole claim but for its proof, in sentences."""
        said = [f"{g.number} against {g.adversary}" for g in self.guarantees]
        parts = [f"{'; '.join(said)}, for {self.unit}." if said else ""]
        if self.mechanism == "none":
            parts = ["Nothing is protected."]
        elif not said:
            parts = [f"{self.unit[:1].upper()}{self.unit[1:]}, against {self.adversary}."]
        if not self.holds:
            parts.append("The paper's claim does not hold.")
        parts.append(self.note)
        if self.uncovered:
            parts.append(f"Not covered: {self.uncovered}.")
        return " ".join(part for part in parts if part)


class Claim(Promise, frozen=True, kw_only=True):
    """What a system promises, and how that is audited (`posse audit`).

    `sees` is what the adversary sees, `worst` on what rewards the claim is tight, and `guess` how
    likely the adversary names the best arm at most, where that is the claim.
    """

    sees: View = "messages"
    worst: tuple[Neighbours, ...] = ()
    guess: float | None = None

    @property
    def promise(self) -> Promise:
        """Without what is for audits."""
        return Promise(**{name: getattr(self, name) for name in Promise.__struct_fields__})


def amount(epsilon: float, delta: float | None = None) -> str:
    """ε, and δ where there is one, for a person."""
    return f"ε = {epsilon:.4g}" + (f", δ = {delta:.2g}" if delta else "")


def spent(releases: list[Release], delta: float | None = None) -> float:
    """The ε that a ledger of releases costs the most exposed reward.

    Without δ the costs of a block add up, and the sum holds whenever a run stops. With δ its
    Laplace releases are composed up to it. How many there were depends on rewards, so that this is
    the ledger *after the fact* and no guarantee: that is the claim, over all that may be released.
    """
    blocks: dict[str, list[Release]] = {}
    for release in releases:
        blocks.setdefault(release.block, []).append(release)
    return max((_cost(block, delta) for block in blocks.values()), default=0.0)


def _cost(block: list[Release], delta: float | None) -> float:
    """What the releases of one block cost together."""
    costs = np.array([release.epsilon for release in block])
    times = np.array([release.times for release in block])
    if delta is None or any(release.mechanism != "laplace" for release in block):
        return float((costs * times).sum())
    return composed(costs, times, delta)
