"""How often each agent is active, as the run file says it."""

import pytest

from posse.errors import SpecError
from posse.spec.activity import ActivitySpec


def test_rates() -> None:
    assert ActivitySpec().rates(4).tolist() == [0.25] * 4
    power = ActivitySpec(kind="power", gamma=0.8).rates(3)
    assert power.sum() == pytest.approx(1.0)
    assert power[0] / power[2] == pytest.approx(3**0.8)
    shifted = ActivitySpec(kind="power", gamma=2.0, offset=1.0).rates(2)
    assert shifted[0] / shifted[1] == pytest.approx((3 / 2) ** 2)
    weights = ActivitySpec(kind="weights", weights=[1.0, 3.0]).rates(2)
    assert weights.tolist() == [0.25, 0.75]


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
