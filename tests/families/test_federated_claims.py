"""What federated elimination claims, in numbers."""

from typing import Any

import pytest

from tests.support.claims import RING, plan


def claim(system: str = "cdp-mab", agents: int = 8, **parameters: Any) -> Any:
    topology = {} if system in ("cdp-mab", "single-mab") else {"topology": RING}
    given = {"horizon": 5000, "epsilon": 0.5, **parameters}
    return plan(system, agents, parameters=given, **topology).claim


@pytest.mark.parametrize("system", ["cdp-mab", "ddp-mab", "hdp-mab"])
def test_m_epsilon_has_its_number(system: str) -> None:
    found = claim(system)
    assert found.epsilon == 4.0
    assert "ε = 4 (M ε, not ε)" in found.says


def test_only_those_who_upload_count() -> None:
    found = claim(participation=0.3)
    assert found.epsilon == pytest.approx(3 * 0.5)
    assert "⌈pM⌉ ε" in found.says


@pytest.mark.parametrize("system", ["cdp-mab", "ddp-mab", "hdp-mab"])
def test_noise_per_agent_costs_epsilon(system: str) -> None:
    assert claim(system, noise="per_agent").epsilon == 0.5


def test_alone() -> None:
    assert claim("single-mab").epsilon == 0.5


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
