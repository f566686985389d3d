"""The application's side: one door, asked and told from threads, processes and a loop."""

import asyncio
import contextlib
import gc
import json
import socket
import threading
from pathlib import Path

import pytest

from posse.live import Agent, AsyncAgent, LiveError, RewardRefused, address
from posse.live.desk import DeskSettings
from posse.live.service import Service


@pytest.fixture
def service(tmp_path):
    made = Service(DeskSettings(names=("blue", "green"), timeout=60.0), tmp_path / "shop.decisions")
    made.begin(b"run 1")
    yield made
    made.close()


@pytest.fixture
def unix(service, tmp_path) -> str:
    where = f"unix:{tmp_path}/shop.sock"
    service.doors.append(address.open_door(service, where, None, 0.0))
    return where


def test_asked_and_told(service, unix) -> None:
    order = object()
    service.order(order, (0, 1), (1, 2), explore=False)
    assert not service.have((0, 1), (1, 2))
    with Agent(unix) as agent:
        decisions = [agent.ask() for _ in range(3)]
        assert sorted(d.name for d in decisions) == ["blue", "green", "green"]
        assert agent.ask().idle == "waits"
        for decision in decisions:
            assert agent.tell(decision, decision.arm / 2) is True
        assert agent.tell(decisions[0].id, decisions[0].arm / 2) is False
        assert agent.tell(agent.ask(), 1.0) is False
        with pytest.raises(RewardRefused, match="another reward") as refused:
            agent.tell(decisions[0], 1.0)
        assert refused.value.kind == "twice"
        status = agent.status()
    assert service.have((0, 1), (1, 2))
    assert service.read(1, 0, 9) == [0.5, 0.5]
    assert (status["open"], status["counts"]["rewards"]) == (0, 3)


@pytest.mark.slow
def test_who_connects_while_a_door_closes_is_closed_too(service, tmp_path) -> None:
    """The run of tests fails on a socket that is left open."""
    for turn in range(20):
        door = address.open_door(service, f"unix:{tmp_path}/{turn}.sock", None, 0.0)
        with socket.socket(socket.AF_UNIX) as late:
            late.connect(f"{tmp_path}/{turn}.sock")
            door.close()
            with contextlib.suppress(ConnectionResetError):  # it was not accepted
                assert late.recv(1) == b""
        del door
        gc.collect()


def test_many_threads_and_a_loop_use_one_door(service, unix) -> None:
    service.order(object(), (0, 1), (100, 100), explore=False)
    told: list[int] = []

    def visit() -> None:
        with Agent(unix) as agent:
            while not (decision := agent.ask()).idle:
                agent.tell(decision, 1.0)
                told.append(decision.arm)

    async def visits() -> None:
        async with AsyncAgent(unix) as agent:
            for _ in range(5):
                decisions = await asyncio.gather(*(agent.ask() for _ in range(10)))
                used = [d for d in decisions if not d.idle]
                await asyncio.gather(*(agent.tell(d, 1.0) for d in used))
                told.extend(d.arm for d in used)

    threads = [threading.Thread(target=visit) for _ in range(2)]
    for thread in threads:
        thread.start()
    asyncio.run(visits())
    for thread in threads:
        thread.join()
    assert (
        [told.count(arm) for arm in (0, 1)] == [100, 100] == [service._desk.have(k) for k in (0, 1)]
    )


def test_whoever_is_not_there_or_says_nonsense_is_told_so(unix, tmp_path, monkeypatch) -> None:
    with pytest.raises(LiveError, match="did not answer"):
        Agent(f"unix:{tmp_path}/nobody.sock").ask()
    monkeypatch.delenv("POSSE_LIVE", raising=False)
    with pytest.raises(LiveError, match="set POSSE_LIVE"):
        Agent()
    monkeypatch.setenv("POSSE_LIVE", unix)
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(unix[5:])
        raw.sendall(b'{"n": "one"}\n')
        assert "is no request" in json.loads(raw.makefile().readline())["error"]
    with Agent() as agent:
        assert agent.ask("ann").idle == "waits"


def test_a_second_agent_does_not_take_the_socket_of_one_that_lives(service, unix) -> None:
    with pytest.raises(Exception, match="in use by another process"):
        address.open_door(service, unix, None, 0.0)
    assert Path(unix[5:]).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("listen", "fault"),
    [
        ("unix:", "names no file"),
        ("http://127.0.0.1", "must be"),
        ("https://127.0.0.1:1", "must be"),
        ("http://127.0.0.1:1/x", "must be"),
        ("http://127.0.0.1:x", "is no address"),
        ("http://0.0.0.0:1", "other machines"),
        ("http://10.0.0.1:1", "other machines"),
        ("http://shop.example:1", "other machines"),
        ("http://localhost:1", ""),
        ("http://[::1]:1", ""),
    ],
)
def test_addresses(listen, fault) -> None:
    assert fault in address.fault(listen)
    assert bool(fault) is bool(address.fault(listen))


def test_a_token_lets_others_in() -> None:
    assert address.fault("http://0.0.0.0:1", token=True) == ""


def test_addresses_of_ranks() -> None:
    assert address.resolved("unix:a-{rank}", "/b", 2) == "unix:/b/a-2"
    assert address.resolved("http://127.0.0.1:8016", "/b", 2) == "http://127.0.0.1:8018"
    assert address.resolved("http://127.0.0.1:80{rank}", "/b", 2) == "http://127.0.0.1:802"
