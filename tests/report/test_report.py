"""The report: what it reads, what it refuses, what its words and figures say."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from posse import api
from posse.cli import main as cli
from posse.cli import report
from posse.durable.directory import RunDirectory
from posse.measure.confidence import mean_ci
from posse.plan import prepare
from posse.protocol.control import LinkCount
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane
from posse.reading import folder as folders
from posse.report import (
    run_page,
)
from posse.report.drawing import canvas, large_numbers, to_svg
from posse.report.regret import regret
from posse.report.traffic import section as traffic_section
from posse.results.measures import ROUNDS
from posse.results.record import RunRecord
from posse.results.traffic import traffic
from tests.support.conversations import examples
from tests.support.runs import spec


def _raw(**changes):
    return {
        "system": "dp-mase",
        "seed": 3,
        "repeat": 3,
        "agents": {"count": 16},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.1]},
        "parameters": {"epsilon": 0.5},
        "engine": {"kind": "memory"},
        **changes,
    }


def make(path, **changes):
    checked = prepare(_raw(**changes))
    RunDirectory(path, checked).open().complete(api.run(checked))
    return path


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory):
    return make(tmp_path_factory.mktemp("runs") / "dp")


def test_links_are_added_up_over_runs_and_shown_of_one(run_directory):
    series = folders.read(run_directory)
    data = [link for link in series.links() if link.plane == Plane.DATA]
    runs = json.loads((run_directory / "result.json").read_text())["runs"]
    for name in ("messages", "payload_bytes", "frame_bytes"):
        told = sum(run["communication"]["data"][name] for run in runs)
        assert sum(getattr(link, name) for link in data) == told
    by_kind, by_link = traffic_section(series).tables
    plane = by_link.header.index("plane")
    assert by_link.header[plane:] == by_kind.header
    for rows in ([row[plane:] for row in by_link.rows], by_kind.rows):
        shown = sum(float(frames.value) for of, *_, frames in rows if of.text == "data")
        assert shown == pytest.approx(told / len(runs))


def test_the_page_says_what_the_result_says(run_directory):
    assert cli.main(["report", str(run_directory)]) == 0
    text = (run_directory / "report.html").read_text()
    result = json.loads((run_directory / "result.json").read_text())
    assert "Arm 0 is the best, say all 3 runs" in text
    for run in result["runs"]:
        assert f"{run['rounds']:,}" in text
    assert "ε = 0.5 against whoever reads all messages of all agents: had the value of one" in text
    assert "The pulls themselves; which agent is active" in text
    assert "A run of the lab illustrates this and protects nothing" in text
    for chart in ("regret", "pulls", "votes", "bytes"):
        svg = (run_directory / "report-figures" / f"{chart}.svg").read_text()
        assert "var(--s0)" in svg or "var(--s1)" in svg
        assert (run_directory / "report-figures" / f"{chart}.csv").stat().st_size
    assert not re.search(r'(src|href)="https?:', text)
    assert "#00fe" not in text


def test_figures_name_no_id_twice_and_are_the_same_each_time(run_directory):
    page, again = (run_page.run_page(folders.read(run_directory)).html() for _ in range(2))
    assert page == again
    text = "".join(re.findall("<svg.*?</svg>", page, re.S))
    ids = re.findall(r' id="([^"]*)"', text)
    assert ids
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]*)', text)) <= set(ids)


def test_regret_csv_ends_at_the_mean_regret(run_directory):
    chart = regret([folders.read(run_directory)])
    runs = json.loads((run_directory / "result.json").read_text())["runs"]
    ends = np.mean([run["regret_curve"][-1][1] for run in runs])
    assert chart.rows[-1][2] == pytest.approx(ends)


def test_what_is_no_run_is_said(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    for path, said in ((".", "is not a run"), ("none", "does not exist"), ("file", "is a file")):
        assert said in refusal(capsys, "report", tmp_path / path)


def refusal(capsys, *arguments):
    assert cli.main([str(a) for a in arguments]) != 0
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("posse: ")
    return said


@pytest.mark.parametrize("reason", [None, "interrupted"])
def test_a_run_without_any_complete_run(tmp_path, reason):
    directory = RunDirectory(tmp_path / "none", prepare(_raw())).open()
    if reason:
        directory.fail(reason, [])
    assert cli.main(["report", str(tmp_path / "none")]) == 0
    text = (tmp_path / "none" / "report.html").read_text()
    assert f"<h1>Failed: {reason or 'there is neither'}" in text
    assert "epsilon = 0.5" in text


def test_compare_puts_systems_side_by_side(tmp_path, run_directory):
    other = make(tmp_path / "central", system="central", parameters={})
    out = tmp_path / "compare.html"
    assert cli.main(["compare", str(run_directory), str(other), "--out", str(out)]) == 0
    text = out.read_text()
    assert "dp-mase · central" in text
    means = {s.name: mean_ci(s.values(ROUNDS.read))[0] for s in folders.find(tmp_path)}
    assert f"{means['central']:,.0f}" in text
    rows = list(csv.DictReader((tmp_path / "compare-figures/rounds.csv").read_text().splitlines()))
    assert [row["run"] for row in rows] == ["dp-mase", "central"]
    assert float(rows[1]["mean"]) == pytest.approx(means["central"])


def test_compare_refuses_other_arms(capsys, tmp_path, run_directory):
    arms = {"kind": "bernoulli", "means": [0.9, 0.5, 0.2]}
    other = make(tmp_path / "other", arms=arms)
    said = refusal(capsys, "compare", run_directory, other, "--out", tmp_path / "x.html")
    assert "do not fit together" in said
    assert "means: [0.9, 0.5, 0.1] against [0.9, 0.5, 0.2]" in said


def test_without_the_extra_one_sentence_says_what_to_install(capsys, monkeypatch, tmp_path):

    monkeypatch.setattr(report, "_NEEDED", ("jinja2", "no_such_library"))
    said = refusal(capsys, "report", tmp_path)
    assert "no_such_library" in said
    assert 'pip install "posse-bandits[report]"' in said


@pytest.mark.slow
def test_a_large_run_is_a_small_page(tmp_path):
    """200 agents that all speak with each other, and 10 runs of 10,000 points each."""
    agents, points = 200, 10_000
    checked = spec("dp-mase", agents, repeat=10)
    links = [
        LinkCount(a, b, Plane.DATA, "Vote", 3, 10 + (7 * a + b) % 890, 99)
        for a in range(agents)
        for b in (*range(agents), COORDINATOR)
        if a != b
    ]
    whole = RunRecord(
        run=0,
        seed=3,
        status="identified",
        best_arm=0,
        regret_curve=[[float(t), 0.3 * t] for t in range(points)],
        pulls_per_arm=[points] * 10,
        answers=[0] * agents,
        log={"votes": [[float(t), t % agents, 1 + t % 9] for t in range(points)]},
        communication=traffic(links),
        links=links,
        elapsed_seconds=0.1,
    )
    records = [msgspec.structs.replace(whole, run=n, links=links * (n == 0)) for n in range(10)]
    RunDirectory(tmp_path, checked).open().complete(checked.result(records))
    assert cli.main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert len(page) < 5e6
    assert len(re.findall(r"<\w", page)) < 10_000  # what a browser must lay out


def ticks(svg):
    """What stands at the axes, in order."""
    return re.findall(r">(−?[\d.]+[kM]?)</text>", svg)


def test_regret_has_the_same_axes_alone_and_beside_others(run_directory):
    """A bound is far off here; it is told, and the axes are even ones from 0 all the same."""
    series = folders.read(run_directory)
    alone, beside = regret([series]), regret([series, series], ["one", "other"])
    assert "too far to draw" in alone.caption
    assert ticks(alone.svg) == ticks(beside.svg)
    assert ticks(alone.svg).count("0") == 2


def test_a_logarithmic_axis_has_no_numbers_on_top_of_each_other():
    with canvas() as (figure, axes):
        axes.set_yscale("log")
        axes.plot([1, 2], [6.0, 120.0])
        large_numbers(axes)
        svg = to_svg(figure, "log", "")
    assert ticks(svg)[-4:] == ["10", "100", "20", "50"]  # the first is x's last


def test_equal_points_of_a_sweep_keep_the_shades_of_its_order(run_directory):
    series = folders.read(run_directory)
    twice = [
        msgspec.structs.replace(run, regret_curve=[[0.0, 0.0], [9.0, 5.0]]) for run in series.runs
    ]
    every = [series, replace(series, runs=twice), replace(series, runs=twice)]
    drawn = regret(every, ["p = 1", "p = 2", "p = 4"]).svg
    plain = regret(every, ["x", "y", "z"]).svg
    assert drawn.count("stroke-opacity") > plain.count("stroke-opacity")


@examples(Path(__file__).with_name("report.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
