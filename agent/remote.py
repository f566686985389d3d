"""An agent on another machine than its coordinator."""

import hashlib
import re
from collections import Counter
from pathlib import Path

import msgspec

from posse import __version__
from posse.agent.guard import Guard
from posse.agent.joining import Joining
from posse.agent.own_run import OwnData, OwnRun, TheirRun
from posse.agent.process import AgentProcess
from posse.agent.recovery import Beginning
from posse.agent.site import AgentSite
from posse.agent.uplink import Uplink
from posse.arms import RealArms
from posse.durable.capture import Tap
from posse.durable.journal import Journal, is_held
from posse.errors import InputError, RunFailed
from posse.gates.signatures import ORDERS, SIGNED, SignedRegister
from posse.hosts.agent_setup import PROGRAM
from posse.log import LOG
from posse.measure.account import Account
from posse.measure.numbers import counted
from posse.measure.traffic import quantile
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.estimates import latest
from posse.protocol.privacy import Claim, format_cost, total_cost
from posse.protocol.signing import Signer
from posse.security import address
from posse.security.keys import AgentKeys, beginning
from posse.spec.fingerprint import fingerprint
from posse.spec.privacy import ALONE, PrivacySpec
from posse.system import get_system
from posse.wire.forwarding import Forwarding
from posse.wire.line import Interceptor, Transmit
from posse.wire.lookup import reachable_address, unresolved
from posse.wire.sockets import Selector
from posse.wire.world import HERE, World

_LOOK_UP_EVERY = 0.5
"""Seconds."""


class RemoteSite(AgentSite):
    """The place of an agent on a machine of its own, whose people read its log."""

    def __init__(
        self,
        guard: Guard,
        endpoint: str,
        inbox: str,
        wait: float,
        keys: AgentKeys | None,
        world: World = HERE,
        advertise: str = "",
        journal: Journal | None = None,
    ) -> None:
        super().__init__(guard, inbox)
        self._advertise = advertise
        self._journal = journal
        self._world = world
        self._keys = keys
        self._endpoint = endpoint
        self._wait = wait

    def bind(self, system: str) -> str:
        if get_system(system).wiring is None:
            return ""
        if self._inbox == address.FORWARDED:
            return "tcp://127.0.0.1:*"  # nobody is told
        return self._inbox or address.join(self._world.own_address(self._endpoint), "*")

    def elsewhere(self, bound: str) -> str:
        own = self._world.own_address(self._endpoint)
        return "" if self._inbox or address.split(bound)[0] == own else address.join(own, "*")

    def address_for_neighbours(self, bound: str) -> str:
        if self._inbox == address.FORWARDED:
            return self._inbox
        return self._advertise or reachable_address(bound, self._endpoint)

    def why_alone(self) -> str:
        trouble = self._world.why_silent(self._endpoint)
        return (
            f"no coordinator answered at {self._endpoint} for {self._wait:g} s"
            + (f": {trouble}" if trouble else "")
            + "; check the address, and that posse coordinator runs there"
        )

    def signer(self, agents: int, name: bytes) -> Signer | None:
        if self._keys is None:
            return None
        journal = self._journal
        kept = journal.signed if journal is not None and journal.beginning else None
        return self._keys.signer(agents, name, None if kept is None else kept.claim)

    def forwarding(self, send: Transmit) -> Forwarding | None:
        if self._keys is None:
            return None
        alone = self._inbox == address.FORWARDED
        return Forwarding(self._keys.own, send, self._world.token_bytes, alone=alone)

    def say_failure(self, reason: str, *, field: bool) -> None:
        LOG.error("%s", reason)

    def run_ended(self, claim: Claim, ledger: Account, delays: Counter[int]) -> None:
        """See `AgentSite`. What this agent did is logged here, and told to nobody else."""
        if (median := quantile(delays, 0.5)) is not None:
            LOG.info("messages to this agent took %.1f ms (median)", 1e3 * median)
        LOG.info(
            "this run used %s and spent %s%s by %s%s%s",
            counted(int(ledger.pulls.sum()), "reward"),
            format_cost(total_cost(ledger.releases, claim.delta), claim.delta),
            " after the fact" if claim.delta else "",
            counted(sum(release.times for release in ledger.releases), "release"),
            "" if ledger.answer is None else f"; this agent's arm is {ledger.answer}",
            f"; its rewards are used up: {ledger.exhausted}" if ledger.exhausted else "",
        )
        for estimate in latest(ledger.log):
            LOG.info("arm %d by what was released: %s", estimate.arm, estimate)
        if ledger.lifetime:
            LOG.info("all runs over these rewards: %s", ledger.lifetime)


def remote_agent(
    endpoint: str,
    rank: int = -1,
    *,
    keys: AgentKeys | None = None,
    inbox: str = "",
    advertise: str = "",
    plan: Plan | None = None,
    data: Path | None = None,
    privacy: PrivacySpec = ALONE,
    wait: float = 300.0,
    lab: bool = False,
    tap: Tap | None = None,
    journal: Path | None = None,
    many: bool = False,
    world: World = HERE,
) -> AgentProcess:
    """An agent that joins the coordinator at `endpoint` and stays until it is told to leave.

    `rank` -1 lets the key choose, or the coordinator if real rewards do not depend on the rank.
    `inbox` is the ZeroMQ address at which this agent listens to neighbours; "" takes any free port
    of the address by which this machine reaches the coordinator; "coordinator" accepts none, and
    lets it forward what neighbours seal for this agent. `advertise` is the one that they
    are told, if it is another: a published port, or that of a NAT.
    `plan` is this machine's own run file's: its arms are used, and all else must match the
    coordinator's configuration. `data` is this machine's own reward log; without a `plan` it serves
    any run that protects each reward as `privacy` says. With neither all rewards are simulated.
    `wait`: seconds without a coordinator after which the agent gives up.
    `lab` permits real rewards (arms csv, python) in a lab run, whose noise protects nothing from
    anyone who knows the seed. `tap`: see `AgentProcess`. `journal`: the file of this agent's
    inputs, from which a restart continues; in the field, and in a lab that is durable.
    `many`: many agents share this one's core.
    """
    if trouble := unresolved(endpoint):
        LOG.info("%s; trying for %g s", trouble, wait)
    if keys is not None:
        rank = keys.rank
    own = keys.own if keys is not None else None
    configuration = fingerprint(plan.spec) if plan is not None else {}
    path = str(data.resolve()) if data is not None else ""
    own_run = OwnData(path, privacy, lab=lab) if path else TheirRun()
    if plan is not None:
        own_run = OwnRun(plan, path, lab=lab)
    if rank < 0 and isinstance(own_run, OwnRun) and own_run.by_rank:
        raise InputError(
            "--rank is missing, and this agent's real rewards depend on it; a coordinator that "
            "chose it could ask for them again under another; give a rank, or keys, which have one"
        )
    owner = _owner(_coordinator(endpoint, keys), rank, configuration)
    # in the lab a power failure costs no more than a run
    safe = plan is None or plan.field
    kept = None if journal is None else _opened(journal, owner, safe=safe, keys=keys)
    if kept is not None and (before := kept.began_as(Beginning)) is not None:
        world = world.after(before.clocks)
        _await_way(endpoint, wait, world)
    joining = Joining(
        control.Join(
            rank,
            token="",
            inbox="",
            pid=0,
            incarnation=world.token_bytes(8),
            configuration=configuration,
            version=PROGRAM,
        ),
        world.monotonic(),
        endpoint=endpoint,
        key=str(own.public_keys) if own is not None else "",
        own_run=own_run,
        wait=wait,
        listed=keys.connects if keys is not None else {},
    )
    context = world.context(many=many)
    selector = Selector(world.poller())
    guard = Guard(context, selector, own, world)
    beside = journal.with_suffix(ORDERS) if journal is not None and keys is not None else None
    book = None if beside is None else SignedRegister(beside, lasts=True)
    site = RemoteSite(guard, endpoint, inbox, wait, keys, world, advertise, kept)

    def connect(interceptor: Interceptor) -> Uplink:
        return Uplink(
            *(context, endpoint, interceptor, keys),
            guarded=True,
            world=world,
            book=book,
            who=lambda: (joining.rank, joining.incarnation),
        )

    return AgentProcess(context, selector, connect, joining, site, tap, kept, world)


def _opened(path: Path, owner: str, *, safe: bool, keys: AgentKeys | None) -> Journal:
    """The journal, with the register of what was signed beside it where agents have keys."""
    beside = path.with_name(f"{path.name}{SIGNED}")
    signed = SignedRegister(beside) if keys is not None else None
    return Journal(path, owner, synchronous=safe, signed=signed)


def _await_way(endpoint: str, wait: float, world: World) -> None:
    """Wait until this machine has a way to the coordinator: a resumed agent opens its inbox on it.

    After a reboot, or in a container, the network and the coordinator's name may come later.
    """
    until = world.monotonic() + wait
    while True:
        try:
            world.own_address(endpoint)
            return
        except OSError as error:
            if world.monotonic() >= until:
                raise RunFailed(
                    f"this machine had no way to {endpoint} for {wait:g} s ({error.strerror}); "
                    "check the address and the network, and start this agent again: it resumes"
                ) from None
        world.sleep(_LOOK_UP_EVERY)


def journal_of(
    endpoint: str,
    rank: int,
    plan: Plan | None = None,
    data: Path | None = None,
    keys: AgentKeys | None = None,
) -> Path:
    """Where an agent keeps its journal: beside its ledger, else in the working directory.

    An agent that is started again in the same way finds it there. An agent whose rank the
    coordinator chooses takes one that was left behind; else it is named by the rank it is given.
    """
    ledger = Path(f"{data.resolve()}.ledger") if data is not None else None
    if ledger is None and plan is not None and not plan.system.shares_arms:
        arms = plan.spec.arms
        if isinstance(arms, RealArms) and rank >= 0:
            ledger = arms.ledger(plan.spec.base, rank)[0]
    if ledger is not None:
        return ledger.with_suffix(".journal")
    place = re.sub(r"\W+", "-", _coordinator(endpoint, keys).rpartition("://")[2])
    if rank >= 0:
        return Path(f"posse-{place}-{rank}.journal")
    journals = (
        path for path in sorted(Path().glob(f"posse-{place}-*.journal")) if not is_held(path)
    )
    return next(journals, Path(f"posse-{place}-{{rank}}.journal"))


def _coordinator(endpoint: str, keys: AgentKeys | None) -> str:
    """What stays the same of a coordinator that is started again elsewhere: its key, if any."""
    return endpoint if keys is None else beginning(keys.coordinator)[3:11]


def _owner(coordinator: str, rank: int, configuration: dict[str, str]) -> str:
    """The owner of a journal: agent, coordinator, run file and version of posse."""
    run = hashlib.sha256(msgspec.json.encode(sorted(configuration.items()))).hexdigest()[:8]
    agent = f"agent {rank}" if rank >= 0 else "an agent"
    return f"{agent} of {coordinator}, run file {run}, posse {__version__}"
