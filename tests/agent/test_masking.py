"""Masks that cancel in a group's sum, and what an agent refuses to take part in."""

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.agent.masking import Masker, _derive, public_key
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.masking import Words, keystream, keystream_bytes, pack_words
from posse_systems.esfandiari2022.groups import UserGroup
from posse_systems.esfandiari2022.messages import removed_in, schedule_length
from tests.support.signing import signers


def maskers(users: int, group_size: int, seed: int = 1) -> list[Masker]:
    """Agents that have each other's keys."""
    generator = np.random.default_rng(seed)
    agents = [Masker(n, group_size, generator.bytes(32)) for n in range(users)]
    keys = {agent.rank: public_key(agent.private) for agent in agents}
    for agent in agents:
        agent.keys = dict(keys)
    return agents


def reports(agents: list[Masker], group: tuple[int, ...], number: int, words: Words) -> list[Words]:
    """What each member of the group sends; `words` has a row per member."""
    out = []
    for rank, row in zip(group, words, strict=True):
        agents[rank].begin(number, group)
        out.append(agents[rank].mask(number, group, row))
    return out


def own_zeroed(words: Words) -> Words:
    """No report for the round in which a member is left out."""
    words = words.copy()
    words[np.arange(len(words)), 1 + np.arange(len(words))] = 0
    return words


# --- keys and streams ----------------------------------------------------------------------------


def test_both_ends_of_a_pair_agree_and_no_two_pairs_do() -> None:
    agents = maskers(5, 2)
    for number, agent in enumerate(agents):
        agent.begin(number, (0, 1, 2, 3, 4))
    seeds = {(a.rank, peer): seed for a in agents for peer, seed in a.seeds.items()}
    assert all(seeds[i, j] == seeds[j, i] for i, j in seeds)
    assert len(set(seeds.values())) == 10
    assert all(len(seed) == 64 and seed[:32] != seed[32:] for seed in seeds.values())


# --- sums ----------------------------------------------------------------------------------------


@given(st.integers(2, 6), st.integers(0, 1 << 20), st.data())
@settings(max_examples=40)
def test_the_group_sum_is_exact_in_every_round(group_size: int, seed: int, data) -> None:
    size = data.draw(st.integers(group_size + 1, 2 * group_size + 1))
    generator = np.random.default_rng(seed)
    agents = maskers(12, group_size, seed)
    ranks = tuple(int(n) for n in generator.permutation(max(size, 12))[:size] % 12)
    ranks = tuple(dict.fromkeys(ranks))
    if len(ranks) < group_size + 1:
        ranks = tuple(range(group_size + 1))
    width = schedule_length(group_size)
    words = own_zeroed(generator.integers(0, 1 << 40, (len(ranks), width)).astype(np.uint64))
    group = UserGroup(0, ranks, number=9)
    for rank, report in zip(ranks, reports(agents, ranks, 9, words), strict=True):
        group.masked.report(rank, pack_words(report), b"", width)
    for rank in ranks:
        group.masked.unmasked(rank, agents[rank].reveal(9))
    group.add_up()
    assert group.sums is not None
    expected = [
        sum(int(row[step]) for row, rank in zip(words, ranks, strict=True)
            if removed_in(step, ranks) != rank)
        for step in range(width)
    ]  # fmt: skip
    assert [int(total) for total in group.sums] == expected


def test_the_mask_of_three_by_hand() -> None:
    agents = maskers(3, 2)
    group, number = (2, 0, 1), 5
    words = np.zeros((3, 6), dtype=np.uint64)
    sent = dict(zip(group, reports(agents, group, number, words), strict=True))
    own = keystream(agents[0].reveal(number), number, 6)
    with_1 = keystream(agents[0].seeds[1][:32], number, 6)
    with_2 = keystream(agents[0].seeds[2][:32], number, 6)
    with_2[1] = 0  # agent 2 is left out of round 1
    with_1[3] = 0  # agent 1 of round 3
    expected = own + with_1 + with_2
    expected[2] = 0  # agent 0 itself of round 2
    assert sent[0].tolist() == expected.tolist()


def test_a_report_tells_nothing_by_itself() -> None:
    # bytes of 400 reports of the same words: chi-square with 255 degrees of freedom, false alarm
    # 1e-4 beyond 347; the seed is fixed
    agents = maskers(3, 2)
    seen = []
    for number in range(400):
        agents[0].begin(number, (0, 1, 2))
        report = agents[0].mask(number, (0, 1, 2), np.full(6, 7, dtype=np.uint64))
        assert report[1] == 0
        seen.append(np.delete(report, 1))
    counts = np.bincount(np.frombuffer(np.concatenate(seen).tobytes(), dtype=np.uint8))
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 347


# --- what an agent refuses -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "group", "reason"),
    [
        (4, (0, 1, 2), "small-roster"),
        (4, (0,), "small-roster"),
        (3, (0, 1, 2, 3), "number-not-increasing"),
        (2, (), "number-not-increasing"),
        (4, (0, 1, 1, 2), "repeated-names"),
        (4, (0, 0, 0, 0), "repeated-names"),
        (4, (1, 2, 3, 4), "wrong-group"),
        (4, (0, 1, 2, 99), "no-key"),
        (4, (0, 1, 2, 3, 4, 5, 6, 7), "large-group"),
    ],
)
def test_groups_that_are_refused(number: int, group: tuple[int, ...], reason: str) -> None:
    agent = maskers(9, 3)[0]
    agent.begin(3, ())
    with pytest.raises(RemoteProtocolError) as caught:
        agent.begin(number, group)
    assert caught.value.reason == reason
    assert (agent.last, agent.reported) == (3, -1)
    agent.begin(4, (0, 1, 2, 3))


SMALL_ORDER = [
    bytes(32),
    (1).to_bytes(32, "little"),
    (2**255 - 20).to_bytes(32, "little"),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]
"""RFC 7748, section 7: every private key agrees on zeros with them."""


@pytest.mark.parametrize("key", SMALL_ORDER)
def test_a_public_key_of_small_order_is_refused_and_its_agent_named(key: bytes) -> None:
    agent = maskers(4, 3)[0]
    keys = agent.keys | {2: key}
    agent.keys = {}
    with pytest.raises(RemoteProtocolError, match=r"bad-key: agent 2's public key"):
        agent.take_keys(keys)
    assert agent.keys == {}


def test_a_coordinator_that_puts_its_own_keys_in_place_of_agents_is_found_out() -> None:
    """Attack a16: agents 0 and 2 are the coordinator's, which reads what agent 1 says."""
    signed = signers(3)
    honest = [Masker(rank, 2, bytes([7 + rank]) * 32, signed[rank]) for rank in range(3)]
    keys = {agent.rank: agent.public for agent in honest}
    for agent in honest:
        agent.take_keys(keys)
    victim = Masker(1, 2, honest[1].private, signed[1])
    evil = public_key(bytes([99]) * 32)
    for word in (
        evil,  # unsigned
        evil + honest[0].public[32:],  # with agent 0's signature of its own key
        evil + signed[2].sign(b"masking key", evil),  # signed by another
        honest[2].public,  # another's
    ):
        with pytest.raises(RemoteProtocolError, match="bad-signature: of agent 0"):
            victim.take_keys(keys | {0: word})
        assert victim.keys == {}
    with pytest.raises(RemoteProtocolError, match="bad-signature: of agent 9"):
        victim.take_keys(keys | {9: evil + signed[2].sign(b"masking key", evil)})
    victim.take_keys(keys)
    assert victim.keys == {agent.rank: public_key(agent.private) for agent in honest}


def test_one_report_and_one_unmask_per_assignment() -> None:
    agent = maskers(4, 3)[0]
    words, group = np.zeros(8, dtype=np.uint64), (0, 1, 2, 3)

    def refused(what, *arguments) -> str:
        with pytest.raises(RemoteProtocolError) as caught:
            what(*arguments)
        return caught.value.reason

    agent.begin(1, group)
    assert refused(agent.reveal, 1) == "stale-unmask"  # before the report
    agent.mask(1, group, words)
    assert refused(agent.mask, 1, group, words) == "second-report"
    assert refused(agent.reveal, 0) == "stale-unmask"
    agent.reveal(1)
    assert refused(agent.reveal, 1) == "second-unmask"
    agent.begin(2, group)
    agent.mask(2, group, words)
    agent.begin(3, group)
    assert refused(agent.reveal, 2) == "stale-unmask"  # given up: never unmasked


# --- sealed reports ------------------------------------------------------------------------------


def test_a_sealed_report_opens_at_its_target_only() -> None:
    agents = maskers(5, 3)
    group = (2, 0, 1, 3)
    for rank in group:
        agents[rank].begin(6, group)
    box = agents[0].seal(6, group, b"a report")
    assert agents[2].open(6, group, 0, box) == b"a report"
    agents[1].begin(7, (0, 1, 2, 4))
    for opener, number, names, sender in [
        (agents[2], 7, group, 0),
        (agents[2], 6, (2, 0, 1), 0),
        (agents[2], 6, group, 1),
        (agents[1], 6, group, 0),
    ]:
        with pytest.raises(RemoteProtocolError) as caught:
            opener.open(number, names, sender, box)
        assert caught.value.reason == "bad-seal"


# --- cost ----------------------------------------------------------------------------------------


def test_seeds_are_agreed_on_once_and_a_report_costs_a_stream_per_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 20 members, in five assignments."""
    derive, stream = Mock(wraps=_derive), Mock(wraps=keystream_bytes)
    monkeypatch.setattr("posse.agent.masking._derive", derive)
    agent, group = maskers(20, 12)[0], tuple(range(20))
    derive.reset_mock()
    monkeypatch.setattr("posse.protocol.masking.keystream_bytes", stream)
    for number in range(5):
        agent.begin(number, group)
        agent.mask(number, group, np.zeros(schedule_length(12), dtype=np.uint64))
    assert derive.call_count == 19
    assert stream.call_count == 5 * 20  # each of the 19 others, and its own
