"""`[network]`: the same run over the links that the run file declares, in virtual time."""

import asyncio
from pathlib import Path
from typing import Any

import networkx
import pytest

import posse
from posse.durable.frames import read
from posse.errors import PosseError, RunFailed, SpecError
from posse.testing import ControlledCluster
from posse.testing.simulator.check import result_of
from posse.testing.small import SMALL

NETWORK = {"delay": 0.05, "jitter": 0.01, "loss": 0.05, "bandwidth": 1e6}


def record(name: str, engine: dict[str, Any], network: dict[str, Any] | None = None) -> Any:
    raw = {"system": name, **SMALL[name], "engine": engine, "seed": 3}
    return posse.run(raw if network is None else {**raw, "network": network}).runs[0]


@pytest.mark.parametrize("name", ["dp-mase", "private-ucb", "hdp-mab", "tdfs-private", "anonymous"])
def test_the_result_is_that_without_delays(name: str) -> None:
    slow = record(name, {"kind": "memory"}, NETWORK)
    assert result_of(slow) == result_of(record(name, {"kind": "memory"}))
    assert slow.elapsed_seconds > 0.05
    assert slow.delay.p50 >= 0.05


def test_the_time_to_the_answer_is_that_of_the_messages() -> None:
    """`cdp-mab` of one phase: begin, sums, decision, last word: four ways at .25 s each."""
    run = record("cdp-mab", {"kind": "memory"}, {"delay": 0.25})
    ways = run.elapsed_seconds / 0.25
    assert abs(ways - round(ways)) < 0.01
    assert record("cdp-mab", {"kind": "memory"}, {"delay": 0.5}).elapsed_seconds == pytest.approx(
        2 * run.elapsed_seconds, rel=0.01
    )


def test_the_same_seed_takes_the_same_time() -> None:
    one, other = (record("private-ucb", {"kind": "memory"}, NETWORK) for _ in range(2))
    assert one.elapsed_seconds == other.elapsed_seconds
    assert one.delay == other.delay


def test_across_processes_relays_realise_it() -> None:
    network = {"delay": 0.02, "coordinator": {"delay": 0.04}}
    run = record("ddp-mab", {"kind": "processes", "transport": "tcp"}, network)
    virtual = record("ddp-mab", {"kind": "memory"}, network)
    assert result_of(run) == result_of(virtual)
    assert virtual.delay.p50 == pytest.approx(0.02, rel=0.1)
    assert run.delay.p50 > 0.018  # never before its time; after it, however loaded this machine is


def test_longer_than_the_deadline_ends_the_run() -> None:
    engine = {"kind": "memory", "deadline": 5.0, "absence": 5.0, "on_missing": "end"}
    with pytest.raises(RunFailed, match="agent"):
        record("private-ucb", engine, {"links": [{"ends": ["coordinator", 1], "delay": 3000.0}]})


def test_a_capture_has_the_paper_s_frames_and_virtual_times(tmp_path: Path) -> None:
    raw = {"system": "mase", **SMALL["mase"], "engine": {"kind": "memory"}}
    captured = []
    for name, network in (("near", {}), ("far", {"network": {"delay": 0.1}})):
        run = posse.run({**raw, **network}, capture=tmp_path / name).runs[0]
        frames = list(read(tmp_path / name))
        captured.append(sorted((f.source, f.kind) for f in frames if f.plane == "data"))
    assert captured[0] == captured[1] != []
    times = [frame.time for frame in frames]
    assert times == sorted(times)
    assert times[0] >= 0
    assert run.elapsed_seconds < times[-1] < 2 * run.elapsed_seconds


@pytest.mark.slow
def test_edges_of_a_graph_may_say_what_their_links_have(tmp_path: Path) -> None:
    path = networkx.cycle_graph(4)
    networkx.set_edge_attributes(path, 0.1, "latency")
    path.edges[1, 2]["latency"] = 0.4
    networkx.write_graphml(path, tmp_path / "ring.graphml")
    small = SMALL["private-ucb"]
    raw = {
        "system": "private-ucb",
        **small,
        "agents": {"count": 4},
        "parameters": small["parameters"] | {"horizon": 10},
        "topology": {"kind": "file", "path": str(tmp_path / "ring.graphml")},
    }
    network = {"delay": 0.001, "edges": {"delay": "latency"}}
    run = posse.run({**raw, "network": network, "engine": {"kind": "memory"}}).runs[0]
    medians = {(link.source, link.target): link.p50 for link in run.delay.links}
    for ends, seconds in {(0, 1): 0.1, (1, 2): 0.4, (2, 1): 0.4}.items():
        assert medians[ends] == pytest.approx(seconds, rel=0.1)
    real = {**raw, "network": network, "engine": {"kind": "processes", "transport": "tcp"}}
    across = posse.run(real).runs[0]
    assert result_of(across) == result_of(run)
    late = {(link.source, link.target): link.p50 for link in across.delay.links}
    assert late[1, 2] > 0.35 > 0.09 < late[0, 1]
    with pytest.raises(SpecError, match="network.edges.loss: the edge 0–1 has no number 'rate'"):
        posse.run({**raw, "network": {"edges": {"loss": "rate"}}, "engine": {"kind": "memory"}})


def test_a_cluster_in_memory_has_the_network_too() -> None:
    raw = {"system": "mase", **SMALL["mase"], "engine": {"kind": "memory"}}

    async def twice() -> tuple[list[float], list[int]]:
        async with ControlledCluster({**raw, "network": {"delay": 0.5}}) as cluster:
            seconds = [(await cluster.run()).runs[0].elapsed_seconds for _ in range(2)]
            return seconds, sorted({frame.run for frame in cluster.messages(plane="data")})

    seconds, runs = asyncio.run(twice())
    assert min(seconds) > 1.0
    assert runs == [0, 1]


def test_errors_are_those_without_a_network(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def make(**given):\n    return 3\n")
    arms = {"kind": "python", "target": "broken:make", "path": [str(tmp_path)], "arms": 2}
    raw = {"system": "mase", "agents": {"count": 3}, "engine": {"kind": "memory"}, "arms": arms}
    ends = []
    for network in ({}, {"network": {"delay": 0.1}}):
        with pytest.raises(PosseError) as caught:
            posse.run({**raw, **network})
        ends.append((type(caught.value), caught.value.exit_code, str(caught.value)))
    assert ends[0] == ends[1]
