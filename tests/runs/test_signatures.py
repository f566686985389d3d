"""A relay that changes what it passes on of agents out of sight (attack a18), and what it costs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posse.agent.run import AgentRun
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import silent
from posse.engines import memory
from posse.errors import RunFailed
from posse.plan import prepare
from posse.protocol.control import Complaint
from posse.protocol.masking import PublicKey
from posse.protocol.signing import SIGNATURE_BYTES
from posse.results.record import RunRecord
from posse_systems.dubey2020.messages import Bundle, means_record, reward_record
from posse_systems.li2022.messages import Data, Hop
from tests.support.runs import assert_same_run
from tests.support.tampering import tampering

pytestmark = pytest.mark.inside

ARMS = 4
PRIVATE = {"epsilon": 0.5, "horizon": 100, "gamma": "diameter"}
BYZANTINE = {"horizon": 100, "gamma": "diameter", "assumed_contamination": 0.05}
FEDERATED = {"epsilon": 1.0, "horizon": 20_000}


@pytest.mark.parametrize("system", ["anonymous", "explore-then-commit"])
@pytest.mark.parametrize("sign", [True, False])
def test_whose_masking_key_is_none_is_named_and_the_others_go_on(system: str, sign: bool) -> None:
    """Attack a27: a key of small order, or one that is not signed, made its whole group silent."""

    def change(to: int | None, message: Any) -> Any:
        if not isinstance(message, PublicKey):
            return message
        return PublicKey(message.key[:32] if sign else bytes(32))

    run = prepare(
        {
            "system": system,
            "seed": 5,
            "agents": {"count": 7},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.2]},
            "parameters": {"horizon": 3000, "group_size": 2},
            "engine": {"sign": sign},
        }
    )
    with tampering(0, change):
        record = memory.run(run, 0)
    reason = "bad-signature" if sign else "bad-key"
    assert record.status == "horizon"
    assert record.dismissed == {0: reason}
    assert record.refused[reason] == 1
    assert all(answer is not None for answer in record.answers[1:])


def run_of(system: str, parameters: dict[str, Any], *, sign: bool) -> Any:
    """Five agents in a row: what agent 2 hears of agent 0 came by way of agent 1."""
    return prepare(
        {
            "system": system,
            "seed": 3,
            "agents": {"count": 5},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.3, 0.1]},
            "topology": {"kind": "path"},
            "parameters": parameters,
            "engine": {"sign": sign},
        }
    )


def forged_records(message: Any, sign: bool) -> Any:
    plain = means_record(ARMS)
    if not len(message.items) % (reward_record().itemsize + SIGNATURE_BYTES * sign):
        plain = reward_record()
    record = np.dtype([*plain.descr, *([("signature", f"V{SIGNATURE_BYTES}")] if sign else [])])
    items = np.frombuffer(message.items, dtype=record).copy()
    of_zero = items["origin"] == 0
    if "reward" in record.names:
        items["reward"][of_zero] = 0.99
        items["arm"][of_zero] = 3
    else:
        items["means"][of_zero] = [0.01, 0.01, 0.01, 0.99]
    return Bundle(message.slot, items.tobytes())


def forged_rows(message: Any) -> Any:
    if 0 not in message.origins:
        return message
    rows = len(message.origins)
    columns = (len(message.means) // rows) // 8
    columns -= 8 * (columns > ARMS)
    numbers = np.frombuffer(message.means[: 8 * rows * columns]).reshape(rows, columns).copy()
    numbers[list(message.origins).index(0)] = np.linspace(0, 1, columns)
    means = numbers.tobytes() + message.means[8 * rows * columns :]
    return type(message)(message.round, message.slot, message.origins, means)


def with_a_liar(
    system: str,
    parameters: dict[str, Any],
    *,
    sign: bool,
    observe: Callable[[CoordinatorHost], None] = silent,
) -> RunRecord:
    """The run in which agent 1 lies about what agent 0 said."""

    def change(to: int | None, message: Any) -> Any:
        if isinstance(message, Bundle):
            return forged_records(message, sign)
        return forged_rows(message) if isinstance(message, Data | Hop) else message

    with tampering(1, change):
        return memory.run(run_of(system, parameters, sign=sign), 0, observe)


@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("private-ucb", PRIVATE),
        ("byzantine-ucb", BYZANTINE),
        ("cooperative-ucb", {"horizon": 100, "gamma": "diameter"}),
    ],
)
def test_forged_messages_are_refused_and_the_others_are_not(
    system: str, parameters: dict[str, Any]
) -> None:
    assert not with_a_liar(system, parameters, sign=False).refused
    record = with_a_liar(system, parameters, sign=True)
    # each of agent 0's messages that reaches agent 2 in time; agents 3 and 4 never see them
    assert record.refused.keys() == {"bad-signature"}
    assert 90 < record.refused["bad-signature"] <= 100
    assert record.status == "horizon"


@pytest.mark.slow
def test_among_gossip_forged_means_are_as_if_they_had_not_been_said() -> None:
    """Nobody waits for them there: agents exchange until the horizon. The relay is named."""
    said: list[str] = []

    def observe(host: CoordinatorHost) -> None:
        said[:] = [host.trouble]

    parameters = FEDERATED | {"exchange": "gossip"}
    record = with_a_liar("ddp-mab", parameters, sign=True, observe=observe)
    assert said == ["; agent 2 refused what agent 1 sent: bad-signature: of agent 0"]
    assert record.refused.keys() == {"bad-signature"}
    assert record.status == "horizon"


@pytest.mark.parametrize("exchange", ["gis", "flooding"])
def test_forged_means_end_the_run_by_the_relays_name(exchange: str) -> None:
    with pytest.raises(RunFailed, match="agent 2 refused what agent 1 sent: bad-signature"):
        with_a_liar("ddp-mab", FEDERATED | {"exchange": exchange}, sign=True)


def test_forged_means_on_their_way_to_a_sink_end_the_run_by_the_relays_name() -> None:
    with pytest.raises(RunFailed, match="refused what agent 1 sent: bad-signature"):
        with_a_liar("hdp-mab", FEDERATED, sign=True)


@pytest.mark.parametrize(
    ("system", "parameters"), [("hdp-mab", {}), ("ddp-mab", {"exchange": "flooding"})]
)
def test_a_relay_that_complains_first_is_named_all_the_same(
    system: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten complaints of its own, about its neighbours and others, come before all honest ones."""
    tell, complained = AgentRun.tell, set[int]()

    def complains(self: AgentRun, event: Any, now: float) -> Any:
        if self.rank == 1 and id(self) not in complained:
            complained.add(id(self))
            for number in range(10):
                about = (0, 2, 3, 4)[number % 4]
                self.say(Complaint(about, f"bad-signature {chr(97 + number)}"))
        return tell(self, event, now)

    monkeypatch.setattr(AgentRun, "tell", complains)
    with pytest.raises(RunFailed, match="agent 2 refused what agent 1 sent: bad-signature"):
        with_a_liar(system, FEDERATED | parameters, sign=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("private-ucb", PRIVATE),
        ("byzantine-ucb", BYZANTINE),
        ("ddp-mab", FEDERATED),
        ("ddp-mab", FEDERATED | {"exchange": "gossip"}),
        ("hdp-mab", FEDERATED),
    ],
)
def test_signatures_cost_bytes_and_change_nothing(system: str, parameters: dict[str, Any]) -> None:
    without, signed = (
        memory.run(run_of(system, parameters, sign=sign), 0) for sign in (False, True)
    )
    data = [sum(x.payload_bytes for x in r.links if x.plane == 0) for r in (without, signed)]
    assert data[0] < data[1]
    for name in ("status", "best_arm", "answers", "regret", "refused", "slots"):
        assert getattr(signed, name) == getattr(without, name), name
    assert_same_run(signed, memory.run(run_of(system, parameters, sign=True), 0))
