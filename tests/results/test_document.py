"""The document that a series leaves: its schema, and who reads it without posse."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema

import posse
from posse.results.document import schema
from tests.support.blocks import ROOT, blocks

SCHEMA = (ROOT / "docs" / "result.schema.json").read_text()
RUN = {
    "agents": {"count": 3},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
    "engine": {"kind": "memory"},
    "repeat": 2,
    "seed": 1,
}


def test_the_schema_of_results_is_that_of_the_code() -> None:
    assert schema() == SCHEMA, "python -m posse.results.document > docs/result.schema.json"


def test_a_strangers_program_reads_a_folder_with_python_alone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = posse.run(RUN | {"system": "ucb1", "parameters": {"horizon": 50}}, out=folder)
    document = json.loads((folder / "result.json").read_text())
    jsonschema.Draft202012Validator(json.loads(SCHEMA)).validate(document)
    (program,) = (b.text for b in blocks(ROOT / "docs/results.md") if b.file == "read_runs.py")
    assert len(program.splitlines()) <= 20
    (tmp_path / "read_runs.py").write_text(program)
    command = [sys.executable, "-I", "-S", "read_runs.py", "run"]
    said = subprocess.check_output(command, cwd=tmp_path, text=True, timeout=60).splitlines()
    assert said[0] == f"ucb1 {result.verdict.sentence}"
    first = result.runs[0]
    assert said[1] == f"run 0: horizon, arm {first.best_arm}, 0 messages"
    regret = sum(run.regret or 0.0 for run in result.runs)
    assert f"regret: {regret / 2:.6g} over 2 runs" in said
    assert said[-1] == f"regret at the end: {regret:.6g}"
