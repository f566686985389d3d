"""Federated elimination among agents that lie: the run ends and names who."""

from typing import Any

import msgspec
import pytest

from posse.engines import memory
from posse.errors import RunFailed
from posse.hosts.endpoint import Endpoint
from posse.protocol.control import Report
from posse.protocol.federated import Adv, Data, ExchangedRow, Means
from tests.support.federated import named, row, spec

pytestmark = pytest.mark.inside


def tampered(run: Any, change: Any) -> str:
    """The sentence with which a run in memory ends when agent 2's messages are changed."""

    send = Endpoint.send

    def sends(self: Endpoint, to: int, message: Any, now: float) -> None:
        send(self, to, change(self.name, to, message) if self.name == 2 else message, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Endpoint, "send", sends)
        with pytest.raises(RunFailed) as error:
            memory.run(run, 0)
    return str(error.value)


def test_a_bad_upload_stops_the_run_by_name() -> None:
    def change(rank: int, to: int, message: Any) -> Any:
        return Means(message.round, row(1, 2)) if isinstance(message, Means) else message

    said = tampered(named("cdp"), change)
    assert "waits for agent 2;" in said
    assert "the coordinator refused what agent 2 sent: wrong-length" in said


def test_bad_data_between_neighbours_stops_the_run_by_name() -> None:
    def change(rank: int, to: int, message: Any) -> Any:
        if isinstance(message, Data):
            return Data(message.round, message.slot, message.origins, message.means[:-8])
        return message

    said = tampered(named("ddp ring"), change)
    assert "agent 1 refused what agent 2 sent: wrong-length" in said


def test_an_agent_that_tells_neighbours_different_means_is_noticed() -> None:
    """One neighbour is told that arm 4 is by far the best; active sets differ, the run stops."""

    def change(rank: int, to: int, message: Any) -> Any:
        if isinstance(message, Data) and to == 1:
            return (
                Data(message.round, message.slot, message.origins, row(*([-9.0] * 4 + [9.0])))
                if message.origins == (2,)
                else message
            )
        return message

    said = tampered(spec("ddp-mab", 4, {"kind": "complete"}), change)
    assert "hold different results after step 1" in said


@pytest.mark.parametrize("rows", [0, 2])
def test_rounds_that_one_agent_reports_otherwise_than_the_others_change_no_count(rows: int) -> None:
    honest = memory.run(named("ddp ring"), 0)

    send = Endpoint.send

    def sends(self: Endpoint, to: int, message: Any, now: float) -> None:
        if self.name == 2 and isinstance(message, Report):
            log = message.log | {ExchangedRow.table: message.log[ExchangedRow.table] * rows}
            message = msgspec.structs.replace(message, log=log)
        send(self, to, message, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Endpoint, "send", sends)
        record = memory.run(named("ddp ring"), 0)
    assert record.rounds == honest.rounds
    assert record.best_arm == honest.best_arm


def test_withheld_means_stop_the_run_by_name() -> None:
    """Agent 2 of the path 0 - 1 - 2 - 3 hides what it has of agent 3."""

    def change(rank: int, to: int, message: Any) -> Any:
        if isinstance(message, Adv) and to == 1 and message.origins == (1, 3):
            return Adv(message.round, message.slot, (1,))
        return message

    said = tampered(spec("ddp-mab", 4, {"kind": "path"}), change)
    assert (
        "after 3 slots of round 1 the means of 1 agents are missing; the first is agent 3's" in said
    )
