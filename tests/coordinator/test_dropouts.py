"""CDP-MAB with shared noise that can do without agents: what the server reads after losses."""

import random
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.agent.masking import Masker, SumMasker
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    COORDINATOR,
    Broadcast,
    Finish,
    PeerLost,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from posse.protocol.masking import (
    Covered,
    Keys,
    Masked,
    Rest,
    Share,
    Unmasked,
    keystream,
    unpack_words,
)
from posse.protocol.message import Message
from posse.protocol.sharing import derived, interpolated, pack, place_of, place_of_point, unpack
from posse_systems.li2022.shared import SharedLaplace, SharedNoise, SharedSchedule
from posse_systems.li2022.shared_agent import SharedNoiseAgent
from posse_systems.li2022.shared_server import SharedNoiseServer
from tests.support.noise import KnownNoise

AGENTS, ARMS = 6, 3


class Link:
    """Agents and a server whose messages arrive in any order but that of each pair.

    `losses`: after this many deliveries this agent is lost. `view`: all that the server got.
    """

    def __init__(self, dropouts, losses, seed=0, means=None):
        self.shared = SharedNoise(AGENTS, 1.0, 1e-6, 1.0, 16, dropouts)
        schedule = SharedSchedule(
            deviation=self.shared.total, arms=ARMS, senders=AGENTS, horizon=10**5, epsilon=1.0
        )
        self.agents = [
            SharedNoiseAgent(
                ARMS, schedule, KnownNoise(1000 * n), shared=self.shared,
                masker=SumMasker(n, AGENTS, bytes([n + 1] * 32), None, dropouts),
            )
            for n in range(AGENTS)
        ]  # fmt: skip
        self.server = SharedNoiseServer(ARMS, AGENTS, schedule, shared=self.shared)
        self.queues: dict[tuple[int, str], list[Message]] = {
            (n, way): [] for n in range(AGENTS) for way in ("up", "down")
        }
        self.chance, self.losses, self.lost = random.Random(seed), dict(losses), []
        self.means = means or [[0.1 * n, 0.5, 0.3] for n in range(AGENTS)]
        self.view, self.words, self.status, self.times = [], {}, "", 0

    def play(self, rounds=1):
        """Until the server has decided this many rounds, or the run ends."""
        self._server(self.server.handle(Started(), 0.0))
        for n, agent in enumerate(self.agents):
            self._agent(n, agent.handle(Started(), 0.0))
        count = 0
        while not self.status and self.server.round <= rounds:
            for n in [n for n, at in self.losses.items() if at <= count]:
                del self.losses[n]
                self.lost.append(n)
                self.queues[n, "up"].clear()
                self._server(self.server.handle(PeerLost(n), 0.0))
            full = [key for key, queue in self.queues.items() if queue and key[0] not in self.lost]
            if not full or self.status or self.server.round > rounds:
                break
            n, way = self.chance.choice(full)
            message, count = self.queues[n, way].pop(0), count + 1
            if way == "up":
                self.view.append((n, message))
                self._server(self.server.handle(Received(n, message), 0.0))
            else:
                self._agent(n, self.agents[n].handle(Received(COORDINATOR, message), 0.0))
        return count

    def _server(self, effects):
        for effect in effects:
            match effect:
                case Broadcast(message):
                    for n in range(AGENTS):
                        self.queues[n, "down"].append(message)
                case Send(n, message):
                    self.queues[n, "down"].append(message)
                case Finish(status):
                    self.status = status

    def _agent(self, n, effects):
        for effect in effects:
            match effect:
                case Send(_, message):
                    self.queues[n, "up"].append(message)
                case Pull(arms, times):
                    sums = times * np.array([self.means[n][k] for k in arms])
                    if self.agents[n].stage == "explore":
                        noisy = self.shared.to_integers(sums) + 1000 * n
                        self.words[self.agents[n].round, n] = noisy
                        self.times = times
                    self._agent(n, self.agents[n].handle(Pulled(arms, times, sums), 0.0))

    def exact(self, group):
        """The sums of the first round over this group, in words."""
        return sum(self.words[1, n] for n in group)

    def read(self, group):
        """The sums of the first round as the server read them, in words."""
        return self.server.average * self.times * len(group) * 2**16


WHOLE = Link(0, {}).play()


@pytest.mark.parametrize(("dropouts", "report"), [(0, Masked), (2, Covered)])
def test_without_losses_the_sum_is_that_over_all_and_only_the_report_is_longer(dropouts, report):
    link = Link(dropouts, {})
    # with dropouts each settles for the survivors
    assert link.play() == WHOLE + (2 * AGENTS if dropouts else 0)
    np.testing.assert_allclose(link.read(range(AGENTS)), link.exact(range(AGENTS)), rtol=1e-12)
    kinds = {type(message) for _, message in link.view}
    assert kinds & {Covered, Masked, Rest, Share} == {report}


@settings(max_examples=60)
@given(st.integers(0))
def test_as_many_lost_as_are_declared_leave_the_exact_sum(seed):
    """Whoever is lost and whenever, in whatever order messages arrive."""
    chance = random.Random(seed)
    lost = {n: chance.randrange(WHOLE + 12) for n in chance.sample(range(AGENTS), 3)}
    link = Link(3, lost, seed)
    link.play()
    assert (link.server.round, link.status) == (2, "")
    group = link.server.group
    assert len(group) >= AGENTS - 3
    np.testing.assert_allclose(link.read(group), link.exact(group), rtol=1e-12)


def test_of_one_lost_before_the_keys_no_fewer_shares_find_a_seed():
    """M - d = 4 shares and what is public, whoever is lost when; of 5 agents 3 would, with 2."""
    link = Link(2, {5: 0})
    link.play()
    said = next(m.points for n, m in link.view if n == 0 and isinstance(m, Covered))
    public = {place_of_point(n): value for n, value in enumerate(unpack(said))}
    assert len(public) == 1
    one, found = link.agents[0].masker, []
    for last in (3, 4):
        shares = {place_of(n): derived(one.seeds[n][32:], 0, 1) for n in range(1, last + 1)}
        found.append(pack([interpolated(shares | public, 0)]) == one.own_seed(1))
    assert found == [False, True]


def test_later_rounds_do_without_who_was_lost():
    link = Link(2, {4: 20, 1: WHOLE + 9}, means=[[0.50, 0.49, 0.48]] * AGENTS)
    link.play(rounds=4)
    assert (link.server.round, sorted(link.lost)) == (5, [1, 4])
    assert link.server.group == (0, 2, 3, 5)
    np.testing.assert_allclose(link.server.average, [0.50, 0.49, 0.48], atol=0.02)


@settings(max_examples=10)
@given(st.integers(0))
def test_one_more_than_declared_ends_as_missing(seed):
    chance = random.Random(seed)
    lost = {n: chance.randrange(20) for n in chance.sample(range(AGENTS), 2)}
    link = Link(1, lost, seed)
    link.play()
    assert link.status == "missing"


@settings(max_examples=20)
@given(st.integers(0))
def test_the_server_gets_no_report_unmasked_and_never_both_masks_of_one(seed):
    """Of each report less all that was told of its masks, words are still far from any sum."""
    chance = random.Random(seed)
    lost = {n: chance.randrange(WHOLE + 12) for n in chance.sample(range(AGENTS), 2)}
    link = Link(2, lost, seed)
    link.play()
    shared = {message.rank for _, message in link.view if isinstance(message, Share)}
    rests, reports, seeds = {}, {}, {}
    for n, message in link.view:
        match message:
            case Covered(_, words, _):
                reports[n] = unpack_words(words, ARMS)
            case Rest(_, _, words):
                rests[n] = unpack_words(words, ARMS)
            case Unmasked(_, seed_of):
                seeds[n] = seed_of
    # whose masks with others were told as those of a lost agent has no seed told
    assert not (set(link.lost) - set(link.server.group)) & (shared | set(seeds))
    for n, report in reports.items():
        bare = report - rests.get(n, np.zeros(ARMS, np.uint64))
        if n in seeds:
            bare = bare - keystream(seeds[n], 1, ARMS)
        assert (np.abs(bare.view(np.int64)) > 2**40).any()


def maskers(dropouts, agents=5):
    made = [SumMasker(n, agents, bytes([n + 1] * 32), None, dropouts) for n in range(agents)]
    keys = {one.rank: one.public for one in made}
    for one in made:
        one.take_keys(keys)
        one.begin(1, tuple(range(agents)))
        one.mask(1, tuple(range(agents)), np.zeros(2, np.uint64))
    return made


@given(st.sampled_from([0, 2]), st.sets(st.integers(0, 2**32 - 1), max_size=9))
def test_no_two_rounds_have_one_self_mask(dropouts, rounds):
    one = maskers(dropouts)[0]
    assert len({one.own_seed(number) for number in rounds}) == len(rounds)


ALL = (0, 1, 2, 3, 4)


def settle(agents, survivors=ALL):
    """Each of these survivors settles; by agent, what the others tell it."""
    told = {n: agents[n].settle(1) for n in survivors}
    tags = dict.fromkeys(survivors, b"")
    for sender, its in told.items():
        for at, peer in enumerate(n for n in sorted(survivors) if n != sender):
            tags[peer] += its[16 * at :][:16]
    return tags


def unmask(agents, survivors=ALL):
    """All of these survivors, as they were told, settle and reveal."""
    for n, tags in settle(agents, survivors).items():
        agents[n].reveal(1, tags)
    return agents[0]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (lambda m: m[0].rest(1, ALL, (0, 1), 2), "small-roster"),
        (lambda m: m[0].rest(1, ALL, (1, 2, 3), 2), "wrong-group"),
        (lambda m: m[0].rest(1, ALL, (0, 1, 1, 2), 2), "repeated-names"),
        (lambda m: m[0].rest(2, ALL, (0, 1, 2), 2), "stale-unmask"),
        (lambda m: [m[0].rest(1, ALL, left, 2) for left in ((0, 1, 2), ALL)], "wrong-group"),
        (lambda m: (m[0].settle(1), m[0].rest(1, ALL, (0, 1, 2), 2)), "second-unmask"),
        (lambda m: (m[0].settle(1), m[0].settle(1)), "second-unmask"),
        (lambda m: m[0].settle(2), "stale-unmask"),
        (lambda m: m[0].reveal(1), "stale-unmask"),
        (lambda m: (m[0].settle(1), m[0].reveal(1)), "not-settled"),
        (lambda m: m[0].reveal(1, settle(m)[0][:16]), "not-settled"),
        (lambda m: m[0].reveal(1, settle(m)[1]), "not-settled"),
        (lambda m: (settle(m), m[0].share(1, 1)), "stale-unmask"),
        (lambda m: unmask(m).share(1, 0), "wrong-member"),
        (lambda m: unmask(m).share(2, 1), "stale-unmask"),
        (
            lambda m: (
                [m[n].rest(1, ALL, (0, 1, 2), 2) for n in (0, 1, 2)],
                unmask(m, (0, 1, 2)).share(1, 3),
            ),
            "wrong-member",
        ),
    ],
)
def test_what_an_agent_refuses(told, reason):
    """Above all, masks with another and a share of the other's seed in the same round."""
    with pytest.raises(RemoteProtocolError) as error:
        told(maskers(2))
    assert error.value.reason == reason


def lied_to(agents):
    """Agent 0 hears that all survived, the others that it did not; what the server then has."""
    others = (1, 2, 3, 4)
    rests = [agents[n].rest(1, ALL, others, 2) for n in others]
    told = [agents[n].settle(1) for n in ALL]
    to_the_first = b"".join(tags[:16] for tags in told[1:])
    return agents[0].reveal(1, to_the_first), sum(rests)


def test_a_server_that_lies_about_survivors_reads_no_report(monkeypatch):
    with pytest.raises(RemoteProtocolError, match="not-settled: 1 agree where 3 must"):
        lied_to(maskers(2))
    # were it not for the tags
    monkeypatch.setattr(SumMasker, "_make_tag", lambda self, peer, sender, who: bytes(16))
    agents = maskers(2)
    everybody = np.ones(4, bool)
    report = keystream(agents[0].own_seed(1), 1, 2) + agents[0]._shared_masks(1, ALL, everybody, 2)
    seed, rests = lied_to(agents)
    assert (report - keystream(seed, 1, 2) + rests).tolist() == [0, 0]


class Liar:
    """A server that tells each agent what it likes, and uses all that it gets.

    Groups may differ in their order, agents hear of ever fewer survivors, or are asked for nothing.
    """

    def __init__(self, kind, agents, dropouts, seed):
        chance = self.chance = random.Random(seed)
        self.ranks, self.dropouts = tuple(range(agents)), dropouts
        least = agents - kind.left_out
        self.agents = [kind(n, least, bytes([n + 1] * 32), None, dropouts) for n in self.ranks]
        keys = {one.rank: one.public for one in self.agents}
        self.orders, self.told = {}, set()
        self.shares: dict[int, set[int]] = {n: set() for n in self.ranks}
        self.left_out = kind.left_out
        other = chance.sample(self.ranks, agents)
        for one in self.agents:
            one.take_keys(keys)
            self.orders[one.rank] = order = tuple(chance.choice([self.ranks] * 9 + [other]))
            one.begin(1, order)
            one.mask(1, order, np.zeros(2 + 2 * least, np.uint64))
        lost = chance.sample(self.ranks, dropouts)  # by most of its lies, so that some are believed
        tags = {}
        for one in chance.sample(self.agents, agents):
            gone = [
                n
                for n in (lost if chance.random() < 0.9 else chance.sample(self.ranks, dropouts))
                if n != one.rank
            ]
            for upto in range(1, len(gone) + 1):
                if chance.random() < 0.9:
                    left = tuple(n for n in one.members if n not in gone[:upto])
                    one.rest(1, one.members, left, 2 + 2 * least)
            self.told |= {(one.rank, n) for n in set(self.ranks) - one.survivors}
            if chance.random() < 0.9:
                told = one.settle(1)
                for at, peer in enumerate(one._others()):
                    tags[one.rank, peer] = told[16 * at :][:16]
        for one in self.agents:
            its = b"".join(tags.get((n, one.rank), bytes(16)) for n in one._others())
            try:
                one.reveal(1, its)
            except RemoteProtocolError:
                continue
            for owner in one._others():
                self.shares[owner].add(one.rank)

    def read(self, step):
        """The sets of agents whose reports of this word add up without unknown masks."""
        masked = {}
        for n in self.ranks:
            order = self.orders[n]
            absent = {order[step - 1]} if self.left_out and 0 < step <= len(order) else set()
            if n not in absent:
                masked[n] = {
                    m for m in self.ranks
                    if m != n and m not in absent and not {(n, m), (m, n)} & self.told
                }  # fmt: skip
        enough = len(self.ranks) - self.dropouts
        free = {
            n for n, peers in masked.items()
            if (self.agents[n].revealed == 1 or len(self.shares[n]) >= enough)
            and all(n in masked.get(m, ()) for m in peers)
        }  # fmt: skip
        graph = nx.Graph({n: {m for m in peers if m in masked} for n, peers in masked.items()})
        return [part for part in nx.connected_components(graph) if part <= free]


@pytest.mark.parametrize(
    ("kind", "agents", "dropouts"), [(SumMasker, 5, 2), (SumMasker, 7, 3), (Masker, 6, 2)]
)
def test_whatever_a_server_says_it_reads_one_sum_over_all_but_the_declared(kind, agents, dropouts):
    """400 servers, of which some are believed by enough agents to read a sum."""
    sizes = sizes_read(kind, agents, dropouts)
    assert min(sizes) >= agents - dropouts - kind.left_out
    assert sum(sizes.values()) >= 10


def sizes_read(kind, agents, dropouts):
    sizes = Counter[int]()
    for seed in range(400):
        liar = Liar(kind, agents, dropouts, seed)
        for step in range(1 + liar.left_out * agents):
            sizes.update(map(len, liar.read(step)))
    return sizes


def test_without_tags_such_servers_read_single_reports(monkeypatch):
    monkeypatch.setattr(SumMasker, "_make_tag", lambda self, peer, sender, who: bytes(16))
    assert min(sizes_read(SumMasker, 5, 2)) == 1


def test_without_declared_dropouts_an_agent_tells_neither():
    one = maskers(0)[0]
    with pytest.raises(RemoteProtocolError):
        one.rest(1, ALL, ALL, 2)
    with pytest.raises(RemoteProtocolError):
        one.settle(1)
    one.reveal(1)
    with pytest.raises(RemoteProtocolError):
        one.share(1, 1)


def test_an_agent_refuses_too_few_keys():
    link = Link(1, {})
    agent = link.agents[0]
    agent.handle(Started(), 0.0)
    keys = {n: one.masker.public for n, one in enumerate(link.agents)}
    few = {n: keys[n] for n in range(AGENTS - 2)}
    with pytest.raises(RemoteProtocolError, match="wrong-keys"):
        agent.handle(Received(COORDINATOR, Keys(few)), 0.0)
    agent.handle(Received(COORDINATOR, Keys({n: keys[n] for n in range(AGENTS - 1)})), 0.0)
    assert agent.everybody == tuple(range(AGENTS - 1))


@pytest.mark.parametrize(("kind", "delta"), [(SharedNoise, 1e-6), (SharedLaplace, 0.0)])
@pytest.mark.parametrize("dropouts", [0, 1, 3])
def test_the_noise_of_the_honest_that_are_left_is_exactly_what_is_claimed(kind, delta, dropouts):
    """8 honest of 10: 8 - d shares have the variance that 8 have without dropouts."""
    plain, shared = kind(10, 1.0, delta, 0.8, 16), kind(10, 1.0, delta, 0.8, 16, dropouts)
    assert shared.share**2 * (8 - dropouts) == pytest.approx(plain.share**2 * 8, rel=1e-12)
    assert shared.losses == plain.losses
    assert shared.total**2 == pytest.approx(plain.total**2 * 8 / (8 - dropouts), rel=1e-12)
