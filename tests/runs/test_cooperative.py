"""Cooperation on a graph: message passing, releases, decisions, against slow forms by hand."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.cooperative import PrivateMeans, SharedMeans, best
from agent.corruption import Corruption
from agent.flooding import Flood
from agent.lone import LoneUcb, PrivateLoneUcb
from agent.noise import SeededNoise
from protocol.cooperative import (
    Bundle,
    Contamination,
    composed,
    hops,
    means_record,
    noise_scale,
    privacy_bound,
    release_counts,
    reward_record,
    zeta,
)
from protocol.errors import RemoteProtocolError
from protocol.machine import Disclose, Finish, Pull, Pulled, Started
from tests.support.mesh import Mesh, means_agents
from topologies.graphs import Graph, erdos_renyi, from_edges, path, ring, star


def distances(graph: Graph) -> np.ndarray:
    """Floyd and Warshall, as slow as can be."""
    M = graph.agents
    d = np.full((M, M), np.inf)
    np.fill_diagonal(d, 0)
    for i, j in graph.edges():
        d[i, j] = d[j, i] = 1
    for k in range(M):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


@st.composite
def connected_graphs(draw):
    M = draw(st.integers(2, 9))
    tree = [(draw(st.integers(0, i - 1)), i) for i in range(1, M)]
    more = draw(st.lists(st.tuples(st.integers(0, M - 1), st.integers(0, M - 1)), max_size=8))
    return from_edges(M, [*tree, *((i, j) for i, j in more if i != j)])


class Echo:
    """A learner that says nothing and notes when it decided and what had been heard by then."""

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

    def says(self):
        return self.message

    def hear(self, records):
        for record in records:
            self.heard.setdefault(int(record["origin"]), []).append(int(record["created"]))

    def faults(self, records):
        return ()


@settings(max_examples=40, deadline=None)
@given(connected_graphs(), st.integers(0, 10_000))
def test_what_is_known_at_a_decision_is_what_the_distances_say(graph, seed) -> None:
    d = distances(graph)
    horizon = 8
    for gamma in range(int(d.max()) + 1):
        agents = means_agents(graph, gamma, 2, horizon)
        for agent in agents:
            agent.learner = Echo(2)
        mesh = Mesh(graph, agents, [0.5, 0.5], np.random.default_rng(seed))
        assert all(not counts for counts in mesh.refused)
        for m, agent in enumerate(agents):
            assert len(agent.learner.known) == horizon
            for t, known in enumerate(agent.learner.known, start=1):
                expected = {
                    o: list(range(1, t - int(d[m, o]) + 1))
                    for o in range(graph.agents)
                    if 0 < d[m, o] <= gamma and t > d[m, o]
                }
                assert known == expected


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


def test_the_order_of_arrival_changes_nothing() -> None:
    graph = erdos_renyi(8, 0.4, np.random.default_rng(2))
    runs = [
        Mesh(graph, means_agents(graph, 2, 3, 25), [0.9, 0.5, 0.2], np.random.default_rng(order))
        for order in range(3)
    ]
    assert runs[0].choices == runs[1].choices == runs[2].choices
    assert sorted(runs[0].bundles, key=repr) == sorted(runs[1].bundles, key=repr)


def test_duplicates_and_arrivals_on_a_ring() -> None:
    # ring of 4, γ = 2: per slot an agent hears 2 neighbours first hand, the opposite one twice,
    # and its own message back from both
    agents = means_agents(ring(4), 2, 2, 11)
    Mesh(ring(4), agents, [0.5, 0.5], np.random.default_rng(1))
    for agent in agents:
        # the bundles of slots 1 to 10 were merged, those of slot 1 carry nothing passed on
        assert agent.flood.arrivals.tolist() == [0, 20, 9]
        assert agent.flood.delays.tolist() == [0, 20, 18]
        assert agent.flood.duplicates == 9 * 3


@pytest.mark.parametrize(
    ("asked", "diameter", "gamma"),
    [("diameter", 3, 3), ("diameter/2", 3, 2), ("diameter/2", 4, 2), (1, 5, 1), (0, 5, 0)],
)
def test_half_a_diameter_is_rounded_up(asked, diameter, gamma) -> None:
    assert hops(asked, diameter) == gamma


# --- what is refused -------------------------------------------------------------------------


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
    "out-of-range": lambda b, s: _forge(b, 2, origin=FAR, created=s - 1, life=1, means=7.0),
    "counts-above-time": lambda b, s: _forge(
        b, 2, origin=FAR, created=s - 1, life=1, means=0.5, counts=1_000_000
    ),
}


@pytest.mark.parametrize("reason", ATTACKS)
def test_a_refused_message_changes_nothing(reason) -> None:
    """The liar adds one message to each of its bundles; the honest run is the same to the arm."""
    graph = ring(6)

    def attack(sender, to, bundle):
        if sender != LIAR or bundle.slot < 6:
            return [bundle]
        extra = ATTACKS[reason](bundle, bundle.slot)
        return [Bundle(bundle.slot, bundle.items + extra.tobytes())]

    honest = Mesh(graph, means_agents(graph, GAMMA, 2, 30), [0.6, 0.4], np.random.default_rng(3))
    attacked = Mesh(
        graph, means_agents(graph, GAMMA, 2, 30), [0.6, 0.4], np.random.default_rng(4), attack
    )
    assert attacked.choices == honest.choices
    assert [n for n in range(6) if attacked.refused[n]] == list(graph.neighbours[LIAR])
    # slots 6 to 29: the bundles of the last slot are not looked at
    assert [attacked.refused[n] for n in graph.neighbours[LIAR]] == [{reason: 24}] * 2


def test_counts_that_go_down_are_refused() -> None:
    learner = SharedMeans(2, 4, np.random.default_rng(0))
    flood = Flood(0, 4, (1,), 1, means_record(2))
    record = np.zeros(1, dtype=means_record(2))
    record["means"], record["origin"], record["life"] = 0.5, 1, 1
    found = []
    for slot, counts in ((1, [1, 0]), (2, [1, 1]), (3, [0, 1]), (4, [2, 1])):
        flood.begin_slot()
        record["created"], record["counts"] = slot, counts
        flood.take(1, Bundle(slot, record.tobytes()))
        learner.hear(flood.merge(learner.faults))
        found.append(learner.counts[1].tolist())
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

    honest = Mesh(graph, means_agents(graph, GAMMA, 2, 30), [0.6, 0.4], np.random.default_rng(3))
    attacked = Mesh(
        graph, means_agents(graph, GAMMA, 2, 30), [0.6, 0.4], np.random.default_rng(4), replay
    )
    assert attacked.choices == honest.choices
    for n in graph.neighbours[LIAR]:
        assert attacked.refused[n]["expired"] == 2 * 27  # those of slots 2 to 28
        assert attacked.refused[n]["replayed"] >= 2 * 28 + 28


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
    flood = Flood(0, 4, (1, 2), 2, means_record(2))
    flood.begin_slot()
    with pytest.raises(RemoteProtocolError) as error:
        flood.take(sender, bundle)
    assert error.value.reason == reason
    assert not flood.bundles
    assert not flood.ahead


class SlowFlood:
    """`Flood.merge` one message after the other: what is new, and what is refused and why."""

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
        good, seen = [], set()
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
        fresh = []
        for sender, (origin, created, life) in good:
            self.passed[sender, origin] = created
            if created > self.latest[origin]:
                self.latest[origin] = created
                fresh.append((origin, created, life))
        return fresh


SLOTS = 4
MESSAGE = st.tuples(st.integers(0, 5), st.integers(-4, 1), st.integers(0, 4))
BUNDLES = st.lists(
    st.fixed_dictionaries({1: st.lists(MESSAGE, max_size=3), 2: st.lists(MESSAGE, max_size=3)}),
    min_size=SLOTS,
    max_size=SLOTS,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 3), BUNDLES)
@example(1, [{1: [(1, 0, 1), (1, 0, 1)], 2: []}] * SLOTS)
@example(1, [{1: [], 2: []}, {1: [(3, -1, 0)], 2: []}] * 2)
def test_a_merge_is_that_of_one_message_after_the_other(gamma, bundles) -> None:
    record = means_record(1)
    flood, slow = Flood(0, 5, (1, 2), gamma, record), SlowFlood(5, gamma)
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
        fresh = flood.merge(lambda records: ())[["origin", "created", "life"]].tolist()
        assert fresh == slow.merge(slot, exact)
        assert flood.refused == slow.refused
        assert {m: int(t) for m, t in enumerate(flood.latest)} == slow.latest


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=12 * 34))
def test_no_bytes_break_the_merge(data) -> None:
    learner = SharedMeans(2, 4, np.random.default_rng(0))
    flood = Flood(0, 4, (1, 2), 2, means_record(2))
    flood.begin_slot()
    size = means_record(2).itemsize
    for sender in (1, 2):
        flood.take(sender, Bundle(1, data[: len(data) // size * size][: 4 * size]))
    learner.hear(flood.merge(learner.faults))
    assert np.isfinite(learner.weighted).all()


# --- the series, the noise, the ledger --------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "first"),
    [
        (1.0, (1, 2, 3)),
        (0.5, (2, 4, 6)),
        (0.1, (7, 16, 26, 36, 46)),
        (0.05, (12, 29, 47, 66)),
    ],
)
def test_the_interval_series(epsilon, first) -> None:
    assert release_counts(epsilon, 1.1, 100)[: len(first)] == first


@settings(max_examples=50, deadline=None)
@given(st.floats(0.02, 1.0), st.floats(1.01, 1.5), st.integers(1, 400))
def test_the_series_keeps_lemma_3_6(epsilon, v, last) -> None:
    found = release_counts(epsilon, v, last)
    slow, previous = [], 0
    for x in range(1, last + 1):
        interval = math.fsum(i ** (-v / 2) for i in range(previous + 1, x + 1))
        if interval >= x ** (-v / 2) / epsilon - 1e-12:
            slow.append(x)
            previous = x
    assert list(found) == slow
    costs = np.array([n ** (-v / 2) for n in found])
    assert costs.sum() <= epsilon * last ** (1 - v / 2) / (1 - v / 2) + 1e-9
    assert np.square(costs).sum() <= epsilon * zeta(v) + 1e-9


def test_zeta_and_the_bound() -> None:
    assert zeta(2.0) == pytest.approx(math.pi**2 / 6, rel=1e-9)
    assert zeta(1.1) == pytest.approx(10.5844484649508, rel=1e-9)
    # ε = .1, v = 1.1, δ' = e^-10: 2 ε ζ + sqrt(2 ε ζ 10) = 2.117 + 4.601
    assert privacy_bound(0.1, 1.1, 10**6, math.exp(-10)) == pytest.approx(6.718, abs=2e-3)
    assert privacy_bound(0.1, 1.1, 100, math.exp(-10)) == pytest.approx(0.1 * 100**0.45 / 0.45)


def test_the_exact_composition_of_300_releases() -> None:
    series = release_counts(0.1, 1.1, 10_000)[:300]
    costs = np.array([n**-0.55 for n in series])
    spent = composed(costs, np.ones(300, dtype=np.int64), math.exp(-10))
    advanced = math.fsum(c * (math.exp(c) - 1) / (math.exp(c) + 1) for c in costs) + math.sqrt(
        20 * math.fsum(c * c for c in costs)
    )
    assert spent == pytest.approx(min(costs.sum(), advanced))
    assert 3.0 < spent < 4.0


class Fixed:
    """Noise that is known."""

    def __init__(self, value: float) -> None:
        self.value, self.scales = value, []

    def noisy(self, values, sensitivity, scale):
        self.scales.append(scale)
        return values + self.value

    def bernoulli(self, probability, size):
        raise NotImplementedError


def private(variant, noise, epsilon=0.5, arms=2, v=1.1):
    return PrivateMeans(
        arms,
        3,
        np.random.default_rng(0),
        epsilon=epsilon,
        v=v,
        variant=variant,
        noise=noise,
        releases=release_counts(epsilon, v, 1000),
    )


def test_a_release_by_hand() -> None:
    noise = Fixed(0.25)
    learner = private("corrected", noise)
    assert learner.learn(0, 1.0) == []  # W_1 = 2
    assert np.isnan(learner.says()["means"]).all()
    (disclosed,) = learner.learn(0, 0.0)
    assert isinstance(disclosed, Disclose)
    release = disclosed.release
    assert noise.scales == [pytest.approx(2**-0.45)]
    assert (release.sensitivity, release.scale) == (0.5, pytest.approx(2**-0.45))
    assert release.epsilon == pytest.approx(2**-0.55)
    assert release.epsilon == pytest.approx(release.sensitivity / release.scale)
    assert learner.says()["means"][0, 0] == 0.75
    assert learner.says()["counts"].tolist() == [[2, 0]]
    assert learner.learn(0, 1.0) == []
    assert learner.says()["counts"].tolist() == [[2, 0]]  # the count at the release


def test_printed_sends_the_current_count_and_decides_by_raw_sums() -> None:
    learner = private("printed", Fixed(0.25))
    for reward in (1.0, 0.0, 1.0):
        learner.learn(0, reward)
    assert learner.says()["means"][0, 0] == 0.75
    assert learner.says()["counts"].tolist() == [[3, 0]]
    sums, pulls = learner.own()
    assert (sums[0], pulls[0]) == (2.0, 3.0)


def test_printed_gives_one_reward_away_for_certain_and_corrected_does_not() -> None:
    """ε = 1, K = 2, first rewards (1, .5) or (0, .5): the third pull tells which, as printed."""

    def third(variant, first, seed):
        learner = private(variant, SeededNoise(np.random.default_rng(seed)), epsilon=1.0)
        order = [learner.choose(1), learner.choose(2)]
        for arm, reward in zip(order, (first, 0.5), strict=True):
            learner.learn(arm, reward)
        return order.index(learner.choose(3))

    assert {third("printed", 1.0, s) for s in range(200)} == {0}
    assert {third("printed", 0.0, s) for s in range(200)} == {1}
    often = [np.mean([third("corrected", x, s) for s in range(2000)]) for x in (1.0, 0.0)]
    # a first release costs W_1^-.55 = 1: no likelihood may change by more than e
    assert 0.02 < often[0] < often[1] < 0.98
    assert often[1] / often[0] < math.e * 1.15
    assert (1 - often[0]) / (1 - often[1]) < math.e * 1.15


def test_the_noise_has_the_law_of_the_ledger() -> None:
    scale = noise_scale(7, 1.1)
    draws = []
    for seed in range(4000):
        learner = private("corrected", SeededNoise(np.random.default_rng(seed)), epsilon=0.1)
        for _ in range(7):
            learner.learn(0, 1.0)
        draws.append(learner.says()["means"][0, 0] - 1.0)
    # Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded once in a thousand
    ordered = np.sort(draws)
    law = np.where(ordered < 0, np.exp(ordered / scale) / 2, 1 - np.exp(-ordered / scale) / 2)
    assert np.abs(law - np.arange(1, 4001) / 4000).max() < 1.95 / math.sqrt(4000)


# --- decisions --------------------------------------------------------------------------------


def test_the_index_by_hand_leaves_out_what_has_no_mean() -> None:
    learner = SharedMeans(2, 3, np.random.default_rng(0))
    learner.learn(0, 1.0)
    learner.learn(1, 0.0)
    heard = np.zeros(2, dtype=means_record(2))
    heard["origin"], heard["created"] = [1, 2], [1, 1]
    heard["means"] = [[0.5, np.nan], [np.nan, 1.0]]
    heard["counts"] = [[4, 9], [9, 8]]  # the 9s have no mean: left out with their arms
    learner.hear(heard)
    t = 20
    N = [1 + 4, 1 + 8]
    mu = [(1 + 4 * 0.5) / 5, (0 + 8 * 1.0) / 9]
    index = [m + math.sqrt(2 * math.log(t) / n) for m, n in zip(mu, N, strict=True)]
    assert learner.by_index(t) == int(np.argmax(index))
    assert learner.counts.sum(axis=0).tolist() == [4, 8]


def test_ties_are_random() -> None:
    ties = np.random.default_rng(5)
    drawn = [best(np.array([1.0, 0.0, 1.0]), ties) for _ in range(200)]
    assert set(drawn) == {0, 2}
    assert 60 < drawn.count(0) < 140


@pytest.mark.parametrize(("variant", "first"), [("corrected", 0), ("printed", 1)])
def test_arms_in_turn_at_first(variant, first) -> None:
    learner = private(variant, Fixed(0.0), epsilon=0.5, arms=3)
    assert [learner.choose(t) for t in range(1, 7)] == [(first + i) % 3 for i in range(6)]


def _pull(machine, rewards):
    effects = machine.handle(Started(), 0.0)
    chosen = []
    while isinstance(effects[-1], Pull):
        arm = effects[-1].arms[0]
        chosen.append(arm)
        effects = machine.handle(Pulled((arm,), 1, np.array([rewards[arm]])), 0.0)
    return chosen, effects[-1]


def test_ucb1_by_hand() -> None:
    chosen, end = _pull(LoneUcb(2, 40, np.random.default_rng(0)), [1.0, 0.0])
    n, s = [0, 0], [0.0, 0.0]
    for t, arm in enumerate(chosen, start=1):
        if t > 2:
            index = [s[k] / n[k] + math.sqrt(2 * math.log(t) / n[k]) for k in (0, 1)]
            assert index[arm] == max(index)
        n[arm] += 1
        s[arm] += [1.0, 0.0][arm]
    assert end == Finish("horizon", 0)
    assert len(chosen) == 40


def test_dp_ucb_int_draws_once_per_release_and_printed_in_every_slot() -> None:
    def releases(variant):
        machine = PrivateLoneUcb(
            2,
            60,
            np.random.default_rng(0),
            epsilon=0.2,
            variant=variant,
            noise=SeededNoise(np.random.default_rng(1)),
        )
        disclosed = []
        effects = machine.handle(Started(), 0.0)
        while isinstance(effects[-1], Pull):
            arm = effects[-1].arms[0]
            effects = machine.handle(Pulled((arm,), 1, np.array([float(arm)])), 0.0)
            disclosed += [e.release for e in effects if isinstance(e, Disclose)]
        return machine.pulls, disclosed

    pulls, once = releases("corrected")
    assert len(once) == sum(int(n) // 5 for n in pulls)
    assert len({(r.block, r.sensitivity) for r in once}) == len(once)
    _, again = releases("printed")
    assert len({(r.block, r.sensitivity) for r in again}) < len(again)


# --- lies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (Contamination(rate=1.0), {1.0}),
        (Contamination(rate=1.0, law="outlier"), {10.0}),
        (Contamination(rate=1.0, law="point", value=0.2), {0.2}),
        (Contamination(rate=1.0, law="opposite"), {0.75}),
        (Contamination(rate=0.0), {0.25}),
    ],
)
def test_corruption_at_the_source(does, expected) -> None:
    own, passed_on = np.zeros(1, dtype=reward_record()), np.zeros(3, dtype=reward_record())
    own["reward"] = passed_on["reward"] = 0.25
    Corruption(does, np.random.default_rng(0)).corrupt(own, passed_on)
    assert set(own["reward"].tolist()) == expected
    assert set(passed_on["reward"].tolist()) == {0.25}


def test_a_relay_lies_at_the_rate_in_what_it_passes_on() -> None:
    own, passed_on = np.zeros(1, dtype=reward_record()), np.zeros(20_000, dtype=reward_record())
    does = Contamination(rate=0.1, law="uniform", form="relay")
    Corruption(does, np.random.default_rng(0)).corrupt(own, passed_on)
    struck = passed_on["reward"] > 0
    assert own["reward"][0] == 0
    assert abs(struck.mean() - 0.1) < 4 * math.sqrt(0.09 / 20_000)
    assert abs(passed_on["reward"][struck].mean() - 0.5) < 4 * math.sqrt(1 / 12 / struck.sum())


def test_a_star_hears_its_leaves_through_the_centre() -> None:
    agents = means_agents(star(5), 1, 2, 10)
    Mesh(star(5), agents, [0.5, 0.5], np.random.default_rng(1))
    assert (agents[0].flood.latest[1:] == 9).all()
    assert agents[1].flood.latest.tolist() == [9, 10, 0, 0, 0]
