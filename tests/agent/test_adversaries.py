"""What docs/security.md says of a malicious coordinator while an agent joins, in any order.

The agent has keys, a rank and a run file of its own. Whatever it is told, and whatever the network
does meanwhile, it leaves by a sentence at worst; and if it takes part, then in the run of its own
file, under its own name, in a run whose name it had a part in, with neighbours of its own list.
"""

from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from posse.agent.joining import Joining
from posse.agent.own_run import OwnRun
from posse.agent.states import Closure
from posse.coordinator.setups import agent_setups
from posse.errors import PosseError
from posse.hosts import effects as does
from posse.hosts.agent_setup import AgentSetup
from posse.plan import prepare
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.signing import nonce_of
from posse.protocol.wire import encode
from tests.support.adversary import plays
from tests.support.fuzz import INTS, WORDS, HostileFields

RANK, STARTED = 1, b"start-of-agent-1"
LISTED = {n: f"{n}" * 40 for n in range(4)}
RUN = prepare(
    {
        "system": "private-ucb",
        "mode": "field",
        "agents": {"count": 4},
        "arms": {"kind": "csv", "path": "{rank}.csv", "count": 2},
        "topology": {"kind": "ring"},
        "parameters": {"epsilon": 1.0, "horizon": 100},
        "engine": {"clock": "wall"},
    }
)
NONCES = tuple(nonce_of(STARTED if n == RANK else bytes([n]) * 16) for n in range(4))
INBOXES = {n: f"tcp://192.0.2.{n}:7" for n in range(4)}
HONEST: AgentSetup = agent_setups(
    RUN, RUN.network(0), INBOXES, {n: LISTED[n] for n in range(4)}, name=b"run", nonces=NONCES
)[RANK]
FIELDS = sorted(AgentSetup.__struct_fields__)


class CoordinatorAgainstAgent(RuleBasedStateMachine):
    """`left`: why the agent ended its part, "" while it takes part."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.quiet: tuple[int, ...] = ()
        self.starts()

    def starts(self) -> None:
        """Its operator starts it, and again once it has left."""
        join = control.Join(RANK, "", "", 7, STARTED)
        self.joining = Joining(
            join,
            self.now,
            endpoint="tcp://192.0.2.9:1",
            key="its own",
            own_run=OwnRun(RUN, lab=False),
            wait=300.0,
            listed=LISTED,
        )
        self.left = ""

    # --- the coordinator -------------------------------------------------------------------------

    def comes_so_far(self) -> None:
        """What an honest coordinator says until its agent has arrived."""
        if self.left:
            self.starts()
        if not self.joining.belongs:
            self.happens(self.joining.connected, 1e9, self.now)
            self.welcomes(RANK)
            self.tells_the_time(8, 10**9)

    def configures_by(self, encoded: bytes, rank: int = RANK) -> None:
        self.comes_so_far()
        self.told(control.Configure(rank, encoded))

    def told(self, message: Any) -> None:
        frame = message
        if not isinstance(message, bytes):
            frame = encode(message, run=0, source=COORDINATOR, sequence=0, now=0.0, sent=0)
        self.happens(self.joining.receive, frame, self.now)

    @rule(rank=st.sampled_from([RANK, RANK, 0, 2, 99]))
    def welcomes(self, rank: int) -> None:
        self.told(control.Welcome(rank, "private-ucb"))

    @rule(count=st.integers(1, 8), clock=st.sampled_from([0, 10**9, *INTS]))
    def tells_the_time(self, count: int, clock: int) -> None:
        for _ in range(count):
            if 0 <= clock < 1 << 63:
                self.told(control.Synced(round(self.now * 1e9), clock))

    @rule()
    def configures(self) -> None:
        self.configures_by(msgspec.msgpack.encode(HONEST))

    @rule(
        rank=st.sampled_from([RANK, RANK, 3, 0, 4]),
        name=st.sampled_from(FIELDS),
        seed=st.integers(0, 10_000),
    )
    def configures_otherwise(self, rank: int, name: str, seed: int) -> None:
        table = msgspec.to_builtins(HONEST)
        near = HostileFields(str(seed)).near(table[name])
        self.configures_by(msgspec.msgpack.encode(table | {name: near}), rank)

    @rule(at=st.integers(0, 2_000), to=st.sampled_from([0xFF, 0xC1, 0, 0x80]))
    def configures_by_other_bytes(self, at: int, to: int) -> None:
        encoded = bytearray(msgspec.msgpack.encode(HONEST))
        encoded[at % len(encoded)] = to
        self.configures_by(bytes(encoded))

    @rule(other=st.integers(0, 3), own=st.booleans())
    def stands_between(self, other: int, own: bool) -> None:
        keys = {n: "e" * 40 if n == other else key for n, key in HONEST.keys.items()}
        nonces = HONEST.nonces if own else (bytes(16),) * 4
        said = msgspec.structs.replace(HONEST, keys=keys, nonces=nonces)
        self.configures_by(msgspec.msgpack.encode(said))

    @rule(taken=st.sampled_from([n for n in INTS if 0 <= n < 1 << 32]))
    def resumes_it(self, taken: int) -> None:
        self.told(control.Resumed(taken))

    @rule(which=st.sampled_from([control.Unknown(), control.Whose()]))
    def knows_it_not(self, which: Any) -> None:
        self.told(which)

    @rule(word=st.sampled_from(WORDS), port=st.integers(0, 9))
    def moves_a_neighbour(self, word: str, port: int) -> None:
        self.told(control.Moved(port, f"tcp://192.0.2.1:{port}" if port else word[:200]))

    @rule(seed=st.integers(0, 10_000))
    def says_anything(self, seed: int) -> None:
        self.told(HostileFields(str(seed)).frame(control.TO_JOINING))

    # --- the network and its process -------------------------------------------------------------

    @rule(up=st.booleans())
    def the_connection_comes_or_goes(self, up: bool) -> None:
        if up:
            self.happens(self.joining.connected, 1e9, self.now)
        else:
            self.happens(self.joining.disconnected, self.now)

    @rule(how=st.sampled_from(Closure))
    def a_handshake_fails(self, how: Closure) -> None:
        self.happens(self.joining.not_let_in, how)

    @rule(seconds=st.floats(0.1, 10.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.happens(self.joining.fire, self.now)

    @rule(quiet=st.booleans())
    def neighbours_fall_silent_or_listen(self, quiet: bool) -> None:
        self.quiet = HONEST.neighbours if quiet else ()
        self.happens(self.joining.not_listening, self.quiet)

    # --- what must hold --------------------------------------------------------------------------

    def happens(self, event: Any, *given: Any) -> None:
        if self.left:
            return
        try:
            self.follows(event(*given))
        except PosseError as error:  # as its process does
            self.left = str(error)

    def follows(self, effects: list[does.JoiningEffect]) -> None:
        assert len(effects) <= 20
        for effect in effects:
            match effect:
                case does.MakeHost(setup) | does.ConnectNeighbours(setup):
                    self.takes_part_in(setup)
                    if isinstance(effect, does.ConnectNeighbours):
                        self.follows(self.joining.not_listening(self.quiet))
                case does.OpenInbox():
                    self.follows(self.joining.inbox_open("tcp://192.0.2.1:7"))
                case does.MoveNeighbour(_, inbox):
                    assert inbox.startswith("tcp://192.0.2.")
                case does.LogLine(_, text):
                    assert text.isprintable()
                case does.Fail(reason):
                    self.left = reason
                case does.Leave() | does.GiveUp():
                    self.left = "over"

    def takes_part_in(self, setup: AgentSetup) -> None:
        assert self.joining.rank == RANK
        assert setup.nonces[RANK] == NONCES[RANK]
        assert all(setup.keys[n] == LISTED[n] for n in setup.neighbours)
        given = {"inboxes", "keys", "first", "name", "nonces", "alone", "alive", "durable"}
        for name in set(FIELDS) - given:
            assert getattr(setup, name) == getattr(HONEST, name)

    @invariant()
    def what_is_said_is_a_sentence(self) -> None:
        assert self.left.isprintable()

    @invariant()
    def its_clock_is_one_that_can_be(self) -> None:
        assert abs(self.joining.offset) < 1 << 62

    @invariant()
    def nothing_grows(self) -> None:
        assert len(self.joining._trips) <= 8
        assert len(self.joining._reported_down) <= 4


def test_whatever_a_coordinator_does_while_an_agent_joins() -> None:
    plays(CoordinatorAgainstAgent, orders=60, steps=30)
