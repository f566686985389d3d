"""Metrics for Prometheus, and the dashboard that shows them."""

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posse.hosts.status import AgentStatus, CoordinatorStatus
from posse.operate import health
from posse.operate.web import Web
from tests.support.operator import one_joined, waiting_coordinator
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, free_port, until

pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")


@contextmanager
def served(routes: health.Routes) -> Iterator[Web]:
    web = Web("--http", ":0", routes)
    try:
        yield web
    finally:
        web.close()


def text_of(routes: health.Routes) -> str:
    with served(routes) as web:
        return urllib.request.urlopen(f"{web.url}/metrics", timeout=PATIENCE).read().decode()


def test_metrics_say_what_status_says() -> None:
    status = CoordinatorStatus(
        agents=2,
        arrived=1,
        heard_seconds_ago={1: 1.5},
        heard={1: "Vote"},
        frames=1_234,
        refused={"replayed": 2},
        ended=3,
    )
    text = text_of(health.of_coordinator(lambda: status, Path(), field=False))
    assert "posse_agents 2.0" in text
    assert "posse_agents_arrived 1.0" in text
    assert "posse_frames_total 1234.0" in text
    assert 'posse_refused_total{reason="replayed"} 2.0' in text
    assert 'posse_agent_heard_seconds{agent="1"} 1.5' in text
    assert "posse_exit_code 3.0" in text


def test_in_the_field_metrics_do_not_say_who_spoke_when() -> None:
    status = CoordinatorStatus(
        agents=2, arrived=2, heard_seconds_ago={0: 1.0}, heard={0: "Vote"}, frames=1_234
    )
    text = text_of(health.of_coordinator(lambda: status, Path(), field=True))
    assert "posse_frames_total 1000.0" in text
    assert "heard" not in text


def test_an_agents_metrics_say_nothing_of_its_rewards() -> None:
    status = AgentStatus(connected=True, running=True, links_down=1)
    text = text_of(health.of_agent(lambda: status))
    ours = {line.split()[0] for line in text.splitlines() if line.startswith("posse_")}
    assert ours == {"posse_agent_connected", "posse_agent_run_going_on", "posse_agent_links_down"}


DASHBOARD = Path(__file__).parents[2] / "deploy/grafana.json"


def queries() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="there is no prometheus here")
def test_a_real_prometheus_answers_every_query_of_the_dashboard(tmp_path: Path) -> None:
    waiting = waiting_coordinator(tmp_path / "keys")
    hub, port = waiting.engine.hub, free_port()
    agent = one_joined(waiting, tmp_path / "keys")
    with (
        served(health.of_coordinator(hub.status, tmp_path, field=False)) as coordinators,
        served(health.of_agent(agent.process.status)) as agents,
    ):
        Agent(waiting.endpoint).ended()  # without keys
        until(lambda: hub.status().refused, "that something was refused")
        waiting.stop()
        agent.ended()
        targets = [f"127.0.0.1:{web.port}" for web in (coordinators, agents)]
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 200ms}\nscrape_configs:\n- job_name: posse\n"
            f"  static_configs: [{{targets: {targets}}}]\n"
        )
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for query in queries():
                asked = query.replace("$__rate_interval", "5s").replace("$job", "posse")
                until(partial(answers, port, asked), f"an answer to {asked}")
            assert answers(port, "posse_agents_arrived")[0]["value"][1] == "1"
        finally:
            process.terminate()
            process.wait()


def answers(port: int, query: str) -> list[Any]:
    """What Prometheus finds; [] while it has not looked yet."""
    url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
    try:
        return json.load(urllib.request.urlopen(url, timeout=2))["data"]["result"]
    except (urllib.error.URLError, ConnectionError):
        return []
