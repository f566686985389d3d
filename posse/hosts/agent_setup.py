"""What an agent is told before its runs."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from posse.arms import ArmsSpec
from posse.claims.base import ClaimContext
from posse.spec.explain import convert
from posse.spec.privacy import PrivacySpec
from posse.spec.runfile import Clock, Mode
from posse.systems import get_system
from protocol.control import Count
from protocol.machine import Variant
from protocol.privacy import Claim


class AgentSetup(msgspec.Struct, frozen=True, kw_only=True):
    """All that an agent is told about a series of runs; the payload of `control.Configure`.

    `arms` is only their number where all agents share them. `neighbours` are names, `inboxes` their
    addresses and `keys` their public keys where agents talk to each other; `first` is the number
    before that of the first frame on each of these links. A mode, clock or variant that is not
    known is refused where the setup is decoded. `privacy` is the agent's own word, on another
    machine never the coordinator's. `name` is the run's, for signatures, which agents with keys
    make in the field, and in the lab if they are to `sign`. `durable`: in the lab too the agent
    keeps a journal.
    """

    system: str
    variant: Variant
    parameters: dict[str, Any]
    agents: int
    arms: ArmsSpec | int
    rate: float
    clock: Clock
    base: str
    neighbours: tuple[int, ...] = ()
    inboxes: dict[int, str] = {}
    keys: dict[int, str] = {}
    first: Count = 0
    mode: Mode = "lab"
    knowledge: dict[str, Any] = {}
    privacy: PrivacySpec = PrivacySpec()
    name: Annotated[bytes, Meta(max_length=32)] = b""
    sign: bool = False
    durable: bool = False

    @property
    def claim(self) -> Claim:
        """What the system claims to protect, of such runs."""
        system = get_system(self.system)
        return system.claim(
            ClaimContext(
                agents=self.agents,
                arms=self.arm_count,
                parameters=convert(self.parameters, system.parameters, "parameters"),
                variant=self.variant,
                field=self.mode == "field",
            )
        )

    @property
    def arm_count(self) -> int:
        """K."""
        return self.arms if isinstance(self.arms, int) else self.arms.arm_count()
