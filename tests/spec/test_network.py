"""What a run file says of each link of its network."""

import random
from typing import Any

import pytest

from posse.errors import SpecError
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.spec.network import IDEAL, LinkConditions, lateness
from tests.support.runfile import describe_run

REGIONS = {"europe": ["coordinator", "0-1"], "asia": [2, 3, 4]}
DELAYS = [[0.001, 0.09], [0.09, 0.002]]
RUN = describe_run("mase", 5, [0.9, 0.1], engine="memory")


def conditions(network: dict[str, Any], a: int, b: int) -> LinkConditions:
    spec = prepare({**RUN, "network": network}).spec
    of = spec.conditions(0)
    assert of(a, b) == of(b, a)
    return of(a, b)


def test_without_a_network_links_take_no_time() -> None:
    assert prepare(RUN).spec.conditions(0)(0, 1) == IDEAL


def test_the_more_special_table_counts_and_leaves_the_rest_open() -> None:
    network = {
        "delay": 0.5,
        "jitter": 0.01,
        "coordinator": {"loss": 0.1},
        "neighbours": {"bandwidth": 1e6},
        "regions": REGIONS,
        "delays": DELAYS,
        "links": [{"ends": ["coordinator", 3], "delay": 0.0}],
    }
    between = LinkConditions(delay=0.09, jitter=0.01, loss=0.1)
    assert conditions(network, COORDINATOR, 4) == between
    alone = LinkConditions(delay=0.0, jitter=0.01, loss=0.1)
    assert conditions(network, COORDINATOR, 3) == alone
    asia = LinkConditions(delay=0.002, jitter=0.01, loss=0.0, bandwidth=1e6)
    assert conditions(network, 2, 4) == asia
    assert conditions({"delay": 0.5}, 0, 1) == LinkConditions(delay=0.5, jitter=0.0, loss=0.0)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ({"delay": -1}, "network.delay: is -1; it must be a number >= 0.0"),
        ({"loss": 0.95}, "network.loss: is 0.95; it must be a number <= 0.9"),
        ({"regions": {"a": ["0-9"]}}, "network.regions: there is no agent 9; the last one is 4"),
        ({"regions": {"a": ["x"]}}, "network.regions: 'x' is neither coordinator, a rank, nor"),
        ({"regions": REGIONS}, "network.delays: is missing; it has a row for each"),
        ({"regions": REGIONS, "delays": [[1]]}, "network.delays: needs 2 rows of 2 numbers"),
        (
            {"regions": {"a": ["coordinator", "0-3"]}, "delays": [[1]]},
            "network.regions: agent 4 is in none of them",
        ),
        (
            {"regions": {"a": ["coordinator", "0-4", 2]}, "delays": [[1]]},
            "network.regions: agent 2 is in a twice",
        ),
        (
            {"regions": REGIONS, "delays": [[0.1, 0.2], [0.3, 0.1]]},
            "network.delays: must be the same in both directions",
        ),
        ({"regions": {"a": ["3-1"]}}, "network.regions: '3-1' is neither coordinator, a rank"),
        ({"links": [{"ends": ["0-1", 2]}]}, "network.links: ends are single"),
        ({"links": [{"ends": [0, 7]}]}, "network.links: there is no agent 7"),
        ({"links": [{"ends": [1, 1]}]}, "network.links: agent 1 is both ends"),
        ({"dely": 1}, "network.dely: unknown key; did you mean 'delay'?"),
    ],
)
def test_mistakes_are_named(network: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as error:
        prepare({**RUN, "network": network})
    assert str(error.value).startswith(said)


def test_frames_of_unix_sockets_cannot_wait() -> None:
    with pytest.raises(SpecError, match='needs engine.transport = "tcp"'):
        prepare({**RUN, "network": {"delay": 0.1}, "engine": {"kind": "processes"}})


def test_what_is_lost_comes_later_and_twice_as_late_each_time() -> None:
    chance = random.Random(1)
    late = [lateness(0.0, 0.0, 0.5, chance) for _ in range(4_000)]
    assert {round(x, 9) for x in late} >= {0.0, 0.2, 0.6, 1.4}
    # half of all are never lost; standard error .008
    assert abs(sum(x == 0 for x in late) / len(late) - 0.5) < 0.04
    assert lateness(0.2, 0.0, 0.0, chance) == 0.2
    # a mean of .1 over 4,000 draws has a standard error of .0016
    jitters = [lateness(1.0, 0.1, 0.0, chance) - 1.0 for _ in range(4_000)]
    assert abs(sum(jitters) / len(jitters) - 0.1) < 0.008
