"""Whatever words a user gives, a command ends by itself, by a known code, in a sentence."""

import io
import os
from contextlib import chdir, redirect_stderr, redirect_stdout
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from posse.cli.main import main
from tests.cli.conftest import RUN_FILE

VERBS = ["check", "verify", "ledger", "replay", "frames", "list", "status", "none"]
"""Those that read, and start nothing that goes on."""

WORDS = [
    "ride.toml",
    "nowhere.toml",
    ".",
    "",
    "-1",
    "--json",
    "--bogus",
    "-",
    "--set",
    "--",
    "é\x1b",
]
VALUES = ["agents.count", "parameters.epsilon", "system", "no.such", "arms.means", "seed", "clock"]


def said(words: list[str]) -> tuple[int, str]:
    """The exit code, and what went to standard error."""
    with TemporaryDirectory() as folder, chdir(folder):
        with open("ride.toml", "w") as file:
            file.write(RUN_FILE)
        before = sorted(os.listdir())
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
        assert sorted(os.listdir()) == before  # what reads, writes nothing
    assert "Traceback" not in out.getvalue() + err.getvalue()
    return code, err.getvalue()


@settings(max_examples=25)
@given(st.sampled_from(VERBS), st.lists(st.sampled_from(WORDS), max_size=4))
def test_words_in_any_order_are_an_answer_or_a_sentence(verb: str, words: list[str]) -> None:
    code, err = said([verb, *words])
    assert code in (0, 1, 2, 3)
    assert code == 0 or err.startswith(("posse: ", "posse "))
    assert err.replace("\n", "").isprintable()


@settings(max_examples=30)
@given(
    st.sampled_from(VALUES),
    st.text(max_size=8) | st.integers().map(str) | st.floats().map(str),
)
def test_a_value_that_is_set_fits_or_is_named(key: str, value: str) -> None:
    code, err = said(["check", "ride.toml", "--set", f"{key}={value}"])
    assert code in (0, 2)
    if code:
        assert err.startswith("posse: ")
        assert err.count("\n") == 1
        assert err.strip().isprintable()
