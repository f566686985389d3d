"""Which schedule of rounds parameters make: who counts as a sender, and how much noise."""

from typing import Any

import pytest

from protocol.federated import (
    CdpParameters,
    DdpParameters,
    FederatedParameters,
    Schedule,
    SingleParameters,
)
from protocol.schedules import noise_of, schedule_of
from protocol.shared import SharedSchedule

GIVEN: dict[str, Any] = {"horizon": 1000, "epsilon": 0.5}


@pytest.mark.parametrize(
    ("parameters", "senders", "scale"),
    [
        (SingleParameters(**GIVEN), 1, 1 / 50),
        (DdpParameters(**GIVEN), 10, 1 / 500),
        (CdpParameters(**GIVEN), 10, 1 / 500),
        (CdpParameters(**GIVEN, noise="per_agent"), 10, 1 / 50),
        (CdpParameters(**GIVEN, participation=0.25), 3, 1 / 150),  # ⌈.25 · 10⌉
    ],
)
def test_of_ten_agents(parameters: SingleParameters, senders: int, scale: float) -> None:
    schedule = schedule_of(parameters, 10, 4)
    assert type(schedule) is Schedule
    assert schedule.senders == senders
    assert schedule.scale(100) == pytest.approx(scale)  # 1 / (M ε d), or 1 / (ε d)
    assert (schedule.arms, schedule.horizon) == (4, 1000)


@pytest.mark.parametrize("kind", [CdpParameters, DdpParameters])
def test_the_form_of_r_rounds_is_passed_on(kind: type[FederatedParameters]) -> None:
    schedule = schedule_of(kind(**GIVEN, max_rounds=3, gap=0.2), 10, 4)
    assert (schedule.max_rounds, schedule.gap) == (3, 0.2)
    assert schedule_of(kind(**GIVEN), 10, 4).max_rounds is None


def test_shared_noise_has_a_schedule_of_its_own() -> None:
    parameters = CdpParameters(**GIVEN, noise="shared")
    schedule = schedule_of(parameters, 10, 4)
    assert isinstance(schedule, SharedSchedule)
    assert noise_of(parameters, 10).agents == 10
    # its noise is the sum's, so that more agents bear less of it each
    few, many = (noise_of(parameters, agents).share for agents in (10, 40))
    assert many < few
