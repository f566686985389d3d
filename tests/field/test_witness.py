"""Coordinators keep where agents' ledgers are, and refuse one that does not go on from there."""

import logging
import re
from pathlib import Path

import pytest

from posse.agent import host
from posse.errors import RunFailed
from posse.plan import Plan
from posse.security import keys
from tests.support.field import MEANS, field, logs
from tests.support.noise import needs_noise
from tests.support.remote import Agent, Coordinator

needs_noise()


def run(spec: Plan, folder: Path) -> Coordinator:
    """A coordinator and four agents with keys, of one run, that have ended."""
    c = Coordinator(spec, "tcp://127.0.0.1:*", folder)
    agents = [
        Agent(c.endpoint, rank, keys=keys.for_agent(folder, rank), plan=spec) for rank in range(4)
    ]
    c.ended()
    for agent in agents:
        agent.ended()
    return c


def test_who_deletes_a_ledger_is_named_before_the_next_run(tmp_path: Path) -> None:
    rewards, folder = logs(tmp_path / "rewards", MEANS, seed=5), tmp_path / "keys"
    keys.create(folder, 4)
    spec = field("anonymous", rewards)
    kept = folder / "coordinator" / "ledgers.witness"
    for runs in (1, 2):
        c = run(spec, folder)
        assert c.error is None
        assert c.record.status == "horizon"
        assert len(kept.read_text().splitlines()) == 8 * runs
    ledgers = sorted(rewards.glob("*.ledger"))
    assert len(ledgers) == 4
    ledgers[2].unlink()
    c = run(spec, folder)
    assert isinstance(c.error, RunFailed)
    assert str(c.error).startswith("agent 2's ledger does not go on from where it was")
    assert c.record is None

    # whoever believes it takes the lines out
    (number,) = re.findall("lines with ([0-9a-f]{32}) out of", str(c.error))
    others = [line for line in kept.read_text().splitlines() if number not in line]
    kept.write_text("".join(f"{line}\n" for line in others))
    assert run(spec, folder).error is None


def test_an_agent_that_tells_of_no_ledger_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging.getLogger("posse").propagate = True
    rewards, folder = logs(tmp_path / "rewards", MEANS, seed=5), tmp_path / "keys"
    keys.create(folder, 4)
    spec = field("anonymous", rewards)
    warning = "agents 0, 1, 2, 3 told of no ledger"
    assert run(spec, folder).error is None
    assert warning not in caplog.text
    monkeypatch.setattr(host, "head_of", lambda ledger, signer, randbits: None)
    assert run(spec, folder).error is None
    assert warning in caplog.text
