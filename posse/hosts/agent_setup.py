"""The configuration that an agent receives before its runs."""

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse import __version__
from posse.arms import ArmsSpec
from posse.gates.decode import Packed, Undecodable
from posse.plan import Plan
from posse.protocol.bounds import MOST_AGENTS, MOST_ARMS, Count, Name, Rank, RankNumbers
from posse.protocol.control import WIRE
from posse.protocol.machine import Variant
from posse.protocol.privacy import Claim
from posse.protocol.signing import run_name
from posse.spec.explain import convert
from posse.spec.privacy import PrivacySpec
from posse.spec.runfile import Clock, Mode
from posse.system import get_system
from posse.system.claims import ClaimContext, for_persons
from posse.system.network import Network
from posse.system.record import System

PROGRAM = f"{__version__}+{WIRE}"
"""This program, as agents say when they join: those of one version may differ in what they say."""

SAME_VERSION = "install the same version of posse for both"
"""What to do where a coordinator and an agent do not understand each other."""

Nonce = Annotated[bytes, Meta(min_length=16, max_length=16)]
_LONGEST_PATH = 4096
_ALIVE_EVERY = 5.0
"""Most seconds between two signs of life of an agent that acts."""

_Table = Annotated[dict[Name, Any], Meta(max_length=100)]
"""What a model of the system's own checks: `read_setup`."""

_ByRank = Annotated[dict[Rank, Name], Meta(max_length=MOST_AGENTS)]


class AgentSetup(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's configuration for a series of runs; the payload of `control.Configure`.

    - `arms`: only their number if all agents share them
    - `rate`: how often the agent is active, P_N(n)
    - `base`: the run file's folder
    - `neighbours`: their ranks; `inboxes` and `keys` are their addresses and public keys
    - `first`: the first frame on each link to a neighbour has the number after this one
    - `privacy`: the agent's own word, never the coordinator's if that is on another machine
    - `alone`: this agent takes no other's honesty on the coordinator's word
    - `name`: what the coordinator drew for the run's name, for signatures; `nonces`: each agent's
      part of it, by rank, if agents have keys
    - `sign`: sign in the lab too; in the field agents with keys always do
    - `durable`: keep a journal in the lab too
    - `alive`: seconds between two signs of life while the agent acts

    Decoding refuses an unknown mode, clock or variant.

    Above 20 attributes: one for each thing that an agent may know.
    """

    system: Name
    variant: Variant
    parameters: _Table
    agents: Annotated[int, Meta(ge=1, le=MOST_AGENTS)]
    arms: ArmsSpec | Annotated[int, Meta(ge=1, le=MOST_ARMS)]
    rate: Annotated[float, Meta(gt=0, le=1)]
    clock: Clock
    base: Annotated[str, Meta(max_length=_LONGEST_PATH)]
    neighbours: RankNumbers = ()
    inboxes: _ByRank = {}
    keys: _ByRank = {}
    first: Count = 0
    mode: Mode = "lab"
    knowledge: _Table = {}
    privacy: PrivacySpec = PrivacySpec()
    alone: bool = False
    name: Annotated[bytes, Meta(max_length=32)] = b""
    nonces: Annotated[tuple[Nonce, ...], Meta(max_length=MOST_AGENTS)] = ()
    sign: bool = False
    durable: bool = False
    alive: Annotated[float, Meta(ge=1e-3, le=3600.0)] = 5.0

    @property
    def signed_name(self) -> bytes:
        """The run's name in signatures."""
        return run_name(self.name, self.nonces) if self.nonces else self.name

    @property
    def claim(self) -> Claim:
        """What the system claims to protect in these runs, of persons if `privacy` names them."""
        return for_persons(self.reward_claim, self.privacy)

    @property
    def reward_claim(self) -> Claim:
        """What the system claims to protect of a reward."""
        system = get_system(self.system)
        return system.claim(
            ClaimContext(
                agents=self.agents,
                arms=self.arm_count,
                parameters=convert(self.parameters, system.parameters, "parameters"),
                variant=self.variant,
                field=self.mode == "field",
                alone=self.alone,
            )
        )

    @property
    def arm_count(self) -> int:
        """K, the number of arms."""
        return self.arms if isinstance(self.arms, int) else self.arms.arm_count()


_SETUP: Packed[AgentSetup] = Packed(AgentSetup)


def setup_of(
    plan: Plan, network: Network, rank: int, rates: NDArray[np.float64] | None = None
) -> AgentSetup:
    """What agent `rank` is told that follows from the run file alone.

    A coordinator adds addresses, keys and the run's name; an agent compares with its own run file.
    `rates` are all agents' activities, which take N steps to make for each.
    """
    spec, untold = plan.spec, plan.system.untold
    if rates is None:
        rates = spec.agents.activity.rates(spec.agents.count)
    return AgentSetup(
        system=spec.system,
        variant=spec.variant,
        parameters={name: p for name, p in spec.parameters.items() if name not in untold},
        agents=spec.agents.count,
        arms=spec.arms.arm_count() if plan.system.shares_arms else spec.arms,
        rate=float(rates[rank]),
        clock=plan.clock,
        base=spec.base,
        neighbours=tuple(network.neighbours[rank]),
        mode=spec.mode,
        knowledge=network.knowledge[rank],
        privacy=spec.privacy,
        sign=spec.engine.sign,
        durable=spec.engine.durable or spec.engine.restarts > 0,
        alive=min(_ALIVE_EVERY, spec.engine.deadline / 4),
    )


def read_setup(rank: int, encoded: bytes) -> AgentSetup:
    """What a coordinator sent agent `rank`, if it is a setup in every part; else `InputError`."""
    setup = _SETUP.read(encoded)
    near = set(setup.neighbours)
    if rank >= setup.agents or rank in near or len(near) < len(setup.neighbours):
        raise Undecodable(f"agent {rank} of {setup.agents} has other neighbours than others, once")
    if max(near, default=0) >= setup.agents or not near.issuperset([*setup.inboxes, *setup.keys]):
        raise Undecodable("it has neighbours that are no agents, or addresses of who is none")
    system = get_system(setup.system)
    convert(setup.parameters, system.parameters, "parameters")
    check_told(system, setup.knowledge)
    if isinstance(setup.arms, int) is not system.shares_arms:
        raise Undecodable("its arms are shared where each agent has its own, or the reverse")
    if not isinstance(setup.arms, int):
        try:
            setup.arms.check_agents(setup.agents)
        except ValueError as error:
            raise Undecodable(str(error)) from None
    return setup


def check_told(system: System, knowledge: dict[str, Any]) -> None:
    """`SpecError` for knowledge of the graph that the system's `Wiring` cannot have told."""
    if system.wiring is not None:
        convert(knowledge, system.wiring.told, "knowledge")
