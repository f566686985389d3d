"""posse status: who is up, and who is waited for."""

import json
import socket
import threading
import time
from pathlib import Path

import pytest
import zmq

from posse.engines.inquiry import ask, reach
from posse.errors import PosseError
from posse.operate import doctor
from posse.protocol import control
from posse.security import keys
from posse.wire.links import outside_runs
from tests.cli.conftest import Posse
from tests.support.operator import one_joined, waiting_coordinator
from tests.support.patience import PATIENCE
from tests.support.remote import Coordinator, free_port
from tests.support.runs import spec


def test_an_agents_keys_are_let_in_and_others_are_not(waiting: Coordinator, tmp_path: Path) -> None:
    reach(waiting.endpoint, keys.for_agent(tmp_path / "keys", 1), PATIENCE)
    keys.create(tmp_path / "others", 2)
    with pytest.raises(PosseError, match="has no keys, or other keys than this folder's"):
        reach(waiting.endpoint, keys.for_agent(tmp_path / "others", 1), PATIENCE)


def test_where_nothing_listens_no_keys_are_let_in(tmp_path: Path) -> None:
    keys.create(tmp_path / "keys", 2)
    with pytest.raises(PosseError, match="did not answer within 0.2 s"):
        reach(f"tcp://127.0.0.1:{free_port()}", keys.for_agent(tmp_path / "keys", 1), 0.2)


def test_check_says_whether_an_agent_could_take_part(
    waiting: Coordinator, tmp_path: Path, posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_SLOW_DISK", PATIENCE)
    (tmp_path / "run.toml").write_text(
        'system = "central"\nagents.count = 2\narms = { kind = "bernoulli", means = [0.9, 0.1] }\n'
    )
    check = ("check", tmp_path / "run.toml", "--join", waiting.endpoint)
    fine = posse(*check, "--keys", tmp_path / "keys")
    assert f"can take part in the run of {waiting.endpoint}" in fine.out
    without = posse(*check, code=1)
    assert "will hurt: " in without.out
    assert "requires keys; add --keys DIR" in " ".join(without.out.split())


@pytest.fixture
def waiting(tmp_path: Path) -> Coordinator:
    return waiting_coordinator(tmp_path / "keys")


def test_status_shows_who_is_up_and_who_is_waited_for(
    waiting: Coordinator, tmp_path: Path, posse: Posse
) -> None:
    folder = tmp_path / "keys"
    began = time.monotonic()
    agent = one_joined(waiting, folder)
    status = json.loads(posse("status", "--join", waiting.endpoint, "--keys", folder, "--json").out)
    passed = time.monotonic() - began
    assert (status["agents"], status["arrived"], status["waiting_for"]) == (2, 1, [0])
    assert 0 <= status["heard_seconds_ago"]["1"] <= passed + 0.001  # told in milliseconds
    shown = posse("status", "--join", waiting.endpoint, "--keys", folder).out
    assert "1 of 2 agents are here, no run is in progress" in shown
    zero, one = [line.split() for line in shown.splitlines()[1:]]
    assert zero == ["agent", "0", "not", "here", "waited", "for", "(to", "join)"]
    assert [*one[:4], *one[5:]] == ["agent", "1", "said", "Arrived", "s", "ago"]
    waiting.stop()
    assert agent.ended() == 3


def test_who_asks_may_be_there_before_the_keys_are(
    waiting: Coordinator, tmp_path: Path, posse: Posse
) -> None:
    folder, aside = tmp_path / "keys", tmp_path / "aside"
    folder.rename(aside)
    made = threading.Timer(0.2, aside.rename, [folder])
    made.start()
    asked = ["status", "--join", waiting.endpoint, "--keys", str(folder), "--wait-for-keys", "60"]
    posse(*asked)
    made.join()
    waiting.stop()


def test_an_agents_key_may_not_ask(waiting: Coordinator, tmp_path: Path) -> None:
    pair = keys.for_agent(tmp_path / "keys", 0)
    with pytest.raises(PosseError, match="did not answer within 2 s: .* it has another key"):
        ask(waiting.endpoint, pair, 2.0)
    assert waiting.engine.hub.lobby.refused["never-joined"] == 1
    waiting.stop()


def test_who_asks_without_the_right_keys_is_told_at_once(
    waiting: Coordinator, tmp_path: Path
) -> None:
    keys.create(tmp_path / "other", 1)
    unanswered = 60.0
    with pytest.raises(PosseError, match="requires keys; add --keys DIR"):
        ask(waiting.endpoint, None, unanswered)
    with pytest.raises(PosseError, match="has no keys, or other keys than this folder's"):
        ask(waiting.endpoint, keys.for_operator(tmp_path / "other"), unanswered)
    waiting.stop()
    open_to_all = Coordinator(spec("central", 2), "tcp://127.0.0.1:*")
    with pytest.raises(PosseError, match="or --insecure if it was started without keys"):
        ask(open_to_all.endpoint, keys.for_operator(tmp_path / "keys"), unanswered)
    open_to_all.stop()


def test_status_of_nobody_is_said_in_time() -> None:
    with pytest.raises(PosseError, match="no coordinator runs there"):
        ask(f"tcp://127.0.0.1:{free_port()}", None, 0.3)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"hello", "could not be read: short: 5 bytes; check the address, and that"),
        (outside_runs(control.Refused("not\nyou")), r"does not tell its status: not\\nyou$"),
        (outside_runs(control.Status(b'{"agents":')), "could not be read: Expecting value"),
        (outside_runs(control.Status(b'{"agents":99999999999}')), "could not be read: Expected"),
    ],
)
def test_whatever_answers_in_a_coordinators_place_is_one_sentence(answer: bytes, said: str) -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as other:
        other.setsockopt(zmq.LINGER, 0)
        at = f"tcp://127.0.0.1:{other.bind_to_random_port('tcp://127.0.0.1')}"

        def answers() -> None:
            who, _ = other.recv_multipart()
            other.send_multipart([who, answer])

        thread = threading.Thread(target=answers)
        thread.start()
        with pytest.raises(PosseError, match=said):
            ask(at, None, 60.0)
        thread.join()


def test_a_port_of_another_program_is_not_taken_for_a_coordinator_with_keys() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def closes() -> None:
            for _ in range(2):
                other.accept()[0].close()

        thread = threading.Thread(target=closes)
        thread.start()
        with pytest.raises(PosseError, match=r"is no coordinator's address: another program, or"):
            ask(f"tcp://127.0.0.1:{other.getsockname()[1]}", None, 60.0)
        thread.join()
