"""FedUCB whose server reads sums over all agents and nothing else (see `posse_arena.linear`).

Zhou and Chowdhury (arXiv 2302.13945) propose a distributed form, in which silos trust no server and
the sum of all has little more noise than a trusted server would add. Only their abstract could be
read here; this form follows from masked sums alone: each agent adds a share of discrete Laplace
noise to the sums of its batch, as whole numbers, and masks them (`posse_systems.li2022.shared`). A
shuffler in their place would be one more party, who tells the server more than a sum.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from msgspec import Meta

from posse.extend import (
    COORDINATOR,
    AgentContext,
    AgentEffects,
    AgentEvent,
    AgentRole,
    Broadcast,
    Claim,
    ClaimContext,
    CoordinatorContext,
    Disclose,
    FloatArray,
    LabOnly,
    MaskedSum,
    Message,
    MessageReader,
    OneRecord,
    Purpose,
    Received,
    Release,
    RemoteProtocolError,
    RunSpec,
    Send,
    ServerEffects,
    ServerEvent,
    ServerRole,
    SpecError,
    Star,
    Started,
    SumMasker,
    System,
    UnitInterval,
    masking,
)
from posse_arena.linear import (
    FedUcbParameters,
    LinearAgent,
    LinearServer,
    LinearTotal,
    check_features,
    from_triangle,
    sensitivity,
    to_triangle,
)


class SummedParameters(FedUcbParameters, frozen=True, kw_only=True):
    """Noisy sums of which only the sum over all agents is read."""

    honest: Annotated[
        float, Meta(gt=0, le=1, description="the share of agents whose noise alone must be enough")
    ] = 0.5
    precision: Annotated[int, Meta(ge=0, le=32, description="fractional bits of a sum")] = 16

    def enough(self, agents: int) -> int:
        """The agents whose shares alone are the noise that is claimed."""
        return max(1, math.ceil(self.honest * agents - 1e-9))

    @property
    def most(self) -> float:
        """The most by which a pull moves the whole numbers, in their 1-norm; 1 each by rounding."""
        d = self.dimensions
        return sensitivity(d) * float(1 << self.precision) + d * (d + 3) / 2

    @property
    def scale(self) -> float:
        """Of the noise in a sum over all, in words."""
        return self.most / self.epsilon


@dataclass(kw_only=True)
class SummedAgent(LinearAgent):
    """Adds a share of the noise to the sums of each batch, and masks them."""

    masker: SumMasker
    agents: int

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Started():
                return [Send(COORDINATOR, masking.PublicKey(self.masker.public))]
            case Received(_, masking.Keys(keys)) if not self.masker.keys:
                if {*keys} != {*range(self.agents)}:
                    raise RemoteProtocolError("wrong-keys", f"{len(keys)} keys")
                self.masker.take_keys(keys)
                return self._next()
            case Received(_, masking.Unmask(number)):
                return [Send(COORDINATOR, masking.Unmasked(number, self.masker.reveal(number)))]
            case _:
                return super().handle(event, now)

    def _share(self) -> AgentEffects:
        self.batch += 1
        sums, self.own = self.own, np.zeros_like(self.own)
        p: SummedParameters = self.parameters
        words = np.rint(to_triangle(sums) * float(1 << p.precision)).astype(np.int64)
        assert self.noise is not None
        noisy = self.noise.polya(words, p.scale, p.enough(self.agents))
        self.masker.begin(self.batch, tuple(range(self.agents)))
        report = self.masker.make_report(self.batch, noisy.view(np.uint64))
        unit = float(1 << p.precision)
        release = Release(
            "discrete-laplace", p.most / unit, p.scale / unit, p.epsilon, f"batch {self.batch}"
        )
        return [Disclose(release), Send(COORDINATOR, report)]


@dataclass(kw_only=True)
class SummedServer(LinearServer):
    """Passes on the public keys, and reads one sum over all agents for each batch."""

    parameters: SummedParameters
    keys: dict[int, bytes] = field(default_factory=dict)
    sums: MaskedSum = field(init=False)
    known: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.sums = MaskedSum(1, tuple(range(self.agents)))
        d = self.parameters.dimensions
        self.known = np.zeros(d * (d + 3) // 2)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Received(sender, masking.PublicKey(key)) if sender not in self.keys:
                self.keys[sender] = masking.check_key(sender, key, None)
                return [Broadcast(masking.Keys(self.keys))] if len(self.keys) == self.agents else []
            case Received(sender, masking.Masked(number, words)) if number == self.sums.number:
                return self._order(self.sums.report(sender, words, b"", len(self.known)))
            case Received(sender, masking.Unmasked(number, seed)) if number == self.sums.number:
                self.sums.unmasked(sender, seed)
                return self._order([])
            case Received(_, message):
                raise RemoteProtocolError("out-of-turn", type(message).__name__)
            case _:
                return super().handle(event, now)

    def missing(self) -> list[int]:
        """The agents that it waits for."""
        if len(self.keys) < self.agents:
            return [agent for agent in range(self.agents) if agent not in self.keys]
        return self.sums.missing()

    def _order(self, orders: list[tuple[tuple[int, ...], Message]]) -> ServerEffects:
        if not self.sums.complete:
            return [Broadcast(message) for _, message in orders]
        unit = float(1 << self.parameters.precision)
        self.known = self.known + self.sums.total().view(np.int64) / unit
        number, self.sums = self.sums.number, MaskedSum(self.sums.number + 1, self.sums.members)
        table = from_triangle(self.known, self.parameters.dimensions)
        return [Broadcast(LinearTotal(number, table.ravel().tolist()))]


class SummedReader(MessageReader):
    """Reads no numbers out of masked reports."""

    hidden = (masking.PublicKey, masking.Keys, masking.Masked, masking.Unmasked)


def _agent(context: AgentContext) -> SummedAgent:
    assert context.contexts is not None  # `_check` has seen to it
    return SummedAgent(
        contexts=context.contexts,
        parameters=context.parameters,
        noise=context.noise,
        shares=True,
        local=False,
        by_growth=False,
        masker=SumMasker(context.rank, context.agents, context.secret(Purpose.PROTOCOL)),
        agents=context.agents,
    )


def _server(context: CoordinatorContext) -> SummedServer:
    return SummedServer(agents=context.agents, parameters=context.parameters)


def _check(spec: RunSpec, parameters: SummedParameters) -> None:
    check_features(spec, parameters)
    agents, d = spec.agents.count, parameters.dimensions
    if agents < 2:
        raise SpecError("agents.count", "is 1, but noise is shared among at least two agents")
    if (words := d * (d + 3) // 2) > masking.MAX_WORDS:
        raise SpecError(
            "parameters.dimensions",
            f"is {d}, which makes {words:,} sums; a masked report holds at most "
            f"{masking.MAX_WORDS:,}",
        )
    unit = 2.0**parameters.precision
    # the shares of all agents together have a tail of at most this many scales of the claimed noise
    noise = 40 * parameters.scale / unit * agents / parameters.enough(agents)
    if (agents * parameters.batch + noise) * unit >= 2.0 ** (masking.WORD_BITS - 1):
        raise SpecError(
            "parameters.precision",
            f"is {parameters.precision}: a sum over {agents} agents does not fit into "
            f"{masking.WORD_BITS} bits; use fewer",
        )


def _claim(context: ClaimContext) -> Claim:
    p: SummedParameters = context.parameters
    enough = p.enough(context.agents)
    return Claim(
        change=OneRecord(),
        mechanism="discrete-laplace",
        epsilon=p.epsilon,
        adversary="the server, which follows the protocol, together with all agents but "
        f"{enough} honest ones of {context.agents}",
        sees="coordinator",
        honest=enough,
        note="It reads sums over all agents alone, and passes on the public keys as they are.",
        proof="A pull is in one sum, which it moves by at most Δ words in the 1-norm; the honest "
        "agents' shares sum to discrete Laplace numbers of scale Δ/ε, and what is pulled follows "
        "from sums that were read before.",
        uncovered="pulls themselves, which the agent's own users see; agents that send wrong sums",
    )


FEDUCB_SUMMED = System(
    name="FedUCB, summed",
    title="federated LinUCB with contexts, of sums that share their noise and are masked",
    paper="Dubey and Pentland 2020; Zhou and Chowdhury 2023",
    parameters=SummedParameters,
    shape=Star(
        AgentRole(_agent, (masking.Keys, masking.Unmask, LinearTotal)),
        ServerRole(_server, (masking.PublicKey, masking.Masked, masking.Unmasked)),
    ),
    clocks=("slots",),
    unit_interval=UnitInterval(),
    check=_check,
    field=LabOnly("needs features, which only the lab's arms have"),
    one_form=True,
    claim=_claim,
    reader=SummedReader,
)
