"""Each mistake in a run file gets one sentence that names the key."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.errors import SpecError
from posse.plan import prepare
from posse.spec import explain
from posse.spec.explain import nearest
from tests.support.conversations import examples
from tests.support.runfile import GOOD, changed


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("sytem", "x", r"sytem: unknown key; did you mean 'system'\? known: agents, arms"),
        ("parameters.epsilonn", 1, r"parameters\.epsilonn: unknown key; did you mean 'epsilon'"),
        ("arms.available", [0], r"arms\.available: every system may pull each arm in every slot"),
        ("agents.number", 1, r"agents\.number: unknown key; .*known: activity, count"),
        ("system", "CDP-MAB", r"system: 'CDP-MAB' is not known; did you mean 'cdp-mab'"),
        ("system", "dpmase", r"system: 'dpmase' is not known; did you mean 'dp-mase'"),
        ("parameters.epsilon", 0, r"parameters\.epsilon: is 0; it must be a number >= 1e-09"),
        ("parameters.epsilon", "a", r"parameters\.epsilon: is 'a'; it must be a number"),
        ("parameters.beta", 1, r"parameters\.beta: is 1; it must be a number < 1"),
        ("parameters.vote_rule", "most", r"parameters\.vote_rule: 'most' is not known; .*at-least"),
        ("agents.count", 4, r"agents\.count: is 4, but an arm needs 5 votes .* at least 5 agents"),
        ("agents.count", "8", r"agents\.count: is '8'; it must be an integer"),
        (
            "agents.activity",
            {"kind": "powr"},
            r"agents\.activity\.kind: 'powr' is not known; did you mean",
        ),
        ("agents.activity", {"kind": "weights", "weights": [1.0]}, r"weights: needs 8 positive"),
        ("parameters.epsilon", np.float64(-1), r"parameters\.epsilon: is -1\.0; it must be a num"),
        ("arms.means", np.array([0.7, np.nan]), r"arms\.means\[1\]: nan is not a finite number"),
        ("arms.means", [0.7, 1.3], r"arms: means\[1\] has 1\.3; it must lie in \[0\.0, 1\.0\]"),
        ("arms.means", [0.7], r"arms: means names 1 arm\(s\); a bandit needs at least 2"),
        ("arms.means", [[0.7, 0.5]], r"arms: means has 1 row for 8 agents"),
        ("arms.kind", "bernouli", r"arms\.kind: 'bernouli' is not known; did you mean 'bernoulli'"),
        ("arms", {"kind": "gaussian", "means": [1.0, 2.0]}, r"arms\.clip: .*set clip = \[lo, hi\]"),
        ("topology", {"kind": "ring"}, r"topology: is not used by dp-mase"),
        ("engine.kind", "cloud", r"engine\.kind: 'cloud' is not known; known: memory, processes"),
        ("engine.kind", "it's", r"engine\.kind: \"it's\" is not known; known: memory, processes"),
        ("a\nb", 1, r"a\nb: unknown key; known: agents, arms"),
        ("base", "\0", r"base: '.*x00' has the character NUL, which is not allowed"),
        ("path", 7, r"path: is 7; it must be a list"),
        ("arms.means", {"count": 3, "low": -1e308}, r"means\.low: is -1e\+308; .* >= -1e\+300"),
        ("engine.clock", "slots", r"engine\.clock: 'slots' does not fit dp-mase"),
        ("repeat", 0, r"repeat: is 0; it must be an integer >= 1"),
    ],
)
def test_a_mistake_is_named(path: str, value: Any, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        prepare(changed(path, value))


@pytest.mark.parametrize("missing", ["system", "agents", "arms", "parameters.epsilon"])
def test_what_is_missing_is_named(missing: str) -> None:
    raw = {key: value for key, value in GOOD.items() if key != missing.partition(".")[0]}
    with pytest.raises(SpecError, match=f"^{missing}: is required but missing"):
        prepare(raw)


@pytest.mark.parametrize(
    ("component", "sentence"),
    [
        ({"kind": "star", "cout": 4}, r"components\[0\]\.cout: unknown key; did you mean 'count'"),
        ({"kind": "sta", "count": 4}, r"components\[0\]\.kind: 'sta' .* did you mean 'star'"),
    ],
)
def test_what_a_table_in_a_described_list_may_have_is_said(
    component: dict[str, Any], sentence: str
) -> None:
    topology = {"kind": "components", "components": [component]}
    with pytest.raises(SpecError, match=sentence):
        prepare({**GOOD, "system": "cooperative-ucb", "topology": topology})


def test_no_two_threads_convert_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Barrier(2)

    def converted(raw: Any, kind: Any) -> bool:
        try:
            both.wait(0.1)
        except BrokenBarrierError:
            return True
        return False

    monkeypatch.setattr("posse.spec.explain.msgspec.convert", converted)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda n: explain.convert(n, int, ""), range(2))) == [True, True]


@given(st.lists(st.text("abcde", min_size=3, max_size=8), min_size=1, max_size=5, unique=True))
def test_a_name_that_is_known_but_for_its_case_is_the_nearest(known: list[str]) -> None:
    for name in known:
        assert nearest(name.upper(), known).startswith(f"did you mean '{name}'?")
    assert nearest("999", known) == f"known: {', '.join(known)}"


@examples(Path(__file__).with_name("explain.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
