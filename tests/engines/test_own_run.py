"""What an agent on another machine makes of its coordinator's configuration."""

import logging
from pathlib import Path

import msgspec
import pytest

from posse.engines.base import agent_setups
from posse.engines.own_run import OwnRun
from posse.errors import PosseError
from posse.hosts.agent_setup import AgentSetup
from posse.plan import Plan
from tests.support.runs import spec

HERE = "/here"
CSV = {"kind": "csv", "path": "mine-{rank}.csv", "count": 3}


def told(run: Plan) -> AgentSetup:
    return agent_setups(run, run.network(0))[0]


def central(**changes: object) -> Plan:
    return spec("central", 2, engine={"clock": "wall"}, **changes)


def test_without_a_run_file_the_coordinators_is_followed() -> None:
    setup = told(central())
    own = OwnRun(None, HERE, lab=False)
    assert own.accept(setup) == msgspec.structs.replace(setup, base=HERE)


def test_without_a_run_file_code_is_not_taken_from_the_network() -> None:
    python = {"kind": "python", "target": "os:system", "count": 3}
    with pytest.raises(PosseError, match=r"start the agent with --run RUN\.toml"):
        OwnRun(None, HERE, lab=True).accept(told(central(arms=python)))


def test_with_a_run_file_its_own_arms_are_used(tmp_path: Path) -> None:
    ours = central(arms=CSV, base=str(tmp_path))
    setup = OwnRun(ours, HERE, lab=True).accept(
        told(central(arms=CSV | {"path": "other-{rank}.csv"}))
    )
    assert (setup.arms, setup.base) == (ours.spec.arms, str(tmp_path))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"parameters": {"delta": 0.01}}, "parameters"),
        ({"agents": 3}, "agents"),
        ({"clock": "slots"}, "clock"),
        ({"mode": "field", "variant": "printed"}, "variant, mode"),
    ],
)
def test_a_coordinator_that_lies_about_the_configuration_is_left(
    change: dict[str, object], named: str
) -> None:
    setup = msgspec.structs.replace(told(central()), **change)
    with pytest.raises(PosseError, match=f"differs from {named} of this agent's own run file"):
        OwnRun(central(), HERE, lab=False).accept(setup)


@pytest.mark.parametrize("own", [True, False])
def test_real_rewards_are_not_given_to_the_labs_noise_unless_asked(own: bool) -> None:
    run = central(arms=CSV)
    mine = run if own else None
    with pytest.raises(PosseError, match="the run is a lab's: its noise is seeded"):
        OwnRun(mine, HERE, lab=False).accept(told(run))
    OwnRun(mine, HERE, lab=True).accept(told(run))


def test_in_the_field_it_is_said_what_is_given_away() -> None:
    own = OwnRun(None, HERE, lab=False)
    assert own.remarks(told(central())) == []
    open_one = msgspec.structs.replace(told(central()), mode="field")
    assert own.remarks(open_one)[0].text == "central protects no rewards"
    private = msgspec.structs.replace(told(spec("dp-mase", 16)), mode="field")
    (claim,) = own.remarks(private)
    assert claim.level == logging.INFO
    assert claim.text.startswith("laplace: ε = 0.5 against whoever reads all messages")
