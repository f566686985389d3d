"""Every message of every system, with hostile fields, on both ends: no host raises but by name.

`make fuzz` sends a million frames; here each system's run has some hundreds, always the same.
"""

import math
from pathlib import Path
from typing import Any

import pytest

from posse.errors import PosseError
from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR
from tests.support.field import CASES, MEANS, VARIATIONS, field, logs
from tests.support.fuzz import Fuzz

FRAMES = 100
RUNS = 2
"""At most, in the quick form: some agents hardly say anything in one."""


def plans(system: str, folder: Path) -> list[Plan]:
    """The lab's and the field's run of the system, and its variations."""
    found = []
    case = CASES[system]
    for extra in ({}, *VARIATIONS.get(system, ())):
        arms = {"kind": "bernoulli", "means": list(MEANS)}
        raw = {"system": system, "seed": 1, "agents": {"count": 4}, "arms": arms} | case
        try:
            found.append(prepare(raw | {"parameters": case.get("parameters", {}) | extra}))
            found.append(field(system, folder, parameters=extra))
        except PosseError:
            continue
    return found


# a neighbour's 1e308 is a number
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("system", CASES)
def test_no_message_of_a_liar_raises_but_by_name(
    system: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    asked = int(request.config.getoption("--fuzz"))
    frames = max(FRAMES, math.ceil(asked / len(CASES)))
    many: dict[str, Any] = {"frames": 2_000, "bursts": (0, 0, 1, 3, 40)} if asked else {}
    sent = 0
    for number, plan in enumerate(played := plans(system, logs(tmp_path, MEANS, 1, rows=40))):
        mine, times = 0, 0
        while mine < frames / len(played) and (asked or times < RUNS):
            for liar in (0, COORDINATOR):
                seed = f"{system} {number} {liar} {times}"
                fuzz = Fuzz(plan, liar, **({"frames": FRAMES} | many), seed=seed)
                fuzz.play(monkeypatch)
                mine += fuzz.sent
            times += 1
        sent += mine
    assert sent >= (frames if asked else RUNS)
