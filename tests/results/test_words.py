"""What a prompt and a notebook show of a result."""

import importlib.util
from collections.abc import Callable
from html import escape
from pathlib import Path
from textwrap import wrap

import pytest

import posse
from posse.results import words
from posse.results.record import RunRecord
from posse.testing.small import SMALL
from tests.support.conversations import examples
from tests.support.runfile import describe_run

SPEC = describe_run("dp-mase", 8, [0.9, 0.1], parameters={"epsilon": 0.5}, engine="memory")


def test_a_notebook_shows_the_closing_rows_and_the_curve(monkeypatch):
    result = posse.run(SPEC)
    html = result._repr_html_()
    for label, said in words.rows(result.runs, result.verdict):
        assert f">{label}</th>" in html
        assert escape(said) in html
    assert html.endswith("</svg>\n")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "<svg" not in result._repr_html_()


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


@examples(Path(__file__).with_name("words.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
