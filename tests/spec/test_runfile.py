"""The run file: overrides, files that are none, and what a system asks of it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.errors import SpecError
from posse.plan import prepare
from posse.spec.runfile import read
from tests.support.conversations import examples
from tests.support.runfile import GOOD, changed


def test_no_other_system_gives_up_its_bound() -> None:
    arms = {"kind": "gaussian", "means": [1.0, 2.0]}
    parameters = {"horizon": 100, "epsilon": 1.0}
    for system in ("cdp-mab", "dp-ucb-int", "tdfs-private"):
        raw = {**GOOD, "system": system, "variant": "printed", "parameters": parameters}
        with pytest.raises(SpecError, match=r"arms\.clip"):
            prepare({**raw, "arms": arms})


def test_files_that_are_no_run_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        prepare(read(tmp_path / "absent.toml"))
    for text in ("system = ", "a = .\n"):
        (tmp_path / "bad.toml").write_text(text)
        with pytest.raises(SpecError, match="is not TOML: Invalid value"):
            read(tmp_path / "bad.toml")
    elsewhere = tmp_path / os.fsdecode(b"\xff")
    elsewhere.mkdir()
    (elsewhere / "run.toml").write_text("")
    with pytest.raises(SpecError, match=r"udcff/run.toml: is in a folder whose name is not"):
        read(elsewhere / "run.toml")


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("b = [5., -.25, .5e2] # .5", [5.0, -0.25, 50.0]),
        ("b = 'x .5' # don't", "x .5"),
        ("# don't\nb = 'x .5'", "x .5"),
        (r'b = "\" .5"', '" .5'),
        ('b = """\n"q" .5\n"""', '"q" .5\n'),
        ("b = '''\nit's .5'''", "it's .5"),
    ],
)
def test_a_file_may_have_such_numbers_and_its_texts_stay_as_they_are(
    tmp_path: Path, line: str, held: object
) -> None:
    (tmp_path / "run.toml").write_text(f"\ufeffa = .5\r\n{line}\n")
    assert read(tmp_path / "run.toml") == {"base": str(tmp_path), "a": 0.5, "b": held}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "means", "count", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    path=st.sampled_from(["system", "agents", "arms", "parameters", "engine", "seed"]), value=JUNK
)
def test_junk_is_a_spec_error_or_a_specification(path: str, value: Any) -> None:
    try:
        prepare(changed(path, value))
    except SpecError as error:
        assert "\n" not in str(error) or "\n" in repr(value)


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ((), "is a folder; name a run file (TOML)"),
        (("b.toml", "a.toml", "c.csv"), "is a folder; name one of its files: a.toml, b.toml"),
        (("spec.toml", "result.json"), "is a folder of a run; posse report {} draws it"),
        (("sweep.json",), "is a folder of a sweep; posse report {} draws it"),
        (("audit.json",), "is a folder of an audit; posse report {} draws it"),
    ],
)
def test_a_folder_given_for_a_run_file_is_told_apart(
    files: tuple[str, ...], what: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(SpecError) as refused:
        read(tmp_path)
    assert refused.value.problem == what.format(tmp_path)


@examples(Path(__file__).with_name("runfile.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
