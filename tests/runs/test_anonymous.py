"""Anonymous bandits: players and server, alone and together (Esfandiari et al. 2022)."""

import dataclasses
import math
import pickle
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from agent.anonymous import AnonymousPlayer, Earnings, ParallelUcb
from agent.masking import Masker, private_key
from coordinator.anonymous import AnonymousServer
from coordinator.decomposition import Assignment
from coordinator.groups import Group, form_groups
from coordinator.learners import BatchedElimination, ExploreThenCommit
from posse.arms.base import RandomMeans
from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.errors import SpecError
from posse.hosts.agent import AgentHost
from posse.hosts.coordinator import CoordinatorHost
from posse.results.record import RunRecord
from posse.spec.runfile import RunSpec, parse
from posse.theory.anonymity import Capture, Verdict, check
from protocol.anonymous import (
    Assign,
    Commit,
    Forwarded,
    Keys,
    Masked,
    Played,
    PublicKey,
    Sealed,
    Sums,
    Unmask,
    Unmasked,
    batches,
    elimination_width,
    estimates,
    from_words,
    grid,
    group_counts,
    pack_words,
    roster,
    sweeps,
    to_words,
    unpack_words,
)
from protocol.errors import RemoteProtocolError
from protocol.keystream import keystream
from protocol.machine import (
    COORDINATOR,
    Explore,
    Finish,
    Note,
    Observed,
    PeerFinished,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from protocol.wire import Message, encode
from tests.support.runs import agent_processes, assert_same_run

SYSTEMS = ("anonymous", "explore-then-commit", "parallel-ucb")


def spec(system: str = "anonymous", agents: int = 20, **changes: Any) -> RunSpec:
    """Each agent with its own means; C = 3, T = 1,200."""
    parameters: dict[str, Any] = {"horizon": 1_200}
    if system != "parallel-ucb":
        parameters["group_size"] = 3
    raw: dict[str, Any] = {
        "system": system,
        "seed": 5,
        "agents": {"count": agents},
        "arms": {
            "kind": "bernoulli",
            "means": {"random": "uniform", "count": 3, "per_agent": True},
        },
        "engine": {"deadline": 20.0},
    }
    raw.update(changes)
    raw["parameters"] = parameters | changes.get("parameters", {})
    return parse(raw)


def verdict(spec: RunSpec, capture: Capture) -> Verdict:
    """What the server of this run could see."""
    parameters: Any = spec.model()
    if spec.system == "parallel-ucb":
        return check(capture, 2, 16)
    return check(capture, parameters.group_size, parameters.precision)


def run(spec: RunSpec, number: int = 0) -> RunRecord:
    """A run in memory, checked: every observation covers at least C users."""
    capture = Capture()
    record = memory.run(spec, number, tap=capture.hear)
    seen = verdict(spec, capture)
    assert not seen.violations
    if spec.system == "parallel-ucb":
        assert not capture.frames
    elif record.detail["group_sizes"]:
        parameters: Any = spec.model()
        assert seen.smallest is not None
        assert seen.smallest >= parameters.group_size
    return record


# --- formulas ------------------------------------------------------------------------------------


def test_groups_have_c_plus_1_to_2c_plus_1_users() -> None:
    for c in range(2, 8):
        for users in range(c + 1, 100):
            sizes = group_counts(users, c)
            assert sum(sizes) == users
            assert c + 1 <= min(sizes) <= max(sizes) <= 2 * c + 1
    assert group_counts(5, 5) == []
    assert group_counts(13, 5) == [7, 6]


def test_rosters_by_hand() -> None:
    group = (4, 2, 9)
    assert [roster(step, group) for step in range(6)] == [
        (4, 2, 9),
        (2, 9),
        (4, 9),
        (4, 2),
        (4, 2, 9),
        (4, 2, 9),
    ]


def test_the_minimax_grid_of_8333() -> None:
    horizon = 100_000 / 12
    assert batches(horizon) == 4
    ends = grid(horizon)
    assert ends[:3] == [123, 1369, 4564]
    assert abs(ends[3] - horizon) <= 1
    a = horizon ** (1 / (2 - 2**-3))
    assert ends[1] == math.floor(a * math.sqrt(a))


def test_the_provable_constant_needs_3841_estimates_for_a_gap_of_one() -> None:
    width = elimination_width(np.array([3840.0, 3842.0]), 5, 100_000 / 12, 5, 100, 12.0)
    assert width[0] > 1 > width[1]


def test_sweeps_fit_into_the_horizon() -> None:
    spread = math.sqrt(5 * math.log(100 * 5 * 100_000))
    assert sweeps(100_000, 5, 100, 5, 0.2) == math.ceil(0.2 * (100_000 * spread / 25) ** (2 / 3))
    assert sweeps(1_000, 5, 100, 5, 100.0) == 1_000 // (5 * 12)


def test_fixed_point_rounds_to_the_nearest_and_sums_exactly() -> None:
    rewards = np.array([0.0, 0.25, 0.3, 1.0])
    words = to_words(rewards, 4)
    assert words.tolist() == [0, 4, 5, 16]
    assert from_words(words, 4).tolist() == [0.0, 0.25, 0.3125, 1.0]
    assert np.abs(from_words(to_words(rewards, 16), 16) - rewards).max() <= 2.0**-17


def test_words_of_a_wrong_length_are_refused() -> None:
    data = pack_words(np.array([1, 2**64 - 1], dtype=np.uint64))
    assert unpack_words(data, 2).tolist() == [1, 2**64 - 1]
    with pytest.raises(RemoteProtocolError) as caught:
        unpack_words(data, 3)
    assert caught.value.reason == "wrong-length"


@pytest.mark.parametrize("size", [6, 11])
def test_estimates_are_unbiased_with_the_variance_of_the_group(size: int) -> None:
    """Var = p_s (1 - p_s) + 2 Σ_{others} p (1 - p): fresh rewards in both rounds.

    20,000 replications; means within 5 standard errors, variances within 10 %: a false alarm in
    fewer than one of 10^4 seeds, and the seed is fixed.
    """
    generator = np.random.default_rng(7)
    p = np.linspace(0.2, 0.8, size)
    group = tuple(range(size))
    spread = p * (1 - p)
    expected = spread + 2 * (spread.sum() - spread)
    rewards = (generator.random((20_000, 12, size)) < p).astype(float)
    sums = np.stack([rewards[:, s, list(roster(s, group))].sum(axis=1) for s in range(12)], axis=1)
    found = np.array([estimates(row, size) for row in sums])
    assert (np.abs(found.mean(axis=0) - p) < 5 * np.sqrt(expected / 20_000)).all()
    assert np.abs(found.var(axis=0) / expected - 1).max() < 0.1


# --- the player ----------------------------------------------------------------------------------


def players(
    users: int, aggregation: Any = "masked", horizon: int = 10_000
) -> list[AnonymousPlayer]:
    """Players of three arms with C = 3 and a precision of 8 bits."""
    generator = np.random.default_rng(2)
    return [
        AnonymousPlayer(
            rank=n,
            arms=3,
            horizon=horizon,
            precision=8,
            aggregation=aggregation,
            masker=Masker(n, 3, private_key(generator.bytes(32))),
            earnings=Earnings(horizon),
        )
        for n in range(users)
    ]


def ready(users: int = 5, **changes: Any) -> list[AnonymousPlayer]:
    """Players that have each other's keys."""
    agents = players(users, **changes)
    keys = {}
    for agent in agents:
        (send,) = agent.handle(Started(), 0.0)
        assert isinstance(send, Send)
        assert isinstance(send.message, PublicKey)
        keys[agent.rank] = send.message.key
    for agent in agents:
        assert agent.handle(Received(COORDINATOR, Keys(keys)), 0.0) == []
    return agents


def told(agent: AnonymousPlayer, message: Message, sender: int = COORDINATOR) -> Any:
    """What the agent does when it is told so."""
    return agent.handle(Received(sender, message), 0.0)


def refusal(agent: AnonymousPlayer, message: Message, sender: int = COORDINATOR) -> str:
    """Why the agent refuses a message; its state must not change."""
    before = repr(dataclasses.replace(agent))
    with pytest.raises(RemoteProtocolError) as caught:
        told(agent, message, sender)
    assert repr(dataclasses.replace(agent)) == before
    return caught.value.reason


def test_a_player_refuses_what_it_must() -> None:
    agent = ready()[0]
    group = (0, 1, 2, 3)
    assert refusal(agent, Assign(1, 3, 1, group)) == "no-such-arm"
    assert refusal(agent, Assign(1, 0, 1, (0, 1, 2))) == "small-roster"
    assert refusal(agent, Assign(1, 0, 1, (0, 1, 1, 2))) == "repeated-names"
    assert refusal(agent, Assign(1, 0, 2_000, group)) == "past-horizon"
    assert refusal(agent, Assign(1, 0, 1, group), sender=1) == "out-of-turn"
    assert refusal(agent, Unmask(1)) == "stale-unmask"
    assert refusal(agent, Commit(7, 0)) == "no-such-arm"
    assert refusal(agent, Commit(0, 10_001)) == "past-horizon"
    assert refusal(agent, Keys({0: bytes(32)})) == "out-of-turn"  # keys come once
    assert told(agent, Assign(1, 2, 3, group)) == [Pull((2,), 24, each=True)]
    assert refusal(agent, Assign(2, 2, 1, group)) == "out-of-turn"
    assert refusal(agent, Commit(0, 0)) == "out-of-turn"
    report(agent, np.ones(24))
    assert refusal(agent, Assign(1, 2, 1, group)) == "number-not-increasing"
    (send,) = told(agent, Unmask(1))
    assert isinstance(send.message, Unmasked)
    assert refusal(agent, Unmask(1)) == "second-unmask"


def test_a_player_refuses_keys_without_its_own_and_sums_that_overflow() -> None:
    agent = players(3)[0]
    agent.handle(Started(), 0.0)
    assert refusal(agent, Keys({0: bytes(32), 1: bytes(32)})) == "wrong-keys"
    agent = ready(horizon=1 << 40)[0]
    agent.precision = 52
    assert refusal(agent, Assign(1, 0, 1 << 20, (0, 1, 2, 3))) == "overflow"


def report(agent: AnonymousPlayer, rewards: np.ndarray) -> Any:
    """The agent's rewards are there."""
    assert agent.order is not None
    row = rewards.reshape(1, -1)
    return agent.handle(Pulled((agent.order.arm,), row.shape[1], row.sum(axis=1), row), 0.0)


def test_a_report_adds_up_the_copies_round_by_round() -> None:
    agents = ready(4)
    group = (3, 1, 0, 2)
    rewards = np.arange(16).reshape(2, 8) / 32
    sums = Group(0, group)
    for agent in agents:
        told(agent, Assign(1, 0, 2, group))
        *_, send = report(agent, rewards)
        sums.reports[agent.rank] = unpack_words(send.message.words, 8)
        (revealed,) = told(agent, Unmask(1))
        sums.seeds[agent.rank] = revealed.message.seed
    sums.add_up(1, 3)
    per_copy = sums.sums_per_copy(2, 3, 8)
    assert per_copy is not None
    expected = rewards.mean(axis=0) * np.array([4, 3, 3, 3, 3, 4, 4, 4])
    assert per_copy == pytest.approx(expected, abs=1e-12)


def test_a_player_is_plain_data() -> None:
    agent = ready(4)[0]
    told(agent, Assign(1, 0, 1, (3, 1, 0, 2)))
    woken = pickle.loads(pickle.dumps(agent))
    rewards = np.linspace(0, 1, 8)
    assert report(woken, rewards) == report(agent, rewards)
    assert told(woken, Unmask(1)) == told(agent, Unmask(1))
    assert refusal(woken, Unmask(1)) == "second-unmask"


def test_a_player_left_out_says_only_that_it_played() -> None:
    agent = ready()[0]
    assert told(agent, Assign(1, 1, 1, ())) == [Pull((1,), 8, each=True)]
    assert report(agent, np.ones(8))[-1] == Send(COORDINATOR, Played(1))


def test_the_sink_passes_on_sums_and_refuses_strangers() -> None:
    agents = ready(6, aggregation="sink")
    group = (2, 0, 1, 3)
    boxes = {}
    for rank in group:
        told(agents[rank], Assign(1, 0, 1, group))
    sink = agents[2]
    for rank in (0, 1, 3):
        *_, send = report(agents[rank], np.full(8, 0.5))
        assert isinstance(send.message, Sealed)
        boxes[rank] = send.message.box
    assert told(sink, Forwarded(1, 0, boxes[0])) == []
    assert refusal(sink, Forwarded(1, 0, boxes[0])) == "wrong-member"  # twice
    assert refusal(sink, Forwarded(1, 5, boxes[1])) == "wrong-member"
    assert refusal(sink, Forwarded(1, 1, boxes[3])) == "bad-seal"
    assert refusal(sink, Forwarded(2, 1, boxes[1])) == "out-of-turn"
    assert refusal(agents[0], Forwarded(1, 1, boxes[1])) == "out-of-turn"  # not the first member
    assert told(sink, Forwarded(1, 1, boxes[1])) == []
    *_, played = report(sink, np.full(8, 0.25))
    assert played == Send(COORDINATOR, Played(1))
    (send,) = told(sink, Forwarded(1, 3, boxes[3]))
    assert isinstance(send.message, Sums)
    sums = from_words(unpack_words(send.message.words, 8), 8)
    assert sums.tolist() == [1.75, 1.5, 1.25, 1.25, 1.25, 1.75, 1.75, 1.75]


def test_commitment_plays_what_is_left() -> None:
    agent = ready()[0]
    assert told(agent, Commit(2, 100)) == [Pull((2,), 100)]
    effects = agent.handle(Pulled((2,), 100, np.array([40.0])), 100.0)
    assert effects[-1] == Finish("done", 2)
    other = ready()[1]
    assert told(other, Commit(1, 0)) == [Finish("done", 1)]


# --- UCB1 ----------------------------------------------------------------------------------------


def ucb_arms(tapes: np.ndarray, horizon: int) -> list[int]:
    """UCB1 pull by pull, as printed; `tapes` has each arm's rewards."""
    arms = len(tapes)
    sums, counts = np.zeros(arms), np.zeros(arms, dtype=int)
    pulled = []
    for t in range(1, horizon + 1):
        if t <= arms:
            k = t - 1
        else:
            k = int((sums / counts + np.sqrt(2 * np.log(t - 1) / counts)).argmax())
        sums[k] += tapes[k][counts[k]]
        counts[k] += 1
        pulled.append(k)
    return pulled


def test_ucb_in_runs_is_ucb_pull_by_pull() -> None:
    generator = np.random.default_rng(3)
    tapes = generator.random((3, 500))  # no ties
    machine = ParallelUcb(3, 400, np.random.default_rng(0), Earnings(400))
    machine.handle(Started(), 0.0)
    used = [1, 1, 1]
    pulled = [0, 1, 2]
    effects = machine.handle(Pulled((0, 1, 2), 1, tapes[:, 0].copy()), 3.0)
    arm = 0
    while not isinstance(effects[-1] if effects else None, Finish):
        arm = next((e.arms[0] for e in effects if isinstance(e, Explore)), arm)
        block = tapes[arm, used[arm] : used[arm] + 16][None, :]
        count = min(machine.silent(block) + 1, 16)
        pulled += [arm] * count
        used[arm] += count
        effects = machine.handle(Observed((arm,), block[:, :count]), 0.0)
    assert len(pulled) == 400
    assert pulled == ucb_arms(tapes, 400)


# --- the learners --------------------------------------------------------------------------------


def elimination(users: int = 8, **changes: Any) -> BatchedElimination:
    """Algorithm 1's learner for three arms and C = 2."""
    values: dict[str, Any] = {
        "users": users,
        "arms": 3,
        "group_size": 2,
        "horizon": 300.0,
        "rate": 0.01,
        "decomposition": "lp",
        "cluster_size": None,
        "feedback": "all",
        "variant": "corrected",
        "generator": np.random.default_rng(0),
        "ties": np.random.default_rng(1),
    }
    return BatchedElimination(**(values | changes))


def test_elimination_by_hand() -> None:
    learner = elimination(users=4)
    everybody = np.arange(4)
    for arm, means in enumerate(([0.9, 0.1, 0.5, 0.5], [0.2, 0.8, 0.5, 0.45])):
        learner.learn(everybody, arm, np.array(means), 10)
    learner.eliminate()
    # width = sqrt(.01 · 9 · log(300 · 3 · 4) / 10) = .2715; arm 2 has no feedback and stays
    width = elimination_width(np.array([10.0]), 2, 300.0, 3, 4, 0.01)[0]
    assert width == pytest.approx(0.2715, abs=1e-4)
    assert learner.alive.tolist() == [
        [True, False, True],
        [False, True, True],
        [True, True, True],
        [True, True, True],
    ]
    assert learner.best()[[0, 1, 3]].tolist() == [0, 1, 0]


def test_the_width_takes_the_smaller_number_of_estimates() -> None:
    learner = elimination(users=1)
    learner.learn(np.array([0]), 0, np.array([0.9]), 1)  # one lucky estimate
    learner.learn(np.array([0]), 1, np.array([0.5]), 1_000)
    learner.eliminate()
    assert learner.alive.all()


def test_demand_caps_what_is_used_per_batch() -> None:
    active = np.ones(8, dtype=bool)
    learner = elimination(feedback="demand")
    learner.plan(active)
    demand = learner.ends[1]
    room = math.ceil(demand / 3)
    assert learner.learn(np.array([0, 1]), 0, np.array([0.5, 1.0]), room + 7) == 2 * room
    assert learner.tally.counts[0, 0] == room
    assert learner.tally.sums[1, 0] == room
    assert learner.learn(np.array([0]), 0, np.array([0.5]), 1) == 0
    every = elimination(feedback="all")
    every.plan(active)
    assert every.learn(np.array([0]), 0, np.array([0.5]), room + 7) == room + 7


@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_an_arm_that_too_few_want_stops_only_the_printed_form(variant: str) -> None:
    learner = elimination(variant=variant)
    learner.batch = 1
    learner.alive[2:, 1] = False
    planned = learner.plan(np.ones(8, dtype=bool))
    if variant == "printed":
        assert planned == ([], [Note("no-feedback", (2, 1))])
        assert learner.plan(np.ones(8, dtype=bool)) is None
    else:
        assert planned is not None
        assert Note("no-feedback", (2, 1)) in planned[1]
        assert planned[0]


def test_learning_ends_when_every_user_has_one_arm() -> None:
    learner = elimination()
    learner.alive[:, 1:] = False
    assert learner.plan(np.ones(8, dtype=bool)) is None


def test_a_sweep_gives_every_pair_exactly_one_estimate() -> None:
    learner = ExploreThenCommit(17, 4, 3, 5, np.random.default_rng(0), np.random.default_rng(1))
    planned = learner.plan(np.ones(17, dtype=bool))
    assert planned is not None
    counts = np.zeros((17, 4), dtype=int)
    for assignment in planned[0]:
        for group in form_groups(assignment.arms, 3, np.random.default_rng(2)):
            counts[list(group.members), group.arm] += 1
    assert (counts == 1).all()


# --- server and players over a fake link ---------------------------------------------------------


class Link:
    """Server and players with a queue in between; rewards come from `reward(user, arm, count)`.

    `lost(user, message)` says whether a user vanishes instead of sending this message; `altered`
    may replace one. Everything sent is captured.
    """

    def __init__(
        self,
        plan: list[Assignment],
        users: int = 10,
        aggregation: Any = "masked",
        lost: Callable[[int, Message], bool] = lambda user, message: False,
        altered: Callable[[int, Message], Message] = lambda user, message: message,
    ) -> None:
        self.horizon = 400
        self.players = players(users, aggregation, self.horizon)
        self.learner = Script(plan, users)
        self.server = AnonymousServer(
            users, 3, self.horizon, 3, 8, aggregation, self.learner, np.random.default_rng(4)
        )
        self.lost, self.altered = lost, altered
        self.gone: set[int] = set()
        self.capture = Capture()
        self.queue: deque[tuple[int, int, Message]] = deque()
        self.notes: list[Note] = []
        self.refused: Counter[str] = Counter()
        self.pulls = np.zeros((users, 3), dtype=int)
        self.status = ""

    def run(self) -> "Link":
        self.take(COORDINATOR, self.server.handle(Started(), 0.0))
        for player in self.players:
            self.take(player.rank, player.handle(Started(), 0.0))
        while self.queue:
            source, target, message = self.queue.popleft()
            machine = self.server if target == COORDINATOR else self.players[target]
            if target in self.gone:
                continue
            try:
                self.take(target, machine.handle(Received(source, message), 0.0))
            except RemoteProtocolError as error:
                self.refused[error.reason] += 1
        return self

    def take(self, source: int, effects: Any) -> None:
        for effect in effects:
            match effect:
                case Send(to, message):
                    self.send(source, to, message)
                case Pull((arm,), times, _):
                    self.pulls[source, arm] += times
                    rewards = np.full((1, times), self.reward(source, arm))
                    event = Pulled((arm,), times, rewards.sum(axis=1), rewards)
                    if source not in self.gone:
                        self.take(source, self.players[source].handle(event, 0.0))
                case Note() if source == COORDINATOR:
                    self.notes.append(effect)
                case Finish(status) if source == COORDINATOR:
                    self.status = status
                case Finish():
                    self.take(COORDINATOR, self.server.handle(PeerFinished(source), 0.0))

    def send(self, source: int, to: int, message: Message) -> None:
        if source in self.gone:
            return
        if source != COORDINATOR:
            if self.lost(source, message):
                self.gone.add(source)
                self.take(COORDINATOR, self.server.handle(PeerFinished(source), 0.0))
                return
            message = self.altered(source, message)
        frame = encode(message, run=0, source=source, sequence=0, now=0.0, sent=0)
        self.capture.hear(source, to, frame)
        self.queue.append((source, to, message))

    @staticmethod
    def reward(user: int, arm: int) -> float:
        return ((3 * user + 5 * arm) % 16) / 16

    def verdict(self) -> Verdict:
        return check(self.capture, 3, 8)

    def named(self, name: str) -> list[tuple[float, ...]]:
        return [note.row for note in self.notes if note.name == name]


class Script:
    """A learner that plans what it is told and keeps what it learns."""

    def __init__(self, plan: list[Assignment], users: int) -> None:
        self.todo = [plan]
        self.alive = np.ones((users, 3), dtype=bool)
        self.learned: dict[tuple[int, int], list[tuple[float, int]]] = {}

    def plan(self, active: np.ndarray) -> Any:
        return (self.todo.pop(), []) if self.todo else None

    def learn(self, users: np.ndarray, arm: int, means: np.ndarray, copies: int) -> int:
        for user, mean in zip(users, means, strict=True):
            self.learned.setdefault((int(user), arm), []).append((float(mean), copies))
        return len(users) * copies

    def best(self) -> np.ndarray:
        return np.zeros(len(self.alive), dtype=int)


def assign(*arms: int, copies: int = 1) -> Assignment:
    return Assignment(np.array(arms), copies)


FIVE_FIVE = assign(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, copies=2)
"""Two groups of C + 2."""
FOUR_SIX = assign(0, 0, 0, 0, 1, 1, 1, 1, 1, 1)
"""A group of C + 1 and one of C + 3."""


@pytest.mark.parametrize("aggregation", ["masked", "sink"])
def test_constant_rewards_are_estimated_exactly(aggregation: str) -> None:
    link = Link([FIVE_FIVE, assign(0, 1, 2, 2, 2, 2, 2, 2, 2, 2)], aggregation=aggregation).run()
    assert link.status == "horizon"
    expected = {(user, user // 5): [(Link.reward(user, user // 5), 2)] for user in range(10)}
    expected |= {(user, 2): [(Link.reward(user, 2), 1)] for user in range(2, 10)}
    assert link.learner.learned == expected
    assert (link.pulls.sum(axis=1) == link.horizon).all()
    assert link.pulls[0].tolist() == [400, 0, 0]  # 16 + 8 rounds assigned, then the commitment
    assert link.pulls[1].tolist() == [392, 8, 0]
    seen = link.verdict()
    assert not seen.violations
    assert seen.smallest == 3  # eight users on arm 2 are two groups of C + 1


@pytest.mark.parametrize("aggregation", ["masked", "sink"])
@pytest.mark.parametrize("phase", [Masked, Unmasked, Sealed, Sums])
def test_a_member_that_vanishes_is_done_without(phase: type[Message], aggregation: str) -> None:
    if (phase in (Masked, Unmasked)) != (aggregation == "masked"):
        return
    first: list[int] = []

    def lost(user: int, message: Message) -> bool:
        if isinstance(message, phase) and user < 5 and not first:
            first.append(user)
            return True
        return False

    link = Link([FIVE_FIVE], aggregation=aggregation, lost=lost).run()
    (gone,) = first
    assert link.status == "horizon"
    assert link.named("vanished") == [(gone,)]
    assert link.named("repeated") == [(1, 0)]
    # the others' group was repeated without it: fresh rewards, and every estimate is exact
    for user in set(range(10)) - first_set(first):
        assert {mean for mean, _ in link.learner.learned[user, user // 5]} == {
            Link.reward(user, user // 5)
        }
    assert (gone, 0) not in link.learner.learned
    assert not link.verdict().violations
    # nothing of the broken group was learned: assignment 1 gave arm 1 only
    assert all(len(link.learner.learned[user, 0]) == 1 for user in range(5) if user != gone)
    assert all(len(link.learner.learned[user, 1]) == 2 for user in range(5, 10))


def first_set(first: list[int]) -> set[int]:
    return set(first)


def test_with_c_left_another_user_fills_the_group() -> None:
    link = Link(
        [FOUR_SIX], lost=lambda user, message: user == 2 and isinstance(message, Masked)
    ).run()
    assert link.named("repeated") == [(1, 0)]
    again = {user for user, arm in link.learner.learned if arm == 0}
    assert again == {0, 1, 3, 4}  # agent 4 came over from the arm with six users
    assert not link.verdict().violations


def test_with_fewer_than_c_left_the_arm_is_given_up() -> None:
    link = Link(
        [FOUR_SIX], lost=lambda user, message: user in (1, 2) and isinstance(message, Masked)
    ).run()
    assert link.named("lost") == [(1, 0)]
    assert all(arm == 1 for _, arm in link.learner.learned)
    assert link.status == "horizon"


def test_with_c_users_left_in_all_the_rest_commits() -> None:
    link = Link(
        [assign(0, 0, 0, 0)],
        users=4,
        lost=lambda user, message: user == 1 and isinstance(message, Masked),
    ).run()
    assert not link.learner.learned
    assert link.status == "horizon"
    assert (link.pulls[[0, 2, 3]].sum(axis=1) == link.horizon).all()


def test_when_all_vanish_the_run_ends() -> None:
    link = Link([FIVE_FIVE], lost=lambda user, message: isinstance(message, Masked)).run()
    assert link.status in {"exhausted", "horizon"}
    assert not link.learner.learned


def test_who_vanishes_before_its_key_is_not_waited_for() -> None:
    link = Link(
        [FIVE_FIVE], lost=lambda user, message: user == 3 and isinstance(message, PublicKey)
    ).run()
    assert link.status == "horizon"
    assert {user for user, _ in link.learner.learned} == set(range(10)) - {3}


@pytest.mark.parametrize("aggregation", ["masked", "sink"])
def test_a_wrong_length_expels_by_name_and_the_run_goes_on(aggregation: str) -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 7 and isinstance(message, Masked):
            return Masked(message.number, message.words[:-8])
        if user == 7 and isinstance(message, Sealed):
            return Sealed(message.number, message.box + b"x")
        if user == 7 and isinstance(message, Sums):
            return Sums(message.number, b"")
        return message

    link = Link([FIVE_FIVE], aggregation=aggregation, altered=altered).run()
    assert link.named("expelled") == [(7,)]
    assert (7, 1) not in link.learner.learned
    assert {user for user, _ in link.learner.learned} == set(range(10)) - {7}
    assert link.status == "horizon"
    assert (link.pulls.sum(axis=1) == link.horizon).all()  # it plays on, alone


def test_sums_that_rewards_cannot_give_are_not_learned() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 2 and isinstance(message, Masked):
            return Masked(message.number, bytes(len(message.words)))
        return message

    link = Link([FIVE_FIVE], altered=altered).run()
    assert link.named("implausible") == [(1, 0)]
    assert all(arm == 1 for _, arm in link.learner.learned)


def test_the_server_refuses_what_is_out_of_turn() -> None:
    link = Link([FIVE_FIVE])
    server = link.server
    server.handle(Started(), 0.0)

    def refused(sender: int, message: Message) -> str:
        with pytest.raises(RemoteProtocolError) as caught:
            server.handle(Received(sender, message), 0.0)
        return caught.value.reason

    assert refused(0, Played(1)) == "out-of-turn"
    for player in link.players:
        (send,) = player.handle(Started(), 0.0)
        if player.rank == 9:
            assert refused(8, PublicKey(bytes(32))) == "duplicate-key"
        server.handle(Received(player.rank, send.message), 0.0)
    words = bytes(64)
    assert refused(0, Masked(2, words)) == "out-of-turn"
    assert refused(0, Played(1)) == "out-of-turn"  # it has a group
    assert refused(0, Unmasked(1, bytes(32))) == "out-of-turn"  # nobody asked
    assert refused(0, Sums(1, words)) == "out-of-turn"
    assert refused(0, Sealed(1, words)) == "out-of-turn"
    server.handle(Received(0, Masked(1, words)), 0.0)
    assert refused(0, Masked(1, words)) == "out-of-turn"


# --- the checker ---------------------------------------------------------------------------------


def tampered(altered: Callable[[int, Message], Message], **changes: Any) -> Verdict:
    return Link([FIVE_FIVE], altered=altered, **changes).run().verdict()


def test_the_checker_finds_a_report_without_masks() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 4 and isinstance(message, Masked):
            return Masked(message.number, pack_words(np.full(8, 200, dtype=np.uint64)))
        return message

    assert any("unhidden (4,)" in text for text in tampered(altered).violations)


def test_the_checker_finds_a_report_with_its_self_mask_alone() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 4 and isinstance(message, Masked):
            own = keystream(link.players[4].masker.own_seed(message.number), message.number, 8)
            return Masked(message.number, pack_words(own + np.uint64(3)))
        return message

    link = Link([FIVE_FIVE], altered=altered)
    assert any("unhidden (4,)" in text for text in link.run().verdict().violations)


def test_the_checker_finds_groups_that_are_too_small() -> None:
    # players with C = 2 in a run that promises C = 3
    link = Link([assign(0, 0, 0, 1, 1, 1, 2, 2, 2, 2)])
    link.server.group_size = 2
    for player in link.players:
        player.masker.group_size = 2
    link.run()
    seen = check(link.capture, 2, 8)
    assert (seen.violations, seen.smallest) == ([], 2)
    strict = check(link.capture, 3, 8)
    assert strict.violations


def test_the_checker_finds_a_word_in_a_round_without_its_sender() -> None:
    def altered(user: int, message: Message) -> Message:
        if isinstance(message, Masked):
            words = unpack_words(message.words, 8)
            words[words == 0] = 9
            return Masked(message.number, pack_words(words))
        return message

    assert any("round without it" in text for text in tampered(altered).violations)


def test_the_checker_finds_a_report_in_the_clear_and_unknown_messages() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 1 and isinstance(message, Sealed):
            return Sealed(message.number, bytes(80))
        return message

    clear = tampered(altered, aggregation="sink")
    assert any("in the clear" in text for text in clear.violations)
    link = Link([FIVE_FIVE]).run()
    link.capture.hear(
        3, COORDINATOR, encode(Commit(0, 1), run=0, source=3, sequence=9, now=0.0, sent=0)
    )
    assert any("agent 3" in text for text in link.verdict().violations)


# --- whole runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("anonymous", {}),
        ("anonymous", {"aggregation": "sink"}),
        ("anonymous", {"decomposition": "random", "feedback": "demand", "horizon": 500}),
        ("anonymous", {"decomposition": "greedy", "horizon": 900}),
        ("explore-then-commit", {}),
        ("explore-then-commit", {"aggregation": "sink"}),
        ("parallel-ucb", {}),
    ],
)
def test_runs_are_anonymous_and_account_for_every_round(
    system: str, parameters: dict[str, Any], number: int
) -> None:
    one = spec(system, parameters=parameters)
    record = run(one, number)
    horizon = one.parameters["horizon"]
    assert record.status == "horizon"
    assert record.best_arm is None
    assert record.slots == horizon
    assert record.pulls_per_agent == [horizon] * 20
    assert all(arm is not None for arm in record.answers)
    assert not record.refused
    assert record.regret == pytest.approx(sum(record.regret_per_agent))
    assert record.regret_local is None
    assert record.detail["rewards"][-1][0] == horizon


@pytest.mark.parametrize("variant", ["corrected", "printed"])
@pytest.mark.parametrize(
    ("system", "aggregation"),
    [
        ("anonymous", "masked"),
        ("anonymous", "sink"),
        ("explore-then-commit", "masked"),
        ("parallel-ucb", ""),
    ],
)
def test_same_seed_same_run_in_both_engines(system: str, aggregation: str, variant: str) -> None:
    parameters = {"aggregation": aggregation} if aggregation else {}
    one = spec(system, agents=10, parameters={"horizon": 400} | parameters, variant=variant)
    with ProcessEngine(one) as engine:
        assert_same_run(run(one), engine.run(one, 0))


@pytest.mark.parametrize("kind", ["memory", "processes"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_wall_clock(system: str, kind: str) -> None:
    one = spec(
        system,
        agents=8,
        parameters={"horizon": 300},
        engine={"clock": "wall", "kind": kind, "deadline": 20.0},
    )
    if kind == "memory":
        record = run(one)
    else:
        with ProcessEngine(one) as engine:
            record = engine.run(one, 0)
    assert record.status == "horizon"
    assert record.pulls == 8 * 300
    assert record.detail["rewards"][-1][0] == 300


@pytest.mark.parametrize("system", ["anonymous", "explore-then-commit"])
def test_every_user_finds_its_own_arm(system: str) -> None:
    means = [[0.95 if k == n % 3 else 0.05 for k in range(3)] for n in range(21)]
    one = spec(
        system,
        agents=21,
        arms={"kind": "bernoulli", "means": means},
        parameters={"horizon": 6_000},
    )
    record = run(one)
    assert record.answers == [n % 3 for n in range(21)]


def test_regret_is_against_each_users_own_best_arm() -> None:
    means = [[0.9, 0.2, 0.5] if n % 2 else [0.1, 0.7, 0.4] for n in range(16)]
    one = spec("explore-then-commit", agents=16, arms={"kind": "bernoulli", "means": means})
    record = run(one)
    explored = record.detail["explored_rounds"]
    assert 0 < explored < 1_200
    for n, regret in enumerate(record.regret_per_agent):
        gaps = max(means[n]) - np.array(means[n])
        # a sweep plays every arm alike, and then the answer alone
        expected = explored / 3 * gaps.sum() + (1_200 - explored) * gaps[record.answers[n]]
        assert regret == pytest.approx(expected)


def test_rewards_over_time_are_those_that_were_earned() -> None:
    one = spec("anonymous", arms={"kind": "bernoulli", "means": [1.0, 1.0, 1.0]})
    for t, earned in run(one).detail["rewards"]:
        assert earned == pytest.approx(20 * t)


def test_the_record_says_what_was_assigned() -> None:
    detail = run(spec()).detail
    assert [row["batch"] for row in detail["batches"]] == [1, 2]
    for row in detail["batches"]:
        assert row["demand"] <= row["assignments"] <= row["demand"] + 61
        assert row["distinct"] <= row["assignments"]
    assert all(4 <= size <= 7 for size in detail["group_sizes"])
    assert detail["feedback_used"] > 0
    assert "passes on the public keys" in detail["trust"]
    assert "first member" in run(spec(parameters={"aggregation": "sink"})).detail["trust"]


def test_a_broken_cluster_assumption_is_named_and_the_run_goes_on() -> None:
    # two users alone want arm 2; the others drop it after the first batch
    means = [[0.02, 0.02, 0.98] if n < 2 else [0.9, 0.9, 0.02] for n in range(14)]
    changes: dict[str, Any] = {
        "agents": 14,
        "arms": {"kind": "bernoulli", "means": means},
        "parameters": {"horizon": 8_000, "cluster_size": 4},
    }
    record = run(spec(**changes))
    assert 2 in {arm for arms in record.detail["no_feedback"].values() for arm in arms}
    assert record.answers[:2] == [2, 2]
    printed = run(spec(**changes, variant="printed"))
    assert printed.detail["explored_rounds"] < record.detail["explored_rounds"]
    assert printed.detail["no_feedback"]


def test_agents_whose_rewards_run_out_vanish_from_a_run_that_goes_on(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    for n in range(10):
        rows = 30 if n == 4 else 400
        lines = [f"{k},{int(generator.random() < 0.5)}" for k in range(2) for _ in range(rows)]
        (tmp_path / f"log-{n}.csv").write_text("arm,reward\n" + "\n".join(lines) + "\n")
    one = spec(
        "explore-then-commit",
        agents=10,
        arms={"kind": "csv", "path": "log-{rank}.csv", "count": 2},
        base=str(tmp_path),
        parameters={"horizon": 400},
    )
    record = run(one)
    assert record.detail["vanished"] == [4]
    # its own time, whoever was heard before: one pull a slot
    assert record.log["vanished"] == [[record.pulls_per_agent[4], 4]]
    assert list(record.exhausted) == [4]
    assert record.status == "horizon"
    assert [arm is None for arm in record.answers] == [n == 4 for n in range(10)]
    with ProcessEngine(one) as engine:
        assert_same_run(record, engine.run(one, 0))


def test_hostile_orders_are_refused_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody speaks in the coordinator's name to agent 0 while it plays."""
    hostile = (Unmask(10**6), Assign(10**7, 0, 1, (0, 0, 0, 0)), Commit(0, 5), Forwarded(1, 0, b""))
    honest = AgentHost.receive

    def receive(self: AgentHost, sender: int | None, frame: bytes) -> None:
        honest(self, sender, frame)
        if self.rank == 0 and self._run >= 0 and self.machine.playing:
            last = self._last[COORDINATOR]
            for message in hostile:
                sequence = self._last[COORDINATOR] + 1
                honest(
                    self,
                    COORDINATOR,
                    encode(message, run=0, source=COORDINATOR, sequence=sequence, now=0.0, sent=0),
                )
            self._last[COORDINATOR] = last

    one = spec(agents=10, parameters={"horizon": 300})
    undisturbed = run(one)
    monkeypatch.setattr(AgentHost, "receive", receive)
    record = run(one)
    assert set(record.refused) == {"out-of-turn", "stale-unmask"}
    assert record.answers == undisturbed.answers
    assert record.regret == undisturbed.regret


# --- bad specifications --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"agents": 3}, "agents.count", "no algorithm can learn"),
        ({"parameters": {"precision": 52, "horizon": 1 << 30}}, "parameters.precision", "bits"),
        ({"parameters": {"horizon": 30}}, "parameters.horizon", "at least 33"),
        ({"parameters": {"cluster_size": 3}}, "parameters.cluster_size", "at least C"),
        ({"parameters": {"cluster_size": 21}}, "parameters.cluster_size", "at most all 20"),
        ({"parameters": {"group_size": 1}}, "parameters.group_size", "2"),
        ({"parameters": {"decomposition": "lpp"}}, "parameters.decomposition", "'lp'"),
        ({"arms": {"kind": "gaussian", "means": [0.0, 1.0]}}, "arms.clip", "clip"),
        (
            {"system": "explore-then-commit", "parameters": {"horizon": 23}},
            "parameters.horizon",
            "one sweep alone lasts 24",
        ),
    ],
)
def test_bad_specifications(changes: dict[str, Any], path: str, words: str) -> None:
    system = changes.pop("system", "anonymous")
    with pytest.raises(SpecError) as caught:
        spec(system, **changes)
    assert caught.value.path == path
    assert words in caught.value.problem


def test_the_named_precision_and_horizon_are_accepted() -> None:
    with pytest.raises(SpecError) as caught:
        spec(parameters={"precision": 52, "horizon": 1 << 30})
    named = int(caught.value.problem.rsplit(" ", 1)[1])
    spec(parameters={"precision": named, "horizon": 1 << 30})
    with pytest.raises(SpecError):
        spec(parameters={"precision": named + 1, "horizon": 1 << 30})
    spec(parameters={"horizon": 33})


def test_a_run_whose_rewards_end_before_the_commitment_is_a_result(tmp_path: Path) -> None:
    rows = [f"{arm},1" for arm in range(3) for _ in range(20)]
    for rank in range(4):
        (tmp_path / f"log-{rank}.csv").write_text("\n".join(["arm,reward", *rows]))
    arms = {"kind": "csv", "path": "log-{rank}.csv", "count": 3}
    record = memory.run(spec("explore-then-commit", 4, arms=arms, base=str(tmp_path)), 0)
    assert record.status == "exhausted"
    assert record.best_arm is None
    assert record.detail["assignments_sent"] is None


def test_the_provable_constant_is_advised_against() -> None:
    one = spec(parameters={"learning_rate": 12.0})
    (advice,) = one.definition().advise(one, one.model())
    assert "nothing will be eliminated" in advice
    default = spec(parameters={"horizon": 100_000})
    assert default.definition().advise(default, default.model()) == []


# --- instances -----------------------------------------------------------------------------------


def test_cosine_means_are_similarities_of_unit_vectors() -> None:
    """(1 + cos) / 2 of random directions in d dimensions has mean 1/2 and variance 1 / 4d.

    500 users and 40 arms; the arms' common directions leave about 40 · 10 degrees of freedom, so
    10 % holds for all but one of 10^3 seeds, and the seed is fixed.
    """
    table = RandomMeans(random="cosine", count=40).table(500, np.random.default_rng(4))
    assert table.shape == (500, 40)
    assert 0 <= table.min() <= table.max() <= 1
    assert table.mean() == pytest.approx(0.5, abs=0.01)
    assert table.var() == pytest.approx(1 / 40, rel=0.1)
    # rank 10 around the constant
    assert np.linalg.matrix_rank(2 * table - 1) == 10


def test_means_per_agent_are_independent_rows() -> None:
    table = RandomMeans(count=4, per_agent=True).table(3, np.random.default_rng(4))
    assert table.shape == (3, 4)
    assert len(np.unique(table)) == 12
    with pytest.raises(ValueError, match="spread"):
        RandomMeans(count=4, per_agent=True, spread=0.1)


@pytest.mark.parametrize("system", ["anonymous", "explore-then-commit"])
def test_a_killed_process_vanishes_and_the_others_go_on(system: str) -> None:
    started = spec(system, agents=24)
    parameters = {**started.parameters, "horizon": 200_000}
    started = msgspec.structs.replace(started, parameters=parameters)
    heard = 0

    with ProcessEngine(started) as engine:
        victim = agent_processes()[3]

        def kill_in_a_round(host: CoordinatorHost) -> None:
            nonlocal heard
            heard += 1
            if heard == 30:  # 24 public keys, and the first assignment is under way
                victim.kill()

        record = engine.run(started, 0, kill_in_a_round)
    # one of them: process ids begin again at 1 in time, and do not say the rank
    assert list(record.dismissed.values()) == ["lost"]
    assert record.detail["vanished"]
    assert record.status == "horizon"
    assert sum(pulls > 0 for pulls in record.pulls_per_agent) == 23
