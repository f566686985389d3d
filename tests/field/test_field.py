"""The field: its noise, what it refuses, and what leaves a process, captured on the wire."""

import logging
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse import api
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import agent_setups
from posse.durable.directory import RunDirectory
from posse.errors import LogError, PosseError, RunFailed, SpecError
from posse.plan import Plan, prepare
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.wire import encode
from posse.reading import folder as folders
from posse.report import run_page
from posse.results.record import RunRecord
from posse_systems.rio2023.messages import Vote
from tests.support.conversations import examples
from tests.support.field import documented, kinds
from tests.support.hosts import Recorded, begin, sources
from tests.support.noise import needs_noise
from tests.support.relay import relay
from tests.support.remote import Agent, Coordinator

needs_noise()

MEANS = (0.95, 0.5, 0.3, 0.1)
UCB: dict[str, Any] = {"system": "dp-ucb-int", "parameters": {"epsilon": 0.1, "horizon": 400}}


def field_spec(folder: Path, agents: int = 2, system: str = "dp-mase", **changes: Any) -> Plan:
    parameters = {"dp-mase": {"epsilon": 2.0, "delta": 0.3}, "corrupted-elimination": {"xi": 0.3}}
    raw: dict[str, Any] = {
        "system": system,
        "mode": "field",
        "agents": {"count": agents},
        "arms": {"kind": "csv", "path": "rewards-{rank}.csv", "count": len(MEANS)},
        "parameters": parameters.get(system, {}),
        "engine": {"deadline": 15.0},
        "base": str(folder),
    }
    raw.update(changes)
    return prepare(raw)


@pytest.fixture
def rewards(tmp_path: Path) -> Path:
    """Two agents' logs with enough rewards for an answer; seed 5."""
    generator = np.random.default_rng(5)
    for rank in range(2):
        lines = ["arm,reward"]
        for arm, mean in enumerate(MEANS):
            lines += [f"{arm},{int(r)}" for r in generator.random(4000) < mean]
        (tmp_path / f"rewards-{rank}.csv").write_text("\n".join(lines))
    return tmp_path


def noise() -> Any:
    from posse.security.noise import FieldNoise  # noqa: PLC0415

    return FieldNoise()


def lowest_bit(values: np.ndarray) -> np.ndarray:
    """The exponent of the lowest bit that is set in each number."""
    mantissa, exponent = np.frexp(values)
    digits = (mantissa * 2.0**53).astype(np.int64)
    return exponent - 53 + np.log2((digits & -digits).astype(float)).astype(int)


@settings(max_examples=8)
@given(st.floats(0.0, 1.0))
def test_the_fields_noise_lies_on_one_grid_whatever_the_value(value: float) -> None:
    """Scale 1/500: the grid is 2^-48, so a low bit tells nothing about the value.

    This is python-dp's; OpenDP rounds an exact draw, so the bits tell the output's size alone.
    """
    pytest.importorskip("pydp")
    noisy = noise().noisy(np.full(3000, value), 1 / 1000, 1 / 500)
    assert lowest_bit(noisy).min() >= -49
    assert (noisy * 2.0**49 == np.round(noisy * 2.0**49)).all()


def test_numpys_noise_gives_the_value_away_in_the_low_bits() -> None:
    """Which of two values was noised, told by the lowest bit: always with numpy, never here.

    A draw added to 0 keeps its own low bits, below 2^-54; added to 1/3 the sum has none of them.
    """
    pytest.importorskip("pydp")  # see above

    def told(of_zero: np.ndarray, of_third: np.ndarray) -> float:
        finest = np.minimum(lowest_bit(of_zero[of_zero != 0]).min(), -1)
        coarse = lowest_bit(of_third).min()
        guess = lowest_bit(of_zero[of_zero != 0]) < coarse
        assert finest <= 0
        return float(guess.mean())

    generator = np.random.default_rng(1)
    plain = told(generator.laplace(0, 1 / 500, 3000), 1 / 3 + generator.laplace(0, 1 / 500, 3000))
    vetted = told(
        noise().noisy(np.zeros(3000), 1 / 1000, 1 / 500),
        noise().noisy(np.full(3000, 1 / 3), 1 / 1000, 1 / 500),
    )
    assert plain > 0.5
    assert vetted == 0.0


def test_the_fields_noise_has_the_laplace_law() -> None:
    """Kolmogorov-Smirnov against Lap(b): no seed is possible, a sound source fails 1 in 10^6."""
    from scipy import stats  # noqa: PLC0415

    drawn = noise().noisy(np.full(20_000, 0.4), 1 / 100, 1 / 50) - 0.4
    assert stats.kstest(drawn, stats.laplace(scale=1 / 50).cdf).pvalue > 1e-6
    assert abs(np.mean(noise().bernoulli(0.3, 20_000)) - 0.3) < 5 * (0.21 / 20_000) ** 0.5


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"seed": 3}, "seed: is for the lab only"),
        ({"repeat": 2}, "every repetition spends epsilon again"),
        ({"engine": {"kind": "memory"}}, "every agent is a process"),
        ({"engine": {"clock": "virtual"}}, "'virtual' is for the lab only"),
        ({"arms": {"kind": "bernoulli", "means": [0.5, 0.1]}}, "must be csv, python or live"),
        ({"system": "independent", "parameters": {}}, "it sends nothing, and its end alone"),
        ({"parameters": {"epsilon": math.inf}}, "parameters.epsilon: .*not a finite number"),
        ({"parameters": {"epsilon": 1e9}}, "would cost ε = 1e[+]09"),
        ({"parameters": {"epsilon": 50.0}}, r"would cost ε = 50 .* more by \[privacy\] budget"),
        (UCB | {"parameters": {"epsilon": 0.1, "horizon": 400, "delta_prime": 0.5}}, "δ = 0.5, a"),
        (UCB | {"privacy": {"delta": 1e-9}}, r"δ = \S+, .* more by \[privacy\] delta"),
        ({"privacy": {"budget": math.inf}}, "privacy.budget"),
        ({"privacy": {"budget": 1e308}}, "privacy.budget"),
    ],
)
def test_what_the_field_refuses(tmp_path: Path, changes: dict[str, Any], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        field_spec(tmp_path, **changes)


def test_real_rewards_refuse_a_labs_noise(rewards: Path, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("posse").propagate = True
    lab = field_spec(rewards, mode="lab")
    c = Coordinator(lab, "tcp://127.0.0.1:*")
    agents = [Agent(c.endpoint, plan=lab), Agent(c.endpoint, plan=lab)]
    assert {agent.ended() for agent in agents} <= {0, 1}
    assert "its noise has a seed" in caplog.text
    c.ended()


def test_what_leaves_a_process_is_what_the_page_lists(
    rewards: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("posse").propagate = True
    caplog.set_level(logging.INFO, "posse")
    run = field_spec(rewards)
    c = Coordinator(run, "tcp://127.0.0.1:*")
    with relay(c.endpoint) as way:
        agents = [Agent(way.endpoint, rank, plan=run) for rank in range(2)]
        record = c.ended()
        assert c.error is None
        assert [agent.ended() for agent in agents] == [0, 0]
    assert (record.status, record.best_arm) == ("identified", 0)
    page = documented("In every run")
    votes = documented("Best arm: `mase`, `dp-mase`, `corrupted-elimination`, `central`")
    page = {who: page[who] | votes[who] - {"Sample"} for who in page}
    assert kinds(way.carried["there"]) <= page["agent"]
    assert kinds(way.carried["back"]) == page["coordinator"]
    # an agent may be stopped before it says Finished, so that one alone may be missing
    assert page["agent"] - kinds(way.carried["there"]) <= {"Finished", "Vouched", "LedgerHead"}
    assert {"Due", "Report"}.isdisjoint(kinds(way.carried["there"]))
    assert record.pulls is None
    assert record.privacy.spent_per_agent is None
    assert record.communication.data.messages >= 3
    assert re.search(r"used \d+ rewards and spent ε = 2 by [1-9]\d* releases?;", caplog.text)


def host_of(run: Plan) -> Recorded:
    return Recorded(agent_setups(run, run.network(0))[0], 0, sources(lambda: 123_456_789))


def test_a_bad_log_is_found_before_an_agent_says_that_it_is_ready(rewards: Path) -> None:
    run = field_spec(rewards)
    host = host_of(run)
    host.ready()
    assert b"Ready" in host.sent[0][1]
    (rewards / "rewards-0.csv").write_text("arm,reward\n0,17.25\n")
    with pytest.raises(LogError, match=r"outside \[0, 1\]"):
        host_of(run)
    (rewards / "rewards-0.csv").unlink()
    with pytest.raises(LogError, match="cannot be read: No such file"):
        host_of(run)


def test_a_log_is_read_once(rewards: Path) -> None:
    """Rewards that were looked at are those that are used."""
    host = host_of(field_spec(rewards))
    (rewards / "rewards-0.csv").unlink()
    assert any(b"Finished" in frame for frame in begun(host))


def begun(host: Recorded) -> list[bytes]:
    host.receive(COORDINATOR, begin())
    while host.busy:
        host.step()
    return [frame for _, frame in host.sent]


def test_an_end_that_tells_of_withheld_votes_is_kept_back(rewards: Path) -> None:
    """Corrupted Elimination: L_n has one arm left though votes were withheld; nothing says so."""
    said = begun(host_of(field_spec(rewards, agents=40, system="corrupted-elimination")))
    assert not any(b"Finished" in frame for frame in said)
    in_lab = {"mode": "lab", "engine": {"clock": "wall"}}
    lab = begun(host_of(field_spec(rewards, 40, "corrupted-elimination", **in_lab)))
    assert any(b"Finished" in frame for frame in lab)
    public = begun(host_of(field_spec(rewards)))
    assert any(b"Finished" in frame for frame in public)


def test_where_ends_are_kept_back_silence_ends_the_run(rewards: Path) -> None:
    run = field_spec(rewards, agents=40, system="corrupted-elimination")
    host = CoordinatorHost(run, run.network(0), 0, sources())
    host.begin()
    vote = encode(Vote((1,)), run=0, source=3, sequence=0, now=0.0, sent=0)
    host.receive(3, vote)
    assert host.fall_silent() is not None
    for rank in range(40):
        frame = encode(control.Stopped(), run=0, source=rank, sequence=9, now=0.0, sent=0)
        host.receive(rank, frame)
    assert host.record is not None
    assert host.record.status == "no_consensus"
    public = field_spec(rewards)
    assert CoordinatorHost(public, public.network(0), 0, sources()).fall_silent() is None


def test_times_are_whole_milliseconds_in_the_field(rewards: Path) -> None:
    assert host_of(field_spec(rewards)).sources.stamp() == 123_000_000


def test_without_the_library_the_field_says_what_to_install(
    rewards: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("pydp.algorithms.numerical_mechanisms", "opendp.prelude"):
        monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(PosseError, match=r'pip install "posse-bandits\[field\]"'):
        noise()


@pytest.mark.parametrize("text", [None, "arm,reward\n0\n", "arm,reward\n0,17.25\n"])
def test_what_is_wrong_with_one_log_costs_nobody_and_is_not_quoted(
    rewards: Path, text: str | None
) -> None:
    bad = rewards / "rewards-1.csv"
    bad.unlink() if text is None else bad.write_text(text)
    run = field_spec(rewards)
    c = Coordinator(run, "tcp://127.0.0.1:*")
    agents = [Agent(c.endpoint, rank, plan=run) for rank in range(2)]
    c.ended()
    assert [agent.ended() for agent in agents] == [3, 2]
    assert "agent 1 cannot go on; its own log says why" in str(c.error)
    assert "17.25" not in str(c.error)
    assert not list(rewards.glob("*.ledger"))


def test_a_failure_on_this_machine_is_explained_here(
    rewards: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (rewards / "rewards-1.csv").write_text("arm,reward\n0,17.25\n")
    with pytest.raises(RunFailed, match="agent 1 cannot go on; its own log says why"):
        api.run(field_spec(rewards))
    assert "posse: agent 1: " in capfd.readouterr().err


def test_what_a_result_of_the_field_says_and_its_page_show_no_seed(
    rewards: Path, tmp_path: Path
) -> None:
    plan = field_spec(rewards)
    result = plan.result([RunRecord(run=0, seed=0, elapsed_seconds=1.0)])
    assert "seed" not in repr(result)
    folder = tmp_path / "result"
    RunDirectory(folder, plan).open().complete(result)
    page = run_page.run_page(folders.read(folder))
    assert "seed" not in page.kicker
    (table,) = next(one for one in page.sections if one.id == "runs").tables
    assert table.header[:2] == ["run", "status"]


@examples(Path(__file__).with_name("field.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
