"""What docs/security.md says of liars in masked sums (CDP-MAB, shared noise), in any order.

Agent 2 adds what it likes to its masked words, in any round. A sum that honest agents cannot have
sent decides nothing; with what it may add it moves an average by no more than the noise may; and
where nobody adds anything a run never ends as `implausible`.
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, Broadcast, Finish, Pull, Received
from posse.protocol.masking import Masked, Unmask
from tests.support.adversary import plays
from tests.systems.li2022.test_shared_server import (
    AGENTS,
    ARMS,
    SHARED,
    explored,
    sent,
    started,
)

LIAR = 2


class LiarInSums(RuleBasedStateMachine):
    """`status`: how the run ended, "" while it goes on; `truth`: the rewards of all so far."""

    def __init__(self) -> None:
        super().__init__()
        self.status = ""
        self.added = np.zeros(ARMS)
        self.truth = np.zeros(ARMS)
        self.lied = False

    @initialize(means=st.lists(st.floats(0.0, 1.0), min_size=ARMS, max_size=ARMS))
    def begins(self, means: list[float]) -> None:
        self.means = np.array(means)
        self.machines, self.server, self.orders = started()

    @rule(
        arm=st.integers(0, ARMS - 1),
        times=st.sampled_from([0.0, 0.3, 0.9, 1.1, -0.9, -1.1, 50.0, 2.0**30]),
    )
    def a_round_goes_on(self, arm: int, times: float) -> None:
        if self.status or not all(isinstance(order, Pull) for order in self.orders):
            return
        active, number = list(self.server.active), self.server.round
        before = self.server.average.copy(), self.server.counted, tuple(active)
        pulls = self.orders[0].times
        reports = explored(self.machines, self.orders, list(self.means[active]))
        if len(reports) < AGENTS:  # at the horizon
            self.status = "over"
            return
        words = np.frombuffer(reports[LIAR].words, dtype="<u8").copy()
        at, added = arm % len(words), times * SHARED.farthest
        words[at] = (int(words[at]) + round(added * 2**SHARED.precision)) % 2**64
        reports[LIAR] = Masked(number, words.tobytes())
        self.lied |= bool(times)
        decided = []
        for n, report in enumerate(reports):
            self.server.handle(Received(n, report), 0.0)
        for n, one in enumerate(self.machines):
            (seed,) = sent(one.handle(Received(COORDINATOR, Unmask(number)), 0.0))
            decided = self.server.handle(Received(n, seed), 0.0)
        (end,) = [e for e in decided if isinstance(e, Finish)] or [Finish("")]
        self.status = end.status
        if self.status == "implausible":
            assert self.lied
            assert end.arm is None
            average, counted, left = before
            assert (self.server.average == average).all()
            assert (self.server.counted, tuple(self.server.active)) == (counted, left)
            return
        sum_of_arm = AGENTS * pulls * self.means[active[at]] + added
        margin = SHARED.farthest + AGENTS / (1 << SHARED.precision) + 1e-3
        assert -margin <= sum_of_arm <= AGENTS * pulls + margin
        observed = self.server.counted
        self.truth[active] += pulls * self.means[active]
        self.added[active[at]] += added
        error = abs(self.server.average[active] * observed - self.truth[active])
        assert (error <= abs(self.added[active]) / AGENTS + 0.01 * number).all()
        told = [effect.message for effect in decided if isinstance(effect, Broadcast)]
        if not self.status and told:
            self.orders = [m.handle(Received(COORDINATOR, told[-1]), 0.0)[0] for m in self.machines]

    @precondition(lambda self: not self.status)
    @rule(number=st.integers(0, 9), words=st.integers(0, ARMS + 1))
    def reports_out_of_turn(self, number: int, words: int) -> None:
        if number == self.server.round and words == len(self.server.active):
            return
        try:
            self.server.handle(Received(LIAR, Masked(number, bytes(8 * words))), 0.0)
        except RemoteProtocolError:
            return
        raise AssertionError("a report that is none was taken")


def test_what_a_liar_adds_to_sums_moves_the_answer_by_no_more_than_noise_may() -> None:
    plays(LiarInSums, orders=60, steps=12)
