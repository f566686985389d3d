"""The notebooks run from the first cell to the last, and find what they say."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "examples/notebooks"


def executed(name: str) -> dict[str, Any]:
    """The names that a notebook's cells leave, each run as a kernel does."""
    left: dict[str, Any] = {"__name__": "__main__"}
    for cell in json.loads((NOTEBOOKS / name).read_text())["cells"]:
        assert cell.get("outputs", []) == []
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), left)
    return left


def test_first_steps() -> None:
    left = executed("first_steps.ipynb")
    assert "<table>" in left["result"]._repr_html_()
    assert left["regret"]["low"] < left["regret"]["mean"] < left["regret"]["high"]
    assert (len(left["runs"]), len(left["agents"])) == (6, 6 * 16)


@pytest.mark.slow
def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    left = executed("compare.ipynb")
    means = [mean["mean"] for mean in left["regret"].values()]
    assert means == sorted(means, reverse=True)
    assert min(left["saved"]) > 0
    assert capsys.readouterr().out.count("n = 6") == 3


def test_there_is_no_other() -> None:
    assert sorted(path.name for path in NOTEBOOKS.iterdir()) == [
        "compare.ipynb", "first_steps.ipynb",
    ]  # fmt: skip
