"""The run that an agent of `ddp-mab` is judged in; agents in it are judged in tests/clients."""

from posse.engines import memory
from posse.plan import changed, prepare
from posse.testing.neighbour import FIRST, PLAN


def test_its_run_has_more_frames_than_the_numbers_have_left() -> None:
    record = memory.run(changed(prepare(PLAN), {"engine.kind": "memory"}), 0)
    assert record.rounds is not None
    assert record.rounds >= 3
    assert record.communication.data.messages / 2 > 2 * ((1 << 32) - FIRST)
