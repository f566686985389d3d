"""What is handed to whoever starts agents: each agent's own secrets, and no other's."""

from hypothesis import example, given
from hypothesis import strategies as st

from posse.coordinator.crew import Crew
from posse.engines.processes import ProcessEngine
from posse.security import keys
from tests.support.runs import spec

RING = {"kind": "ring"}


PAIRS = keys.make_ephemeral_keys(5)[1]


@given(st.lists(st.integers(0, 4), unique=True))
@example([1])
def test_a_part_has_the_secrets_of_its_own_agents_alone(ranks: list[int]) -> None:
    crew = Crew(
        agents={rank: ("tcp://192.0.2.1:7000", pair) for rank, pair in enumerate(PAIRS)},
        token="",
        system="private-ucb",
        folders=[],
        inbox="",
    )
    part = crew.select(ranks)
    assert {rank: pair for rank, (_, pair) in part.agents.items()} == {n: PAIRS[n] for n in ranks}
    assert not any(pair.secret in repr(one) for pair in PAIRS for one in (crew, part))


def test_no_process_shows_a_secret_in_its_arguments_or_its_environment() -> None:
    plan = spec(
        "cooperative-ucb",
        3,
        topology=RING,
        parameters={"horizon": 20},
        engine={"transport": "tcp"},
    )
    with ProcessEngine(plan) as posse:
        secrets = [word for pair in posse._pairs for word in (pair.secret, posse.token)]
        assert len(secrets) == 6
        for pid in posse.pids().values():
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    shown = file.read().decode(errors="replace")
                assert not any(secret in shown for secret in secrets)
        assert posse.run(plan, 0).status == "horizon"
