"""The best arm with a fixed budget and private votes, by sequential halving.

Rio et al. 2023 (section 7) leave it open: their agents pull until they are sure. Here each agent
has `budget` pulls and no more. There are ⌈log₂ K⌉ rounds (sequential halving: Karnin, Koren and
Somekh 2013), of budget / ⌈log₂ K⌉ pulls each, spread over the arms that are left. After a round
each agent adds Laplace noise of scale 1/ε to the sum of its rewards of each arm and votes for the
better half by these; the half with most votes stays.

ε-differential privacy of one reward, for whoever reads all messages: a reward lies in [0, 1] and is
in one sum of one round, which moves by at most 1, so the noisy sums are ε-differentially private,
the votes follow from them, and all that an agent pulls later follows from votes.

How often does it err? A round of n pulls an arm adds noise of deviation √2 / (n ε) to a mean that
has one of at most 1 / (2 √n) by itself: below n = 8 / ε² it is the noise that decides.
"""

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
    Finish,
    Message,
    Neighbours,
    Noise,
    OneReward,
    Parameters,
    PeerFinished,
    Pull,
    Pulled,
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
    System,
    UnitInterval,
)

Arms = tuple[Annotated[int, Meta(ge=0)], ...]


class HalvingParameters(Parameters, frozen=True, kw_only=True):
    """`[parameters]` of the run file."""

    budget: Annotated[int, Meta(ge=1, description="T, pulls of an agent at most")] = 2000
    epsilon: Annotated[float, Meta(gt=0, description="ε of a reward")] = 1.0


class HalvingVote(Message, frozen=True):
    """Agent to server: the better half of a round's arms, by noisy sums."""

    round: int
    arms: Arms


class HalvingLeft(Message, frozen=True):
    """Server to agents: the arms that are left after a round."""

    round: int
    arms: Arms


def half(count: int) -> int:
    """How many of this many arms stay."""
    return (count + 1) // 2


def rounds(arms: int) -> int:
    """⌈log₂ K⌉."""
    return (arms - 1).bit_length()


@dataclass
class HalvingAgent:
    """Pulls the arms that are left equally often, and votes for the better half."""

    arms: int
    parameters: HalvingParameters
    noise: Noise
    left: Arms = ()
    round: int = 0

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Started():
                return self._begin(tuple(range(self.arms)))
            case Pulled(arms, _, sums):
                epsilon = self.parameters.epsilon
                noisy = self.noise.noisy(sums, 1.0, 1 / epsilon)
                best = np.argsort(-noisy, kind="stable")[: half(len(arms))]
                vote = HalvingVote(self.round, tuple(sorted(arms[place] for place in best)))
                release = Release("laplace", 1.0, 1 / epsilon, epsilon, f"round {self.round}")
                return [Disclose(release), Send(COORDINATOR, vote)]
            case Received(_, HalvingLeft(round, arms)) if (
                round == self.round and len(arms) == half(len(self.left)) and {*arms} < {*self.left}
            ):
                return [Finish("budget", arms[0])] if len(arms) == 1 else self._begin(arms)
            case _:
                raise RemoteProtocolError("out-of-turn", f"{event} in round {self.round}")

    def _begin(self, arms: Arms) -> AgentEffects:
        self.left, self.round = arms, self.round + 1
        return [Pull(arms, self.parameters.budget // (rounds(self.arms) * len(arms)))]


@dataclass
class HalvingServer:
    """Counts votes; of arms with as many votes the first stays."""

    agents: int
    left: Arms
    round: int = 1
    votes: dict[int, Arms] = field(default_factory=dict)
    done: int = 0

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Received(sender, HalvingVote(round, arms)):
                fits = len({*arms} & {*self.left}) == len(arms) == half(len(self.left))
                if round != self.round or sender in self.votes or not fits:
                    raise RemoteProtocolError("out-of-turn", f"a vote of round {round}")
                self.votes[sender] = arms
                return self._count() if len(self.votes) == self.agents else []
            case PeerFinished():
                self.done += 1
                return [Finish("budget", self.left[0])] if self.done == self.agents else []
            case _:
                return []

    def missing(self) -> list[int]:
        """The agents that it waits for."""
        return [agent for agent in range(self.agents) if agent not in self.votes]

    def _count(self) -> ServerEffects:
        counted = [arm for arms in self.votes.values() for arm in arms]
        ranked = sorted(self.left, key=lambda arm: (-counted.count(arm), arm))
        self.left = tuple(sorted(ranked[: half(len(self.left))]))
        self.round, self.votes, round = self.round + 1, {}, self.round
        return [Broadcast(HalvingLeft(round, self.left))]


def make_agent(context: AgentContext) -> HalvingAgent:
    """Make one agent's machine."""
    return HalvingAgent(context.arms, context.parameters, context.noise)


def make_server(context: CoordinatorContext) -> HalvingServer:
    """Make the server's machine."""
    return HalvingServer(context.agents, tuple(range(context.arms)))


def check(spec: RunSpec, parameters: HalvingParameters) -> None:
    """Refuse a budget with which not even each arm is pulled once in the first round."""
    arms = spec.arms.arm_count()
    if parameters.budget < rounds(arms) * arms:
        raise SpecError(
            "parameters.budget",
            f"is {parameters.budget}; {arms} arms in {rounds(arms)} rounds need at least "
            f"{rounds(arms) * arms}",
        )


def claim(context: ClaimContext) -> Claim:
    """What is protected, and where it is tightest: a reward that decides between level arms."""
    return Claim(
        change=OneReward(),
        mechanism="laplace",
        epsilon=context.parameters.epsilon,
        unit="one reward of one agent",
        proof="A reward is in one sum of one round, which it moves by at most 1; votes follow from "
        "the noisy sums, and later pulls from votes.",
        uncovered="pulls themselves, which the agent's own users see",
        worst=(Neighbours(levels=(0.0,)),),
    )


HALVING = System(
    name="halving",
    title="sequential halving by private votes, with a fixed budget",
    paper="Rio et al. 2023, section 7; Karnin et al. 2013",
    parameters=HalvingParameters,
    clocks=("slots",),
    shape=Star(AgentRole(make_agent, (HalvingLeft,)), ServerRole(make_server, (HalvingVote,))),
    unit_interval=UnitInterval(),
    check=check,
    claim=claim,
    one_form=True,
)
