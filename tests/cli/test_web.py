"""--http: while a command runs, and for a while after."""

import json
import logging
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from posse import api
from posse.errors import PosseError
from posse.operate.web import Web
from posse.plan import prepare
from tests.conftest import Start
from tests.support.patience import PATIENCE
from tests.support.remote import free_port, until

TWO = """
system = "central"
agents.count = 2
arms = { kind = "bernoulli", means = [0.9, 0.1] }
"""


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except urllib.error.URLError:
        return 0, ""


@pytest.mark.slow
def test_it_is_there_before_the_run_and_after_until_a_signal_ends_it(
    run_file: Path, start: Start
) -> None:
    run_file.write_text(TWO)
    hub, ports = f"ipc://{run_file.parent}/hub", [free_port(), free_port()]
    http = [("--http", f":{port}", "--linger", "600") for port in ports]
    coordinator = start("coordinator", run_file, "--bind", hub, "--json", *http[0])
    first = start("agent", "--join", hub, *http[1])
    until(lambda: get(ports[0], "/readyz") == (503, "1 of 2 agents are here\n"), "agent 0")
    assert get(ports[0], "/healthz") == (200, "it is up\n")
    assert get(ports[1], "/readyz") == (200, "it has its coordinator\n")
    assert start("agent", "--join", hub).wait(PATIENCE) == 0
    over = (200, "it has ended, with exit code 0\n")
    until(lambda: [get(port, "/healthz") for port in ports] == [over] * 2, "the end")
    assert "posse_runs_completed_total 1.0" in get(ports[0], "/metrics")[1]
    assert coordinator.stdout is not None
    assert json.loads(coordinator.stdout.readline())["runs"][0]["best_arm"] == 0
    for process in (coordinator, first):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_a_port_that_is_taken_lets_nobody_go_with_success(
    run_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="posse")
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f":{other.getsockname()[1]}"
        with (
            pytest.raises(PosseError, match="cannot be bound") as error,
            api.serve(
                prepare(run_file),
                bind=f"ipc://{run_file.parent}/hub",
                on_hub=lambda hub: Web("--http", taken, {}).close(),
            ),
        ):
            pass
    assert f"letting all agents go (exit code 1): {error.value}" in caplog.messages
