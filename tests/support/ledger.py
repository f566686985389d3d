"""Runs over a reward log that has a ledger."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.arms.csv import CsvArms
from posse.durable.ledger import Ledger
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.spending import SpendingRequest
from posse.protocol.privacy import Claim, OneReward
from posse.spec.privacy import PrivacySpec
from tests.support.arms import context

ROWS = (6, 4)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of two arms, whose rewards say where they stand: arm 0 has .00 to .05, arm 1 .10 …"""
    path = tmp_path / "rewards-3.csv"
    rows = [f"{arm},{arm / 10 + n / 100}" for arm, count in enumerate(ROWS) for n in range(count)]
    path.write_text("\n".join(["arm,reward", *rows, ""]))
    return path


def task(
    epsilon: float | None = 0.5, cost: float | None = None, /, **privacy: Any
) -> SpendingRequest:
    """A run by whose claim a reward costs `epsilon`, and `cost` as δ."""
    mechanism = "none" if epsilon is None else "laplace"
    setup = AgentSetup(
        system="dp-mase",
        variant="corrected",
        parameters={"epsilon": epsilon},
        agents=8,
        arms=2,
        rate=1.0,
        clock="wall",
        base="/",
        privacy=PrivacySpec(**privacy),
    )
    claim = Claim(change=OneReward(), mechanism=mechanism, epsilon=epsilon, delta=cost)
    return SpendingRequest(run=setup, agents=8, rank=3, claim=claim)


def claiming(about: SpendingRequest, **changes: Any) -> SpendingRequest:
    claim = msgspec.structs.replace(about.claim, **changes)
    return msgspec.structs.replace(about, claim=claim)


class Run:
    """One run over a log."""

    def __init__(self, log: Path, about: SpendingRequest, replacing: bool = False) -> None:
        spec = CsvArms(path=str(log), count=2, replace=replacing)
        self.arms = spec.build(replace(context(), persons=about.run.privacy.persons))
        self.ledger = Ledger(*spec.ledger("/", 3))
        self.run, self.rows = self.ledger.begin(about, self.arms)
        self.pulls = np.zeros(2, dtype=np.int64)

    def uses(self, *counts: int) -> list[list[float]]:
        """Pull so often of each arm; what it was given of each."""
        seen = []
        for arm, count in enumerate(counts):
            drawn = self.arms.draw(arm, count)
            self.pulls[arm] += len(drawn)
            seen.append([round(float(reward), 2) for reward in drawn])
        self.ledger.uses(self.pulls)
        return seen

    def ends(self) -> str:
        return self.ledger.end(spent=0.25)


def used_by(log: Path, about: SpendingRequest, *counts: int) -> list[list[float]]:
    """A run that pulls so often of each arm and ends; what it saw."""
    run = Run(log, about)
    seen = run.uses(*counts)
    run.ends()
    return seen
