"""What docs/security.md says of who lies in a run under way, in any order of the same messages.

Four agents of `ddp-mab` sign. The coordinator says twice, and differently, how they go on after a
loss, and what no coordinator says; agent 1 forges what it passes on, and complains first. Agents 0,
2 and 3 are honest: each signs one content a place; no proof is against them; and a run that ends
early does so by a sentence, in which who forged is named where somebody honest refused it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from posse.agent.host import AgentHost
from posse.coordinator.agreement import Complaints
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import agent_setups
from posse.engines.memory import _Run
from posse.errors import PosseError
from posse.hosts.effects import SendFrame
from posse.hosts.endpoint import Endpoint
from posse.plan import prepare
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.signing import HASH_BYTES, Signer
from posse.wire.sources import of_this_machine
from posse_systems.li2022.messages import Data
from tests.runs.test_signatures import forged_rows
from tests.support.adversary import plays

pytestmark = pytest.mark.inside

LIAR, LOST = 1, 3
ARMS = 4


def plan_of(graph: str, exchange: str) -> Any:
    return prepare(
        {
            "system": "ddp-mab",
            "seed": 3,
            "agents": {"count": 4},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.8, 0.7, 0.6]},
            "topology": {"kind": graph},
            "parameters": {"epsilon": 1.0, "horizon": 20000, "exchange": exchange},
            "engine": {"sign": True, "on_missing": "continue"},
        }
    )


PLANS = {(g, e): plan_of(g, e) for g in ("complete", "path") for e in ("flooding", "gis")}


class Carried(_Run):
    """The engine's way of frames, but a frame goes when it is told to."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.held: deque[Any] = deque()

    def _collect(self, source: int, effects: Sequence[Any]) -> None:
        sent = (effect for effect in effects if isinstance(effect, SendFrame))
        self.held.extend((source, effect.target, effect.frame, 0.0) for effect in sent)

    def go_on(self, frames: int) -> None:
        """Carry this many frames, and let agents act where none is left."""
        for _ in range(frames):
            if self._coordinator.complete:
                return
            if self.held:
                self._wire.append(self.held.popleft())
                self._deliver()
                continue
            for rank, agent in enumerate(self._agents):
                if agent.busy and rank not in self._gone:
                    self._let(rank, agent.step)


class LiesInARun(RuleBasedStateMachine):
    """`ended`: why the run ended early, "" while it goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.run: Carried
        self.stated: dict[tuple[int, bytes, bytes, bytes], set[bytes]] = {}
        self.words: dict[int, control.Regroup] = {}
        self.forges = self.refused = self.lost = False
        self.ended = ""
        self.watches()

    def teardown(self) -> None:
        self.patch.undo()

    def watches(self) -> None:
        """What is signed, said and complained of, from here on."""
        state, one, several = Signer.state, Endpoint.send, Endpoint.send_to_all
        add = Complaints.add

        def states(signer: Signer, kind: bytes, place: bytes, content: bytes) -> bytes:
            made = state(signer, kind, place, content)
            at = id(signer), signer._name, kind, place
            self.stated.setdefault(at, set()).add(made[:HASH_BYTES])
            return made

        def sends(end: Endpoint, to: int, message: Any, now: float) -> None:
            if end.name == COORDINATOR and isinstance(message, control.Regroup):
                self.words.setdefault(to, message)
            one(end, to, self.by(end.name, message), now)

        def sends_to_all(end: Endpoint, targets: Any, message: Any, now: float) -> None:
            several(end, targets, self.by(end.name, message), now)

        def adds(complaints: Complaints, by: int, about: int, reason: str) -> list[str]:
            self.refused |= about == LIAR and by not in (LIAR, COORDINATOR)
            return add(complaints, by, about, reason)

        self.patch.setattr(Signer, "state", states)
        self.patch.setattr(Endpoint, "send", sends)
        self.patch.setattr(Endpoint, "send_to_all", sends_to_all)
        self.patch.setattr(Complaints, "add", adds)

    def by(self, name: int, message: Any) -> Any:
        forged = self.forges and name == LIAR and isinstance(message, Data)
        return forged_rows(message) if forged else message

    @initialize(
        shape=st.sampled_from(sorted(PLANS)),
        frames=st.integers(0, 40),
        forges=st.booleans(),
        loses=st.booleans(),
    )
    def begins(self, shape: tuple[str, str], frames: int, forges: bool, loses: bool) -> None:
        plan = PLANS[shape]
        network = plan.network(0)
        sources = replace(of_this_machine(lambda: 0), common={})
        self.host = CoordinatorHost(plan, network, 0, sources)
        self.agents = [AgentHost(s, n, sources) for n, s in enumerate(agent_setups(plan, network))]
        self.run = Carried(plan, network, self.host, self.agents, None, None)
        self.happens(self.host.begin)
        self.goes_on(frames)
        self.forges = forges
        if loses:
            self.an_agent_is_lost()
            self.goes_on(frames)

    def happens(
        self, event: Callable[..., Sequence[Any] | None], *given: Any, by: int = COORDINATOR
    ) -> None:
        if self.ended or self.host.complete:
            return
        try:
            effects = event(*given)
            self.run._collect(by, effects or ())
            self.run._collect(COORDINATOR, self.host._take_effects())
            for agent in self.agents:
                self.run._collect(agent.rank, agent._take_effects())
        except PosseError as error:
            self.ended = str(error)

    @rule(frames=st.sampled_from([1, 8, 30, 100]))
    def goes_on(self, frames: int) -> None:
        self.happens(self.run.go_on, frames)

    @precondition(lambda self: not self.lost)
    @rule()
    def an_agent_is_lost(self) -> None:
        self.lost = True
        self.happens(self.host.lose, LOST)

    # --- the coordinator -------------------------------------------------------------------------

    @precondition(lambda self: self.words)
    @rule(at=st.integers(0, 2), what=st.sampled_from(["arms", "round", "slot", "same"]))
    def says_it_again_differently(self, at: int, what: str) -> None:
        to = sorted(self.words)[at % len(self.words)]
        word = self.words[to]
        others: dict[str, dict[str, Any]] = {
            "arms": {"arms": word.arms[:-1] or word.arms},
            "round": {"round": word.round + 1},
            "slot": {"slot": word.slot + 1},
            "same": {},
        }
        self.happens(self.host._server.send, to, msgspec.structs.replace(word, **others[what]))

    @precondition(lambda self: self.words)
    @rule(at=st.integers(0, 2), knowledge=st.binary(max_size=12), bad=st.booleans())
    def tells_what_is_no_knowledge(self, at: int, knowledge: bytes, bad: bool) -> None:
        to = sorted(self.words)[at % len(self.words)]
        told = b"\x81\xa4\xff\xff\xff\xff\x01" if bad else knowledge
        word = msgspec.structs.replace(self.words[to], knowledge=told)
        self.happens(self.host._server.send, to, word)

    @rule(to=st.sampled_from([0, 2]), of=st.integers(0, 3))
    def tells_one_of_a_loss(self, to: int, of: int) -> None:
        self.happens(self.host._server.send, to, control.Gone(of))

    # --- the liar --------------------------------------------------------------------------------

    @rule()
    def begins_or_ends_to_forge(self) -> None:
        self.forges = not self.forges

    @rule(about=st.integers(-1, 3), many=st.sampled_from([1, 12]))
    def complains(self, about: int, many: int) -> None:
        for number in range(many):
            word = control.Complaint(about, f"bad-signature {chr(97 + number)}")
            self.happens(self.agents[LIAR].say, word, by=LIAR)

    # --- what must hold --------------------------------------------------------------------------

    @invariant()
    def each_signs_one_content_a_place(self) -> None:
        assert not [place[2:] for place, made in self.stated.items() if len(made) > 1]

    @invariant()
    def it_ends_by_a_sentence_at_worst(self) -> None:
        assert self.ended.isprintable()
        assert "has a defect" not in self.ended

    @invariant()
    def who_forged_is_named(self) -> None:
        if self.refused:
            assert f"refused what agent {LIAR} sent" in self.host.trouble

    @invariant()
    def no_honest_agent_is_convicted(self) -> None:
        if self.host.record is not None:
            assert not self.host.record.proofs


def test_whatever_is_said_in_a_run_no_honest_agent_can_be_blamed_by_it() -> None:
    plays(LiesInARun, orders=40, steps=30)
