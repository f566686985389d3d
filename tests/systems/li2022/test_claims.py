"""What federated elimination claims, in numbers."""

from typing import Any

import pytest

from tests.support.claims import RING, plan


def claim(system: str = "cdp-mab", agents: int = 8, **parameters: Any) -> Any:
    topology = {} if system in ("cdp-mab", "single-mab") else {"topology": RING}
    given = {"horizon": 5000, "epsilon": 0.5, **parameters}
    return plan(system, agents, parameters=given, **topology).claim


ALL = ["cdp-mab", "ddp-mab", "hdp-mab"]


@pytest.mark.parametrize(
    ("system", "parameters", "epsilon", "said"),
    [
        *((system, {}, 4.0, "ε = 4 (M ε, not ε)") for system in ALL),
        *((system, {"noise": "per_agent"}, 0.5, "ε = 0.5") for system in ALL),
        ("cdp-mab", {"participation": 0.3}, 1.5, "⌈pM⌉ ε"),  # three upload
        ("single-mab", {}, 0.5, "ε = 0.5"),
    ],
)
def test_a_reward_costs_epsilon_for_each_mean_that_it_is_in(
    system: str, parameters: dict[str, Any], epsilon: float, said: str
) -> None:
    found = claim(system, **parameters)
    assert found.epsilon == pytest.approx(epsilon)
    assert said in found.says


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_what_is_claimed_with_dropouts_is_claimed_of_the_shares_that_are_left(law: str) -> None:
    plain = claim(noise="shared", honest=0.5, noise_law=law)
    found = claim(noise="shared", honest=0.5, noise_law=law, dropouts=3)
    assert (found.epsilon, found.delta) == (plain.epsilon, plain.delta)
    assert (plain.honest, found.honest) == (4, 1)
    assert "4 honest ones of 8, of which 3 may be lost" in found.adversary
    assert found.adversary.startswith("the server, which follows the protocol, together")
    fewer = claim(noise="shared", honest=0.5, noise_law=law, dropouts=1)  # 4 > 2 · 1
    for one in (plain, fewer):
        assert one.adversary.startswith("the server, even one that lies, together")


def test_shared_laplace_noise_costs_epsilon_and_no_delta() -> None:
    found = claim(noise="shared", noise_law="laplace", honest=0.4)
    assert (found.epsilon, found.delta) == (0.5, None)
    assert "4 honest ones of 8" in found.adversary
    assert "ε = 0.5 against the server" in found.says
    assert found.of_person(10).epsilon == 5.0


def test_shared_noise_names_its_delta_and_how_many_must_be_honest() -> None:
    found = claim(noise="shared", honest=0.4)
    assert found.epsilon == pytest.approx(0.4651, abs=1e-4)  # of .5, for which it is sized
    assert found.delta == 1 / (100 * 8 * 5000)
    assert "4 honest ones of 8" in found.adversary
    assert "δ = 2.5e-07" in found.says
    assert "drops out" in found.says
