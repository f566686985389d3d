"""Text of peers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.gates.shown import cell, harmless, printable, tex
from tests.support.conversations import examples


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("", ""),
        ("ε = 0.5, größer", "ε = 0.5, größer"),
        ("\x1b]0;owned\x07\x1b[2J", r"\x1b]0;owned\x07\x1b[2J"),
        ("a line\n17:00:00 coordinator: another", r"a line\n17:00:00 coordinator: another"),
        ("\u202efdp.exe", r"\u202efdp.exe"),
        ("\r\t\x00\x9b\u2028", r"\r\t\x00\x9b\u2028"),
        ("x" * 301, "x" * 300 + "…"),
    ],
)
def test_what_does_not_print_is_shown_by_its_escape(said: str, shown: str) -> None:
    assert printable(said) == shown


@given(st.text(), st.integers(0, 50))
def test_it_is_one_short_line_whatever_was_said(said: str, longest: int) -> None:
    shown = printable(said, longest)
    assert shown.isprintable()
    assert len(shown) <= 10 * longest + 1


@pytest.mark.parametrize(
    "text",
    [
        *("=1+1", "+1", "-1", "@x", "\r=1", "\n=1", " =1", "\u200b=1", "\u00a0=1"),
        *("\uff1d1", "\uff0b1", "\uff20x", "\n\uff1d1", "\tplain"),
    ],
)
def test_a_formula_in_a_cell_is_text(text: str) -> None:
    assert cell(text) == f"'{text}"


def test_a_formula_after_another_sign_between_cells_is_text_too() -> None:
    """A spreadsheet of a country with a comma in its numbers reads cells between ;."""
    assert cell("a;=1+1;\t@x;b=1") == "a;'=1+1;\t'@x;b=1"
    assert cell("\t=1") == "'\t'=1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("50% & a_b", r"50\% \& a\_b"),
        ("[0.5ex] x", "{[}0.5ex] x"),
        ("* x", "{*} x"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("a\n\nb\x1b", r"a\textbackslash{}n\textbackslash{}nb\textbackslash{}x1b"),
    ],
)
def test_each_sign_of_a_cell_in_latex_stands_for_itself(text: str, shown: str) -> None:
    assert tex(text) == shown


def test_a_terminal_obeys_nothing_but_colours() -> None:
    assert harmless("\x1b[1;31mred\x1b[0m\tα\n") == "\x1b[1;31mred\x1b[0m\tα\n"
    for control in (
        "\u200f",
        "\u061c",
        "\u200b",
        "\ufeff",
        "\x1b]8;;x\x07",
        "\x1b[2J",
        "\x1b]0;owned\x07",
        "\r",
        "\x9b2J",
        "\x1bc",
        "\u202e",
        "\b",
        "\x1b",
    ):
        shown = harmless(f"a{control}b")
        assert "\n".join(shown.split("\n")).isprintable()


@examples(Path(__file__).with_name("shown.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
