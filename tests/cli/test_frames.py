"""A run whose frames are written down, and shown."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from posse import api
from posse.durable.frames import COORDINATOR, read
from posse.plan import prepare
from posse.results.record import RunRecord
from tests.cli.conftest import Posse
from tests.support.remote import free_port
from tests.support.runfile import describe_run


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
