"""What a prompt and a notebook show of a result."""

import importlib.util
from html import escape
from textwrap import wrap

import pytest

import posse
from posse.results import words
from posse.results.record import RunRecord
from posse.testing.small import SMALL
from tests.support.runfile import describe_run

SPEC = describe_run("dp-mase", 8, [0.9, 0.1], parameters={"epsilon": 0.5}, engine="memory")


def test_a_prompt_shows_a_few_lines():
    result = posse.run(SPEC, repeat=3)
    assert repr(result).splitlines()[:2] == [
        "dp-mase (corrected), 3 runs in engine memory, seed 0",
        "  done         Arm 0 is the best, say all 3 runs",
    ]
    assert "\n  privacy      " in repr(result)
    assert repr(result).count("\n") < 8
    run = result.runs[0]
    assert repr(run).startswith("RunRecord(run=0, seed=0, status='identified', best_arm=0, ")
    assert len(repr(run)) < 300


def test_a_log_says_in_a_line_how_a_run_ended():
    run = RunRecord(run=0, seed=1, status="identified", best_arm=2)
    assert words.ending(run) == "arm 2 (identified)"
    run = RunRecord(run=0, seed=1, status="missing", dismissed={4: "lost", 1: "silent"})
    said = "no arm (missing); it went on without agent 1 (silent), agent 4 (lost)"
    assert words.ending(run) == said


def test_a_line_has_the_totals_that_are_known():
    run = RunRecord(
        run=0, seed=1, status="horizon", best_arm=2, slots=1200, pulls=2400, regret=1250.5
    )
    run.right = False
    run.communication.data.messages = 70
    said = "arm 2 (horizon), wrong; 1,200 slots, 2,400 pulls, regret 1,250, 70 data messages"
    assert words.line(run) == said


def test_a_result_without_runs_shows_what_was_asked():
    nothing = posse.Result(
        system="mase", variant="printed", engine="memory", seed=3, runs=[], specification={}
    )
    assert repr(nothing) == "mase (printed), 0 runs in engine memory, seed 3"


def test_a_notebook_shows_the_closing_rows_and_the_curve(monkeypatch):
    result = posse.run(SPEC)
    html = result._repr_html_()
    for label, said in words.rows(result.runs, result.verdict):
        assert f">{label}</th>" in html
        assert escape(said) in html
    assert html.endswith("</svg>\n")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "<svg" not in result._repr_html_()


def test_a_system_whose_regret_is_not_known_shows_no_curve(tmp_path):
    for rank in range(8):
        (tmp_path / f"{rank}.csv").write_text("arm,reward\n" + "0,1\n1,0\n" * 400)
    arms = {"kind": "csv", "path": str(tmp_path / "{rank}.csv"), "count": 2}
    result = posse.run(SPEC | {"system": "mase", "arms": arms, "parameters": {}})
    assert "<svg" not in result._repr_html_()
    assert "right" not in repr(result)


def test_a_ledger_that_is_composed_holds_after_the_fact_and_the_lab_protects_nothing():
    """How many releases there were depends on rewards: the claim is the guarantee."""
    ring = {"system": "private-ucb", "topology": {"kind": "ring"}, "agents": {"count": 4}}
    result = posse.run(SPEC | ring | {"parameters": {"horizon": 200, "epsilon": 0.5}})
    said = dict(words.rows(result.runs, result.verdict))["privacy"]
    claim = result.runs[0].privacy.claim
    assert said.startswith(f"ε = {claim.epsilon:.4g}, δ = {claim.delta:.2g} for ")
    assert " Spent: ε = " in said
    assert said.endswith(" (added up afterwards). In the lab it protects nothing.")
    assert "afterwards" not in dict(words.rows(posse.run(SPEC).runs))["privacy"]


@pytest.mark.parametrize("name", SMALL)
def test_of_privacy_the_terminal_says_four_lines_at_most(name: str) -> None:
    result = posse.run({"system": name, **SMALL[name], "engine": {"kind": "memory"}})
    said = dict(words.rows(result.runs))["privacy"]
    assert len(wrap(said, 63)) <= 4


def test_how_runs_ended_and_in_how_many_the_answer_was_right() -> None:
    def run(status, right):
        return RunRecord(run=0, seed=0, status=status, right=right, elapsed_seconds=1.0)

    def ended(*runs):
        return dict(words.rows(runs))["ended"]

    assert ended(run("horizon", None)) == "horizon"
    both = (run("identified", True), run("no_consensus", False), run("identified", True))
    assert ended(*both) == "identified 2, no_consensus 1; right in 2 of 3"
