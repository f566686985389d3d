"""Messages, parameters and formulas of federated elimination with differential privacy.

Li and Song, "Privacy-preserving communication-efficient federated multi-armed bandits", IEEE
Journal on Selected Areas in Communications 40(3), 2022. Symbols: M agents, K arms, T slots, I the
active arms, r the round, Δ̃_r the gap that round r aims at, S(r) the observations per arm up to
round r, d = S(r) - S(r-1), ȳ_{i,k} agent i's private mean of arm k, C(r) its radius after averaging
over agents, p the fraction of agents that upload, R the rounds allowed, d_G the diameter, c1 and c2
the costs of a link between agent and server and between two agents.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from posse.seam.masking import Dropouts
from posse.seam.messages import (
    HASH_BYTES,
    MOST_AGENTS,
    MOST_ARMS,
    MOST_PULLS,
    Arm,
    Candidates,
    Count,
    FloatArray,
    Message,
    PackedBytes,
    Parameters,
    Plane,
    PublicRow,
    Rank,
    RankNumbers,
    RemoteProtocolError,
    Row,
)
from posse.seam.noise import FARTHEST, Epsilon
from posse.seam.results import Estimate

NoiseReading = Literal["printed", "per_agent"]
CdpNoise = Literal["printed", "per_agent", "shared"]
NoiseLaw = Literal["gaussian", "laplace"]
ExchangeKind = Literal["gis", "flooding", "gossip"]
ExchangeDelay = Literal["diameter-1", "diameter"]

MOST_ROUNDS = 1_000_000
RoundNumber = Annotated[int, Meta(ge=1, le=MOST_ROUNDS)]
Number = Annotated[int, Meta(ge=1, le=1 << 40)]
"""Number of an exchange: its round plus `agent.EXCHANGES` per loss before it."""
Slot = Annotated[int, Meta(ge=1, le=1_000_000)]
Agents = Annotated[tuple[Rank, ...], Meta(min_length=1, max_length=MOST_AGENTS)]
ActiveArms = Annotated[tuple[Arm, ...], Meta(min_length=1, max_length=MOST_ARMS)]


class Means(Message, frozen=True):
    """Agent to server: ȳ_{i,k} for every k in I, in the order of the arms."""

    reveals = "the agent's noisy means of the arms left: covered by the claim"

    round: RoundNumber
    means: PackedBytes


class SinkMeans(Message, frozen=True):
    """Sink agent to server: the average of ȳ over its component, for every k in I."""

    reveals = "the average of its component's noisy means"

    round: RoundNumber
    means: PackedBytes


class Active(Message, frozen=True):
    """Server to an agent: round `round` is over I = `arms`; with `upload` this agent sends its
    means (partial participation).
    """

    reveals = "the arms left, a function of noisy means; whether this agent is asked for its own"

    round: RoundNumber
    arms: ActiveArms
    upload: bool = True


class InSlot(Message, frozen=True):
    """Base of neighbours' messages in one slot of an exchange."""

    round: Number
    slot: Slot


class Adv(InSlot, frozen=True):
    """GIS, first stage, to every neighbour: I have new means of these agents."""

    reveals = "whose means the agent has, a function of the graph"

    origins: Agents


class Req(InSlot, frozen=True):
    """GIS, second stage, to a neighbour that advertised: send me the means of these agents."""

    reveals = "whose means the agent lacks, a function of the graph"

    origins: Agents


class Data(InSlot, frozen=True):
    """GIS, third stage, to a neighbour that asked: ȳ of these agents. Flooding and gossip: unasked.

    `means` has one row of |I| numbers per agent, then their signatures if agents sign.
    """

    reveals = "noisy means of the agents named, as they came, each signed by its origin"

    origins: Agents
    means: PackedBytes


class Hop(InSlot, frozen=True):
    """SAC, to the next hop: means on their way to the sink; `means` is as in `Data`."""

    reveals = "as `Data`, on their way to the sink"

    origins: Agents
    means: PackedBytes


class Quiet(InSlot, frozen=True):
    """To a neighbour: nothing from me in this stage of this slot.

    It tells silence from slowness, and is the clock's own traffic. In gossip it ends every slot:
    `full` has a bit per agent, set if it is known to have all means since slot `since` or before.
    """

    reveals = (
        "that the agent has nothing to say in this slot, a function of the graph; with `gossip`, "
        "who is known to have all means"
    )

    plane: ClassVar[Plane] = Plane.CONTROL

    stage: Literal["adv", "req", "push"]
    full: PackedBytes = b""
    since: Count = 0


class Held(Message, frozen=True):
    """DDP-MAB, to every neighbour after an exchange, if agents sign: a hash of what all stated.

    Neighbours compare these before they decide. The papers have no such comparison.
    """

    reveals = "a hash of all noisy means of a round, if agents sign"

    plane: ClassVar[Plane] = Plane.CONTROL

    round: Number
    digest: Annotated[bytes, Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]


class Stated(Message, frozen=True):
    """DDP-MAB, to a neighbour whose `Held` differs: each agent's statement, by rank."""

    reveals = "after another's `Held`: a hash of each agent's noisy means, with its signature"

    plane: ClassVar[Plane] = Plane.CONTROL

    round: Number
    statements: PackedBytes


class SingleParameters(Parameters, frozen=True, kw_only=True):
    """`single-mab`: every agent alone, the elimination of one agent (M = 1)."""

    horizon: Annotated[int, Meta(ge=1, le=MOST_PULLS, description="T, slots per agent")]
    epsilon: Annotated[Epsilon, Meta(description="ε, privacy level")]
    candidates: Candidates = ()


class FederatedParameters(SingleParameters, frozen=True, kw_only=True):
    """Parameters of all three structures; `max_rounds` selects their R-round form.

    For CDP-MAB that form is in section IV-B, for the others in Corollaries 1 and 2.
    """

    noise: CdpNoise = "printed"
    max_rounds: (
        Annotated[int, Meta(ge=1, le=MOST_ROUNDS, description="R, the rounds allowed")] | None
    ) = None
    gap: Annotated[float, Meta(gt=0, lt=1, description="Δ, the smallest gap")] | None = None


class CdpParameters(FederatedParameters, frozen=True, kw_only=True):
    """`cdp-mab`; `participation` < 1 selects the partial form (section IV-B).

    `noise_law`, `delta_prime`, `honest`, `dropouts` and `precision` concern shared noise only; see
    shared.py.
    """

    noise: Annotated[
        CdpNoise,
        Meta(
            description="printed: Lap(1/(M ε d)), an agent's message is Mε-private; per_agent: "
            "Lap(1/(ε d)), it is ε-private; shared: shares of noise behind masks, the sum over all "
            "agents is private"
        ),
    ] = "printed"
    noise_law: Annotated[
        NoiseLaw,
        Meta(
            description="gaussian: the shared noise is discrete Gaussian, the sum (ε, δ')-private; "
            "laplace: it is discrete Laplace, the sum ε-private without a δ'"
        ),
    ] = "gaussian"
    delta_prime: (
        Annotated[
            float,
            Meta(gt=0, lt=1, description="δ' of the shared noise; default 1/(100 M T), <= 1e-6"),
        ]
        | None
    ) = None
    honest: Annotated[
        float,
        Meta(gt=0, le=1, description="the share of agents whose noise alone must be enough"),
    ] = 0.5
    dropouts: Dropouts = 0
    precision: Annotated[int, Meta(ge=0, le=32, description="fractional bits of a shared sum")] = 16
    participation: Annotated[
        float, Meta(gt=0, le=1, description="p, the fraction of agents that upload per round")
    ] = 1.0
    c1: Annotated[float, Meta(ge=0, description="cost of a link agent to server")] = 25.0


_OnTheWay = Annotated[
    NoiseReading,
    Meta(
        description="printed: Lap(1/(M ε d)), an agent's message is Mε-private; "
        "per_agent: Lap(1/(ε d)), it is ε-private"
    ),
]
"""Without "shared": where means travel between agents, each agent reads the others'."""


class DdpParameters(FederatedParameters, frozen=True, kw_only=True):
    """`ddp-mab`: no server, means travel between neighbours."""

    noise: _OnTheWay = "printed"

    exchange: Annotated[ExchangeKind, Meta(description="how means travel")] = "gis"
    t_delay: Annotated[
        ExchangeDelay, Meta(description="slots of a round spent on the exchange alone")
    ] = "diameter-1"
    c2: Annotated[float, Meta(ge=0, description="cost of a link agent to agent")] = 1.0


class HdpParameters(FederatedParameters, frozen=True, kw_only=True):
    """`hdp-mab`: means travel to the sink of their component, sinks talk to the server."""

    noise: _OnTheWay = "printed"

    t_delay: Annotated[
        ExchangeDelay,
        Meta(description="diameter-1: max_q (ecc(SA_q) - 1) slots; diameter: max_q ecc"),
    ] = "diameter-1"
    c1: Annotated[float, Meta(ge=0, description="cost of a link agent to server")] = 25.0
    c2: Annotated[float, Meta(ge=0, description="cost of a link agent to agent")] = 1.0


def check_plausible(rows: FloatArray, margin: float) -> None:
    """Refuse means more than `margin` outside [0, 1], where no honest agent's noisy means lie."""
    if rows.size and (rows.min() < -margin or rows.max() > 1 + margin):
        raise RemoteProtocolError("implausible", f"a mean more than {margin:.4g} outside [0, 1]")


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """S(r), d, C(r) and the noise, which every agent and the server compute without messages.

    `senders` is the number of agents whose means are averaged: M, or n = ⌈pM⌉ in the partial form
    (section IV-B), or 1 for an agent alone. The `printed` noise, Lap(1/(M ε d)), makes a message
    Mε-private; `per_agent` puts ε in place of Mε everywhere, Lap(1/(ε d)).
    """

    arms: int
    senders: int
    horizon: int
    epsilon: float
    noise: NoiseReading = "printed"
    max_rounds: int | None = None
    gap: float | None = None

    @property
    def level(self) -> float:
        """What the formulas below take for ε."""
        return self.epsilon if self.noise == "printed" else self.epsilon / self.senders

    def aim(self, r: int) -> float:
        """Δ̃_r = 2^-r, or Δ^(r/R) in the R-round form."""
        if self.max_rounds is None or self.gap is None:
            return 2.0**-r
        return float(self.gap ** (r / self.max_rounds))

    def logs(self, r: int, active: int) -> tuple[float, float]:
        """L_r = log(8|I|r²T) and P_r = log(8Kr²T)."""
        return (
            math.log(8 * active * r**2 * self.horizon),
            math.log(8 * self.arms * r**2 * self.horizon),
        )

    def observations(self, r: int, active: int, before: int) -> int:
        """S(r) for |I| = `active` and S(r-1) = `before`.

        S(r) = ⌈max(8 L_r / (M Δ̃_r²), 8 r sqrt(2 P_r) / (M^1.5 ε Δ̃_r))⌉, at least S(r-1) + 1.
        """
        log_active, log_all = self.logs(r, active)
        aim = self.aim(r)
        statistical = 8 * log_active / (self.senders * aim**2)
        private = 4 * self.private(r, log_all) / aim
        return max(math.ceil(max(statistical, private)), before + 1)

    def fits(self, r: int) -> bool:
        """Whether any agent can complete round r: S(r) pulls of two arms must fit the horizon.

        S(r) grows with |I|, and two arms are the fewest. S(r) > 1 / (M Δ̃_r²) is tested first,
        because S(r) cannot be computed once Δ̃_r rounds to 0.
        """
        if r < 1:
            return True
        near = self.senders * self.horizon * self.aim(r) ** 2 >= 1
        return near and 2 * self.observations(r, 2, r - 1) <= self.horizon

    def radius(self, r: int, active: int, observations: int) -> float:
        """C(r) = sqrt(L_r / (2 M S(r))) + r sqrt(8 P_r) / (M^1.5 ε S(r))."""
        log_active, log_all = self.logs(r, active)
        statistical = math.sqrt(log_active / (2 * self.senders * observations))
        return statistical + self.private(r, log_all) / observations

    def estimates(
        self, r: int, active: ActiveArms, observations: int, average: FloatArray, averaged: int
    ) -> Iterator[Estimate]:
        """ȳ ± C(r) sqrt(M/n) of the arms of round r: rewards and noise stay inside that."""
        radius = self.radius(r, len(active), observations) * math.sqrt(self.senders / averaged)
        for k, mean in zip(active, average.tolist(), strict=True):
            yield Estimate(k, mean, mean - radius, mean + radius, averaged * observations)

    def private(self, r: int, log_all: float) -> float:
        """S(r) times the noise's part of C(r): r sqrt(8 P_r) / (M^1.5 ε)."""
        m = float(self.senders)
        return r * math.sqrt(8 * log_all) / (m * math.sqrt(m) * self.level)

    def scale(self, new: int) -> float:
        """1 / (M ε d), the scale of the Laplace noise on a mean of d = `new` rewards."""
        return 1.0 / (self.senders * self.level * new)

    def margin(self, r: int, before: int, observed: int) -> float:
        """The most by which a noisy mean of round r may lie outside [0, 1].

        The noise of ŷ of d rewards is at most b(d) FARTHEST, b(d) = 1 / (M ε d). ȳ adds r of them
        with weights d / S(r), which gives r b(S(r)) FARTHEST. `printed` `ddp-mab` sends ŷ itself.
        """
        latest, average = self.scale(observed - before), r * self.scale(observed)
        return FARTHEST * max(latest, average)

    def survivors(
        self, r: int, active: ActiveArms, observations: int, average: FloatArray, averaged: int
    ) -> ActiveArms:
        """I^(r) = I^(r-1) without { k : max_l ȳ_l - ȳ_k >= 2 C(r) }; after R rounds only the best.

        `average` has ȳ of the `active` arms, averaged over n = `averaged` agents. C(r) is for M =
        `senders` of them; it grows by sqrt(M/n), as the deviation does.
        """
        if self.max_rounds is not None and r >= self.max_rounds:
            return (active[int(average.argmax())],)
        best = average.max()
        fewer = math.sqrt(self.senders / averaged)
        width = 2 * (self.radius(r, len(active), observations) * fewer)
        return tuple(k for k, mean in zip(active, average, strict=True) if best - mean < width)


def uploaders(agents: int, participation: float) -> int:
    """The number of agents that upload in a round, n = ⌈pM⌉."""
    return max(1, math.ceil(participation * agents - 1e-9))


class RoundRow(PublicRow, frozen=True):
    """The server decided round r: the arms left, S(r), and how many agents it had asked."""

    table: ClassVar[str] = "rounds"
    round: int
    arms_left: int
    observations: int
    asked: int


class ExploredRow(Row, frozen=True):
    """An agent explored in round r: |I^(r)|, S(r), and how many observations were new."""

    table: ClassVar[str] = "explored"
    round: int
    active: int
    observations: int
    new: int


class ExchangedRow(Row, frozen=True):
    """An agent shared its means of round r."""

    table: ClassVar[str] = "exchanged"
    round: int
    slots: int
    links: int


class LeftRow(Row, frozen=True):
    """The arms that an agent had left when it finished."""

    table: ClassVar[str] = "left"
    arm: tuple[int, ...]


class DdpTold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent of DDP-MAB is told of the graph; `members` only after a loss."""

    diameter: Annotated[int, Meta(ge=0, lt=MOST_AGENTS)]
    members: RankNumbers = ()


class HdpTold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent of HDP-MAB is told: its next hop, and its children with their slots."""

    towards: Rank | None
    children: Annotated[list[tuple[Rank, Slot]], Meta(max_length=MOST_AGENTS)]
    slots: Annotated[int, Meta(ge=0, lt=MOST_AGENTS)]
    component: RankNumbers
    members: RankNumbers = ()
