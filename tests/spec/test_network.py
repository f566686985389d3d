"""What a run file says of each link of its network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from posse.plan import prepare
from posse.spec.network import LinkConditions
from tests.support.conversations import examples
from tests.support.runfile import describe_run

REGIONS = {"europe": ["coordinator", "0-1"], "asia": [2, 3, 4]}
DELAYS = [[0.001, 0.09], [0.09, 0.002]]
RUN = describe_run("mase", 5, [0.9, 0.1], engine="memory")


def conditions(network: dict[str, Any], a: int, b: int) -> LinkConditions:
    spec = prepare({**RUN, "network": network}).spec
    of = spec.conditions(0)
    assert of(a, b) == of(b, a)
    return of(a, b)


@examples(Path(__file__).with_name("network.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
