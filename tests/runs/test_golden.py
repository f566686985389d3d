"""Runs in memory are what they were: the same frames on the wire, and the same document.

`golden.json` has run specifications of every system and, for the first two runs of each, hashes of
all frames in their order and of the result's document without what a clock measured. Clocks stand
still here, and the operating system's generator says 7, so that the field is held too. The hashes
were taken by `tests.support.golden.taken`, at the commit in `made`. Whoever changes on purpose what
a run sends or says deletes the case's hashes and has them taken anew by

    python -m pytest tests/runs/test_golden.py --golden

which fills in what is missing and says in the commit's message why it changed. The comparison of
both engines is in `test_engines.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import scipy

from posse.system import get_system, names
from tests.support.golden import FILE, arithmetic, taken, without_clock_and_chance, write_logs

GOLDEN: dict[str, Any] = json.loads(FILE.read_text())
MADE, CASES = GOLDEN["made"], GOLDEN["cases"]


@pytest.mark.parametrize("name", CASES)
def test_frames_and_documents_are_what_they_were(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    without_clock_and_chance(monkeypatch)
    case = CASES[name]
    found = taken(case["run"])
    if "wire" not in case and request.config.getoption("--golden"):
        case |= found
        FILE.write_text(json.dumps(GOLDEN, indent=1) + "\n")
    was = {key: case.get(key) for key in found}
    if found == was:
        return
    calculated = f"numpy {numpy.__version__} and scipy {scipy.__version__} (golden: {MADE})"
    if arithmetic() != MADE["arithmetic"]:
        pytest.skip(f"this machine calculates otherwise than the golden's: {calculated}")
    parts, before = found["parts"], was["parts"] or {}
    differ = [part for part in parts | before if parts.get(part) != before.get(part)]
    pytest.fail(
        f"{name}: {found['frames']} frames ({was['frames']} before), which are "
        f"{'the same' if found['wire'] == was['wire'] else 'different'}; "
        f"the document differs in: {', '.join(differ) or 'nothing'}; with {calculated}"
    )


def test_every_system_is_held_in_each_of_its_forms() -> None:
    held = {(c["run"]["system"], c["run"].get("variant", "corrected")) for c in CASES.values()}
    for name in names():
        assert (name, "corrected") in held
        assert get_system(name).one_form or (name, "printed") in held, name
