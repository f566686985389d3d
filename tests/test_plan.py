"""A plan, and what may be given anew when it is run."""

import asyncio
import pydoc
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import posse
from posse.plan import changed, prepare
from tests.support.runfile import describe_run

SPEC: dict[str, Any] = describe_run(
    "dp-mase", 8, [0.9, 0.1], seed=1, parameters={"epsilon": 0.5, "delta": 0.1}, engine="memory"
)


GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "seed": st.integers(0, 99),
        "repeat": st.integers(1, 9),
        "agents.count": st.integers(8, 20),
        "engine.kind": st.sampled_from(["memory", "processes"]),
    },
)
PLAN = prepare(SPEC)


@given(GIVEN, st.none() | st.floats(0.1, 9))
@example({"seed": 2, "repeat": 3, "agents.count": 9, "engine.kind": "processes"}, 1.0)
@example({}, None)
def test_what_is_given_anew_is_changed_and_nothing_else(given, epsilon):
    def told(plan):
        spec = plan.spec
        own = (spec.seed, spec.repeat, spec.agents.count, spec.engine.kind)
        return dict(zip(("seed", "repeat", "agents.count", "engine.kind"), own, strict=True))

    other = changed(PLAN, given, {"epsilon": epsilon} if epsilon else None)
    assert told(other) == told(PLAN) | given
    assert other.spec.parameters == {"epsilon": epsilon or 0.5, "delta": 0.1}
    assert other.spec.arms == PLAN.spec.arms
    assert PLAN.spec.parameters == {"epsilon": 0.5, "delta": 0.1}
    assert (other is PLAN) == (not given and epsilon is None)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"agents": 2}, "agents.count: is 2"),
        ({"engine": "cloud"}, "engine.kind: 'cloud' is not known"),
        ({"parameters": {"epsiln": 1}}, "did you mean 'epsilon'"),
        ({"parameters": [1]}, r"parameters: is \[1\]; it must be a table"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_starts(given, sentence):
    with pytest.raises(posse.SpecError, match=sentence):
        posse.run(SPEC, **given)


def test_a_run_of_more_arms_than_messages_name_is_refused():
    arms = {"kind": "bernoulli", "means": [0.5] * 60_001}
    with pytest.raises(posse.SpecError, match="arms: has 60,001 arms; at"):
        posse.run(SPEC | {"arms": arms})


def test_what_is_given_may_be_what_the_source_lacks():
    lacking = {key: SPEC[key] for key in ("system", "arms")}
    given: dict[str, Any] = {"agents": 8, "engine": "memory", "parameters": {"epsilon": 0.5}}
    assert posse.run(lacking, **given).runs[0].best_arm == 0
    assert set(lacking) == {"system", "arms"}
    with pytest.raises(posse.SpecError, match="parameters: is 3; it must be a table"):
        posse.run(SPEC | {"parameters": 3}, parameters={"epsilon": 0.5})


def test_a_table_of_the_source_stays_as_it_is(tmp_path):
    source = SPEC | {"agents": {"count": 8}}
    assert changed(source, {"agents.count": 9}, {"epsilon": 1}).spec.agents.count == 9
    assert (source["agents"], source["parameters"]["epsilon"]) == ({"count": 8}, 0.5)
    (tmp_path / "run.toml").write_text(
        'system = "mase"\narms.kind = "bernoulli"\narms.means = [0.9, 0]'
    )
    assert changed(str(tmp_path / "run.toml"), {"agents.count": 9}).spec.base == str(tmp_path)


@pytest.mark.parametrize("source", [None, 3, b"run.toml", ["run.toml"]])
@pytest.mark.parametrize("call", [posse.run, posse.parse, posse.load, posse.Cluster])
def test_what_is_no_source_is_told(call, source):
    with pytest.raises(posse.PosseError, match="is not a run file; give its path, its content"):
        call(source)


def test_a_run_and_a_cluster_take_them():
    async def ride():
        async with posse.Cluster(SPEC) as cluster:
            return await cluster.run(parameters={"epsilon": 0.02})

    one = posse.run(SPEC, parameters={"epsilon": 0.02})
    assert one.runs[0].rounds == asyncio.run(ride()).runs[0].rounds
    assert one.runs[0].rounds != posse.run(SPEC).runs[0].rounds
    assert len(posse.run(SPEC, agents=12).runs[0].answers) == 12


def test_help_and_completion_show_what_there_is():
    assert set(posse.__all__) < set(dir(posse))
    shown = pydoc.render_doc(posse)
    for name in posse.__all__:
        assert name in re.sub(".\b", "", shown)  # bold is a letter struck twice


@pytest.mark.parametrize(
    ("system", "parameters", "said"),
    [("mase", {}, False), ("cdp-mab", {"horizon": 500, "epsilon": 1.0}, True)],
)
def test_an_activity_that_counts_for_nothing_is_said(system, parameters, said):
    raw = describe_run(
        system, {"count": 5, "activity": {"kind": "power"}}, [0.9, 0.1], parameters=parameters
    )
    advice = prepare(raw).advice()
    assert any("agents.activity has no effect" in sentence for sentence in advice) is said
    assert not prepare({**raw, "agents": {"count": 5}}).advice()


def test_a_graph_that_a_later_run_cannot_have_is_refused_before_the_first(tmp_path) -> None:
    (tmp_path / "failing_later.py").write_text(
        "calls = []\n"
        "def ring(agents, seed):\n"
        "    calls.append(seed)\n"
        "    if len(calls) == 8: raise ValueError('no graph in run 7')\n"
        "    return [(i, (i + 1) % agents) for i in range(agents)]\n"
    )
    run = describe_run(
        "cooperative-ucb",
        4,
        [0.9, 0.1],
        repeat=12,
        base=str(tmp_path),
        topology={"kind": "python", "target": "failing_later:ring"},
        parameters={"horizon": 10},
    )
    with pytest.raises(posse.SpecError, match="no graph in run 7"):
        prepare(run)
    assert prepare({**run, "repeat": 3}).spec.repeat == 3
