"""Key folders: what is in them, what is wrong with them, whose turn a shared one is."""

import dataclasses
import re
import shutil
import stat
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zmq.utils import z85

from posse.cli.main import main
from posse.errors import InputError, PosseError
from posse.security import keys


def test_each_party_has_a_folder_with_its_own_secret_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert main(["keys", str(folder), "--agents", "3"]) == 0
    parties = ["agent-0", "agent-1", "agent-2", "coordinator"]
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == parties
    for party in parties:
        secrets = [path.name for path in (folder / party).glob("*.key_secret")]
        assert secrets == [f"{party}.key_secret"]
    for path in [folder, *folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    ours = keys.for_coordinator(folder, 3)
    assert ours == keys.for_coordinator(folder / "coordinator", 3)
    for rank in range(3):
        agent = keys.for_agent(folder, rank)
        assert agent == keys.for_agent(folder / f"agent-{rank}", rank)
        assert ours.rank_of(agent.own.public) == rank
        assert agent.coordinator == ours.own.public
        assert agent.signers[rank] == agent.own.public_keys.signs
    assert len(set(agent.signers.values())) == 3
    assert ours.rank_of(ours.own.public) is None
    assert ours.rank_of("x" * 40) is None
    assert ours.rank_of("") is None
    assert agent.own.secret not in repr(agent)
    assert repr(agent.own.signing) not in repr(agent)


def test_more_keys_leave_the_old_ones_as_they_are(tmp_path: Path) -> None:
    assert keys.create(tmp_path, 2) == 3
    before = keys.for_coordinator(tmp_path, 2)
    assert keys.create(tmp_path, 4) == 2
    after = keys.for_coordinator(tmp_path, 4)
    assert after.agents[:2] == before.agents
    assert after.own == before.own
    assert keys.for_agent(tmp_path, 0).signers.keys() == {0, 1, 2, 3}


def test_keys_can_be_made_where_they_are_used_so_that_no_secret_travels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three machines: each prints a word, and writes down those of the two others."""
    words = {}
    for who in ("coordinator", "0", "1"):
        option = ["--coordinator"] if who == "coordinator" else ["--rank", who]
        assert main(["keys", str(tmp_path / who), *option]) == 0
        said = capsys.readouterr().out
        assert "posse keys DIR --allow" in said
        words[who] = said.split()[-1]
        assert main(["keys", str(tmp_path / who), *option]) == 0  # a second time it is there
        assert capsys.readouterr().out.split()[-1] == words[who]
    for machine in words:
        for who, word in words.items():
            if who != machine:
                assert main(["keys", str(tmp_path / machine), "--allow", who, word]) == 0
    ours = keys.for_coordinator(tmp_path / "coordinator", 2)
    agents = [keys.for_agent(tmp_path / str(rank), rank) for rank in range(2)]
    assert ours.agents == tuple(agent.own.public for agent in agents)
    assert agents[0].coordinator == agents[1].coordinator == ours.own.public
    assert agents[0].signers == agents[1].signers
    secrets = [path.name for path in tmp_path.rglob("*.key_secret")]
    assert sorted(secrets) == ["agent-0.key_secret", "agent-1.key_secret", "coordinator.key_secret"]


def test_a_key_that_is_revoked_is_a_strangers(tmp_path: Path) -> None:
    keys.create(tmp_path, 3)
    stranger = keys.for_agent(tmp_path, 2).own.public
    assert main(["keys", str(tmp_path / "coordinator"), "--revoke", "2"]) == 0
    assert keys.for_coordinator(tmp_path, 2).rank_of(stranger) is None
    with pytest.raises(PosseError, match=r"agent 2 is the first without.*posse keys --allow"):
        keys.for_coordinator(tmp_path, 3)
    with pytest.raises(PosseError, match="has no agent 2"):
        keys.revoke(tmp_path / "coordinator", 2)
    keys.revoke(tmp_path / "agent-0", 1)
    assert keys.for_agent(tmp_path, 0).signers.keys() == {0, 2}


@pytest.mark.parametrize("word", ["", "pk_", "pk_" + "A" * 85, "A" * 86, "pk_" + "!" * 86])
def test_what_is_no_public_key_is_refused(word: str, tmp_path: Path) -> None:
    with pytest.raises(PosseError, match="is not a public key; give the one"):
        keys.Public.parse(word)
    assert main(["keys", str(tmp_path), "--allow", "3", word]) == 2


def listed(folder: Path, rank: int) -> str:
    return keys._listed(folder)[rank].connects


def test_a_key_is_believed_as_long_as_it_is_in_the_list_and_no_longer(tmp_path: Path) -> None:
    """Keys, not ranks: one that was replaced is believed no longer than one that was revoked."""
    keys.create(tmp_path, 3)
    folder = tmp_path / "coordinator"
    ours, old = keys.for_coordinator(tmp_path, 3), listed(folder, 2)
    word = str(keys._fresh().public_keys)
    assert main(["keys", str(folder), "--allow", "2", word]) == 0
    new = keys.Public.parse(word).connects
    assert (ours.rank_of(old), ours.rank_of(new)) == (None, 2)
    assert (ours.believes(2, old), ours.believes(2, new), ours.believes(2, "")) == (0, 1, 1)
    assert ours.signers[2] == keys.Public.parse(word).signs
    keys.revoke(folder, 2)
    keys.allow(folder, "2", keys._fresh().public_keys)  # at once, in a new file
    assert ours.rank_of(new) is None
    keys.revoke(folder, 2)
    ours.refresh()
    assert not ours.believes(2, "")
    text = (folder / keys.ALLOWLIST).read_text()
    (folder / keys.ALLOWLIST).write_text(text + "[oops")
    assert ours.rank_of(listed_before := listed_in(text)) == 1
    assert "is not an allowlist" in ours.trouble
    (folder / keys.ALLOWLIST).write_text(text)
    assert ours.rank_of(listed_before) == 1
    assert ours.trouble == ""


def listed_in(text: str) -> str:
    """The key for connections of agent 1 in an allowlist."""
    return keys.Public.parse(tomllib.loads(text)["agents"]["1"]).connects


@pytest.mark.parametrize("place", ["connects", "signs"])
def test_a_key_for_which_anybody_can_speak_is_not_let_in(place: str, tmp_path: Path) -> None:
    good, small = keys._fresh().public_keys, b"\x01" + bytes(31)
    weak = {
        "connects": keys.Public(z85.encode(small).decode(), good.signs),
        "signs": keys.Public(good.connects, small),
    }
    word = str(weak[place])
    with pytest.raises(PosseError, match="a key of small order"):
        keys.Public.parse(word)
    assert main(["keys", str(tmp_path), "--allow", "3", word]) == 2


def test_a_revoked_key_stays_so_though_the_keys_of_all_are_made_again(tmp_path: Path) -> None:
    """As compose does whenever its containers are made anew."""
    keys.create(tmp_path, 2)
    revoked = keys.for_agent(tmp_path, 1).own.public
    keys.revoke(tmp_path / "coordinator", 1)
    assert keys.create(tmp_path, 3) == 1
    listed = keys.for_agent(tmp_path, 0).signers.keys()
    assert listed == {0, 1, 2}
    with pytest.raises(PosseError, match="agent 1 is the first without"):
        keys.for_coordinator(tmp_path, 3)
    shutil.rmtree(tmp_path / "agent-1")
    assert keys.create(tmp_path, 3) == 1
    assert keys.for_coordinator(tmp_path, 3).rank_of(revoked) is None


def test_how_a_refusal_shows_a_key_is_not_taken_for_the_key(tmp_path: Path) -> None:
    keys.create(tmp_path, 1)
    shown = keys.beginning(keys.for_agent(tmp_path, 0).own.public)
    for word in (shown, shown.rstrip("…")):
        with pytest.raises(PosseError, match=r"only the beginning .* the log of the agent"):
            keys.Public.parse(word)


def test_a_shared_folder_gives_every_process_a_key_of_its_own(tmp_path: Path) -> None:
    keys.create(tmp_path, 2)
    first, second = keys.for_agent(tmp_path, -1), keys.for_agent(tmp_path, -1)
    assert [first.rank, second.rank] == [0, 1]
    with pytest.raises(PosseError, match="every key in .* is in use by"):
        keys.for_agent(tmp_path, -1)
    assert first.claim is not None
    first.claim.close()
    third = keys.for_agent(tmp_path, -1)
    assert third.rank == 0
    for holder in (second, third):
        assert holder.claim is not None
        holder.claim.close()


def test_who_is_allowed_is_a_rank_or_the_coordinator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", str(tmp_path), "--allow", "foo", "pk_"]) == 2
    assert (
        "--allow foo: must be an agent's rank below 100000, or coordinator"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("given", "needed", "read"),
    [
        ("agent-0", "coordinator", lambda folder: keys.for_coordinator(folder, 2)),
        ("agent-1", "agent-0", lambda folder: keys.for_agent(folder, 0)),
        ("coordinator", "agent-0", lambda folder: keys.for_agent(folder, 0)),
    ],
)
def test_the_folder_of_another_party_is_named(
    given: str, needed: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    keys.create(tmp_path, 2)
    said = rf"the key folder of {given} and has no .*key_secret; give the key folder of {needed}$"
    with pytest.raises(PosseError, match=said):
        read(tmp_path / given)


def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(PosseError, match=r"agent-0\.key_secret cannot be read: .*posse keys"):
        keys.for_agent(tmp_path, 0)
    keys.create(tmp_path, 2)
    with pytest.raises(PosseError, match="has the keys of 2 agents and the run file asks for 3"):
        keys.for_coordinator(tmp_path, 3)
    known = tmp_path / "agent-0" / "coordinator.key"
    word = known.read_text()
    known.write_text("junk")
    with pytest.raises(PosseError, match=r"agent-0/coordinator\.key: 'junk' is not a public key"):
        keys.for_agent(tmp_path, 0)
    known.write_text(word)
    allowlist = tmp_path / "coordinator" / keys.ALLOWLIST
    good = allowlist.read_text()
    first, second = (str(keys.for_agent(tmp_path, rank).own.public_keys) for rank in range(2))
    allowlist.write_text(good.replace(second, first))
    with pytest.raises(PosseError, match="agents 0 and 1 have the same key"):
        keys.for_coordinator(tmp_path, 2)
    allowlist.write_text(good.replace(second, "short"))
    with pytest.raises(PosseError, match="agent 1: 'short' is not a public key"):
        keys.for_coordinator(tmp_path, 2)
    for text in ("agents = 3", "=", f"more = 1\n{good}", f"{good}\n[agent]\n2 = '{first}'"):
        allowlist.write_text(text)
        with pytest.raises(PosseError, match="is not an allowlist"):
            keys.for_coordinator(tmp_path, 2)
    for rank in ("x", "01", "-1", "٢", "9" * 10):  # 01 would take the place of 1
        allowlist.write_text(f"{good}'{rank}' = '{first}'\n")
        with pytest.raises(PosseError, match=f"'{rank}' is no rank of an agent"):
            keys.for_coordinator(tmp_path, 2)
    allowlist.write_text(f"\ufeff{good}")
    keys.for_coordinator(tmp_path, 2)
    secret = tmp_path / "coordinator" / "coordinator.key_secret"
    text = secret.read_text()
    # the second has as many characters as a key, which are no bytes
    for broken in (
        text.replace("secret", "serect"),
        re.sub("signing = .*", f"signing = '{'#' * 40}'", text),
    ):
        secret.write_text(broken)
        with pytest.raises(PosseError, match="is not a secret key of posse"):
            keys.for_coordinator(tmp_path, 2)
    (_, other) = (keys.for_agent(tmp_path, rank).own.secret for rank in range(2))
    secret.write_text(text.replace(keys.for_agent(tmp_path, 0).coordinator, other))
    with pytest.raises(PosseError, match="its public key does not belong to its secret key"):
        keys.for_coordinator(tmp_path, 2)


def test_a_revocation_beside_an_addition_is_not_lost(tmp_path: Path) -> None:
    """Each reads the list, changes it and writes it whole (attack r21)."""
    keys.create(tmp_path, 16)
    folder = tmp_path / "coordinator"
    new = {rank: keys._fresh().public_keys for rank in range(16, 32)}
    changes = [
        *(partial(keys.revoke, folder, rank) for rank in range(16)),
        *(partial(keys.allow, folder, str(rank), public) for rank, public in new.items()),
    ]
    with ThreadPoolExecutor(len(changes)) as at_once:
        assert [done.result() for done in map(at_once.submit, changes)] == [None] * len(changes)
    assert keys._listed(folder) == new


@pytest.mark.parametrize("name", ["allowlist.toml", "coordinator.key"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mode=st.integers(0o600, 0o677).filter(lambda mode: mode & 0o22))
def test_a_list_that_others_may_have_written_is_refused(
    name: str, mode: int, tmp_path: Path
) -> None:
    if not (tmp_path / "agent-0").exists():
        keys.create(tmp_path, 1)
    (tmp_path / "agent-0" / name).chmod(mode)
    with pytest.raises(PosseError, match=rf"{name} is writable by others; run: chmod 644"):
        keys.for_agent(tmp_path, 0)


def test_a_folder_in_whose_place_others_may_put_another_is_refused(tmp_path: Path) -> None:
    keys.create(tmp_path, 1)
    tmp_path.chmod(0o777)
    with pytest.raises(PosseError, match="who could put another folder in the place of"):
        keys.for_agent(tmp_path, 0)


@pytest.mark.parametrize("half", ["connects", "signs"])
def test_a_word_with_half_of_anothers_keys_is_refused(half: str, tmp_path: Path) -> None:
    """Otherwise the list is written, and nobody reads it again: neither to add nor to revoke."""
    keys.create(tmp_path, 2)
    folder = tmp_path / "coordinator"
    keys.make(tmp_path / "theirs", "agent-5")
    theirs = keys.own(tmp_path / "theirs", "agent-5")
    first = keys.own(tmp_path / "agent-0", "agent-0")
    mixed = dataclasses.replace(theirs, **{half: getattr(first, half)})
    with pytest.raises(InputError, match="agent 0 has one of these keys; each agent needs its own"):
        keys.allow(folder, "5", mixed)
    keys.allow(folder, "5", theirs)
    keys.revoke(folder, 5)
