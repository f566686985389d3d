"""A run that Python code asks for."""

from typing import Any

from tests.conftest import PROBLEM_1

SPEC: dict[str, Any] = {
    "system": "mase",
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": PROBLEM_1},
}
