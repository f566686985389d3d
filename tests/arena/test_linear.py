"""Federated linear bandits: a plain loop, both engines, what the noise covers, and the claims."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import posse
from posse.arms import LinearArms
from posse.audit.coupling import run_coupled
from posse.engines import memory
from posse.errors import SpecError
from posse.experiments import prepare
from posse.extend import COORDINATOR, FloatArray, Purpose
from posse.protocol.machine import Pulled, Received, Started
from posse.protocol.noise import SeededNoise
from posse.seeds import generator
from posse_arena import linear, linear_summed
from posse_arena.linear import (
    FedUcbParameters,
    GraphAgent,
    LinearAgent,
    LinearHeard,
    LinearServer,
    LinearSums,
    LinearTotal,
    LinearTurn,
    LinearWish,
    sensitivity,
)
from posse_arena.linear_summed import SummedParameters
from tests.support.conversations import examples
from tests.support.runfile import describe_run
from tests.support.runs import assert_same_run

ARMS = {"kind": "linear", "count": 4, "dimensions": 2}
AGENTS, HORIZON, BATCH, SEED = 3, 24, 6, 5
WAYS: dict[str, dict[str, Any]] = {
    "LINUCB": {},
    "POOLED": {"batch": 1},
    "FEDUCB": {"batch": BATCH, "epsilon": 20.0, "dimensions": 2},
}


def _raw(name: str, **more: Any) -> dict[str, Any]:
    system, parameters = f"posse_arena.linear:{name}", {"horizon": HORIZON, **WAYS.get(name, {})}
    run = describe_run(system, AGENTS, ARMS, seed=SEED, parameters=parameters, engine="memory")
    return run | more


def _loop(batch: int, epsilon: float | None) -> tuple[list[int], float]:
    """The pulls of all agents by arm and their regret, by a plain loop without machines.

    Agents pull by what was shared; alone (`batch` 0) by their own.
    """
    arms = msgspec.convert(ARMS, LinearArms)
    streams = [
        {p: generator(SEED, 0, rank, p) for p in (Purpose.REWARDS, Purpose.NOISE)}
        for rank in range(AGENTS)
    ]

    def instance() -> np.random.Generator:
        return generator(SEED, 0, COORDINATOR, Purpose.INSTANCE)

    contexts = [arms.contexts(instance(), rank) for rank in range(AGENTS)]
    means_at = [arms.means_at(instance(), rank) for rank in range(AGENTS)]
    known = np.zeros((AGENTS, 2, 3))  # what each agent pulls by
    fresh = np.zeros((AGENTS, 2, 3))  # what it did not share yet
    pulls, regret = [0] * 4, 0.0
    for slot in range(HORIZON):
        for n in range(AGENTS):
            x = contexts[n](np.array([slot]))[0]
            arm = _chosen(x, known[n])
            means = means_at[n](np.array([slot]))[0]
            y = float(streams[n][Purpose.REWARDS].random() < means[arm])
            fresh[n] += np.outer(x[arm], [*x[arm], y])
            pulls[arm] += 1
            regret += means.max() - means[arm]
        if not batch:
            known = fresh.copy()
        elif (slot + 1) % batch == 0 and slot + 1 < HORIZON:
            if epsilon is not None:
                for n in range(AGENTS):
                    noise = streams[n][Purpose.NOISE].laplace(0, (np.sqrt(2) + 1) ** 2 / epsilon, 5)
                    a, b, c, u, v = noise
                    fresh[n] += [[a, b, u], [b, c, v]]
            known = known + fresh.sum(axis=0)
            fresh = np.zeros_like(fresh)
    return pulls, regret


def _chosen(x: FloatArray, known: FloatArray) -> int:
    """LinUCB's arm, of features x, by the sums Σ x x' and Σ x y that are known."""
    values, vectors = np.linalg.eigh(known[:, :2])
    inverse = np.linalg.inv(np.eye(2) + vectors @ np.diag(np.maximum(values, 0)) @ vectors.T)
    widths = np.sqrt(np.einsum("ki,ij,kj->k", x, inverse, x))
    return int(np.round(x @ inverse @ known[:, 2] + widths, 9).argmax())


@pytest.mark.parametrize(
    ("name", "batch", "epsilon"),
    [("LINUCB", 0, None), ("POOLED", 1, None), ("FEDUCB", BATCH, 20.0)],
)
def test_a_run_agrees_with_a_plain_loop(name: str, batch: int, epsilon: float | None) -> None:
    run = posse.run(_raw(name)).runs[0]
    pulls, regret = _loop(batch, epsilon)
    assert run.pulls_per_arm == pulls
    assert run.regret == pytest.approx(regret, abs=1e-9)


def _summed(**more: Any) -> dict[str, Any]:
    given = {"horizon": HORIZON, **WAYS["FEDUCB"], **more}
    return _raw("", system="posse_arena.linear_summed:FEDUCB_SUMMED", parameters=given)


def _in_both(raw: dict[str, Any]) -> posse.RunRecord:
    """The run in memory, which is that of processes."""
    one, other = (
        posse.run({**raw, "engine": {"kind": kind}}).runs[0] for kind in ("memory", "processes")
    )
    assert_same_run(one, other)
    return one


@pytest.mark.slow
@pytest.mark.parametrize(
    "raw",
    [_raw("POOLED"), _raw("FEDUCB", variant="printed"), _summed()],
    ids=["pooled", "printed", "summed"],
)
def test_both_engines_give_the_same_run(raw: dict[str, Any]) -> None:
    _in_both(raw)


@given(st.integers(1, 8), st.integers(0, 99))
@example(5, 1)
def test_no_two_pulls_are_further_apart_than_the_sensitivity_and_some_come_near(
    d: int, seed: int
) -> None:
    draws = np.random.default_rng(seed)
    upper = np.triu_indices(d)
    x = draws.standard_normal((400, d))
    x = np.sign(x) if d == 1 else x / np.linalg.norm(x, axis=1, keepdims=True)
    y = draws.integers(0, 2, (400, 1))
    terms = np.concatenate([(x[:, :, None] * x[:, None])[:, *upper], x * y], axis=1)
    assert np.abs(terms[:200] - terms[200:]).sum(axis=1).max() <= sensitivity(d)
    flat = np.full(d, d**-0.5)  # each feature alike: one pull's own share is half of it
    own = np.outer(flat, flat)[upper].sum() + flat.sum()
    assert own == pytest.approx(sensitivity(d) / 2)


@pytest.mark.parametrize("raw", [_raw("FEDUCB"), _summed()], ids=["open", "summed"])
def test_each_pull_is_in_one_release_and_the_account_says_so(raw: dict[str, Any]) -> None:
    privacy = posse.run(raw).runs[0].privacy
    assert privacy is not None
    assert privacy.spent_per_agent == [20.0] * AGENTS
    assert privacy.releases_per_agent == [HORIZON // BATCH - 1] * AGENTS


def test_one_reward_decides_when_the_printed_form_shares_but_not_the_corrected() -> None:
    """Of two arms at right angles: a first reward of 0 sends the agent to the other arm."""
    rows = np.eye(2)
    parameters = FedUcbParameters(
        horizon=9, epsilon=1.0, dimensions=2, width=0.2, growth=1.2, batch=2
    )
    said: dict[tuple[bool, float], list[Any]] = {}
    for printed in (True, False):
        for reward in (0.0, 1.0):
            agent = LinearAgent(
                contexts=lambda slot: rows,
                parameters=parameters,
                noise=SeededNoise(np.random.default_rng(1)),
                shares=True,
                local=printed,
                by_growth=printed,
            )
            (order,) = agent.handle(Started(), 0)
            (first,) = agent.handle(Pulled(order.arms, 1, np.array([reward])), 1)
            (order,) = agent.handle(Received(-1, LinearTurn(1, False)), 1) if printed else (first,)
            said[printed, reward] = [*agent.handle(Pulled(order.arms, 1, np.array([0.5])), 2)]
    # log det V has grown by log 4 where both arms were pulled once, by log 3 where one was twice
    assert [said[True, reward][0].message for reward in (0.0, 1.0)] == [
        LinearWish(2, True),
        LinearWish(2, False),
    ]
    one, other = (np.array(said[False, reward][1].message.sums) for reward in (0.0, 1.0))
    assert np.abs(one - other).sum() == pytest.approx(1.0)  # the reward itself, in x y


def test_the_server_refuses_what_is_said_twice_or_out_of_turn() -> None:
    server = LinearServer(2)
    assert server.handle(Received(0, LinearSums(1, [1.0, 2.0])), 0) == []
    assert server.missing() == [1]
    for sender, batch, sums in ((0, 1, [1.0, 2.0]), (1, 2, [1.0, 2.0])):
        with pytest.raises(posse.extend.RemoteProtocolError):
            server.handle(Received(sender, LinearSums(batch, sums)), 0)
    (said,) = server.handle(Received(1, LinearSums(1, [0.5, 0.5])), 0)
    assert said.message == LinearTotal(1, [1.5, 2.5])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arms": {"kind": "bernoulli", "means": [0.1, 0.2]}}, "must be 'linear'"),
        ({"arms": {**ARMS, "dimensions": 3}}, "is 2, but arms have 3 features"),
        ({"arms": {**ARMS, "features": [[0.1], [0.2]]}}, "either features, or count"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        prepare(_raw("FEDUCB", **change))


def _graph(**more: Any) -> dict[str, Any]:
    """Six agents in a ring; `more` are parameters."""
    given = {"agents": {"count": 6}, "topology": {"kind": "ring"}}
    parameters = {"horizon": HORIZON, **WAYS["FEDUCB"], **more}
    return _raw("FEDUCB_GRAPH", parameters=parameters, **given)


@pytest.mark.parametrize(
    ("batch", "hop", "origins", "sums"),
    [(1, 2, [0], 6), (2, 0, [0], 6), (3, 1, [0], 6), (1, 1, [0], 5), (1, 1, [3], 6)],
)
def test_what_a_neighbour_may_not_say_is_refused_and_changes_nothing(
    batch: int, hop: int, origins: list[int], sums: int
) -> None:
    parameters = FedUcbParameters(horizon=9, epsilon=1.0, dimensions=2)
    agent = GraphAgent(
        lambda slot: np.eye(2), parameters, None, True, False, False, neighbours=(0,), agents=2
    )
    agent.batch = agent.hop = 1
    with pytest.raises(posse.extend.RemoteProtocolError):
        agent.handle(Received(0, LinearHeard(batch, hop, origins, [0.5] * sums)), 0)
    assert agent.heard == {}


class _NoNoise:
    """Keeps the scale of the noise that it does not add."""

    scale = 0.0

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        self.scale = scale
        return values


def _cost(agent: type[LinearAgent], first: FloatArray, other: FloatArray) -> float:
    """What it costs by the noise to exchange a pull of features `first` for one of `other`."""
    said, noise = [], _NoNoise()
    for x, y in ((first, 1.0), (other, 1.0)):
        machine = agent(
            contexts=lambda slot, x=x: np.array([x]),  # type: ignore[misc]
            parameters=FedUcbParameters(horizon=3, epsilon=0.5, dimensions=2, batch=1),
            noise=noise,  # type: ignore[arg-type]
            shares=True,
            local=False,
            by_growth=False,
        )
        if isinstance(machine, GraphAgent):
            machine.neighbours = (1,)
        machine.handle(Started(), 0)
        _, sent = machine.handle(Pulled((0,), 1, np.array([y])), 1)[:2]
        table = np.reshape(sent.message.sums, (2, 3))
        said.append(np.array([*table[0], table[1, 1], table[1, 2]]))
    return float(np.abs(said[0] - said[1]).sum() / noise.scale)


@pytest.mark.parametrize("agent", [LinearAgent, GraphAgent])
def test_the_dearest_exchange_of_a_pull_costs_three_quarters_of_the_claim(
    agent: type[LinearAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So noise that is too small by a third or more is found."""
    first, other = np.array([1.0, 0.0]), np.array([-0.358368, 0.933580])
    assert _cost(agent, first, other) == pytest.approx(0.75 * 0.5, abs=0.001)
    of = linear.sensitivity
    monkeypatch.setattr(linear, "sensitivity", lambda dimensions: of(dimensions) / 1.34)
    assert _cost(agent, first, other) > 0.5


@pytest.mark.parametrize(
    ("summed", "too_small", "found"),
    [
        (False, 1.0, False),
        (False, 5.8, False),
        (False, 5.9, True),
        pytest.param(True, 1.0, False, marks=pytest.mark.slow),
        pytest.param(True, 12.0, True, marks=pytest.mark.slow),
    ],
)
def test_an_audit_finds_noise_that_does_not_cover_a_reward_and_none_that_does(
    summed: bool, too_small: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reward moves the sums by 1 of the (√2 + 1)² = 5.83 that a pull may."""
    pytest.importorskip("pydp")
    for module in (linear, linear_summed):
        monkeypatch.setattr(module, "sensitivity", lambda d: sensitivity(d) / too_small)
    parameters = {"horizon": 4, "batch": 2, "epsilon": 1.0, "dimensions": 2}
    arms = {"kind": "linear", "features": [[1.0, 0.0], [0.0, 1.0]], "theta": [0.5, 0.5]}
    raw = _summed(**parameters, honest=1.0) if summed else _raw("FEDUCB", parameters=parameters)
    plan = prepare({**raw, "arms": arms, "agents": {"count": 2}})
    result = run_coupled(plan, "coordinator" if summed else "messages", 1.0, 0.0)
    assert result is not None
    assert summed or result.cost == pytest.approx(too_small / sensitivity(2), rel=1e-3)
    assert bool(result.violations) == found


def test_agents_ask_for_shares_of_the_noise_that_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    polya = SeededNoise.polya

    def recorded(self: SeededNoise, values: Any, scale: float, shares: int) -> Any:
        asked.append((scale, shares))
        return polya(self, values, scale, shares)

    monkeypatch.setattr(SeededNoise, "polya", recorded)
    plan = prepare(_summed(honest=0.5))
    memory.run(plan, 0)
    p = plan.parameters
    assert isinstance(p, SummedParameters)
    assert {*asked} == {(p.scale, -(-AGENTS // 2))}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"agents": {"count": 1}}, "shared among at least two"),
        ({"arms": {**ARMS, "dimensions": 62}, "d": 62}, "makes 2,015 sums"),
        ({"p": 32, "e": 1e-9}, "does not fit into 64 bits"),
    ],
)
def test_sums_that_cannot_be_masked_are_refused(change: dict[str, Any], said: str) -> None:
    given = {"dimensions": change.pop("d", 2), "precision": change.pop("p", 16),
             "epsilon": change.pop("e", 20.0)}  # fmt: skip
    with pytest.raises(SpecError, match=said):
        prepare({**_summed(**given), **change})


def _write_logs(folder: Path, agents: int = 2) -> FloatArray:
    """Of each agent 24 rows of each of 3 arms in mixed order; features (agents, 24, 3, 2)."""
    draws = np.random.default_rng(11)
    features = draws.uniform(0, 0.7, (agents, HORIZON, 3, 2)).round(3)
    for agent in range(agents):
        lines = ["age,reward,arm,agent,dose"]
        for slot, arms in enumerate(features[agent]):
            order = draws.permutation(3)
            lines += [f"{arms[k][0]},{_reward(slot, k)},{k},{agent},{arms[k][1]}" for k in order]
        (folder / f"agent-{agent}.csv").write_text("\n".join(lines))
    return features


def _reward(slot: int, arm: int) -> float:
    return (7 * slot + 3 * arm) % 5 / 4


def _replayed(folder: Path, name: str = "LINUCB", **more: Any) -> dict[str, Any]:
    arms = {"kind": "csv", "path": "agent-{rank}.csv", "count": 3, "features": ["age", "dose"]}
    given = {"arms": arms, "agents": {"count": 2}, "base": str(folder)}
    return _raw(name, **{**given, **more})


@pytest.mark.slow
def test_a_log_with_features_is_replayed_slot_by_slot_as_a_plain_loop_does(tmp_path: Path) -> None:
    features = _write_logs(tmp_path)
    pulls, earned = [0] * 3, 0.0
    for rows in features:
        known = np.zeros((2, 3))
        for slot, x in enumerate(rows):
            arm = _chosen(x, known)
            known += np.outer(x[arm], [*x[arm], _reward(slot, arm)])
            pulls[arm] += 1
            earned += _reward(slot, arm)
    run = _in_both(_replayed(tmp_path))
    assert run.pulls_per_arm == pulls
    assert run.rewards == pytest.approx(earned)
    assert run.regret is None


def test_after_the_last_slot_of_a_log_the_run_is_exhausted(tmp_path: Path) -> None:
    _write_logs(tmp_path)
    run = posse.run(_replayed(tmp_path, parameters={"horizon": HORIZON + 1})).runs[0]
    assert sorted(run.exhausted) == [0, 1]
    assert run.pulls == 2 * HORIZON
    # whichever was pulled, all rows of a slot are entered as used, so that the field spares them
    with closing(sqlite3.connect(tmp_path / "agent-0.csv.ledger")) as ledger:
        used = ledger.execute("SELECT arm, first, last FROM rows ORDER BY arm").fetchall()
    assert used == [(arm, 0, HORIZON) for arm in range(3)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": []}, "'csv' with arms.features"),
        ({"replace": True}, "rows with features belong to slots"),
        ({"features": ["age", "age"]}, "names a column twice"),
        ({"features": ["reward"]}, "the arm or the reward as one"),
    ],
)
def test_tables_of_logs_that_cannot_be_are_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    raw = _replayed(tmp_path)
    with pytest.raises(SpecError, match=said):
        prepare({**raw, "arms": {**raw["arms"], **change}})


@examples(Path(__file__).with_name("linear.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
