"""posse ledger: what it says of a log's runs."""

import json
from pathlib import Path

from tests.cli.conftest import Posse
from tests.support.ledger import log, task, used_by

__all__ = ["log"]


def test_it_shows_every_run_and_what_all_of_them_cost(log: Path, posse: Posse) -> None:
    used_by(log, task(0.5, 1e-5), 2, 1)
    used_by(log, task(None), 1, 0)
    said = posse("ledger", log).out
    assert "2 runs used 4 rows so far, at most ε = 0.5, δ = 1e-05 for one reward" in " ".join(
        said.split()
    )
    assert "1 were used without any ε" in " ".join(said.split())
    document = json.loads(posse("ledger", f"{log}.ledger", "--json").out)
    assert [(run["rewards"], run["epsilon"]) for run in document["runs"]] == [(3, 0.5), (1, None)]
    assert document["runs"][0]["task"] == "dp-mase, epsilon = 0.5"
