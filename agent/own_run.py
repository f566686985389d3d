"""How an agent on another machine checks and adapts its coordinator's configuration."""

import logging
from collections.abc import Collection
from typing import Any

import msgspec

from posse.arms import ArmsSpec, RealArms
from posse.arms.csv import CsvArms
from posse.errors import PosseError, SpecError
from posse.gates.decode import Packed
from posse.hosts.agent_setup import AgentSetup, setup_of
from posse.hosts.effects import LogLine
from posse.hosts.sources import Left
from posse.plan import Plan, check
from posse.spec.explain import convert
from posse.spec.privacy import TOO_MUCH, PrivacySpec
from posse.spec.runfile import AgentsSpec, RunSpec
from posse.system import get_system
from posse.system.network import remaining

_SAID = (
    *("inboxes", "keys", "name", "nonces", "first"),
    *("arms", "base", "privacy"),
    *("alone", "alive", "durable"),
)
"""What an agent does not compute from its own run file and compare: what the coordinator alone
knows, what it has as its own instead, and what costs it nothing."""

_TABLE: Packed[dict[str, Any]] = Packed(dict[str, Any])


class TheirRun:
    """The coordinator's run as it is, for an agent without a run file; real rewards are refused.

    No path and no code from the network is opened.
    """

    def accept(self, setup: AgentSetup, rank: int) -> AgentSetup:
        """The setup that agent `rank` follows; `PosseError` if it refuses."""
        if isinstance(setup.arms, RealArms):
            raise PosseError(
                f"the coordinator's run file has arms of kind {setup.arms.__struct_config__.tag}, "
                "and an agent opens no path and no code from the network; start it with --run "
                "RUN.toml, its own run file, or with --data FILE, its own reward log"
            )
        return setup

    def require_still(self, setup: AgentSetup, rank: int) -> None:
        """`PosseError` unless a run that broke off, by its journal, is one to accept as it is."""
        if self.accept(setup, rank) != setup:
            raise PosseError(
                "this agent's journal has a run with other arms, limits or another folder than its "
                "own run file says now; give it the run file with which that run began, or remove "
                "the journal, after which it takes no further part in that run"
            )

    def left(self, rank: int, members: Collection[int]) -> Left | None:
        """What agent `rank` is told when these members are left; None if that is not known here."""
        return None

    def remarks(self, setup: AgentSetup) -> list[LogLine]:
        """Log lines to write before any reward is used: what this agent discloses in the field."""
        if setup.mode != "field":
            return []
        claim = setup.claim
        remarks = [LogLine(logging.INFO, f"claim: {claim.says}")]
        if claim.mechanism == "none":
            remarks.insert(0, LogLine(logging.WARNING, f"{setup.system} protects no rewards"))
        if not isinstance(setup.arms, int) and setup.arms.ends:
            remarks.append(LogLine(logging.INFO, setup.arms.ends))
        return remarks


class OwnData(TheirRun):
    """The coordinator's run on this machine's own reward log, if the run protects each reward.

    `path` is the log, and `privacy` limits what a reward may cost. Of the coordinator's arms only
    their number and `clip` are used.
    """

    def __init__(self, path: str, privacy: PrivacySpec, *, lab: bool) -> None:
        self._path = path
        self._privacy = privacy
        self._lab = lab

    def accept(self, setup: AgentSetup, rank: int) -> AgentSetup:
        if isinstance(setup.arms, int):
            raise PosseError(
                f"in {setup.system} the coordinator keeps the arms, so --data has no use; "
                "start the agent without it"
            )
        clip = setup.arms.clip if isinstance(setup.arms, RealArms) else None
        arms = CsvArms(path=self._path, count=setup.arm_count, clip=clip)
        refuse_lab(setup, arms, allowed=self._lab)
        setup = msgspec.structs.replace(setup, alone=True, privacy=self._privacy)
        if setup.mode == "field":
            self._check(setup, arms)
        return msgspec.structs.replace(setup, arms=arms, base="/")

    def _check(self, setup: AgentSetup, arms: CsvArms) -> None:
        """`PosseError` unless a run file on this machine could have ordered this run."""
        claim = setup.claim
        if not claim.holds or claim.epsilon is None:
            raise PosseError(
                f"{setup.system} protects no reward by noise: {claim.note} An agent takes part in "
                "such a run only with its own run file (--run RUN.toml)"
            )
        system = get_system(setup.system)
        spec = RunSpec(
            system=setup.system,
            arms=msgspec.structs.replace(arms, path="{rank}"),
            agents=convert({"count": setup.agents}, AgentsSpec, "agents"),
            mode=setup.mode,
            parameters=setup.parameters,
            variant=setup.variant,
            privacy=self._privacy,
        )
        parameters = convert(setup.parameters, system.parameters, "parameters")
        try:  # an agent is not told the graph
            check(Plan(spec, system, parameters, setup.clock), graph=False)
        except SpecError as error:
            raise PosseError(
                f"the coordinator's run is not meant for real rewards: {error}"
            ) from None
        if claim.epsilon > self._privacy.budget:
            cost = TOO_MUCH.format(claim.epsilon, self._privacy.budget)
            raise PosseError(f"the coordinator's run is not meant for real rewards: {cost}")


class OwnRun(TheirRun):
    """This machine's own run file, as a `plan`: its arms are used, and all else must match it.

    `path`, if given, replaces the path of the reward log in the run file. `lab` permits real
    rewards (arms csv, python) in a lab run, whose noise protects nothing from anyone who knows the
    seed.
    """

    def __init__(self, plan: Plan, path: str = "", *, lab: bool) -> None:
        self._plan = plan
        self._arms = plan.spec.arms
        if path and isinstance(self._arms, CsvArms):
            self._arms = msgspec.structs.replace(self._arms, path=path)
        self._lab = lab

    @property
    def by_rank(self) -> bool:
        """Whether an agent's rank decides which real rewards it uses, or where their ledger is."""
        arms, real = self._arms, self._plan.field and not self._plan.system.shares_arms
        if not real or not isinstance(arms, RealArms):
            return False
        return arms.ledger("/", 0) != arms.ledger("/", 1)

    def accept(self, setup: AgentSetup, rank: int) -> AgentSetup:
        plan = self._plan
        refuse_lab(setup, plan.spec.arms, allowed=self._lab)
        different = []
        if setup.agents != plan.spec.agents.count:
            different.append("agents")  # no other rank than its own file's has a setup
        else:
            own = setup_of(plan, plan.network(0), rank)
            # the lab's agents do not know the seed, by which graphs and liars may be drawn
            apart = _SAID if plan.field else (*_SAID, "neighbours", "knowledge")
            ours, theirs = _as_carried(own), _as_carried(setup)
            different = [
                name for name in theirs if ours[name] != theirs[name] and name not in apart
            ]
            if setup.arm_count != own.arm_count:
                different.append("arms")
        if different:
            raise PosseError(
                "the coordinator's configuration differs from this agent's own run file in "
                f"{', '.join(different)}; give both the same"
            )
        if isinstance(setup.arms, int):
            return setup
        return msgspec.structs.replace(
            setup, arms=self._arms, base=plan.spec.base, privacy=plan.spec.privacy
        )

    def left(self, rank: int, members: Collection[int]) -> Left | None:
        plan, wiring = self._plan, self._plan.system.wiring
        if not plan.field or wiring is None or wiring.regroup is None:
            return None
        before = plan.network(0).neighbours
        if not set(members) <= set(range(len(before))):
            return (), {}
        after = wiring.regroup(remaining(before, members), members)
        return after.neighbours[rank], after.knowledge[rank]


def _as_carried(setup: AgentSetup) -> dict[str, Any]:
    """What a setup says, by name, as it comes from the network, where tuples are lists."""
    return _TABLE.read(msgspec.msgpack.encode(setup))


def refuse_lab(setup: AgentSetup, arms: ArmsSpec | int, *, allowed: bool) -> None:
    """`PosseError` for real rewards in a run outside the field, unless that is `allowed`."""
    if isinstance(arms, RealArms) and setup.mode != "field" and not allowed:
        raise PosseError(
            "the run is for the lab: its noise has a seed, and anyone who knows the seed can "
            'subtract it from real rewards; set mode = "field" in the run file, or start with --lab'
        )
