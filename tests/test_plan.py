"""A plan, and what may be given anew when it is run."""

import asyncio
import pydoc
import re

import pytest

import posse
from posse.plan import changed, prepare

SPEC = {
    "system": "dp-mase",
    "seed": 1,
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
    "parameters": {"epsilon": 0.5, "delta": 0.1},
    "engine": {"kind": "memory"},
}


def test_what_is_given_anew_is_changed_and_nothing_else():
    plan = prepare(SPEC)
    other = changed(plan, seed=2, repeat=3, agents=9, engine="processes", parameters={"epsilon": 1})
    assert (other.spec.seed, other.spec.repeat) == (2, 3)
    assert (other.spec.agents.count, other.spec.engine.kind) == (9, "processes")
    assert other.spec.parameters == {"epsilon": 1, "delta": 0.1}
    assert other.spec.arms == plan.spec.arms
    assert plan.spec.parameters == {"epsilon": 0.5, "delta": 0.1}
    assert changed(plan) is plan


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"agents": 0}, "agents.count: is 0"),
        ({"agents": 2}, "agents.count: is 2"),
        ({"seed": -1}, "seed: is -1"),
        ({"engine": "cloud"}, "engine.kind: 'cloud' is not known"),
        ({"parameters": {"epsiln": 1}}, "did you mean 'epsilon'"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_starts(given, sentence):
    with pytest.raises(posse.SpecError, match=sentence):
        posse.run(SPEC, **given)


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
