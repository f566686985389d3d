"""Metrics for Prometheus."""

import json
import shutil
import subprocess
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from posse.engines.snapshot import Snapshot
from posse.errors import PosseError
from posse.measure.metrics import publish
from tests.support.operator import one_joined, waiting_coordinator
from tests.support.remote import Coordinator, free_port, until


@pytest.fixture
def waiting(tmp_path: Path) -> Coordinator:
    return waiting_coordinator(tmp_path / "keys")


def test_metrics_say_what_status_says(waiting: Coordinator, tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    port = free_port()
    server = publish(waiting.engine.hub.status, f"127.0.0.1:{port}", field=False)
    one_joined(waiting, tmp_path / "keys")
    url = f"http://127.0.0.1:{port}/metrics"
    text = urllib.request.urlopen(url, timeout=5).read().decode()
    assert "posse_agents 2.0" in text
    assert "posse_agents_arrived 1.0" in text
    assert 'posse_agent_heard_seconds{agent="1"}' in text
    with pytest.raises(PosseError, match="cannot be bound"):
        publish(waiting.engine.hub.status, f"127.0.0.1:{port}", field=False)
    with pytest.raises(PosseError, match=r"must be \[HOST\]:PORT"):
        publish(waiting.engine.hub.status, "nonsense", field=False)
    with pytest.raises(PosseError, match="with a number up to 65535"):
        publish(waiting.engine.hub.status, ":65536", field=False)
    server.shutdown()
    server.server_close()
    waiting.stop()


def test_in_the_field_metrics_do_not_say_who_spoke_when() -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    status = Snapshot(agents=2, arrived=2, heard=((0, 1.0, "Vote"),), frames=1_234).status(2.0)
    port = free_port()
    server = publish(lambda: status, f":{port}", field=True)
    try:
        assert server.server_address == ("127.0.0.1", port)
        url = f"http://127.0.0.1:{port}/metrics"
        text = urllib.request.urlopen(url, timeout=5).read().decode()
    finally:
        server.shutdown()
        server.server_close()
    assert "posse_frames_total 1000.0" in text
    assert "heard" not in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="there is no prometheus here")
def test_a_real_prometheus_scrapes_the_metrics(waiting: Coordinator, tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    port, web = free_port(), free_port()
    server = publish(waiting.engine.hub.status, f"127.0.0.1:{port}", field=False)
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
