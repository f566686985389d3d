"""The twelve verdicts, in the quick form."""

from typing import Any

import pytest

from posse_papers.catalogue import named

HOLD = {
    "dp-mase",
    "private-ucb, corrected",
    "dp-ucb-int, corrected",
    "masked sums",
    "cdp-mab, M ε",
    "hybrid mechanism, split",
}
NOT_HERE = {"dp-mase", "dp-ucb-int, corrected", "masked sums", "cdp-mab, M ε"}
"""Honest, and more sharply shown by coupled runs; masked sums by `tests/audit/test_whole.py`."""
POINTS: dict[str, Any] = {line: of.run for (line, _), of in named("audits").points(True).items()}
HERE = [line for line in POINTS if line not in NOT_HERE and not line.startswith("hybrid")]


def test_there_are_twelve() -> None:
    assert len(POINTS) == 12
    assert set(POINTS) > HOLD > NOT_HERE


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("line", HERE)
def test_each_verdict_is_what_theory_says(line: str) -> None:
    found = POINTS[line]("corrected", 0)
    assert found["refuted"] is (line not in HOLD), found["said"]


@pytest.mark.slow
@pytest.mark.parametrize("split", ["half", "tossou"])
def test_the_hybrid_mechanism_is_told_apart_quickly(split: str) -> None:
    found = POINTS[f"hybrid mechanism, {'split' if split == 'half' else 'unsplit'}"]("corrected", 1)
    assert found["refuted"] is (split == "tossou")
    assert found["found"] > 0.5
