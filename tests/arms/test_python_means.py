"""Arms of one's own whose means are stated have regret."""

import pytest

from posse.engines import memory
from posse.errors import SpecError
from posse.plan import prepare
from tests.support.runfile import describe_run

KNOWN = """
class Known:
    def __init__(self, agent, agents, seed):
        pass

    def pull(self, arm, count):
        return [(0.75, 0.25)[arm]] * count
"""


def arms(tmp_path, **keys):
    (tmp_path / "known.py").write_text(KNOWN)
    table = {"kind": "python", "target": "known:Known", "count": 2, "path": [str(tmp_path)]}
    return describe_run("ucb1", 2, table | keys, parameters={"horizon": 50}, engine="memory")


def test_regret_is_the_gap_times_the_pulls_of_the_worse_arm(tmp_path) -> None:
    run = arms(tmp_path, means=[0.75, 0.25])
    record = memory.run(prepare(run), 0)
    assert record.regret == pytest.approx(0.5 * record.pulls_per_arm[1])
    del run["arms"]["means"]
    assert memory.run(prepare(run), 0).regret is None


def test_means_of_another_number_of_arms_are_refused(tmp_path) -> None:
    with pytest.raises(SpecError, match=r"means has 3 arms"):
        prepare(arms(tmp_path, means=[0.75, 0.25, 0.5]))
