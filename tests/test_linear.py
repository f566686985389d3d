"""Federated linear bandits: a plain loop, both engines, what the noise covers, and the claims."""

from typing import Any

import msgspec
import numpy as np
import pytest

import posse
from posse.agent.noise import SeededNoise
from posse.arms import LinearArms
from posse.errors import SpecError
from posse.experiments import prepare
from posse.extend import COORDINATOR, FloatArray, Purpose
from posse.linear import (
    FedUcbParameters,
    LinearAgent,
    LinearServer,
    LinearSums,
    LinearTotal,
    LinearTurn,
    LinearWish,
    sensitivity,
)
from posse.protocol.machine import Pulled, Received, Started
from posse.seeds import generator

ARMS = {"kind": "linear", "count": 4, "dimensions": 2}
AGENTS, HORIZON, BATCH, SEED = 3, 24, 6, 5
WAYS: dict[str, dict[str, Any]] = {
    "LINUCB": {},
    "POOLED": {"batch": 1},
    "FEDUCB": {"batch": BATCH, "epsilon": 20.0, "dimensions": 2},
}


def _raw(name: str, **more: Any) -> dict[str, Any]:
    return {
        "system": f"posse.linear:{name}",
        "seed": SEED,
        "agents": {"count": AGENTS},
        "arms": ARMS,
        "parameters": {"horizon": HORIZON, **WAYS[name]},
        "engine": {"kind": "memory"},
    } | more


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
            inverse = np.linalg.inv(np.eye(2) + _positive(known[n][:, :2]))
            theta = inverse @ known[n][:, 2]
            widths = np.sqrt(np.einsum("ki,ij,kj->k", x, inverse, x))
            arm = int(np.round(x @ theta + widths, 9).argmax())
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


def _positive(gram: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(gram)
    positive: FloatArray = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    return positive


@pytest.mark.parametrize(
    ("name", "batch", "epsilon"),
    [("LINUCB", 0, None), ("POOLED", 1, None), ("FEDUCB", BATCH, 20.0)],
)
def test_a_run_agrees_with_a_plain_loop(name: str, batch: int, epsilon: float | None) -> None:
    run = posse.run(_raw(name)).runs[0]
    pulls, regret = _loop(batch, epsilon)
    assert run.pulls_per_arm == pulls
    assert run.regret == pytest.approx(regret, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("LINUCB", "corrected"),
        ("POOLED", "corrected"),
        ("FEDUCB", "corrected"),
        ("FEDUCB", "printed"),
    ],
)
def test_both_engines_give_the_same_run(name: str, variant: str) -> None:
    one, other = (
        posse.run(_raw(name, variant=variant, engine={"kind": kind})).runs[0]
        for kind in ("memory", "processes")
    )
    assert (one.pulls_per_arm, one.regret_curve) == (other.pulls_per_arm, other.regret_curve)
    assert one.communication.data == other.communication.data


def test_sharing_pays_and_noise_costs() -> None:
    more = {"agents": {"count": 8}, "arms": {**ARMS, "count": 8, "dimensions": 3}}
    regret = {}
    for name, parameters in WAYS.items():
        given = {**parameters, "horizon": 200} | ({"dimensions": 3} if name == "FEDUCB" else {})
        regret[name] = posse.run(_raw(name, parameters=given, **more)).runs[0].regret
    assert None not in regret.values()
    assert regret["POOLED"] < regret["LINUCB"] < regret["FEDUCB"]


def test_no_two_pulls_are_further_apart_than_the_sensitivity_and_some_come_near() -> None:
    draws = np.random.default_rng(1)
    for d in (1, 2, 5):
        upper = np.triu_indices(d)
        x = draws.standard_normal((4000, d))
        x = np.sign(x) if d == 1 else x / np.linalg.norm(x, axis=1, keepdims=True)
        y = draws.integers(0, 2, (4000, 1))
        terms = np.concatenate([(x[:, :, None] * x[:, None])[:, *upper], x * y], axis=1)
        apart = np.abs(terms[:2000] - terms[2000:]).sum(axis=1).max()
        assert apart <= sensitivity(d)
    flat = np.full(4, 0.5)  # each feature alike: one pull's own share is half of it
    own = np.outer(flat, flat)[np.triu_indices(4)].sum() + flat.sum()
    assert own == sensitivity(4) / 2 == 4.5


def test_each_pull_is_in_one_release_and_the_account_says_so() -> None:
    privacy = posse.run(_raw("FEDUCB")).runs[0].privacy
    assert privacy is not None
    assert privacy.spent_per_agent == [20.0] * AGENTS
    assert privacy.releases_per_agent == [HORIZON // BATCH - 1] * AGENTS


def test_only_the_corrected_claim_holds() -> None:
    assert prepare(_raw("FEDUCB")).claim.holds
    assert not prepare(_raw("FEDUCB", variant="printed")).claim.holds


def test_one_reward_decides_when_the_printed_form_shares_but_not_the_corrected() -> None:
    """Of two arms at right angles: a first reward of 0 sends the agent to the other arm."""
    rows = np.eye(2)
    given: dict[str, Any] = {
        "horizon": 9,
        "epsilon": 1.0,
        "dimensions": 2,
        "width": 0.2,
        "growth": 1.2,
        "batch": 2,
    }
    said: dict[tuple[bool, float], list[Any]] = {}
    for printed in (True, False):
        for reward in (0.0, 1.0):
            agent = LinearAgent(
                contexts=lambda slot: rows,
                parameters=FedUcbParameters(**given),
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


def test_sums_of_as_many_features_as_there_may_be_are_sent_and_of_more_refused() -> None:
    arms = {"kind": "linear", "features": [[1.0] + 99 * [0.0], 100 * [0.1]], "theta": 100 * [0.1]}
    parameters = {"horizon": 2, "batch": 1}
    for engine in ("memory", "processes"):
        run = posse.run(
            _raw("POOLED", arms=arms, parameters=parameters, engine={"kind": engine})
        ).runs[0]
        assert run.pulls == 2 * AGENTS
    arms = {"kind": "linear", "features": [[1.0] + 100 * [0.0], 101 * [0.09]]}
    with pytest.raises(SpecError, match="has 101 numbers a row; there may be 100"):
        prepare(_raw("POOLED", arms=arms, parameters=parameters))
