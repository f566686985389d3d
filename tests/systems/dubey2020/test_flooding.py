"""Messages on a graph: who knows what when, what is refused, and merging against a slow form."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import Received
from posse.topologies.graphs import Graph, grid, path, ring, star
from posse_systems.dubey2020.agent import SharedMeans
from posse_systems.dubey2020.flooding import CooperativeLearner, Flood
from posse_systems.dubey2020.messages import Bundle, means_record
from tests.support.federated import connected
from tests.support.loops import loops_of
from tests.support.mesh import Mesh, Tamper, agents_with, as_it_is, means_agents


class Echo(CooperativeLearner):
    """A learner that believes all and says nothing; it notes what was heard when it decided."""

    def __init__(self, arms: int) -> None:
        self.pulls = np.zeros(arms)
        self.message = np.zeros(1, dtype=means_record(arms))
        self.heard: dict[int, list[int]] = {}
        self.known: list[dict[int, list[int]]] = []

    def choose(self, t):
        self.known.append({m: list(created) for m, created in self.heard.items()})
        return 0

    def learn(self, arm, reward):
        return []

    def hear(self, records):
        for record in records:
            self.heard.setdefault(int(record["origin"]), []).append(int(record["created"]))

    def find_faults(self, records):
        return ()


def alone(*neighbours: int, agents: int = 4, gamma: int = 2, arms: int = 2) -> Flood:
    """Agent 0's part of the message passing."""
    return Flood(0, neighbours, agents, gamma, means_record(arms))


@settings(max_examples=40)
@given(connected, st.integers(0, 10_000))
def test_what_is_known_at_a_decision_is_what_the_distances_say(graph, seed) -> None:
    d, horizon = graph.distances, 8
    for gamma in range(graph.diameter + 1):
        echoes = [Echo(2) for _ in range(graph.agents)]
        agents = agents_with(graph, gamma, horizon, list(echoes))
        mesh = Mesh(graph, agents, [0.5, 0.5], np.random.default_rng(seed))
        assert not any(mesh.refused)
        for m, echo in enumerate(echoes):
            assert echo.known == [
                {
                    o: list(range(1, t - int(d[m, o]) + 1))
                    for o in range(graph.agents)
                    if 0 < d[m, o] <= gamma and t > d[m, o]
                }
                for t in range(1, horizon + 1)
            ]


def test_an_agent_is_at_most_one_slot_ahead_of_its_neighbours_and_no_barrier_holds_the_rest() -> (
    None
):
    slots: list[list[int]] = []
    agents = means_agents(path(6), 2, 2, 30)

    def watch(sender, to, bundle):
        slots.append([agent.flood.slot for agent in agents])
        return [bundle]

    Mesh(path(6), agents, [0.5, 0.4], np.random.default_rng(0), watch)
    ahead = [abs(a - b) for row in slots for a, b in pairwise(row)]
    assert max(ahead) == 1
    assert max(max(row) - min(row) for row in slots) > 1


def test_duplicates_and_arrivals_on_a_ring() -> None:
    # ring of 4, γ = 2: per slot an agent hears 2 neighbours first hand, the opposite one twice,
    # and its own message back from both
    agents = means_agents(ring(4), 2, 2, 11)
    Mesh(ring(4), agents, [0.5, 0.5], np.random.default_rng(1))
    for agent in agents:
        # the bundles of slots 1 to 10 were merged, those of slot 1 carry nothing passed on
        known = agent.flood
        assert known.hop_counts.tolist() == [0, 20, 9]
        assert known.duplicates == 9 * 3


def _forge(bundle: Bundle, arms: int, **changes) -> np.ndarray:
    record = np.frombuffer(bundle.items, dtype=means_record(arms))[:1].copy()
    for name, value in changes.items():
        record[name] = value
    return record


GAMMA, LIAR, FAR = 2, 1, 4
ATTACKS = {
    "life-above-gamma": lambda b, s: _forge(b, 2, origin=FAR, created=s - 1, life=GAMMA + 1),
    "from-the-future": lambda b, s: _forge(b, 2, origin=FAR, created=s + 1, life=GAMMA),
    "no-such-agent": lambda b, s: _forge(b, 2, origin=99, created=s - 1, life=1),
    "expired": lambda b, s: _forge(b, 2, origin=FAR, created=max(s - 5, 0), life=1),
    "wrong-life": lambda b, s: _forge(b, 2, origin=FAR, created=s - 1, life=2),
    "forged-origin": lambda b, s: _forge(b, 2, origin=FAR, created=s, life=GAMMA),
    "not-finite": lambda b, s: _forge(b, 2, origin=FAR, created=s - 1, life=1, means=np.inf),
    "not-finite in a product": lambda b, s: _forge(
        b, 2, origin=FAR, created=s - 1, life=1, means=[1e308, np.inf], counts=[4, 0]
    ),
    "out-of-range": lambda b, s: _forge(b, 2, origin=FAR, created=s - 1, life=1, means=7.0),
    "counts-above-time": lambda b, s: _forge(
        b, 2, origin=FAR, created=s - 1, life=1, means=0.5, counts=1_000_000
    ),
}


def attacked(graph: Graph, attack: Tamper) -> Mesh:
    """A run with a liar in it, in which the others do what they do without."""
    honest, mesh = (
        Mesh(graph, means_agents(graph, GAMMA, 2, 30), [0.6, 0.4], np.random.default_rng(order), on)
        for order, on in ((3, as_it_is), (4, attack))
    )
    assert mesh.choices == honest.choices
    return mesh


@pytest.mark.parametrize("reason", ATTACKS)
def test_a_refused_message_changes_nothing(reason) -> None:
    """The liar adds one message to each of its bundles; the honest run is the same to the arm."""
    graph = ring(6)

    def attack(sender, to, bundle):
        if sender != LIAR or bundle.slot < 6:
            return [bundle]
        extra = ATTACKS[reason](bundle, bundle.slot)
        return [Bundle(bundle.slot, bundle.items + extra.tobytes())]

    refused = attacked(graph, attack).refused
    assert [n for n in range(6) if refused[n]] == list(graph.neighbours[LIAR])
    # slots 6 to 29: the bundles of the last slot are not looked at
    assert [refused[n] for n in graph.neighbours[LIAR]] == [{reason.split()[0]: 24}] * 2


def test_counts_that_go_down_are_refused() -> None:
    learner = SharedMeans(2, np.random.default_rng(0))
    flood = alone(1, gamma=1)
    record = np.zeros(1, dtype=means_record(2))
    record["means"], record["origin"], record["life"] = 0.5, 1, 1
    found = []
    for slot, counts in ((1, [1, 0]), (2, [1, 1]), (3, [0, 1]), (4, [2, 1])):
        flood.begin_slot()
        record["created"], record["counts"] = slot, counts
        flood.take(1, Bundle(slot, record.tobytes()))
        learner.hear(flood.merge(learner))
        found.append(learner.counts[0].tolist())
    assert found == [[1, 0], [1, 1], [1, 1], [2, 1]]
    assert flood.refused == {"counts-go-down": 1}


def test_a_relay_that_sends_old_messages_again_is_refused() -> None:
    graph = ring(8)
    kept: dict[tuple[int, int], bytes] = {}

    def replay(sender, to, bundle):
        size = means_record(2).itemsize
        if sender != LIAR:
            return [bundle]
        passed_on = bundle.items[size:]
        again = kept.get((sender, to), b"")
        kept[sender, to] = passed_on
        second = Bundle(bundle.slot, bundle.items)
        return [Bundle(bundle.slot, bundle.items + again + passed_on), second]

    refused = attacked(graph, replay).refused
    for n in graph.neighbours[LIAR]:
        assert refused[n]["expired"] == 2 * 27  # those of slots 2 to 28
        assert refused[n]["replayed"] >= 2 * 28 + 28


@pytest.mark.parametrize(
    ("sender", "bundle", "reason"),
    [
        (3, Bundle(1, b""), "out-of-turn"),
        (1, Bundle(1, b"x"), "wrong-length"),
        (1, Bundle(3, b""), "from-the-future"),
        (1, Bundle(0, b""), "replayed"),
        (1, Bundle(1, bytes(means_record(2).itemsize * 5)), "wrong-length"),
    ],
)
def test_a_bundle_that_is_refused_whole(sender, bundle, reason) -> None:
    flood = alone(1, 2)
    flood.begin_slot()
    with pytest.raises(RemoteProtocolError) as error:
        flood.take(sender, bundle)
    assert error.value.reason == reason
    assert not flood.bundles
    assert not flood.ahead
    good = Received(2, Bundle(1, b""))
    flood.lengths.add(0)
    for heard in ([Received(sender, bundle), good], [good, Received(2, bundle)], [good, good]):
        assert not flood.take_all(heard)
        assert not flood.bundles
    assert flood.take_all([good])
    assert not flood.take_all([good])
    assert flood.bundles == {2: b""}


class SlowFlood:
    """`merge` one message after the other: what is new, and what is refused and why."""

    def __init__(self, agents: int, gamma: int) -> None:
        self.agents, self.gamma = agents, gamma
        self.latest = dict.fromkeys(range(agents), 0)
        self.passed: dict[tuple[int, int], int] = {}
        self.refused: Counter[str] = Counter()

    def fault(self, slot: int, sender: int, message: tuple, seen: set) -> str:
        origin, created, life = message
        age, link = slot - created, (sender, origin)
        twice = created <= self.passed.get(link, 0) or link in seen
        faults = {
            "life-above-gamma": life > self.gamma,
            "from-the-future": age < 0,
            "expired": age >= self.gamma,
            "wrong-life": life != self.gamma - age,
            "forged-origin": (sender == origin) != (age == 0),
            "replayed": twice,
        }
        return next((reason for reason, wrong in faults.items() if wrong), "")

    def merge(self, slot: int, bundles: dict[int, list[tuple]]) -> list[tuple]:
        good: list[tuple] = []
        seen: set[tuple] = set()
        for sender, messages in sorted(bundles.items()):
            for message in messages:
                if message[0] >= self.agents:
                    self.refused["no-such-agent"] += 1
                    continue
                reason = self.fault(slot, sender, message, seen)
                seen.add((sender, message[0]))
                if reason:
                    self.refused[reason] += 1
                else:
                    good.append((sender, message))
        fresh, known = [], dict(self.latest)
        for sender, (origin, created, life) in good:
            self.passed[sender, origin] = created
            if created > known[origin] and (origin, created, life) not in fresh:
                self.latest[origin] = max(self.latest[origin], created)
                fresh.append((origin, created, life))
        return fresh


SLOTS = 4
MESSAGE = st.tuples(st.integers(0, 5), st.integers(-4, 1), st.integers(0, 4))
BUNDLES = st.lists(
    st.fixed_dictionaries({1: st.lists(MESSAGE, max_size=3), 2: st.lists(MESSAGE, max_size=3)}),
    min_size=SLOTS,
    max_size=SLOTS,
)


@settings(max_examples=100)
@given(st.integers(1, 3), BUNDLES)
@example(1, [{1: [(1, 0, 1), (1, 0, 1)], 2: []}] * SLOTS)
@example(1, [{1: [], 2: []}, {1: [(3, -1, 0)], 2: []}] * 2)
@example(3, [{1: [], 2: []}] * 3 + [{1: [(2, -1, 2)], 2: [(2, 0, 3)]}])
def test_a_merge_is_that_of_one_message_after_the_other(gamma, bundles) -> None:
    record = means_record(1)
    flood, slow = alone(1, 2, agents=5, gamma=gamma, arms=1), SlowFlood(5, gamma)
    for slot, said in enumerate(bundles, start=1):
        flood.begin_slot()
        exact = {
            sender: [(origin, max(0, slot + offset), life) for origin, offset, life in messages]
            for sender, messages in said.items()
        }
        for sender, messages in exact.items():
            items = np.zeros(len(messages), dtype=record)
            for i, message in enumerate(messages):
                items["origin"][i], items["created"][i], items["life"][i] = message
            flood.take(sender, Bundle(slot, items.tobytes()))
        fresh = flood.merge(Echo(1))[["origin", "created", "life"]].tolist()
        assert fresh == slow.merge(slot, exact)
        assert flood.refused == slow.refused
        assert {m: int(t) for m, t in enumerate(flood.latest)} == slow.latest


@settings(max_examples=60)
@given(st.binary(max_size=12 * 34))
def test_no_bytes_break_the_merge(data) -> None:
    learner = SharedMeans(2, np.random.default_rng(0))
    flood = alone(1, 2)
    flood.begin_slot()
    size = means_record(2).itemsize
    for sender in (1, 2):
        flood.take(sender, Bundle(1, data[: len(data) // size * size][: 4 * size]))
    learner.hear(flood.merge(learner))
    assert np.isfinite(learner.weighted).all()


@pytest.mark.slow
@settings(max_examples=30)
@given(connected, st.integers(1, 3), st.integers(0, 10_000))
def test_the_arms_and_messages_are_those_of_the_plain_loop(graph, gamma, seed) -> None:
    """Algorithms 1 and 2 as in the docstrings, reward by reward and tie by tie."""
    loops = loops_of(
        *(f"systems/posse_systems/dubey2020/{name}.py" for name in ("flooding", "agent"))
    )
    agents, horizon, means = range(graph.agents), 25, [0.7, 0.5, 0.2]
    machines = means_agents(graph, gamma, 3, horizon)
    mesh = Mesh(graph, machines, means, np.random.default_rng(seed))
    rewards = [np.random.default_rng([7, m]) for m in agents]
    ties = [np.random.default_rng(m) for m in agents]
    slots = loops["cooperate"](
        graph.neighbours,
        gamma,
        horizon,
        3,
        lambda m, k: float(rewards[m].random() < means[k]),
        ties,
    )
    assert [list(arms) for arms in zip(*slots, strict=True)] == mesh.choices


@settings(max_examples=30)
@given(connected, st.integers(1, 3), st.integers(0, 10_000))
def test_the_order_in_which_bundles_arrive_changes_nothing(graph, gamma, seed) -> None:
    """The same messages to the byte, in whatever order they arrive and the agents act."""
    runs = []
    for order in (seed, seed + 1):
        agents = means_agents(graph, gamma, 3, 12)
        mesh = Mesh(graph, agents, [0.7, 0.5, 0.2], np.random.default_rng(order), nonsense)
        runs.append((mesh.choices, sorted(mesh.bundles, key=repr), mesh.refused))
    assert runs[0] == runs[1]
    assert any(runs[0][2])


def nonsense(sender: int, to: int, bundle: Bundle) -> list[Bundle]:
    """Agent 0 says of agent 1 in every third slot what that cannot have said."""
    if sender or bundle.slot % 3:
        return [bundle]
    extra = _forge(bundle, 3, origin=1, created=bundle.slot, life=9)
    return [Bundle(bundle.slot, bundle.items + extra.tobytes())]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_whoever_is_lost_and_whenever_the_others_go_on_to_the_end(data: st.DataObject) -> None:
    graph = data.draw(st.sampled_from([ring(5), path(5), star(5), grid(2, 3)]))
    ranks = st.integers(0, graph.agents - 1)
    losses = data.draw(st.dictionaries(ranks, st.integers(0, 11), max_size=graph.agents))
    seed = data.draw(st.integers(0, 2**32))
    agents = means_agents(graph, gamma=2, arms=3, horizon=12)
    order = np.random.default_rng(seed)
    mesh = Mesh(graph, agents, [0.2, 0.5, 0.8], order, losses=losses)
    assert mesh.finished.keys() == set(range(graph.agents)) - losses.keys()
    for rank, choices in enumerate(mesh.choices):
        assert len(choices) == losses.get(rank, 12)
    # a bundle that comes after its sender was declared gone is nobody's fault
    for rank in mesh.finished:
        assert not mesh.refused[rank]


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2, 3, 9]), st.integers(4, 7), st.integers(0, 2)), max_size=6
    ),
    st.booleans(),
)
def test_bundles_taken_at_once_are_as_those_taken_one_by_one(said, known_length) -> None:
    size = means_record(2).itemsize
    received = [Received(sender, Bundle(slot, bytes(size * n))) for sender, slot, n in said]
    at_once, one_by_one = (alone(1, 2, 3, agents=10) for _ in range(2))
    for flood in (at_once, one_by_one):
        flood.slot = 5
        flood.lengths.update((0, size, 2 * size) if known_length else ())
        flood.bundles[3], flood.ahead[2] = b"", b""
    try:
        for one in received:
            assert isinstance(one.message, Bundle)
            one_by_one.take(one.sender, one.message)
        refused = False
    except RemoteProtocolError:
        refused = True
    if at_once.take_all(received):
        assert not refused
        assert (at_once.bundles, at_once.ahead) == (one_by_one.bundles, one_by_one.ahead)
    else:
        assert refused or not known_length
        assert (at_once.bundles, at_once.ahead) == ({3: b""}, {2: b""})
