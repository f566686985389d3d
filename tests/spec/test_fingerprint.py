"""Whether two machines have the same run file, without showing it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.plan import prepare
from posse.spec.fingerprint import differences, fingerprint, flat
from tests.support.conversations import examples
from tests.support.runfile import GOOD, changed


def of(raw: dict[str, Any]) -> dict[str, str]:
    return fingerprint(prepare(raw).spec)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("parameters.epsilon", 0.2),
        ("agents.count", 9),
        ("arms.means", [0.7, 0.4]),
        ("variant", "printed"),
        ("engine.clock", "wall"),
    ],
)
def test_what_differs_is_named_by_its_key(path: str, value: Any) -> None:
    assert differences(of(GOOD), of(changed(path, value))) == [path]


@pytest.mark.parametrize(
    ("path", "value"), [("seed", 9), ("engine.deadline", 5.0), ("engine.transport", "tcp")]
)
def test_what_each_end_may_have_of_its_own_is_left_out(path: str, value: Any) -> None:
    assert of(GOOD) == of(changed(path, value))


names = st.sampled_from("abc")
tables = st.dictionaries(names, st.text("xy", max_size=2), max_size=3)
nested = st.recursive(
    st.integers(0, 3), lambda inner: st.dictionaries(names, inner, min_size=1, max_size=3)
).filter(lambda table: isinstance(table, dict))


@given(tables, tables)
def test_the_keys_that_differ_are_the_same_for_both_and_none_for_one(
    ours: dict[str, str], theirs: dict[str, str]
) -> None:
    found = differences(ours, theirs)
    assert found == differences(theirs, ours)
    assert (found == []) is (ours == theirs)
    assert {**ours, **{k: theirs.get(k) for k in found}} == {**theirs, **dict.fromkeys(
        k for k in found if k not in theirs
    )}  # fmt: skip


@given(nested)
def test_a_flat_table_has_each_value_under_its_whole_path(table: Any) -> None:
    for path, value in flat(table).items():
        found = table
        for key in path.split("."):
            found = found[key]
        assert found == value
    leaves = str(table).count(": ") - str(table).count(": {")
    assert len(flat(table)) == leaves


@examples(Path(__file__).with_name("fingerprint.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
