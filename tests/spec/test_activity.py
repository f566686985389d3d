"""How often each agent is active, as the run file says it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.errors import SpecError
from posse.spec.activity import ActivitySpec


@given(st.integers(1, 30), st.floats(-3, 3), st.floats(0, 9), st.floats(0.01, 9))
@example(3, 0.8, 0.0, 3.0)
@example(2, 2.0, 1.0, 3.0)
def test_rates(agents: int, gamma: float, offset: float, weight: float) -> None:
    assert ActivitySpec().rates(agents) == pytest.approx([1 / agents] * agents)
    power = ActivitySpec(kind="power", gamma=gamma, offset=offset).rates(agents)
    assert power.sum() == pytest.approx(1.0)
    assert power / power[0] == pytest.approx(
        [((1 + offset) / (n + offset)) ** gamma for n in range(1, agents + 1)]
    )
    weights = [1.0, *[weight] * (agents - 1)]
    rates = ActivitySpec(kind="weights", weights=weights).rates(agents)
    assert rates == pytest.approx([each / sum(weights) for each in weights])


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (ActivitySpec(kind="power", offset=-1.0), "agents.activity.offset"),
        (ActivitySpec(kind="weights"), "agents.activity.weights"),
        (ActivitySpec(kind="weights", weights=[1.0, 0.0]), "agents.activity.weights"),
        (ActivitySpec(kind="weights", weights=[1.0]), "agents.activity.weights"),
        (ActivitySpec(kind="power", gamma=2000.0), "agents.activity"),
        (ActivitySpec(kind="power", gamma=-2000.0), "agents.activity"),
        (ActivitySpec(kind="power", gamma=float("nan")), "agents.activity"),
        (ActivitySpec(kind="weights", weights=[1e308, 1e308]), "agents.activity"),
        (ActivitySpec(kind="weights", weights=[1.0, 1e-320]), "agents.activity"),
        (ActivitySpec(kind="weights", weights=[1.0, float("inf")]), "agents.activity"),
    ],
)
def test_impossible_activities_are_refused(spec: ActivitySpec, path: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec.rates(2)
    assert caught.value.path == path
