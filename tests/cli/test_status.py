"""posse status: who is up, and who is waited for."""

import contextlib
import json
import socket
import threading
from pathlib import Path
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from posse.engines.inquiry import reach
from posse.errors import PosseError
from posse.hosts.status import LIVE
from posse.operate import doctor, health
from posse.operate.live import LiveFile, read_live
from posse.operate.web import Web, answer
from posse.security import keys
from tests.cli.conftest import Posse
from tests.support.operator import one_joined, waiting_coordinator
from tests.support.patience import PATIENCE
from tests.support.remote import Coordinator, free_port, until
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
    agent, hub = one_joined(waiting, tmp_path / "keys"), waiting.engine.hub
    web = Web("--http", ":0", health.of_coordinator(hub.status, tmp_path, field=False))
    with LiveFile(tmp_path, spec("central", 2)) as file, contextlib.closing(web):
        file.follow(hub)
        until(lambda: (found := read_live(tmp_path)) and found[0].status.arrived, "the state")
        for where in (tmp_path, f"{web.url}/"):
            status = json.loads(posse("status", where, "--json").out)["status"]
            assert (status["agents"], status["arrived"], status["waiting_for"]) == (2, 1, [0])
            shown = posse("status", where).out
            assert "1 of 2 agents here" in shown
            zero, one = [line.split() for line in shown.splitlines()[-2:]]
            assert zero == ["agent", "0", "not", "here", "waited", "for", "(to", "join)"]
            assert [*one[:4], *one[5:]] == ["agent", "1", "said", "Arrived", "s", "ago"]
    waiting.stop()
    assert agent.ended() == 3


def test_where_no_run_goes_on_status_says_so(tmp_path: Path, posse: Posse) -> None:
    assert "posse report shows what did" in posse("status", tmp_path, code=1).err
    nobody = f"http://127.0.0.1:{free_port()}/?token=secret"
    said = " ".join(posse("status", nobody, code=1).err.split())
    assert "does not tell how its run is: <urlopen error [Errno 111] Connection refused>" in said
    assert "secret" not in said
    old = posse("status", "--join", "tcp://127.0.0.1:7000", code=2).err
    assert "posse status is now posse status DIR" in old


def test_what_is_no_state_is_one_sentence(tmp_path: Path, posse: Posse) -> None:
    def answers(environ: WSGIEnvironment, start: StartResponse) -> list[bytes]:
        return answer(start, b'{"title": "x", "runs": 1, "status": {"agents": 99999999999}}')

    with contextlib.closing(Web("--http", ":0", {f"/{LIVE}": answers})) as web:
        said = posse("status", web.url, code=1).err
    assert "does not tell how its run is: Expected `int`" in " ".join(said.split())


def test_who_comes_without_the_right_keys_is_told_at_once(
    waiting: Coordinator, tmp_path: Path
) -> None:
    with pytest.raises(PosseError, match="requires keys; add --keys DIR"):
        reach(waiting.endpoint, None, 60.0)
    waiting.stop()
    open_to_all = Coordinator(spec("central", 2), "tcp://127.0.0.1:*")
    with pytest.raises(PosseError, match="or --insecure if it was started without keys"):
        reach(open_to_all.endpoint, keys.for_agent(tmp_path / "keys", 0), 60.0)
    open_to_all.stop()


def test_a_port_of_another_program_is_not_taken_for_a_coordinator_with_keys() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def closes() -> None:
            for _ in range(2):
                other.accept()[0].close()

        thread = threading.Thread(target=closes)
        thread.start()
        with pytest.raises(PosseError, match=r"is no coordinator's address: another program, or"):
            reach(f"tcp://127.0.0.1:{other.getsockname()[1]}", None, 60.0)
        thread.join()
