"""`posse ledger --plan`: runs are declared, with their total and a forecast."""

import math

from tests.durable.test_programme import RUN
from tests.support.ledger import log

__all__ = ["log"]


def test_a_programme_is_declared_by_a_command_with_a_forecast(log, tmp_path, posse):
    (tmp_path / "run.toml").write_text(RUN)
    plan = tmp_path / "plan.toml"
    plan.write_text('[[run]]\nfile = "run.toml"\ntimes = 3\nlab = "run.toml"\n')
    events = tmp_path / "events.txt"
    said = posse("ledger", log, "--plan", plan, "--events", events).out
    assert "declared 3 runs" in said
    assert "together at most ε = 1.5" in " ".join(said.split())
    assert [line[:15] for line in events.read_text().splitlines()] == ["ComposedDpEvent"] * 3
    regrets = [line.split()[-1] for line in said.splitlines()[1:4]]
    assert all(math.isfinite(float(regret)) for regret in regrets)
