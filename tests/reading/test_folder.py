"""Run directories read back: as structs, whatever version of posse wrote them."""

import shutil
from pathlib import Path

import pytest

from posse import api
from posse.durable.directory import RunDirectory
from posse.errors import InputError
from posse.plan import prepare
from posse.protocol.message import Plane
from posse.reading import folder as folders
from posse.report import run_page
from posse.results.record import Detail
from posse_systems.li2022.system import FederatedDetail
from tests.support import field as support

BEFORE = Path(__file__).parent / "before"
"""What version 0.1.0 wrote of a run of hdp-mab over a path of three agents and one alone."""


@pytest.mark.parametrize("system", ["mase", "private-ucb", "tdfs-ucb", "anonymous", "hdp-mab"])
def test_what_was_written_is_read(system: str, tmp_path: Path) -> None:
    means = {"kind": "bernoulli", "means": list(support.MEANS)}
    case = support.CASES[system]
    raw = {"system": system, "agents": {"count": 4}, "arms": means, "seed": 5, "repeat": 2, **case}
    plan = prepare({**raw, "engine": {"kind": "memory"}})
    result = api.run(plan)
    RunDirectory(tmp_path, plan).open().complete(result)
    series = folders.read(tmp_path)
    assert series.spec == plan.spec
    assert [run.document() for run in series.runs] == [run.document() for run in result.runs]
    assert series.network == result.network
    assert [type(run.detail) for run in series.runs] == [plan.system.results.detail] * 2
    links = [link for run in result.runs for link in run.links]
    assert sum(link.messages for link in series.links()) == sum(link.messages for link in links)


def test_a_directory_of_an_earlier_version() -> None:
    series = folders.read(BEFORE)
    (run,) = series.runs
    assert (run.status, run.best_arm, run.rounds, run.right) == ("identified", 0, 1, None)
    assert isinstance(run.detail, FederatedDetail)
    assert [row.active for row in run.detail.explored] == [4]
    assert run.communication.closed_form.cost == run.communication.cost
    assert (series.network.sinks, series.network.diameter) == ([1, 3], 2)
    assert run.delay is not None
    assert run.delay.t_delay == [0]
    up = [link for link in series.links() if link.plane == Plane.DATA and link.target == -1]
    assert sum(link.messages for link in up) == run.communication.links.agent_coordinator


def test_its_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")
    page = run_page.run_page(folders.read(BEFORE))
    page.write(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Arm 0 is the best" in text
    assert "Sink: agents 1, 3." in text


def test_without_the_systems_code_what_all_systems_tell_is_read(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(BEFORE, copy)
    text = (copy / "spec.toml").read_text()
    (copy / "spec.toml").write_text(text.replace('"hdp-mab"', '"gone:SYSTEM"'))
    series = folders.read(copy)
    assert series.system is None
    assert type(series.runs[0].detail) is Detail
    assert series.runs[0].rounds == 1


@pytest.mark.parametrize(
    "broken",
    [
        *("{", "[" * 5000, "[]", '{"runs": 3}', '{"runs": [{}]}', '{"runs": [[]]}'),
        *('{"runs": [{"status": "x"}]}', '{"runs": [], "network": []}'),
        '{"runs": [{"run": 0, "seed": 0, "answers": 3}]}',
    ],
)
def test_what_posse_did_not_write_is_said(broken: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(BEFORE, copy)
    (copy / "result.json").write_text(broken)
    with pytest.raises(InputError, match="is not what posse run wrote"):
        folders.read(copy)


@pytest.mark.parametrize(
    "broken", ["run\n7\n", "run\n0,0,1,x,Vote,1,1,1\n", "run\n0,0,1,0,Vote,1,1,1,1\n"]
)
def test_a_table_that_posse_did_not_write_is_named(broken: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(BEFORE, copy)
    (copy / "links.csv").write_text(broken)
    with pytest.raises(InputError, match=r"links\.csv: is not what posse run wrote"):
        _ = folders.read(copy).links()


@pytest.mark.parametrize(
    "text", ["run\n0,1,2,0," + "a" * 200_000, "run\n" + "0" * (1 << 21), 'run\n0,1,2,0,"x']
)
def test_a_table_of_links_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    means = {"kind": "bernoulli", "means": list(support.MEANS)}
    raw = {"system": "ucb1", "agents": {"count": 1}, "arms": means, "parameters": {"horizon": 9}}
    plan = prepare({**raw, "engine": {"kind": "memory"}})
    RunDirectory(tmp_path, plan).open().complete(api.run(plan))
    (tmp_path / "links.csv").write_text(text)
    with pytest.raises(InputError, match=r"links\.csv(: is not what| cannot be read)"):
        folders.read(tmp_path).links()


def test_a_result_whose_warnings_are_none_is_named(tmp_path: Path) -> None:
    shutil.copytree(BEFORE, tmp_path / "run")
    result = tmp_path / "run" / "result.json"
    for warnings in ("-1", '"x"', "[1]"):
        result.write_text(f'{{"runs": [], "warnings": {warnings}}}')
        with pytest.raises(InputError, match="run: is not what posse run wrote"):
            folders.read(tmp_path / "run")
