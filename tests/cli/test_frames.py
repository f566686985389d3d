"""A run whose frames are written down, and shown."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from posse import api
from posse.durable.frames import COORDINATOR, read
from posse.plan import prepare
from posse.results.record import RunRecord
from tests.cli.conftest import Posse
from tests.support.remote import free_port
from tests.support.runfile import describe_run


@pytest.fixture
def frames(run_file: Path, posse: Posse) -> str:
    posse("run", "ride.toml", "--repeat", "2", "--capture", "frames")
    return "frames"


@pytest.fixture
def shown(frames: str, posse: Posse) -> Callable[..., list[str]]:
    """The lines in which the frames are shown."""
    return lambda *options: posse("frames", frames, *options).out.splitlines()


def test_frames_are_shown_a_line_each(shown: Callable[..., list[str]]) -> None:
    every = shown()
    votes = shown("--kind", "Vote")
    assert 0 < len(votes) < len(every)
    assert all(" → coordinator" in line and "Vote [" in line for line in votes)
    assert [line for line in every if "Vote [" in line] == votes
    to_agent = shown("--from", "coordinator", "--to", "3", "--plane", "data")
    assert to_agent
    assert all("coordinator → 3" in line and " data " in line for line in to_agent)


def test_frames_are_printed_for_programs(shown: Callable[..., list[str]]) -> None:
    votes = [json.loads(line) for line in shown("--kind", "Vote", "--json")]
    assert len(votes) == len(shown("--kind", "Vote"))
    assert {vote["run"] for vote in votes} == {0, 1}
    assert {vote["target"] for vote in votes} == {-1}


def test_each_process_of_a_run_on_several_machines_writes_what_it_sends(
    tmp_path: Path, posse: Posse
) -> None:
    run = describe_run("ucb1", 1, [0.8, 0.2], parameters={"horizon": 50})
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    ours, theirs = tmp_path / "coordinator", tmp_path / "agent"

    def serve() -> None:
        with api.serve(prepare(run), bind=endpoint, capture=ours) as runs:
            for _, record in runs([0]):
                assert isinstance(record, RunRecord)

    with ThreadPoolExecutor(1) as thread:
        served = thread.submit(serve)
        join = ["agent", "--join", endpoint, "--wait", "30", "--capture", str(theirs)]
        posse(*join)
        served.result(60)
    assert {frame.source for frame in read(ours)} == {COORDINATOR}
    assert {frame.source for frame in read(theirs)} == {None, 0}  # None: it asked for a rank
    assert {"Configure", "Begin", "Stop"} <= {frame.kind for frame in read(ours)}
    assert {"Join", "Arrived", "Ready", "Report"} <= {frame.kind for frame in read(theirs)}
