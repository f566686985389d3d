"""`posse audit` as users call it."""

import json
import sys
from pathlib import Path

import pytest
import tomli_w

from posse.audit.whole import Audit
from tests.support.planted import planted
from tests.support.runfile import describe_run

VOTES = describe_run("corrupted-elimination", 26, [0.9, 0.1], parameters={"eta": 0.9, "xi": 0.1})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "planted.toml"
    raw = planted("longer") | {"path": [str(Path.cwd())]}  # as all tests: another path forgets it
    del raw["base"]
    path.write_text(tomli_w.dumps(raw))
    return path


ASKED = ("--runs", "60", "--jobs", "1", "--rest", "1,0")


@pytest.mark.slow
def test_an_audit_is_said_kept_and_drawn(file, tmp_path, posse):
    out = tmp_path / "out"
    audit = ("audit", file, *ASKED, "--out", out)
    said = " ".join(posse(*audit).out.split())
    assert "Refuted" in said
    assert "length of note" in said
    assert "runs on one data set, in 0 on the other" in said
    document = json.loads(posse(*audit, "--json").out)
    posse(*audit, "--strict", "-q", code=3)
    assert document == json.loads((out / "audit.json").read_text())
    assert document["word"] == "refuted"
    assert document["verdict"]["lower_bound"] > document["verdict"]["claimed"] == 1.0
    posse("report", out)
    page = (out / "report.html").read_text()
    assert "Refuted" in page
    assert "length of note" in page


def test_what_is_missing_is_said_whatever_is_claimed(file, tmp_path, posse, monkeypatch):
    for module in ("linear_model", "ensemble"):
        monkeypatch.setitem(sys.modules, f"sklearn.{module}", None)
    path = tmp_path / "votes.toml"
    path.write_text(tomli_w.dumps(VOTES))
    for audited in (path, file):
        asked = ["--runs", "40", "--jobs", "1", "--out", str(tmp_path / "out"), "-q"]
        assert "audits need scikit-learn" in posse("audit", audited, *asked, code=1).err


def test_what_is_missing_is_said_before_anything_runs(file, tmp_path, posse, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert posse("audit", file, *ASKED, "--out", tmp_path / "out", code=1).err == (
        "posse: audits need scikit-learn; install it with: "
        'python -m pip install "posse-bandits[audit]"\n'
    )
    assert not (tmp_path / "out").exists()


def test_an_interrupted_audit_says_where_it_goes_on(file, tmp_path, posse, monkeypatch):
    def interrupted(asked):
        asked.done(False)
        raise KeyboardInterrupt

    monkeypatch.setattr(Audit, "document", interrupted)
    out = tmp_path / "out"
    said = f"are kept in {out}; the same command with --out {out} resumes from them\n"
    assert said in posse("audit", file, *ASKED, "--out", out, code=130).err


@pytest.mark.slow
def test_a_capture_is_looked_at(file, tmp_path, posse):
    frames = tmp_path / "frames"
    posse("run", file, "--engine", "memory", "--capture", frames, "-q")
    found = json.loads(posse("audit", "--captured", frames, "--json").out)
    # a run of the lab's, which the run file would have said: it reports what it did
    assert any("`Report`" in text for check in found for text in check["violations"])
    said = " ".join(posse("audit", "--captured", frames, file).out.split())
    assert "`Report`" not in said
    assert "cannot be told" in said  # an own system's numbers are of any size
    posse("audit", "--captured", frames, "--strict", "-q", code=3)
