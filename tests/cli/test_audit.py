"""`posse audit` as users call it."""

import json
import sys
from pathlib import Path

import pytest
import tomli_w

from posse.audit.whole import Audit
from posse.cli.main import main
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


def audit(*words):
    return main(["audit", *map(str, words), "--runs", "60", "--jobs", "1", "--rest", "1,0"])


@pytest.mark.slow
def test_an_audit_is_said_kept_and_drawn(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert audit(file, "--out", out) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "refuted" in said
    assert "length of note" in said
    assert "runs on one data set, in 0 on the other" in said
    assert audit(file, "--out", out, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert audit(file, "--out", out, "--strict", "-q") == 3
    assert document == json.loads((out / "audit.json").read_text())
    assert document["word"] == "refuted"
    assert document["verdict"]["lower_bound"] > document["verdict"]["claimed"] == 1.0
    assert main(["report", str(out)]) == 0
    page = (out / "report.html").read_text()
    assert "Refuted" in page
    assert "length of note" in page


@pytest.mark.parametrize(("option", "value"), [("--rest", "1,0"), ("--delta", "0.1")])
def test_data_sets_are_refused_where_arms_are_named(option, value, tmp_path, capsys):
    path = tmp_path / "votes.toml"
    path.write_text(tomli_w.dumps(VOTES))
    assert main(["audit", str(path), option, value]) == 2
    assert f"{option}: does not apply to corrupted-elimination" in capsys.readouterr().err


def test_what_is_missing_is_said_whatever_is_claimed(file, tmp_path, capsys, monkeypatch):
    for module in ("linear_model", "ensemble"):
        monkeypatch.setitem(sys.modules, f"sklearn.{module}", None)
    path = tmp_path / "votes.toml"
    path.write_text(tomli_w.dumps(VOTES))
    for audited in (path, file):
        asked = ["--runs", "40", "--jobs", "1", "--out", str(tmp_path / "out"), "-q"]
        assert main(["audit", str(audited), *asked]) == 1
        assert "audits need scikit-learn" in capsys.readouterr().err


def test_what_is_missing_is_said_before_anything_runs(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert audit(file, "--out", tmp_path / "out") == 1
    assert capsys.readouterr().err == (
        "posse: audits need scikit-learn; install it with: "
        'python -m pip install "posse-bandits[audit]"\n'
    )
    assert not (tmp_path / "out").exists()


def test_an_interrupted_audit_says_where_it_goes_on(file, tmp_path, capsys, monkeypatch):
    def interrupted(asked):
        asked.done(False)
        raise KeyboardInterrupt

    monkeypatch.setattr(Audit, "document", interrupted)
    out = tmp_path / "out"
    assert audit(file, "--out", out) == 130
    said = f"are kept in {out}; the same command with --out {out} resumes from them\n"
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_capture_is_looked_at(file, tmp_path, capsys):
    frames = tmp_path / "frames"
    assert main(["capture", str(file), "--engine", "memory", "--out", str(frames), "-q"]) == 0
    assert main(["audit", "--captured", str(frames), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # a run of the lab's, which the run file would have said: it reports what it did
    assert any("`Report`" in text for check in found for text in check["violations"])
    assert main(["audit", "--captured", str(frames), str(file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "`Report`" not in said
    assert "cannot be told" in said  # an own system's numbers are of any size
    assert main(["audit", "--captured", str(frames), "--strict", "-q"]) == 3
