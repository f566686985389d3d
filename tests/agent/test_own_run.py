"""What an agent on another machine makes of its coordinator's configuration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse.agent.own_run import OwnData, OwnRun, TheirRun
from posse.arms.csv import CsvArms
from posse.coordinator.regrouping import Regrouping
from posse.coordinator.setups import agent_setups
from posse.errors import PosseError
from posse.hosts.agent_setup import AgentSetup
from posse.plan import Plan
from posse.protocol import control
from posse.spec.privacy import PrivacySpec
from posse.system import get_system
from tests.support.conversations import examples
from tests.support.field import CASES, field
from tests.support.runs import spec

CSV = {"kind": "csv", "path": "mine-{rank}.csv", "count": 3}
PYTHON = {"kind": "python", "target": "os:system", "count": 3}
MINE = "/data/mine.csv"
SHARED = {"epsilon": 1.0, "horizon": 1200, "noise": "shared", "honest": 1.0}


def told(run: Plan) -> AgentSetup:
    return agent_setups(run, run.network(0))[0]


def central(**changes: object) -> Plan:
    return spec("central", 2, engine={"clock": "wall"}, **changes)


def private(**changes: Any) -> AgentSetup:
    """dp-mase in the field, ε = .5, as a coordinator says it."""
    lab = told(spec("dp-mase", 16, arms={**CSV, "path": "/etc/{rank}"}, engine={"clock": "wall"}))
    return msgspec.structs.replace(lab, **{"mode": "field", **changes})


def own_data(*, lab: bool = False, **privacy: Any) -> OwnData:
    return OwnData(MINE, PrivacySpec(**{"budget": 1.0, **privacy}), lab=lab)


@pytest.mark.parametrize("arms", [CSV, PYTHON, CSV | {"path": "/etc/{rank}"}])
@pytest.mark.parametrize("mode", ["lab", "field"])
def test_no_path_and_no_code_from_the_network_is_opened(arms: dict[str, Any], mode: str) -> None:
    setup = msgspec.structs.replace(told(central(arms=arms)), mode=mode)
    with pytest.raises(
        PosseError, match=r"an agent opens no path and no code from the network; .*--run"
    ):
        TheirRun().accept(setup, 0)


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
    with pytest.raises(PosseError, match=f"differs from this agent's own run file in {named}"):
        OwnRun(central(), lab=False).accept(setup, 0)


ON_GRAPHS = [name for name in CASES if get_system(name).wiring is not None]


@pytest.mark.parametrize("system", ON_GRAPHS)
def test_neighbours_and_what_is_known_of_the_graph_are_those_of_the_agents_own_run_file(
    system: str, tmp_path: Path
) -> None:
    """Else a coordinator gives two agents each other alone, or a diameter that ends an exchange."""
    run = field(system, tmp_path)
    setups = agent_setups(run, run.network(0))
    own = OwnRun(run, lab=False)
    for rank, setup in enumerate(setups):
        carried = msgspec.msgpack.decode(msgspec.msgpack.encode(setup), type=AgentSetup)
        assert own.accept(carried, rank).neighbours == setup.neighbours
    with pytest.raises(PosseError, match="differs from this agent's own run file in neighbours"):
        own.accept(msgspec.structs.replace(setups[0], neighbours=(len(setups) - 1,)), 1)
    for name, known in setups[0].knowledge.items():
        lie = setups[0].knowledge | {name: [*known, 0] if isinstance(known, tuple) else 7}
        with pytest.raises(PosseError, match="differs from this agent's own run file in knowledge"):
            own.accept(msgspec.structs.replace(setups[0], knowledge=lie), 0)


@pytest.mark.parametrize("system", ["ddp-mab", "hdp-mab"])
def test_what_is_left_of_the_graph_is_computed_as_the_coordinator_does(
    system: str, tmp_path: Path
) -> None:
    run = field(system, tmp_path, agents={"count": 7}, topology={"kind": "ring"})
    wiring = run.system.wiring
    assert wiring is not None
    assert wiring.regroup is not None
    regrouping = Regrouping(run.network(0).neighbours, wiring.regroup)
    present = [0, 1, 2, 4, 5]  # in two parts
    regrouping.note_loss()
    for rank in present:
        regrouping.note_standing(rank, control.AgentStanding(1, 1, 0, 0, (0, 1)))
    found = regrouping.go_on(present, together=system == "hdp-mab")
    assert found is not None
    for rank, order in found[1].items():
        known = msgspec.msgpack.decode(order.knowledge)
        own = OwnRun(run, lab=False).left(rank, known["members"])
        assert own is not None
        assert (own[0], msgspec.msgpack.encode(own[1])) == (order.neighbours, order.knowledge)
    assert OwnRun(run, lab=False).left(0, [0, 7]) == ((), {})
    assert (
        OwnRun(
            spec(system, 4, topology={"kind": "ring"}, parameters={"epsilon": 1.0, "horizon": 99}),
            lab=False,
        ).left(0, [0])
        is None
    )
    assert TheirRun().left(0, [0]) is None


@pytest.mark.parametrize("mode", ["lab", "x"])
def test_real_rewards_are_not_given_to_the_labs_noise_unless_asked(mode: str) -> None:
    """Whatever is not the field is the lab: a mode that nobody knows is no way around it."""
    run = central(arms=CSV)
    setup = msgspec.structs.replace(told(run), mode=mode)
    with pytest.raises(PosseError, match="the run is for the lab: its noise has a seed"):
        OwnRun(run, lab=False).accept(setup, 0)
    with pytest.raises(PosseError, match="the run is for the lab: its noise has a seed"):
        own_data().accept(setup, 0)
    OwnRun(run, lab=True).accept(told(run), 0)
    own_data(lab=True).accept(told(run), 0)


def test_a_run_that_broke_off_must_be_as_the_run_file_says_now(tmp_path: Path) -> None:
    """What a journal has was accepted when the run began; the run file may have changed since."""
    ours = central(arms=CSV, base=str(tmp_path), privacy={"budget": 2.0})
    kept = OwnRun(ours, lab=True).accept(told(ours), 0)
    OwnRun(ours, lab=True).require_still(kept, 0)
    own_data().require_still(own_data().accept(private(), 0), 0)
    for changed in (
        central(arms=CSV, base=str(tmp_path), privacy={"budget": 1.0}),
        central(arms=CSV | {"clip": [0.0, 2.0]}, base=str(tmp_path), privacy={"budget": 2.0}),
    ):
        with pytest.raises(PosseError, match="journal has a run with other arms, limits or"):
            OwnRun(changed, lab=True).require_still(kept, 0)
    with pytest.raises(PosseError, match="opens no path and no code from the network"):
        TheirRun().require_still(kept, 0)
    with pytest.raises(PosseError, match="journal has a run with other arms, limits or"):
        own_data(budget=0.9).require_still(own_data().accept(private(), 0), 0)


@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("mase", {}),
        ("ucb1", {"horizon": 100}),
    ],
)
def test_with_data_of_its_own_systems_that_claim_nothing_are_refused(
    system: str, parameters: dict[str, Any]
) -> None:
    with pytest.raises(PosseError, match=f"{system} protects no reward by noise"):
        own_data().accept(private(system=system, parameters=parameters), 0)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"parameters": SHARED | {"precision": 0}}, r"parameters\.precision: is 0: a share of"),
        ({"parameters": SHARED | {"participation": 0.5}}, r"parameters\.participation: is 0\.5"),
        ({"agents": 1}, r"agents\.count: is 1, but noise is shared"),
        ({"agents": 0}, r"agents\.count: is 0"),
        ({"agents": 10**12}, r"agents\.count: is 1000000000000"),
        ({"clock": "virtual"}, r"engine\.clock: 'virtual' is for the lab only"),
    ],
)
def test_with_data_of_its_own_a_run_must_be_one_that_a_run_file_could_order(
    changes: dict[str, Any], match: str
) -> None:
    """With precision = 0 each agent's share of the noise is far below one word."""
    shared: dict[str, Any] = {"system": "cdp-mab", "parameters": SHARED}
    own_data(budget=10.0).accept(private(**shared), 0)
    with pytest.raises(PosseError, match=match):
        own_data(budget=10.0).accept(private(**(shared | changes)), 0)


@pytest.mark.parametrize("system", CASES)
def test_with_data_of_its_own_whatever_claims_an_epsilon_is_taken_part_in(
    system: str, tmp_path: Path
) -> None:
    run = field(system, tmp_path)
    if not run.system.shares_arms and run.claim.holds and run.claim.epsilon is not None:
        assert own_data(budget=10.0).accept(told(run), 0).arms == CsvArms(path=MINE, count=4)


@examples(Path(__file__).with_name("own_run.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)


def test_with_data_of_its_own_epsilon_is_bounded_by_the_agents_budget() -> None:
    own_data(budget=0.5).accept(private(), 0)
    with pytest.raises(PosseError, match=r"would cost ε = 0\.5 and the budget is 0\.4"):
        own_data(budget=0.4).accept(private(), 0)
    with pytest.raises(PosseError, match=r"parameters\.epsilon: is 1e[+]308"):
        own_data(budget=1000.0).accept(private(parameters={"epsilon": 1e308}), 0)
    # what M agents' noise makes of it counts
    printed = {"epsilon": 0.1, "horizon": 4000, "noise": "printed"}
    with pytest.raises(PosseError, match=r"would cost ε = 1\.6"):
        own_data().accept(private(system="cdp-mab", parameters=printed), 0)


def test_with_data_of_its_own_delta_is_bounded_too() -> None:
    """By δ' = .9 the same sums cost ε = .16 that by δ' = 1e-6 cost 11: they leave as they are."""
    ucb = {"epsilon": 1.0, "v": 1.1, "horizon": 400}
    loose = private(system="private-ucb", parameters={**ucb, "delta_prime": 0.9})
    assert (loose.claim.epsilon or 0.0) < 0.2
    with pytest.raises(
        PosseError, match=r"would cost δ = 0\.9, .* and 0\.001 is allowed; .*--delta"
    ):
        own_data().accept(loose, 0)
    own_data(delta=0.95).accept(loose, 0)
    slight = {"epsilon": 0.01, "horizon": 4000, "noise": "shared", "delta_prime": 1e-6}
    own_data().accept(private(system="cdp-mab", parameters=slight), 0)
    with pytest.raises(PosseError, match=r"would cost δ = 1e-06, .* and 0 is allowed"):
        own_data(delta=0.0).accept(private(system="cdp-mab", parameters=slight), 0)
