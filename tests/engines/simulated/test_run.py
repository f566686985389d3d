"""`[network]`: the same run over the links that the run file declares, in virtual time."""

from pathlib import Path
from typing import Any

import pytest

import posse
from posse.durable.frames import read
from posse.errors import RunFailed
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


def test_a_capture_has_the_paper_s_frames(tmp_path: Path) -> None:
    raw = {"system": "mase", **SMALL["mase"], "engine": {"kind": "memory"}}
    captured = []
    for name, network in (("near", {}), ("far", {"network": {"delay": 0.1}})):
        posse.run({**raw, **network}, capture=tmp_path / name)
        frames = [frame for frame in read(tmp_path / name) if frame.plane == "data"]
        captured.append(sorted((frame.source, frame.kind) for frame in frames))
    assert captured[0] == captured[1] != []
