"""What captured frames show without the truth."""

import msgspec
import numpy as np
import pytest

from posse.audit.captured import checks
from posse.durable.frames import Frame
from posse.errors import InputError
from posse.plan import prepare
from protocol.cooperative import means_record
from protocol.federated import Means
from protocol.wire import pack_floats

GRID = np.arange(1, 5) / 1024
CENTRAL = prepare({
    "system": "cdp-mab",
    "agents": {"count": 2},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.3, 0.1]},
    "parameters": {"epsilon": 1.0, "horizon": 4000},
})  # fmt: skip


def frame(source, kind, *fields, more=0, target=-1, plane="data", **rest):
    size = 32 + len(msgspec.msgpack.encode([kind, *fields])) + more
    return Frame(0.0, source, target, size, plane, kind, fields, run=0, **rest)


def means(source, round_=1, values=GRID, **more):
    return frame(source, "Means", round_, pack_floats(np.asarray(values)), **more)


def wrong(frames, plan=CENTRAL):
    return {check.name: check.violations for check in checks(frames, plan) if check.violations}


def test_what_is_in_order_has_no_violation():
    assert Means.__name__ == "Means"
    assert wrong([means(0), means(1), means(0, 2), means(1, 2)]) == {}
    # what a session hands over again is no second message
    again = means(0, values=GRID + 0.5, number=3, more=12, resent=True)
    assert wrong([means(0), again]) == {}


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ([means(0), means(0, values=GRID * 2)], "with other numbers"),
        ([means(0), means(0)], "more than once"),
        ([means(0), means(1, values=GRID[:2])], "not equally long"),
        ([means(0, more=3)], "3 bytes beside its message"),
        ([means(0), frame(0, "Report", plane="control")], "`Report`"),
        ([means(0), frame(0, "Bundle", 1, b"")], "`Bundle`"),
        ([means(0, values=np.random.default_rng(1).laplace(size=4))], "use all their bits"),
    ],
)
def test_each_fault_is_said(frames, said):
    assert any(said in text for found in wrong(frames).values() for text in found)


def test_an_arm_that_rests_and_is_noised_again_is_found():
    plan = prepare({
        "system": "private-ucb",
        "agents": {"count": 2},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
        "topology": {"kind": "path"},
        "parameters": {"epsilon": 1.0, "horizon": 4},
    })  # fmt: skip

    def bundle(slot, mean):
        record = np.zeros(1, means_record(2))
        record["means"], record["counts"] = mean, 1
        return frame(0, "Bundle", slot, record.tobytes(), target=1)

    assert wrong([bundle(1, 0.5), bundle(2, 0.5)], plan) == {}
    found = wrong([bundle(1, 0.5), bundle(2, 0.25)], plan)
    assert "agent 0's mean of arm 0 after 1 pulls has 2 values" in str(found)


def test_an_empty_capture_is_a_mistake():
    with pytest.raises(InputError, match="no frames"):
        checks([])
