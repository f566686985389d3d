"""Federated elimination among agents that lie: the run ends and names who."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from posse.engines import memory
from posse.errors import RunFailed
from posse.plan import Plan
from posse.protocol.control import Report
from posse_systems.li2022.messages import Adv, Data, ExchangedRow, Means
from tests.support.federated import named, row, spec
from tests.support.tampering import tampering

pytestmark = pytest.mark.inside

LIAR = 2
COMPLETE = ("ddp-mab", 4, {"kind": "complete"})
PATH = ("ddp-mab", 4, {"kind": "path"})


def by_machines(plan: Plan) -> Plan:
    """The plan without steps, which none of these lies reaches."""
    engine = msgspec.structs.replace(plan.spec.engine, plain=True)
    return replace(plan, spec=msgspec.structs.replace(plan.spec, engine=engine))


def too_short(to: int | None, message: Any) -> Any:
    if isinstance(message, Means):
        return Means(message.round, row(1, 2))
    if isinstance(message, Data):
        return Data(message.round, message.slot, message.origins, message.means[:-8])
    return message


def favours_one_arm_to_one_neighbour(to: int | None, message: Any) -> Any:
    if isinstance(message, Data) and to == 1 and message.origins == (LIAR,):
        return Data(message.round, message.slot, message.origins, row(*([-9.0] * 4 + [9.0])))
    return message


def hides_what_it_has_of_another(to: int | None, message: Any) -> Any:
    if isinstance(message, Adv) and to == 1 and message.origins == (1, 3):
        return Adv(message.round, message.slot, (1,))
    return message


@pytest.mark.parametrize(
    ("run", "change", "said"),
    [
        (
            named("cdp"),
            too_short,
            "waits for agent 2; the coordinator refused what agent 2 sent: wrong-length",
        ),
        (named("ddp ring"), too_short, "agent 1 refused what agent 2 sent: wrong-length"),
        (
            spec(*COMPLETE),
            favours_one_arm_to_one_neighbour,
            "hold different results after step 1",
        ),
    ],
    ids=["an upload", "between neighbours", "two tongues"],
)
def test_a_lie_stops_the_run_by_name(run: Any, change: Any, said: str) -> None:
    with pytest.raises(RunFailed) as error, tampering(LIAR, change):
        memory.run(by_machines(run), 0)
    assert said in str(error.value)


def test_withheld_means_stop_the_run_by_name() -> None:
    """On the path 0 - 1 - 2 - 3."""
    with pytest.raises(RunFailed) as error, tampering(LIAR, hides_what_it_has_of_another):
        memory.run(by_machines(spec(*PATH)), 0)
    said = "after 3 slots of round 1 the means of 1 agents are missing; the first is agent 3's"
    assert said in str(error.value)


@pytest.mark.parametrize("rows", [0, 2])
def test_rounds_that_one_agent_reports_otherwise_than_the_others_change_no_count(rows: int) -> None:
    def change(to: int | None, message: Any) -> Any:
        if not isinstance(message, Report):
            return message
        log = message.log | {ExchangedRow.table: message.log[ExchangedRow.table] * rows}
        return msgspec.structs.replace(message, log=log)

    honest = memory.run(by_machines(named("ddp ring")), 0)
    with tampering(LIAR, change):
        record = memory.run(by_machines(named("ddp ring")), 0)
    assert (record.rounds, record.best_arm) == (honest.rounds, honest.best_arm)
