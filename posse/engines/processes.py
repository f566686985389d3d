"""Engine `processes`: every agent its own operating-system process."""

import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import Self

from posse.coordinator.crew import Crew, Starter, journal_of
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.hub import Hub
from posse.coordinator.recovery import (
    RunBeginning,
    checkpointer,
    members_of,
    restore,
    restored_host,
)
from posse.coordinator.setups import Observer, Way, agent_setups, silent, straight
from posse.coordinator.witness import NAME, Witness
from posse.durable.capture import Capture
from posse.durable.journal import Input, Journal
from posse.durable.recording import record_sources
from posse.engines.start import room
from posse.engines.start.forkserver import ForkServer
from posse.errors import PosseError, RunFailed, exit_code
from posse.gates.databases import remove
from posse.hosts.agent_setup import AgentSetup
from posse.log import LOG
from posse.measure.numbers import named
from posse.own_code import aside, folders_of
from posse.plan import Plan
from posse.protocol.machine import COORDINATOR
from posse.protocol.signing import Signer, nonce_of, run_name
from posse.results import words
from posse.results.record import RunRecord
from posse.security.keys import CoordinatorKeys, KeyPair, make_ephemeral_keys
from posse.system.network import Network
from posse.wire.orders import Signs
from posse.wire.relay import Relays
from posse.wire.resources import ProcessResources
from posse.wire.sources import of_this_machine
from posse.wire.world import HERE, World


class ProcessEngine:
    """A posse of processes: started once, it carries any number of runs.

    `spawn` agents start here, from rank 0; the others join from elsewhere. All runs of one engine
    have the same number of agents and the same transport. Over tcp, if all agents start here, links
    have keys that live as long as the engine. `capture`, if given, records all frames. `way` may
    put something between the two ends of each link. With a `journal` the run in it continues. A
    `starter` starts all agents on other machines, with keys that live as long as the engine. Frames
    count its runs from `first_serial`.

    Above 20 attributes: what its agents are started with, and what ends with it.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        bind: str | None = None,
        token: str | None = None,
        spawn: int | None = None,
        keys: CoordinatorKeys | None = None,
        on_join: Callable[[int], None] = lambda joined: None,
        capture: Capture | None = None,
        way: Way = straight,
        journal: Journal | None = None,
        starter: Callable[[], Starter] | None = None,
        world: World = HERE,
        first_serial: int = 0,
    ) -> None:
        spec = plan.spec
        if journal is not None and (before := journal.began_as(RunBeginning)) is not None:
            world = world.after(before.clocks)
        self._world = world
        self._first_serial = first_serial
        self._spec = spec
        self._spawn = spec.agents.count if spawn is None else spawn
        self._elsewhere = starter is not None and not world.is_simulated
        local = 0 if self._elsewhere else self._spawn
        self._start_by = starter or ForkServer
        self._starter: Starter | None = None
        self._configured: object = None
        self._serial = 0
        self._closed = False
        self._keys, self._pairs = self._keys_of(keys, bind)
        self._drawn = world.token_bytes(16) if self._keys is not None and plan.field else b""
        self._name = self._drawn
        """The name of the run in signatures: with keys it has the agents' nonces, too."""
        signers = self._keys.signers if self._keys is not None else None
        self._checker = Signer(None, signers, self._name) if signers is not None else None
        self._capture = capture
        self._way = way
        self._relays: Relays | None = None
        self._journal = journal
        self._mesh = plan.system.wiring is not None
        self._durable = bool(local and (spec.engine.durable or spec.engine.restarts))
        self._ipc = spec.engine.transport == "ipc" and bind is None
        if not world.is_simulated:
            together = spec.engine.agents_per_process
            links = [len(near) for near in plan.network(0).neighbours] if self._mesh else []
            room.require(spec.agents.count, local, together, ipc=self._ipc, links=links)
        self._scratch = world.scratch() if self._ipc or self._durable else None
        if bind is None:
            bind = f"ipc://{self._folder}/hub" if self._ipc else "tcp://127.0.0.1:*"
        self.token = world.token_bytes(16).hex() if token is None else token
        """The token that agents show when they join."""
        try:
            kept, signs = self._witness(plan), self._signs(plan)
            self.hub = Hub(spec, bind, self.token, self._keys, capture, journal, world, kept, signs)
        except BaseException:
            self._remove_scratch()
            raise
        self.hub.on_join = on_join
        self.hub.on_restart = lambda rank: self._start([rank])

    def _keys_of(
        self, keys: CoordinatorKeys | None, bind: str | None
    ) -> tuple[CoordinatorKeys | None, tuple[KeyPair, ...]]:
        """The coordinator's keys, and those of the agents that this engine starts, if any."""
        local = bind is None and keys is None and self._spawn == self._spec.agents.count
        if self._elsewhere or (local and self._spec.engine.transport == "tcp"):
            return make_ephemeral_keys(self._spawn, self._world.token_bytes)
        return keys, ()

    @property
    def endpoint(self) -> str:
        """The address at which agents join."""
        return self.hub.endpoint

    def __enter__(self) -> Self:
        try:
            if self._spawn:
                if self._spec.network is not None and self._way is straight:
                    self._relays = Relays()
                    self._way = self._relays.way
                self._starter = starter = self._start_by()
                self.hub.watch(starter.deaths, starter.next_death)
                self._start(range(self._spawn))
            resumes = self._journal is not None and self._journal.beginning
            if not (resumes or self.hub.lobby.over):
                self.hub.gather()
        except BaseException as error:
            self.__exit__(None, error, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.hub.exit_code = exit_code(error) or self.hub.exit_code
        self.hub.adjourned = self.hub.resumable and isinstance(error, KeyboardInterrupt)
        self.close("" if error is None else str(error) or "interrupted")

    def run(self, plan: Plan, number: int, observe: Observer = silent) -> RunRecord:
        """Carry run `number` of a series; agents that are up are told only what is new."""
        with aside():
            return self._run(plan, number, observe)

    def _run(self, plan: Plan, number: int, observe: Observer) -> RunRecord:
        if self._journal is not None:
            before = self._journal.began_as(RunBeginning)
            if before is not None and self._serial == 0:
                record = self._go_on(plan, before, self._journal, observe)
                if before.run == number:
                    return record
            self._journal.forget()
        network = plan.network(number)
        if self._relays is not None:
            self._relays.declare(plan.spec.conditions(number))
        host = self._host(plan, network, number, observe)
        dead = [rank for rank in self.hub.lobby.roster.dead() if rank < self._spawn]
        if dead and not host.outlives_agents:
            raise RunFailed(
                f"agent {dead[0]} ended before this run; start it again, or all of them"
            )
        for rank in dead:
            self._replace(rank)
        away = [rank for rank in self.hub.lobby.roster.missing() if rank >= self._spawn]
        if away and self._serial:
            wait = plan.spec.engine.joining
            LOG.warning("the next run waits for %s to join again (%g s)", named(away), wait)
        self.hub.gather()
        while (setups := self._setups(plan, network)) != self._configured or (
            self.hub.lobby.changed
        ):
            self.hub.configure(setups)
            self._configured = setups
            self.hub.gather()
        begun = None
        if self._journal is not None:
            members = members_of(self.hub.lobby.roster)
            begun = RunBeginning(
                run=number,
                serial=self._serial,
                name=self._name,
                starts=self._journal.starts,
                clocks=self._world.read_clocks(),
                members=members,
            )
            self._journal.begin(begun)
        LOG.info("%s begins", _named(plan, number))
        record = self._carried(host, begun)
        if record.dismissed:  # the other agents have closed their links to these
            self._configured = None
        return record

    def finish(self, plan: Plan) -> None:
        """Restore the state of a coordinator that was killed after its last run.

        Then its agents can be let go, because the sessions with them are known again.
        """
        kept = self._journal
        if kept is not None and (before := kept.began_as(RunBeginning)) is not None:
            self._go_on(plan, before, kept, silent)

    def _carried(
        self, host: CoordinatorHost, begun: RunBeginning | None, inputs: Iterable[Input] = ()
    ) -> RunRecord:
        """Carry a run, which may continue from a journal; see `Hub.carry`."""
        self._serial += 1
        if begun is not None and self._journal is not None:
            self.hub.on_look = checkpointer(
                self._journal, begun, host, self.hub.lobby.roster, self._world
            )
        try:
            record = self.hub.carry(host, inputs, begun=begun is not None and bool(begun.state))
        finally:
            self.hub.on_look = lambda: None
        if self._journal is not None:
            with suppress(PosseError):  # the run is over; a restart from here waits for no agent
                self._journal.commit()
        LOG.info("%s ended: %s", _named(host.plan, host.run), words.ending(record))
        if not record.answered:
            self.hub.exit_code = RunFailed.exit_code
        return record

    def _host(
        self, plan: Plan, network: Network, number: int, observe: Observer, state: bytes = b""
    ) -> CoordinatorHost:
        """The host of a run, restored from `state` if there is one."""
        world = self._world
        resources = ProcessResources(self.hub.sessions, world)
        sources = of_this_machine(world.monotonic_ns, resources, self._checks, world)
        if self._journal is not None:
            sources = record_sources(self._journal, sources, field=plan.field)
            if state:
                return restored_host(self._journal, plan, sources, observe, state)
        serial = self._first_serial + self._serial
        return CoordinatorHost(plan, network, number, sources, observe, serial)

    def _go_on(
        self, plan: Plan, before: RunBeginning, kept: Journal, observe: Observer
    ) -> RunRecord:
        """Continue the run in which this coordinator was killed."""
        LOG.info("%s resumes where its coordinator was killed", _named(plan, before.run))
        self._serial = before.serial
        self._rename(before.name)
        restore(self.hub.lobby.roster, before.members)
        self.hub.lobby.went_on = True
        with kept.replay() as inputs:
            network = plan.network(before.run)
            host = self._host(plan, network, before.run, observe, before.state)
            record = self._carried(host, before, inputs)
        record.restarts[COORDINATOR] = kept.starts - before.starts
        return record

    def _setups(self, plan: Plan, network: Network) -> list[AgentSetup]:
        """The configuration of each agent."""
        nonces: tuple[bytes, ...] = ()
        roster = self.hub.lobby.roster
        if self._drawn:
            came = (roster.members.get(rank) for rank in range(plan.spec.agents.count))
            nonces = tuple(nonce_of(agent.incarnation if agent else b"") for agent in came)
            self._rename(run_name(self._drawn, nonces))
        return agent_setups(
            plan,
            network,
            roster.inboxes if self._mesh else None,
            roster.keys if self._keys is not None and self._mesh else None,
            self._way,
            self._drawn,
            nonces,
        )

    def _rename(self, name: bytes) -> None:
        self._name = name
        if self._checker is not None:
            self._checker.name(name)

    def pids(self) -> dict[int, int]:
        """The process id of each agent that was started here and is up, by rank."""
        members = self.hub.lobby.roster.members
        return {rank: m.pid for rank, m in sorted(members.items()) if m.pid and not m.ended}

    def restart(self, rank: int) -> None:
        """Start agent `rank` again, between runs. It is killed first if it is up.

        `PosseError` where agents share processes: a kill would end its companions, too.
        """
        if self._spec.engine.agents_per_process > 1:
            raise PosseError(
                f"agent {rank} shares its process with others, so it cannot be started again "
                "alone; leave engine.agents_per_process at 1"
            )
        self._replace(rank)
        self.hub.gather([rank])

    def _replace(self, rank: int) -> None:
        pid = self.pids().get(rank)
        self.hub.lobby.replace(rank)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._durable:
            remove(journal_of(self._folder, rank))
        self._start([rank])

    def close(self, why: str = "") -> None:
        """Let every agent go and leave nothing behind; a second call does nothing.

        `why` is told to people, if the runs failed.
        """
        if self._closed:
            return
        self._closed = True
        # these run even if a second Ctrl-C interrupts the hub's `close`
        with ExitStack() as left:
            left.callback(self._remove_scratch)
            if self._relays is not None:
                left.callback(self._relays.close)
            if self._starter is not None:
                left.callback(self._starter.close)
                self._starter = None
            self.hub.close(why)

    def _checks(self, agents: int, name: bytes) -> Signer | None:
        """A signer that only checks what agents sign; None without keys."""
        return self._checker

    def _witness(self, plan: Plan) -> Witness | None:
        """Who keeps where agents' ledgers are; None without an allowlist, or outside the field."""
        allowlist = self._keys.allowlist if self._keys is not None and plan.field else None
        if allowlist is None or self._checker is None:
            return None
        return Witness(allowlist.with_name(NAME), self._checker)

    def _signs(self, plan: Plan) -> Signs | None:
        """Who signs what agents are ordered; as for the witness, None elsewhere."""
        if self._keys is None or self._keys.allowlist is None or not plan.field:
            return None
        book = self._journal.signed if self._journal is not None else None
        register = None if book is None else book.claim
        return Signer(self._keys.own.signing, {}, b"", register), book

    def _remove_scratch(self) -> None:
        if self._scratch is not None:
            self._scratch.remove()

    @property
    def _folder(self) -> str:
        """The folder of this posse's own files, "" if it has none."""
        return str(self._scratch.path) if self._scratch is not None else ""

    def _start(self, ranks: Sequence[int]) -> None:
        assert self._starter is not None
        inbox = ""
        if self._mesh and not self._elsewhere:
            inbox = f"ipc://{self._folder}/agent-{{rank}}" if self._ipc else "tcp://127.0.0.1:*"
        pairs = dict(enumerate(self._pairs))
        self._starter.start(
            Crew(
                agents={
                    rank: (self._way(rank, COORDINATOR, self.hub.endpoint), pairs.get(rank))
                    for rank in ranks
                },
                token=self.token,
                system=self._spec.system,
                folders=folders_of(self._spec.base, self._spec.path),
                inbox=inbox,
                coordinator=self._keys.own.public if self._pairs and self._keys else "",
                signers=self._keys.signers if self._pairs and self._keys else {},
                capture=str(self._capture.path) if self._capture is not None else "",
                journals=self._folder if self._durable else "",
                spec=self._spec if self._elsewhere else None,
                per_process=1 if self._elsewhere else self._spec.engine.agents_per_process,
            )
        )


def _named(plan: Plan, number: int) -> str:
    """The name of a run in the log, counted from 1."""
    return f"run {number + 1} of {plan.spec.repeat}"
