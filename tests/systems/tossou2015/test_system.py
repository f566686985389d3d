"""What a run file of players may say wrong."""

import pytest

from posse.errors import SpecError
from tests.support.players import spec

RANDOM = {"random": "uniform", "count": 4, "seed": 3}


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        ({"players": 11}, "agents.count", "more players than the 10 arms"),
        ({"offsets": [1, 2, 1]}, r"parameters.offsets\[2\]", "the offset of player 0 too"),
        ({"offsets": [1, 2]}, "parameters.offsets", "names 2 for 3 players"),
        ({"offsets": [1, 2, 4]}, r"parameters.offsets\[2\]", "must lie in 1 to 3"),
        ({"offsets": "hidden"}, "parameters.offsets", "hidden"),
        ({"collision": 3}, "parameters.collision", "'3' is not known; known: 1, 2"),
        ({"deadline": 60.0}, "parameters.deadline", "below engine.deadline"),
        ({"horizon": 0}, "parameters.horizon", "0"),
        ({"means": [[0.1, 0.2]] * 2 + [[0.2, 0.1]]}, "agents.count", "more players"),
        ({"means": RANDOM | {"per_agent": True}}, "arms.means", "one list of means"),
        ({"means": RANDOM | {"random": "cosine"}}, "arms.means", "one list of means"),
        ({"means": RANDOM | {"spread": 0.1}}, "arms.means", "one list of means"),
        ({"means": [[0.1, 0.2, 0.3]] * 2 + [[0.3, 0.2, 0.1]]}, "arms.means", "one list of means"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, where, what):
    with pytest.raises(SpecError, match=f"^{where}: .*{what}"):
        spec(**changes)


def test_only_the_hybrid_mechanism_divides_epsilon():
    with pytest.raises(SpecError, match=r"^parameters.split: .*the counter 'tree' has one"):
        spec("tdfs-private", epsilon=1.0, counter="tree", split="tossou")
