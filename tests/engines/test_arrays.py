"""Steps over arrays make the same records as machines, field by field."""

import functools
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.engines import arrays, memory
from posse.errors import RunFailed
from posse.plan import Plan, prepare
from posse.protocol.machine import AgentMachine
from posse.results.record import RunRecord
from posse.system.context import AgentContext
from posse.system.steps import Declined, ManyRuns, Stepped, Steps
from tests.support.runs import assert_same_run

UCB1: dict[str, Any] = {
    "system": "ucb1",
    "seed": 3,
    "repeat": 5,
    "agents": {"count": 2},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.5]},
    "parameters": {"horizon": 60},
    "engine": {"kind": "memory"},
}


def in_full(record: RunRecord) -> dict[str, Any]:
    """The whole record as plain data, without the time that it took."""
    record.elapsed_seconds = None
    more = msgspec.to_builtins((record.links, record.ledgers))
    return {**record.document(), "links": more[0], "ledgers": more[1]}


def plain(raw: dict[str, Any]) -> Plan:
    return prepare(raw | {"engine": {"kind": "memory", "plain": True}})


def assert_equal_records(raw: dict[str, Any], numbers: range) -> None:
    """Whatever moved together, and alone, has the records of machines."""
    together, machines = memory.series(prepare(raw), numbers), memory.series(plain(raw), numbers)
    for one, other in zip(together, machines, strict=True):
        assert in_full(one) == in_full(other)


NUMBERS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0, 1)


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    agents, arms = draw(st.integers(1, 9)), draw(st.integers(2, 5))
    row = st.lists(NUMBERS, min_size=arms, max_size=arms)
    means = draw(
        row
        | st.lists(row, min_size=agents, max_size=agents)
        | st.builds(
            lambda spread: {
                "random": "uniform", "count": arms, "low": 0.2, "high": 0.8, "spread": spread
            },
            st.sampled_from([0.0, 0.1]),
        )
    )  # fmt: skip
    kind = draw(
        st.just({"kind": "bernoulli"})
        | st.builds(
            lambda sd, clip: (
                {"kind": "gaussian", "sd": sd} | ({"clip": [0.0, 1.0]} if clip else {})
            ),
            st.sampled_from([0.1, 0.5]),
            st.booleans(),
        )
    )
    activity = draw(st.sampled_from([{"kind": "uniform"}, {"kind": "power", "gamma": 0.8}]))
    system, more = draw(systems(agents, arms, kind["kind"] == "bernoulli" or "clip" in kind))
    return {
        "system": system,
        "seed": draw(st.integers(0, 1 << 40)),
        "agents": {"count": agents, "activity": activity},
        "arms": {**kind, "means": means},
        "engine": {"kind": "memory"},
        **more,
    }


GRAPHS = [
    {"kind": "complete"},
    {"kind": "path"},
    {"kind": "star"},
    {"kind": "erdos-renyi", "p": 0.5},
]


LIES = st.fixed_dictionaries(
    {"winsor": st.booleans(), "assumed_contamination": st.sampled_from([0.0, 0.05, 0.2])},
    optional={
        "reward_range": st.just([-0.5, 1.2]),
        "contamination": st.fixed_dictionaries(
            {
                "rate": st.sampled_from([0.1, 0.6]),
                "law": st.sampled_from(["point", "uniform", "opposite", "outlier"]),
                "form": st.sampled_from(["source", "source", "relay"]),
            },
            optional={"agents": st.integers(0, 1)},
        ),
    },
)


EPSILONS = st.sampled_from([0.5, 2.0])
EPSILONS_INT = st.sampled_from([0.25, 0.5, 1.0])
VARIANTS = st.sampled_from(["corrected", "printed"])

LIES_OF_MEANS = st.fixed_dictionaries(
    {"assumed_contamination": st.sampled_from([0.0, 0.2]),
     "estimator": st.sampled_from(["robust", "robust", "mean"])},
    optional={
        "contamination": st.builds(
            lambda law, form, rate: {
                "law": law, "form": form, "agents": 1, "rate": 1.0 if law == "informed" else rate
            },
            st.sampled_from(["point", "uniform", "opposite", "outlier", "informed"]),
            st.sampled_from(["source", "source", "relay"]),
            st.sampled_from([0.3, 1.0]),
        )
    },
)  # fmt: skip


FEDERATED = ("cdp-mab", "ddp-mab", "hdp-mab")


@st.composite
def federated(draw: st.DrawFn, system: str, agents: int) -> dict[str, Any]:
    """What a run of federated elimination has besides agents and arms."""
    horizon = st.integers(1, 60) | st.integers(100, 20_000)
    parameters: dict[str, Any] = {"horizon": draw(horizon), "epsilon": draw(EPSILONS)}
    parameters |= draw(st.sampled_from([{}, {"max_rounds": 2, "gap": 0.2}, {"candidates": [0, 1]}]))
    kinds = ["printed", "per_agent", *(["shared"] if system == "cdp-mab" and agents > 1 else [])]
    parameters["noise"] = draw(st.sampled_from(kinds))
    if system == "cdp-mab":
        if parameters["noise"] != "shared":
            parameters["participation"] = draw(st.sampled_from([1.0, 0.5]))
        return {"parameters": parameters}
    parameters["t_delay"] = draw(st.sampled_from(["diameter-1", "diameter"]))
    if system == "ddp-mab":
        parameters["exchange"] = draw(st.sampled_from(["gis", "flooding", "gossip"]))
    graphs = [*GRAPHS, *([{"kind": "erdos-renyi", "p": 0.1}] if system == "hdp-mab" else [])]
    variant = draw(VARIANTS)
    topology = draw(st.sampled_from(graphs))
    return {"parameters": parameters, "variant": variant, "topology": topology}


VOTING = ("mase", "dp-mase", "corrupted-elimination")
APART = [0.95, 0.6, 0.3, 0.1, 0.0]
"""Means of arms that are soon told apart: the runs end only then."""
ALIKE = [0.9, 0.3, 0.3, 0.3, 0.3]
"""The same of arms that leave soon after one another: agents hear more before they act again."""


@st.composite
def voting(draw: st.DrawFn, system: str, agents: int, arms: int) -> dict[str, Any]:
    """What a run of voters has besides agents; the arms are others, in any order."""
    printed = agents > 1 and draw(st.booleans())
    parameters: dict[str, Any] = {"delta": draw(st.sampled_from([0.05, 0.5]))}
    parameters |= draw(st.sampled_from([{}, {"candidates": [0, 1]}]))
    if agents < 6:  # as many votes as there are agents suffice
        parameters |= {"delta": 0.5}
    if system == "corrupted-elimination":
        xi = 0.0 if printed else draw(st.sampled_from([0.0, 0.1]))
        parameters |= {"eta": 0.5, "xi": xi}
    if system == "dp-mase":
        parameters["epsilon"] = draw(EPSILONS)
    alike = "candidates" not in parameters and draw(st.booleans())
    means = draw(st.permutations((ALIKE if alike else APART)[:arms]))
    kinds = [{"kind": "bernoulli"}, {"kind": "gaussian", "sd": 0.3, "clip": [0.0, 1.0]}]
    return {
        "parameters": parameters,
        "variant": "printed" if printed else "corrected",
        "arms": {**draw(st.sampled_from(kinds)), "means": means},
    }


USERS = ("anonymous", "explore-then-commit")


@st.composite
def users(draw: st.DrawFn, system: str, agents: int) -> dict[str, Any]:
    """What a run of sums over groups has besides agents and arms."""
    parameters: dict[str, Any] = {
        "horizon": draw(st.integers(400, 2_000)),
        "group_size": draw(st.integers(2, min(4, agents - 1))),
        "aggregation": draw(st.sampled_from(["masked", "sink"])),
        "precision": draw(st.sampled_from([8, 16, 40])),
    }
    if system == "explore-then-commit":
        return {"parameters": parameters | {"learning_rate": draw(st.sampled_from([0.02, 0.2]))}}
    kinds = ["greedy", "random", "lp", "lp"]
    parameters |= {"decomposition": draw(st.sampled_from(kinds)), "learning_rate": 0.002}
    parameters["feedback"] = draw(st.sampled_from(["all", "demand"]))
    return {"parameters": parameters, "variant": draw(VARIANTS)}


@st.composite
def systems(draw: st.DrawFn, agents: int, arms: int, bounded: bool) -> tuple[str, dict[str, Any]]:
    """A system that offers steps, its parameters, and the graph."""
    offered = ["ucb1", "cooperative-ucb", "byzantine-ucb", "mase", "corrupted-elimination"]
    offered += ["parallel-ucb"]
    if bounded:
        offered += USERS if agents > 2 else ()
        offered += ["private-ucb", "robust-private-ucb", *FEDERATED, "dp-mase", "dp-ucb-int"]
    system = draw(st.sampled_from(offered))
    if system in VOTING:
        return system, draw(voting(system, agents, arms))
    if system in FEDERATED:
        return system, draw(federated(system, agents))
    if system in USERS:
        return system, draw(users(system, agents))
    if system == "parallel-ucb":
        return system, {"parameters": {"horizon": draw(st.integers(1, 500))}}
    if system == "ucb1":
        return system, {"parameters": {"horizon": draw(st.integers(arms, 300))}}
    if system == "dp-ucb-int":
        asked = {"horizon": draw(st.integers(4 * arms, 200)), "epsilon": draw(EPSILONS_INT)}
        return system, {"parameters": asked, "variant": draw(VARIANTS)}
    gamma = draw(st.integers(0, 4) | st.sampled_from(["diameter", "diameter/2"]))
    more: dict[str, Any] = {"topology": draw(st.sampled_from(GRAPHS))}
    parameters: dict[str, Any] = {"horizon": draw(st.integers(4 * arms, 120)), "gamma": gamma}
    if system == "cooperative-ucb":
        parameters |= draw(st.sampled_from([{}, {}, {"reward_range": [-0.5, 0.8]}]))
    elif system == "byzantine-ucb":
        more["variant"] = draw(VARIANTS)
        parameters |= draw(LIES)
    elif system == "robust-private-ucb":
        more["variant"] = draw(VARIANTS)
        parameters |= {"epsilon": draw(st.sampled_from([0.5, 3.0]))} | draw(LIES_OF_MEANS)
    else:
        printed = draw(st.booleans())
        more["variant"] = "printed" if printed else "corrected"
        parameters["epsilon"] = draw(EPSILONS_INT)
        kinds = ["intervals"] if printed else ["intervals", "doubling", "trees"]
        parameters["releases"] = draw(st.sampled_from(kinds))
        if parameters["releases"] == "intervals":
            parameters["noise_at"] = draw(st.sampled_from(["source", "destination"]))
    return system, {**more, "parameters": parameters}


@given(runs(), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=50)
def test_steps_make_the_records_of_machines(raw: dict[str, Any], repeat: int, first: int) -> None:
    assert_equal_records(raw, range(first, first + repeat))


def test_messages_of_every_length_of_their_slots_number_are_counted() -> None:
    """A slot takes one byte up to 127, and two up to 255; γ is more than the slots at first."""
    run = UCB1 | {"system": "cooperative-ucb", "topology": {"kind": "path"}}
    for horizon, gamma in ((300, 2), (6, 5)):
        more = {"agents": {"count": 6}, "parameters": {"horizon": horizon, "gamma": gamma}}
        assert_equal_records(run | more, range(2))


def test_a_long_run_whose_curve_is_thinned_is_the_same() -> None:
    assert_equal_records(UCB1 | {"parameters": {"horizon": 5_000}}, range(2))


def used(monkeypatch: pytest.MonkeyPatch, raw: dict[str, Any], numbers: range) -> list[int]:
    """How many runs moved together, time after time."""
    sizes, whole = [], arrays.run

    def counted(plan: Plan, part: Any, observe: Any) -> list[RunRecord] | None:
        made = whole(plan, part, observe)
        sizes.append(0 if made is None else len(made))
        return made

    monkeypatch.setattr(arrays, "run", counted)
    list(memory.series(prepare(raw), numbers))
    return sizes


def test_the_runs_of_a_series_move_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert used(monkeypatch, UCB1, range(5)) == [5]
    crowd = UCB1 | {"agents": {"count": 1_000}, "parameters": {"horizon": 3}}
    assert used(monkeypatch, crowd, range(3)) == [2, 1]


@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("cooperative-ucb", {"gamma": 2}),
        ("byzantine-ucb", {"gamma": 2, "contamination": {"rate": 0.2, "law": "uniform"}}),
        ("byzantine-ucb", {"gamma": 2, "contamination": {"rate": 0.2, "form": "relay"}}),
        ("private-ucb", {"gamma": 2, "epsilon": 0.5}),
        ("private-ucb", {"gamma": 2, "epsilon": 0.5, "noise_at": "destination"}),
        ("robust-private-ucb", {"gamma": 2, "epsilon": 1.0}),
        ("private-ucb", {"gamma": 1, "epsilon": 0.5, "releases": "doubling"}),
        ("ddp-mab", {"epsilon": 0.5}),
        ("hdp-mab", {"epsilon": 0.5}),
    ],
)
def test_systems_with_steps_move_together(
    monkeypatch: pytest.MonkeyPatch, system: str, parameters: dict[str, Any]
) -> None:
    """What the property holds is held of steps, not of machines twice."""
    more = {"system": system, "topology": {"kind": "path"}}
    raw = UCB1 | more | {"parameters": {"horizon": 20, **parameters}}
    assert used(monkeypatch, raw, range(3)) == [3]


@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("mase", {}),
        ("dp-mase", {"epsilon": 0.5}),
        ("corrupted-elimination", {"eta": 0.5, "xi": 0.1}),
        ("cdp-mab", {"horizon": 200, "epsilon": 0.5}),
        ("dp-ucb-int", {"horizon": 60, "epsilon": 0.5}),
        ("parallel-ucb", {"horizon": 60}),
        ("anonymous", {"horizon": 600, "group_size": 2}),
        ("explore-then-commit", {"horizon": 600, "group_size": 2, "aggregation": "sink"}),
    ],
)
def test_systems_without_a_graph_use_their_steps(
    monkeypatch: pytest.MonkeyPatch, system: str, parameters: dict[str, Any]
) -> None:
    raw = {"system": system, "agents": {"count": 6}, "parameters": parameters}
    assert used(
        monkeypatch, UCB1 | raw | {"arms": {"kind": "bernoulli", "means": APART}}, range(1)
    ) == [1]


@pytest.mark.parametrize(("agents", "seed"), [(6, 9), (30, 8)])
def test_an_order_goes_on_from_where_its_agent_heard(agents: int, seed: int) -> None:
    """Also where none of its activations had passed."""
    arms = {"kind": "bernoulli", "means": [0.9, 0.3, 0.3, 0.3, 0.3]}
    raw = {"system": "mase", "seed": seed, "agents": {"count": agents}, "arms": arms}
    by_machines = prepare(raw | {"engine": {"plain": True}})
    assert_same_run(memory.run(prepare(raw), 0), memory.run(by_machines, 0))


def test_a_system_of_one_form_has_it_by_steps_too() -> None:
    parameters = {"horizon": 60, "epsilon": 1.0}
    more = {"topology": {"kind": "ring"}, "parameters": parameters, "variant": "printed"}
    assert_equal_records(UCB1 | more | {"system": "robust-private-ucb"}, range(2))


@pytest.mark.parametrize(
    "more",
    [
        {"engine": {"kind": "memory", "plain": True}},
        {"engine": {"kind": "memory", "clock": "slots"}, "agents": {"count": 1}},
        {"arms": {"kind": "drift", "means": [0.9, 0.5], "speed": [0.01, 0.0]}},
        {"system": "adap-ucb", "parameters": {"horizon": 60, "epsilon": 1.0}},
        {
            "system": "anonymous",
            "parameters": {"horizon": 600, "group_size": 2, "dropouts": 1},
            "agents": {"count": 6},
        },
    ],
)
def test_machines_run_where_steps_cannot(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """On demand, for one agent alone, on other arms, and where a system has none."""
    assert used(monkeypatch, UCB1 | more, range(1)) == [0]


def with_steps(plan: Plan, steps: Any) -> Plan:
    shape: Any = plan.system.shape
    made = replace(shape, make=Stepped(shape.make.make, steps))
    return replace(plan, system=replace(plan.system, shape=made))


def test_machines_run_where_steps_decline() -> None:
    def decline(series: ManyRuns) -> Steps:
        raise Declined

    declining = memory.series(with_steps(prepare(UCB1), decline), range(2))
    for one, other in zip(declining, memory.series(plain(UCB1), range(2)), strict=True):
        assert in_full(one) == in_full(other)


def test_a_defect_of_a_step_is_told_in_a_sentence() -> None:
    def fail(series: ManyRuns) -> Steps:
        raise ZeroDivisionError("of the user's")

    with pytest.raises(RunFailed, match=r"the step has a defect: ZeroDivisionError: of the user's"):
        list(memory.series(with_steps(prepare(UCB1), fail), range(2)))


def test_who_replaces_the_machines_of_a_system_replaces_its_steps() -> None:
    shape: Any = prepare(UCB1).system.shape

    def make(context: AgentContext) -> AgentMachine:
        machine: AgentMachine = shape.make(context)
        return machine

    other = replace(shape, make=functools.wraps(shape.make)(make))
    assert prepare(UCB1).system.steps is not None
    assert replace(prepare(UCB1).system, shape=other).steps is None
