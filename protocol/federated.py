"""Messages, parameters and formulas of federated elimination with differential privacy.

Li and Song, "Privacy-preserving communication-efficient federated multi-armed bandits", IEEE
Journal on Selected Areas in Communications 40(3), 2022. Symbols: M agents, K arms, T slots, I the
active arms, r the round, Δ̃_r the gap aimed at, S(r) the observations per arm up to round r,
d = S(r) - S(r-1), ȳ_{i,k} agent i's private mean of arm k, C(r) its radius after averaging, p the
fraction of agents that upload, R the rounds allowed, d_G the diameter, c1 and c2 the costs of a
link between agent and server and between two agents.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from protocol.errors import RemoteProtocolError
from protocol.log import Row
from protocol.machine import MOST_PULLS, FloatArray, Parameters
from protocol.message import Message, Plane
from protocol.privacy import FARTHEST, Epsilon

NoiseReading = Literal["printed", "per_agent"]
CdpNoise = Literal["printed", "per_agent", "shared"]
Exchange = Literal["gis", "flooding", "gossip"]
Delay = Literal["diameter-1", "diameter"]

MOST_ROUNDS = 1_000_000
Round = Annotated[int, Meta(ge=1, le=MOST_ROUNDS)]
Number = Annotated[int, Meta(ge=1, le=1 << 40)]
"""Of an exchange: its round, and how many agents were lost before it."""
Slot = Annotated[int, Meta(ge=1, le=1_000_000)]
Agents = Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1, max_length=100_000)]
Arms = Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1, max_length=100_000)]


class Means(Message, frozen=True):
    """Agent to server: ȳ_{i,k} for every k in I, in the order of the arms."""

    round: Round
    means: bytes


class SinkMeans(Message, frozen=True):
    """Sink agent to server: the average of ȳ over its component, for every k in I."""

    round: Round
    means: bytes


class Active(Message, frozen=True):
    """Server to an agent: round `round` is over I = `arms`; `upload`: whether this agent's means
    are asked for (partial participation).
    """

    round: Round
    arms: Arms
    upload: bool = True


class InSlot(Message, frozen=True):
    """What neighbours say in one slot of an exchange."""

    round: Number
    slot: Slot


class Adv(InSlot, frozen=True):
    """GIS, first stage, to every neighbour: I have new means of these agents."""

    origins: Agents


class Req(InSlot, frozen=True):
    """GIS, second stage, to one who advertised: send me the means of these agents."""

    origins: Agents


class Data(InSlot, frozen=True):
    """GIS, third stage, to one who asked (flooding and gossip: unasked): ȳ of these agents.

    `means` has one row of |I| numbers per agent.
    """

    origins: Agents
    means: bytes


class Hop(InSlot, frozen=True):
    """SAC: means on their way to the sink, one hop per slot; `means` as in `Data`."""

    origins: Agents
    means: bytes


class Quiet(InSlot, frozen=True):
    """To a neighbour: nothing from me in this stage of this slot.

    The clock's own traffic: by it a neighbour knows silence from slowness. In gossip it ends every
    slot and says who is known to have a full list (one bit per agent) since which slot.
    """

    plane: ClassVar[Plane] = Plane.CONTROL

    stage: Literal["adv", "req", "push"]
    full: bytes = b""
    since: Annotated[int, Meta(ge=0)] = 0


class SingleParameters(Parameters, frozen=True, kw_only=True):
    """`single-mab`: every agent alone, the elimination of one agent (M = 1)."""

    horizon: Annotated[int, Meta(ge=1, le=MOST_PULLS, description="T, slots per agent")]
    epsilon: Annotated[Epsilon, Meta(description="ε, privacy level")]


class FederatedParameters(SingleParameters, frozen=True, kw_only=True):
    """What the three structures share; with `max_rounds` it is their R-round form.

    That form is section IV-B's for CDP-MAB, and that of Corollaries 1 and 2 for the others.
    """

    noise: CdpNoise = "printed"
    max_rounds: (
        Annotated[int, Meta(ge=1, le=MOST_ROUNDS, description="R, the rounds allowed")] | None
    ) = None
    gap: Annotated[float, Meta(gt=0, lt=1, description="Δ, the smallest gap")] | None = None


class CdpParameters(FederatedParameters, frozen=True, kw_only=True):
    """`cdp-mab`: with `participation` < 1 the partial form (section IV-B).

    `delta_prime`, `honest` and `precision` are for shared noise alone, see protocol/shared.py.
    """

    noise: Annotated[
        CdpNoise,
        Meta(
            description="printed: Lap(1/(M ε d)), an agent's message is Mε-private; per_agent: "
            "Lap(1/(ε d)), it is ε-private; shared: discrete Gaussian shares behind masks, the sum "
            "over all agents is (ε, δ')-private"
        ),
    ] = "printed"
    delta_prime: Annotated[
        float, Meta(gt=0, lt=1, description="δ', slack of the shared noise's guarantee")
    ] = 1e-6
    honest: Annotated[
        float,
        Meta(gt=0, le=1, description="the share of agents whose noise alone must be enough"),
    ] = 0.5
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
"""Where means travel between agents, each reads the others'."""


class DdpParameters(FederatedParameters, frozen=True, kw_only=True):
    """`ddp-mab`: no server, means travel between neighbours."""

    noise: _OnTheWay = "printed"

    exchange: Annotated[Exchange, Meta(description="how means travel")] = "gis"
    t_delay: Annotated[Delay, Meta(description="slots of a round spent on the exchange alone")] = (
        "diameter-1"
    )
    c2: Annotated[float, Meta(ge=0, description="cost of a link agent to agent")] = 1.0


class HdpParameters(FederatedParameters, frozen=True, kw_only=True):
    """`hdp-mab`: means travel to the sink of their component, sinks talk to the server."""

    noise: _OnTheWay = "printed"

    t_delay: Annotated[
        Delay, Meta(description="diameter-1: max_q (ecc(SA_q) - 1) slots; diameter: max_q ecc")
    ] = "diameter-1"
    c1: Annotated[float, Meta(ge=0, description="cost of a link agent to server")] = 25.0
    c2: Annotated[float, Meta(ge=0, description="cost of a link agent to agent")] = 1.0


def check_plausible(rows: FloatArray, margin: float) -> None:
    """Refuse means that no honest agent's rewards in [0, 1] and noise give."""
    if rows.size and (rows.min() < -margin or rows.max() > 1 + margin):
        raise RemoteProtocolError("implausible", f"a mean more than {margin:.4g} outside [0, 1]")


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """S(r), d, C(r) and the noise: what every agent and the server know without a word.

    `senders` is the number of agents whose means are averaged: M, or n = ⌈pM⌉ in the partial form
    (section IV-B), or 1 alone. `noise`: the printed Lap(1/(M ε d)) makes a message Mε-private; with
    `per_agent` ε is put in the place of Mε everywhere, Lap(1/(ε d)).
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
        """What stands for ε in the formulas below."""
        return self.epsilon if self.noise == "printed" else self.epsilon / self.senders

    def aim(self, r: int) -> float:
        """Δ̃_r = 2^-r, in the R-round form Δ^(r/R)."""
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
        """S(r) for |I| = `active` after S(r-1) = `before`: at least one new observation.

        S(r) = ⌈max(8 L_r / (M Δ̃_r²), 8 r sqrt(2 P_r) / (M^1.5 ε Δ̃_r))⌉.
        """
        log_active, log_all = self.logs(r, active)
        aim = self.aim(r)
        statistical = 8 * log_active / (self.senders * aim**2)
        private = 4 * self.private(r, log_all) / aim
        return max(math.ceil(max(statistical, private)), before + 1)

    def fits(self, r: int) -> bool:
        """Whether anybody can have come through round r: it takes S(r) pulls of two arms or more.

        S(r) grows with |I| and with each round, so that S(r) for two arms is the least. It is above
        1 / (M Δ̃_r²), which alone can be said of a round so late that Δ̃_r is next to nothing.
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

    def private(self, r: int, log_all: float) -> float:
        """What S(r) times the noise's part of C(r) is: r sqrt(8 P_r) / (M^1.5 ε)."""
        m = float(self.senders)
        return r * math.sqrt(8 * log_all) / (m * math.sqrt(m) * self.level)

    def scale(self, new: int) -> float:
        """1 / (M ε d): the scale of the Laplace noise on a mean of d = `new` rewards."""
        return 1.0 / (self.senders * self.level * new)

    def margin(self, r: int, before: int, observed: int) -> float:
        """By how much a noisy mean of round r may lie outside of [0, 1].

        ŷ of d rewards has Laplace noise of scale b(d) = 1 / (M ε d), so that ȳ, r of them with the
        weights d / S(r), has at most r b(S(r)) FARTHEST; in `printed` `ddp-mab` ŷ itself travels.
        """
        latest, average = self.scale(observed - before), r * self.scale(observed)
        return FARTHEST * max(latest, average)

    def survivors(
        self, r: int, active: Arms, observations: int, average: FloatArray, averaged: int
    ) -> Arms:
        """I^(r) = I^(r-1) without { k : max_l ȳ_l - ȳ_k >= 2 C(r) }; after R rounds only the best.

        `average` has ȳ of the `active` arms over n = `averaged` agents. Where C(r) is for M means
        (`senders`), that of n deviates by sqrt(M/n) as much, and C(r) grows with it.
        """
        if self.max_rounds is not None and r >= self.max_rounds:
            return (active[int(average.argmax())],)
        best = average.max()
        fewer = math.sqrt(self.senders / averaged)
        width = 2 * (self.radius(r, len(active), observations) * fewer)
        return tuple(k for k, mean in zip(active, average, strict=True) if best - mean < width)


def uploaders(agents: int, participation: float) -> int:
    """N = ⌈pM⌉."""
    return max(1, math.ceil(participation * agents - 1e-9))


class RoundRow(Row, frozen=True):
    """The server decided round r: the arms left, S(r), how many agents it had asked."""

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
    """The arms that an agent had left at its end."""

    table: ClassVar[str] = "left"
    arm: tuple[int, ...]
