"""Every kind of arms: the law of its rewards, its end, and its errors.

Tests of a law compare a statistic with its known distribution; with a fixed seed they do not
flicker, and a right program fails a newly chosen seed with the error rate stated beside each.
"""

import re
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from posse.arms import KINDS, ArmsContext, ArmsSpec
from posse.arms.base import RandomMeans, rescale
from posse.engines import memory
from posse.errors import ArmsError, PosseError, SpecError
from posse.plan import prepare

ERROR_RATE = 1e-4


def context(rank: int = 0, agents: int = 1, base: str = ".", seed: int = 5) -> ArmsContext:
    return ArmsContext(
        rank=rank,
        agents=agents,
        run=0,
        seed=seed,
        base=base,
        rewards=np.random.default_rng([seed, 1]),
        instance=np.random.default_rng([seed, 2]),
    )


def build(raw: dict[str, Any], **who: Any) -> Any:
    return msgspec.convert(raw, ArmsSpec).build(context(**who))


def within(value: float, mean: float, sd: float) -> bool:
    """A normal statistic within the bounds that a right program leaves with ERROR_RATE."""
    return abs(value - mean) <= stats.norm.isf(ERROR_RATE / 2) * sd


def test_each_kind_is_known_by_its_name() -> None:
    for name, kind in KINDS.items():
        info = msgspec.inspect.type_info(kind)
        assert isinstance(info, msgspec.inspect.StructType)
        assert info.tag == name


# docs/arms.md

DOCS = (Path(__file__).parents[2] / "docs" / "arms.md").read_text()


def test_every_kind_has_a_table_in_the_documents() -> None:
    blocks = [tomllib.loads(text) for text in re.findall(r"```toml\n(\[arms\].*?)```", DOCS, re.S)]
    assert {block["arms"]["kind"] for block in blocks} == set(KINDS)


def test_the_documented_code_works(module: Any) -> None:
    probe, beta = re.findall(r"```python\n(.*?)```", DOCS, re.S)
    exec(probe, module.__dict__)
    raw = {**PYTHON, "target": "scripted_arms:Probe", "clip": [0.0, 250.0]}
    assert build(raw).draw(1, 5_000).mean() == pytest.approx(0.72, abs=0.01)

    exec(beta, module.__dict__)
    spec = msgspec.convert({"means": [0.2, 0.6], "concentration": 5.0}, module.BetaArms)
    assert (spec.arm_count(), spec.unit_interval, spec.records) == (2, True, "")
    arms = spec.build(context())
    assert stats.kstest(arms.draw(1, 4_000), stats.beta(3.0, 2.0).cdf).pvalue > ERROR_RATE
    assert arms.totals((0, 1), 1_000)[0] / 1_000 == pytest.approx(0.2, abs=0.03)


# bernoulli


def test_bernoulli_rewards_have_their_law() -> None:
    means, n = [0.7, 0.05, 1.0, 0.0], 40_000
    arms = build({"kind": "bernoulli", "means": means})
    for k, mean in enumerate(means):
        rewards = arms.draw(k, n)
        assert set(np.unique(rewards)) <= {0.0, 1.0}
        assert within(rewards.mean(), mean, np.sqrt(mean * (1 - mean) / n))


def test_bernoulli_totals_are_binomial() -> None:
    times, n = 20, 5_000
    arms = build({"kind": "bernoulli", "means": [0.3, 0.6]})
    totals = np.array([arms.totals((0, 1), times) for _ in range(n)])
    for k, mean in enumerate((0.3, 0.6)):
        cells = np.arange(times + 1)
        expected = stats.binom.pmf(cells, times, mean) * n
        keep = expected >= 5
        observed = np.array([(totals[:, k] == c).sum() for c in cells])
        seen = np.append(observed[keep], observed[~keep].sum())
        wanted = np.append(expected[keep], expected[~keep].sum())
        assert stats.chisquare(seen, wanted).pvalue > ERROR_RATE
    assert within(np.corrcoef(totals.T)[0, 1], 0.0, 1 / np.sqrt(n))


def test_each_agent_has_its_own_row_of_means() -> None:
    raw = {"kind": "bernoulli", "means": [[1.0, 0.0], [0.0, 1.0]]}
    assert build(raw, rank=0, agents=2).totals((0, 1), 7).tolist() == [7.0, 0.0]
    assert build(raw, rank=1, agents=2).totals((0, 1), 7).tolist() == [0.0, 7.0]


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([0.5], "at least 2"),
        ([0.5, 1.2], "must lie in"),
        ([0.5, [0.1]], "not both"),
        ([[0.1, 0.2], [0.3]], "same length"),
    ],
)
def test_impossible_means_are_refused(means: Any, said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        msgspec.convert({"kind": "bernoulli", "means": means}, ArmsSpec)


def test_there_must_be_one_row_per_agent() -> None:
    raw = msgspec.convert({"kind": "bernoulli", "means": [[0.1, 0.2], [0.3, 0.4]]}, ArmsSpec)
    with pytest.raises(ValueError, match="2 rows for 3 agents"):
        raw.check_agents(3)


def test_random_means_are_one_instance_for_all_agents() -> None:
    means = RandomMeans(count=6, low=0.2, high=0.4)
    table = means.table(5, np.random.default_rng(1))
    assert table.shape == (5, 6)
    assert (table == table[0]).all()
    assert ((table >= 0.2) & (table < 0.4)).all()
    assert not (table == means.table(5, np.random.default_rng(2))).all()
    fixed = RandomMeans(count=6, seed=9)
    assert (
        fixed.table(5, np.random.default_rng(1)) == fixed.table(5, np.random.default_rng(2))
    ).all()


def test_spread_keeps_the_average_of_the_agents() -> None:
    plain = RandomMeans(count=8, low=0.3, high=0.7).table(4, np.random.default_rng(3))
    table = RandomMeans(count=8, low=0.3, high=0.7, spread=0.1).table(4, np.random.default_rng(3))
    assert np.allclose(table.mean(axis=0), plain[0])
    assert 0 < np.abs(table - plain).max() <= 0.2
    with pytest.raises(ValueError, match="no instance"):
        RandomMeans(count=20, low=0.0, high=1.0, spread=5.0).table(4, np.random.default_rng(3))


# gaussian


def test_gaussian_rewards_have_their_law() -> None:
    arms = build({"kind": "gaussian", "means": [11.0, 10.4], "sd": 0.5})
    rewards = arms.draw(1, 5_000)
    assert stats.kstest(rewards, stats.norm(10.4, 0.5).cdf).pvalue > ERROR_RATE
    totals = np.array([arms.totals((0, 1), 16) for _ in range(5_000)])
    assert stats.kstest(totals[:, 0], stats.norm(176.0, 2.0).cdf).pvalue > ERROR_RATE


def test_clipped_gaussian_rewards_lie_in_the_unit_interval() -> None:
    raw = {"kind": "gaussian", "means": [1.0, 2.0], "sd": 1.0, "clip": [0.0, 2.0]}
    arms = build(raw)
    rewards, n = arms.draw(1, 20_000), 20_000
    assert (rewards >= 0).all()
    assert (rewards <= 1).all()
    # half of the draws lie above the upper bound, which is the arm's mean
    assert within((rewards == 1.0).mean(), 0.5, 0.5 / np.sqrt(n))
    # clipped draw by draw, not the sum: E clip(X, 0, 2) / 2, X ~ N(2, 1), by quadrature
    x = np.linspace(-6, 10, 160_001)
    density = stats.norm.pdf(x, 2, 1) * (x[1] - x[0])
    first, second = ((np.clip(x, 0, 2) / 2) ** p @ density for p in (1, 2))
    total = arms.totals((1,), n)[0] / n
    assert within(total, first, np.sqrt((second - first**2) / n))


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_rescale_maps_onto_the_unit_interval(values: list[float], low: float, width: float) -> None:
    rewards = np.array(values)
    scaled = rescale(rewards, (low, low + width))
    assert ((scaled >= 0) & (scaled <= 1)).all()
    order = np.argsort(rewards, kind="stable")
    assert (np.diff(scaled[order]) >= 0).all()
    assert (rescale(rewards, None) == rewards).all()


def test_clip_must_be_an_interval() -> None:
    with pytest.raises(msgspec.ValidationError, match="lo < hi"):
        msgspec.convert({"kind": "gaussian", "means": [1, 2], "clip": [1, 1]}, ArmsSpec)


def test_private_systems_refuse_gaussian_arms_without_clip() -> None:
    raw: dict[str, Any] = {
        "system": "dp-mase",
        "agents": {"count": 8},
        "arms": {"kind": "gaussian", "means": [1.0, 2.0]},
        "parameters": {"epsilon": 0.5},
    }
    with pytest.raises(SpecError) as caught:
        prepare(raw)
    assert caught.value.path == "arms.clip"
    raw["arms"]["clip"] = [0.0, 3.0]
    prepare(raw)


# csv


def log(folder: Path, rows: list[tuple[int, float]], rank: int = 0) -> dict[str, Any]:
    lines = "".join(f"{arm},{reward}\n" for arm, reward in rows)
    (folder / f"log-{rank}.csv").write_text("arm,reward\n" + lines)
    return {"kind": "csv", "path": "log-{rank}.csv", "count": 2}


def test_csv_rows_are_used_once_in_order(tmp_path: Path) -> None:
    raw = log(tmp_path, [(0, 0.1), (1, 1.0), (0, 0.2), (0, 0.3)])
    arms = build(raw, base=str(tmp_path))
    assert (arms.remaining(0), arms.remaining(1)) == (3, 1)
    assert arms.draw(0, 2).tolist() == [0.1, 0.2]
    assert arms.remaining(0) == 1
    assert arms.draw(0, 5).tolist() == [0.3]
    assert arms.draw(0, 5).tolist() == []
    assert arms.totals((1,), 1).tolist() == [1.0]


def test_csv_with_replacement_draws_every_row_alike(tmp_path: Path) -> None:
    rows = [(0, r / 10) for r in range(10)]
    arms = build({**log(tmp_path, rows), "replace": True}, base=str(tmp_path))
    assert arms.remaining(0) is None
    assert arms.remaining(1) == 0
    assert len(arms.draw(1, 3)) == 0
    drawn = np.round(arms.draw(0, 10_000) * 10).astype(int)
    assert stats.chisquare(np.bincount(drawn, minlength=10)).pvalue > ERROR_RATE


def test_csv_clip(tmp_path: Path) -> None:
    rows = [(0, -5.0), (0, 5.0), (0, 99.0)]
    with pytest.raises(ArmsError, match=r"agent 0: .*outside \[0, 1\] for arm 0; set arms.clip"):
        build(log(tmp_path, rows), base=str(tmp_path))
    arms = build({**log(tmp_path, rows), "clip": [0.0, 10.0]}, base=str(tmp_path))
    assert arms.draw(0, 3).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arm,value\n0,1\n", "lacks the columns"),
        ("", "lacks the columns"),
        ("arm,reward\n0,0.5\n2,0.5\n", "line 3: needs an arm from 0 to 1"),
        ("arm,reward\nx,0.5\n", "line 2"),
        ("arm,reward\n0,nan\n", "finite"),
        ("arm,reward\n0\n", "line 2"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "log-4.csv").write_text(text)
    raw = {"kind": "csv", "path": "log-{rank}.csv", "count": 2}
    with pytest.raises(ArmsError, match=said) as caught:
        build(raw, rank=4, agents=5, base=str(tmp_path))
    assert "agent 4" in str(caught.value)
    assert "log-4.csv" in str(caught.value)


def test_what_a_machine_lacks_is_known_before_anybody_builds(tmp_path: Path) -> None:
    logs = msgspec.convert({"kind": "csv", "path": "{rank}.csv", "count": 2}, ArmsSpec)
    for rank in (0, 2):
        (tmp_path / f"{rank}.csv").touch()
    assert logs.missing(str(tmp_path), [0, 2]) == ""
    assert logs.missing(str(tmp_path), []) == ""
    assert logs.missing(str(tmp_path), range(3)) == f"path: {tmp_path}/1.csv is not there"
    assert logs.missing(str(tmp_path), range(5)) == (
        f"path: {tmp_path}/1.csv is not there, nor are those of 2 more agents"
    )
    own = msgspec.convert({**PYTHON, "target": "lies_here.deep:Arms"}, ArmsSpec)
    assert own.missing(str(tmp_path), [0]) == (
        f"target: there is no module 'lies_here' in {tmp_path}, nor installed"
    )
    assert own.missing(str(tmp_path), []) == ""
    (tmp_path / "lies_here").mkdir()
    (tmp_path / "lies_here" / "__init__.py").write_text("raise SystemExit('it was imported')")
    assert own.missing(str(tmp_path), [0]) == ""


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ArmsError, match="agent 0: .*cannot be read"):
        build({"kind": "csv", "path": "none.csv", "count": 2}, base=str(tmp_path))


def test_agents_do_not_share_a_log() -> None:
    spec = msgspec.convert({"kind": "csv", "path": "log.csv", "count": 2}, ArmsSpec)
    spec.check_agents(1)
    with pytest.raises(ValueError, match=r"\{rank\}"):
        spec.check_agents(2)


def test_an_agent_whose_rows_are_used_up_says_so_and_stops(tmp_path: Path) -> None:
    for rank in range(5):
        rows = [(arm, float(arm == 0)) for _ in range(3 if rank == 2 else 400) for arm in (0, 1)]
        raw = log(tmp_path, rows, rank)
    record = memory.run(
        prepare(
            {
                "system": "mase",
                "agents": {"count": 5},
                "arms": raw,
                "parameters": {},
                "base": str(tmp_path),
            }
        ),
        0,
    )
    assert set(record.exhausted) == {2}
    assert "0 rewards left" in record.exhausted[2]
    assert record.pulls_per_agent[2] == 6
    assert record.status == "no_consensus"  # five votes are needed and four agents can vote


# python


class Scripted:
    """Arms that return, or raise, what a test wants."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def pull(self, arm: int, count: int) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(arm, count) if callable(self.answer) else self.answer


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    made = types.ModuleType("scripted_arms")
    monkeypatch.setitem(sys.modules, "scripted_arms", made)
    return made


PYTHON = {"kind": "python", "target": "scripted_arms:arms", "count": 3}


def test_python_object(module: Any) -> None:
    module.arms = Scripted(lambda arm, count: [arm / 2] * count)
    arms = build(PYTHON)
    assert arms.draw(1, 4).tolist() == [0.5] * 4
    assert arms.totals((0, 2), 3).tolist() == [0.0, 3.0]
    assert arms.remaining(0) is None
    assert not arms.simulated


def test_python_factory_is_told_who_asks(module: Any) -> None:
    def arms(agent: int, agents: int, seed: int) -> Scripted:
        module.told = (agent, agents, seed)
        return Scripted(lambda arm, count: np.zeros(count))

    module.arms = arms
    build(PYTHON, rank=2, agents=7, seed=11)
    assert module.told == (2, 7, 11)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (RuntimeError("broken probe"), "raised RuntimeError: broken probe"),
        ([0.5, np.nan], "NaN or infinite"),
        ([0.5, np.inf], "NaN or infinite"),
        ([0.5, 1.5], r"outside \[0, 1\]; set arms.clip"),
        ([-0.1, 0.5], r"outside \[0, 1\]; set arms.clip"),
        ([0.5], r"gave shape \(1,\); 2 rewards were asked for"),
        ([[0.5, 0.5]], r"gave shape \(1, 2\)"),
        (0.5, r"gave shape \(\)"),
        (["a", "b"], "raised ValueError"),
        (None, "shape|raised"),
    ],
)
def test_python_errors_name_agent_arm_and_call(module: Any, answer: Any, said: str) -> None:
    module.arms = Scripted(lambda arm, count: [0.0] * count)
    arms = build(PYTHON, rank=3, agents=5)
    arms.draw(0, 1)
    module.arms.answer = answer
    with pytest.raises(ArmsError, match=said) as caught:
        arms.draw(2, 2)
    assert str(caught.value).startswith("agent 3, arm 2, call 2: scripted_arms:arms.pull(2, 2)")


def test_python_clip(module: Any) -> None:
    module.arms = Scripted([-10.0, 5.0])
    assert build({**PYTHON, "clip": [0.0, 10.0]}).draw(0, 2).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("target", ["nowhere:arms", "scripted_arms:none", "scripted_arms:number"])
def test_a_target_that_cannot_be_made_is_named(module: Any, target: str) -> None:
    module.number = 3
    with pytest.raises(ArmsError, match=f"agent 0: arms.target = '{target}' cannot be made"):
        build({**PYTHON, "target": target})


def test_a_target_needs_a_module_and_a_name() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"package\.module:object"):
        msgspec.convert({**PYTHON, "target": "only_a_module"}, ArmsSpec)


def test_a_run_ends_with_the_agents_error(module: Any) -> None:
    def arms(agent: int, agents: int, seed: int) -> Scripted:
        return Scripted(lambda arm, count: [np.nan if agent == 1 else 0.5] * count)

    module.arms = arms
    raw = {"system": "mase", "agents": {"count": 5}, "arms": PYTHON}
    with pytest.raises(PosseError, match=r"agent 1, arm 0, call 1: .* NaN"):
        memory.run(prepare(raw), 0)
