"""Key folders: who can read them, what is wrong with them, whose turn a shared one is."""

import stat
from pathlib import Path

import pytest

from posse.cli.main import main
from posse.errors import PosseError
from posse.security import keys


def test_secret_keys_are_readable_by_their_owner_only_and_pairs_belong_together(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "keys"
    assert main(["keys", str(folder), "--agents", "3"]) == 0
    secrets = sorted(path.name for path in folder.glob("*.key_secret"))
    assert secrets == [*(f"agent-{n}.key_secret" for n in range(3)), "coordinator.key_secret"]
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    ours = keys.for_coordinator(folder, 3)
    for rank in range(3):
        agent = keys.for_agent(folder, rank)
        assert ours.rank_of(agent.own.public) == rank
        assert agent.coordinator == ours.own.public
    assert ours.rank_of(ours.own.public) == keys.OPERATOR
    assert ours.rank_of("x" * 40) is None
    assert agent.own.secret not in repr(agent)


def test_more_keys_leave_the_old_ones_as_they_are(tmp_path: Path) -> None:
    assert keys.create(tmp_path, 2) == 3
    before = keys.for_coordinator(tmp_path, 2)
    assert keys.create(tmp_path, 4) == 2
    after = keys.for_coordinator(tmp_path, 4)
    assert after.agents[:2] == before.agents
    assert after.own == before.own


def test_a_shared_folder_gives_every_process_a_key_of_its_own(tmp_path: Path) -> None:
    keys.create(tmp_path, 2)
    first, second = keys.for_agent(tmp_path, -1), keys.for_agent(tmp_path, -1)
    assert [first.rank, second.rank] == [0, 1]
    with pytest.raises(PosseError, match="all 2 keys in .* are in use"):
        keys.for_agent(tmp_path, -1)
    assert first.claim is not None
    first.claim.close()
    third = keys.for_agent(tmp_path, -1)
    assert third.rank == 0
    for holder in (second, third):
        assert holder.claim is not None
        holder.claim.close()


def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(PosseError, match=r"coordinator\.key cannot be read: .*posse keys"):
        keys.for_agent(tmp_path, 0)
    keys.create(tmp_path, 2)
    with pytest.raises(PosseError, match="has the keys of 2 agents and the run file asks for 3"):
        keys.for_coordinator(tmp_path, 3)
    with pytest.raises(PosseError, match=r"agent-7\.key_secret cannot be read"):
        keys.for_agent(tmp_path, 7)
    secret = tmp_path / "agent-0.key_secret"
    secret.chmod(0o644)
    with pytest.raises(PosseError, match="is readable by everybody; run: chmod 600"):
        keys.for_agent(tmp_path, 0)
    allowlist = tmp_path / keys.ALLOWLIST
    good = allowlist.read_text()
    first, second = keys.for_coordinator(tmp_path, 2).agents
    allowlist.write_text(good.replace(second, first))
    with pytest.raises(PosseError, match="agents 0 and 1 have the same key"):
        keys.for_coordinator(tmp_path, 2)
    allowlist.write_text(good.replace(second, "short"))
    with pytest.raises(PosseError, match="the key of agent 1 is not a public key"):
        keys.for_coordinator(tmp_path, 2)
    allowlist.write_text("agents = 3")
    with pytest.raises(PosseError, match="is not an allowlist"):
        keys.for_coordinator(tmp_path, 2)
