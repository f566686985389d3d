"""What an operator sees and starts: status, metrics, sweeps."""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from posse.cli import sweep
from posse.cli.main import main
from posse.engines.inquiry import ask
from posse.errors import PosseError, RunFailed, SpecError
from posse.measure.metrics import publish
from posse.security import keys
from tests.support.remote import Agent, Coordinator, free_port, until
from tests.support.runs import spec

SWEEP = """
system = "dp-mase"
seed = 1
repeat = 2
agents.count = 16
[arms]
kind = "bernoulli"
means = [0.9, 0.1]
[parameters]
epsilon = 1.0
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Coordinator:
    keys.create(tmp_path / "keys", 2)
    run = spec("central", 2, engine={"deadline": 30.0, "clock": "wall"})
    return Coordinator(run, "tcp://127.0.0.1:*", tmp_path / "keys")


def one_joined(c: Coordinator, folder: Path) -> Agent:
    agent = Agent(c.endpoint, keys=keys.for_agent(folder, 1))
    until(lambda: c.engine.hub.snapshot.arrived, "agent 1")
    return agent


def test_status_shows_who_is_up_and_who_is_waited_for(
    waiting: Coordinator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "keys"
    began = time.monotonic()
    agent = one_joined(waiting, folder)
    assert main(["status", "--join", waiting.endpoint, "--keys", str(folder), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    passed = time.monotonic() - began
    assert (status["agents"], status["arrived"], status["waiting_for"]) == (2, 1, [0])
    assert 0 <= status["heard_seconds_ago"]["1"] <= passed + 0.001  # told in milliseconds
    assert main(["status", "--join", waiting.endpoint, "--keys", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "1 of 2 agents are here, no run is going on" in shown
    zero, one = [line.split() for line in shown.splitlines()[1:]]
    assert zero == ["agent", "0", "not", "here", "waited", "for", "(to", "join)"]
    assert [*one[:4], *one[5:]] == ["agent", "1", "said", "Arrived", "s", "ago"]
    waiting.stop()
    assert agent.ended() == 0


def test_an_agents_key_may_not_ask(waiting: Coordinator, tmp_path: Path) -> None:
    pair = keys.for_agent(tmp_path / "keys", 0)
    with pytest.raises(RunFailed, match="did not answer for 2 s: .* the key is not its own"):
        ask(waiting.endpoint, pair, 2.0)
    assert waiting.engine.hub.lobby.refused["never-joined"] == 1
    waiting.stop()


def test_who_asks_without_the_right_keys_is_told_at_once(
    waiting: Coordinator, tmp_path: Path
) -> None:
    keys.create(tmp_path / "other", 1)
    unanswered = 60.0
    with pytest.raises(RunFailed, match="asks for keys; add --keys DIR"):
        ask(waiting.endpoint, None, unanswered)
    with pytest.raises(RunFailed, match="has no keys, or another than this folder's"):
        ask(waiting.endpoint, keys.for_operator(tmp_path / "other"), unanswered)
    waiting.stop()
    open_to_all = Coordinator(spec("central", 2), "tcp://127.0.0.1:*")
    with pytest.raises(RunFailed, match="or --insecure if there was none"):
        ask(open_to_all.endpoint, keys.for_operator(tmp_path / "keys"), unanswered)
    open_to_all.stop()


def test_status_of_nobody_is_said_in_time() -> None:
    with pytest.raises(RunFailed, match="there is no coordinator"):
        ask(f"tcp://127.0.0.1:{free_port()}", None, 0.3)


def test_metrics_say_what_status_says(waiting: Coordinator, tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    port = free_port()
    server = publish(waiting.engine.hub.status, f"127.0.0.1:{port}")
    one_joined(waiting, tmp_path / "keys")
    url = f"http://127.0.0.1:{port}/metrics"
    text = urllib.request.urlopen(url, timeout=5).read().decode()
    assert "posse_agents 2.0" in text
    assert "posse_agents_arrived 1.0" in text
    assert 'posse_agent_heard_seconds{agent="1"}' in text
    with pytest.raises(PosseError, match="cannot be bound"):
        publish(waiting.engine.hub.status, f"127.0.0.1:{port}")
    with pytest.raises(PosseError, match=r"must be \[HOST\]:PORT"):
        publish(waiting.engine.hub.status, "nonsense")
    with pytest.raises(PosseError, match="with a number up to 65535"):
        publish(waiting.engine.hub.status, ":65536")
    server.shutdown()
    server.server_close()
    waiting.stop()


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="there is no prometheus here")
def test_a_real_prometheus_scrapes_the_metrics(waiting: Coordinator, tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    port, web = free_port(), free_port()
    server = publish(waiting.engine.hub.status, f"127.0.0.1:{port}")
    one_joined(waiting, tmp_path / "keys")
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 200ms}\nscrape_configs:\n- job_name: posse\n"
        f"  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
    )
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{web}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        query = f"http://127.0.0.1:{web}/api/v1/query?query=posse_agents_arrived"
        found: list[Any] = []

        def scraped() -> bool:
            with suppress(OSError):
                found[:] = json.load(urllib.request.urlopen(query, timeout=2))["data"]["result"]
            return bool(found)

        until(scraped, "prometheus's first look")
        assert found[0]["value"][1] == "1"
    finally:
        process.terminate()
        process.wait()
        server.shutdown()
        server.server_close()
    waiting.stop()


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


def test_a_sweep_is_the_runs_of_its_points(
    sweep_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = ["--over", "parameters.epsilon=0.5,1.0", "--over", "seed=1,2"]
    out = tmp_path / "out"
    command = [sys.executable, "-P", "-m", "posse", "sweep", str(sweep_file), *over]
    rows = json.loads(subprocess.check_output([*command, "--json", "--out", str(out)]))
    assert [row["at"] for row in rows] == [
        {"parameters.epsilon": e, "seed": s} for e in ("0.5", "1.0") for s in ("1", "2")
    ]
    alone = ["run", str(sweep_file), "--set", "parameters.epsilon=0.5", "--seed", "2", "--json"]
    assert main([*alone, "--engine", "memory", "--out", str(tmp_path / "alone")]) == 0
    single = json.loads(capsys.readouterr().out)["summary"]
    for metric in ("rounds", "pulls", "regret", "data_messages"):
        assert rows[1]["summary"][metric] == single[metric]
    assert len((out / "sweep.csv").read_text().splitlines()) == 5


def test_a_wrong_point_starts_nothing(sweep_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = main(["sweep", str(sweep_file), "--over", "parameters.epsilon=1,-1", "--out", str(out)])
    assert code == 2
    assert not out.exists()
    with pytest.raises(SpecError, match="is not path=a,b,c"):
        sweep.points(["epsilon"])


def test_what_is_no_scheduler_is_said(sweep_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    assert main(["sweep", str(sweep_file), "--over", "seed=1,2", "--dask", "nonsense"]) == 1
    assert "--dask nonsense: no scheduler answers there" in capsys.readouterr().err


CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_sweep_on_a_dask_cluster(sweep_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    command = [sys.executable, "-P", "-m", "posse", "sweep", str(sweep_file)]
    command += ["--over", "seed=1,2", "--json"]
    cluster = subprocess.Popen(
        [sys.executable, "-P", "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    try:
        address = cluster.stdout.readline().decode().strip()
        on_dask = [*command, "--dask", address, "--out", str(tmp_path / "a")]
        there = json.loads(subprocess.check_output(on_dask))
    finally:
        cluster.stdin.close()
        cluster.wait(timeout=20)
        cluster.stdout.close()
    here = json.loads(subprocess.check_output([*command, "--out", str(tmp_path / "b")]))
    for one, other in zip(there, here, strict=True):
        assert one["summary"]["rounds"] == other["summary"]["rounds"]
