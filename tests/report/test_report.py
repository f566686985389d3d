"""The report: what it reads, what it refuses, what its words and figures say."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from posse import api
from posse.cli import main as cli
from posse.cli import report
from posse.durable.directory import RunDirectory
from posse.durable.shown import of_system
from posse.measure.confidence import mean_ci
from posse.plan import prepare
from posse.protocol.control import LinkCount
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane
from posse.protocol.privacy import Claim, OneReward
from posse.reading import folder as folders
from posse.report import (
    answers,
    comparison,
    delay,
    differences,
    figures,
    network,
    privacy,
    run_page,
)
from posse.report.drawing import canvas, large_numbers, to_svg
from posse.report.regret import mean_curve, regret
from posse.report.traffic import section as traffic_section
from posse.results.measures import ROUNDS
from posse.results.record import Delay, LinkDelay, NetworkFacts, Privacy, RunRecord
from posse.results.traffic import traffic
from posse.system.bounds import run_means
from posse_systems.esfandiari2022.system import ParallelDetail
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


def test_mean_curve_holds_the_last_value():
    times, mean, low, high = mean_curve(
        [[[0.0, 0.0], [10.0, 10.0]], *4 * [[[0.0, 0.0], [5.0, 5.0]]]]
    )
    assert times[-1] == 10
    assert mean[-1] == pytest.approx((10 + 4 * 5) / 5)
    # Student's t at four degrees of freedom; the standard error is 1
    half = 2.7764451
    assert (low[-1], high[-1]) == pytest.approx((6 / np.exp(half / 6), 6 * np.exp(half / 6)))
    assert low[0] == high[0] == 0
    assert np.isnan(mean_curve(4 * [[[0.0, 0.0], [10.0, 10.0]]])[2:]).all()


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


def test_an_arm_that_no_run_agreed_on_is_not_called_the_best(run_directory, tmp_path):
    series = folders.read(run_directory)
    for run in series.runs:
        run.status = "no_consensus"
    run_page.run_page(series).write(tmp_path / "page.html")
    said = "Arm 0 is the likeliest, without consensus, say all 3 runs"
    assert said in (tmp_path / "page.html").read_text()


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


def test_text_in_figures_keeps_its_decimals():
    (chart,) = privacy.section(_series(spent=[0.25, 0.1], epsilon=0.25)).charts
    assert ">0.25<" in re.sub(r'"[^"]*"', "", chart.svg)


def _series(spent=(0.1,), **claim):
    run = RunRecord(
        run=0,
        seed=3,
        privacy=Privacy(
            claim=Claim(change=OneReward(), **{"mechanism": "laplace", "epsilon": 0.1, **claim}),
            spent_per_agent=list(spent),
            releases_per_agent=[1] * len(spent),
            records=None,
            variant="corrected",
            protects=False,
        ),
    )
    plan = prepare(_raw())
    return folders.Series(
        path=Path(),
        name="x",
        spec=plan.spec,
        system=of_system(plan.system),
        text="",
        runs=[run],
        failure=None,
        network=NetworkFacts(),
        warnings=[],
    )


@pytest.mark.parametrize(
    ("claim", "term", "words"),
    [
        ({"epsilon": 0.1}, "Promised", "at most 1.11 times as probable (strong)"),
        ({"epsilon": 5.0}, "Promised", "at most 148 times as probable (weak)"),
        ({"holds": False, "note": "Because."}, "Does it hold?", "No"),
        ({"mechanism": "none", "note": "Raw."}, "Protected", "Nothing. Raw."),
        ({"delta": 1e-5}, "Promised", "at most 1.11 times as probable, but for 1e-05"),
        ({"delta": 1e-5}, "Spent", "after the fact: how many releases there were depended on"),
        ({}, "In the lab", "protects nothing"),
    ],
)
def test_ledger_in_plain_words(claim, term, words):
    assert words in dict(privacy.terms(_series(**claim)))[term]


def test_roles_are_found_where_systems_tell_them():
    series = _series()
    series.network.sinks = [2]
    series.network.byzantine = [0, 1]
    series.runs[0].dismissed = {1: "spoke out of turn"}
    assert network.roles(series) == {"sink": {2}, "byzantine": {0, 1}, "gone": {1}}


def test_who_was_lost_is_gone_and_did_not_leave_early(run_directory):
    series = folders.read(run_directory)
    series.runs[0].dismissed = {1: "lost"}
    assert network.section(series).text[1:] == ["Gone: agent 1."]


def test_what_is_no_run_is_said(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    for path, said in ((".", "is not a run"), ("none", "does not exist"), ("file", "is a file")):
        assert said in refusal(capsys, "report", tmp_path / path)


def refusal(capsys, *arguments):
    assert cli.main([str(a) for a in arguments]) != 0
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("posse: ")
    return said


def test_an_unfinished_run_shows_what_there_is(tmp_path):
    checked = prepare(_raw())
    records: list[RunRecord] = []
    api.run(checked, on_record=records.append)
    directory = RunDirectory(tmp_path / "part", checked).open()
    for record in records[:2]:
        directory.store.keep(str(record.run), record)
    directory.fail("agent 3 fell silent", records[:2])
    assert cli.main(["report", str(tmp_path / "part")]) == 0
    text = (tmp_path / "part" / "report.html").read_text()
    assert "<h1>Stopped after 2 of 3 runs: agent 3 fell silent. Until then: Arm 0 is the" in text
    assert "say all 2 runs" in text


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


def test_a_sweep_is_drawn_against_what_was_varied(tmp_path):
    for epsilon in (0.2, 0.5):
        make(tmp_path / "sweep" / f"eps-{epsilon}", parameters={"epsilon": epsilon})
    assert cli.main(["report", str(tmp_path / "sweep")]) == 0
    assert differences.varied(folders.find(tmp_path / "sweep")) == ["parameters.epsilon"]
    rows = list(
        csv.DictReader((tmp_path / "sweep/report-figures/rounds.csv").read_text().splitlines())
    )
    assert [float(row["parameters.epsilon"]) for row in rows] == [0.2, 0.5]


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


def test_arms_of_each_run_are_not_counted_together(tmp_path):
    arms = {"kind": "bernoulli", "means": {"random": "uniform", "count": 3}}
    make(tmp_path / "own", system="central", parameters={}, arms=arms, repeat=2)
    made = run_page.run_page(folders.read(tmp_path / "own"))
    assert made.title == "The best arm was found in all 2 runs, each on arms of its own"
    (pulls,) = made.sections[0].charts
    assert pulls.caption == "Mean over the runs, each on arms of its own, the best first."
    assert pulls.header == ("place", "mean_of_arm", "pulls")
    spec, runs = folders.read(tmp_path / "own").spec, folders.read(tmp_path / "own").runs
    best = [run.pulls_per_arm[int(run_means(spec, run.run).argmax())] for run in runs]
    assert pulls.rows[0][2] == sum(best) / 2


@pytest.mark.parametrize("seed", [None, 3])
def test_true_means_are_shown_where_all_runs_have_the_same(tmp_path, seed):
    arms = {"kind": "bernoulli", "means": {"random": "uniform", "count": 3, "seed": seed}}
    make(tmp_path / "central", system="central", parameters={}, arms=arms, repeat=2)
    (table,) = answers.section(folders.read(tmp_path / "central")).tables
    assert ("true mean" in table.header) is (seed is not None)
    if seed is not None:
        shown = {arm.value: mean.value for arm, mean, *_ in table.rows}
        drawn = np.random.default_rng(seed).uniform(0, 1, 3).round(12).tolist()
        assert [shown[arm] for arm in range(3)] == drawn


@pytest.mark.parametrize("runs", [1, 2])
def test_delays_by_distance_are_those_of_all_runs(tmp_path, runs):
    make(
        tmp_path / "ring",
        system="cooperative-ucb",
        agents={"count": 4},
        topology={"kind": "ring"},
        parameters={"horizon": 20},
        repeat=runs,
    )
    (chart,) = figures.draw_declared(folders.read(tmp_path / "ring"))
    assert chart.header == ("hops", "mean delay (slots)", "runs")
    assert chart.rows[0] == (1.0, 1.0, runs)


@pytest.mark.parametrize(
    ("status", "title"),
    [
        ("horizon", "No arm was named in 1 run (an arm for each user)"),
        ("exhausted", "No answer in 1 run: the rewards were used up first"),
    ],
)
def test_what_is_no_arm_for_all_is_an_answer_too(run_directory, status, title):
    run = RunRecord(run=0, seed=3, status=status, detail=ParallelDetail())
    series = replace(folders.read(run_directory), runs=[run])
    said = run_page.run_page(series).title
    assert said == f"1 of 3 runs ended: {title}"


def delays(run_directory, *each):
    """The section of a series whose runs had these delays."""
    series = folders.read(run_directory)
    runs = [msgspec.structs.replace(series.runs[-1], delay=one) for one in each]
    return delay.section(replace(series, runs=runs))


@pytest.mark.parametrize("system", ["mase", "ddp-mab"])
def test_a_cost_is_the_papers_where_its_paper_defines_one(system, tmp_path):
    li = {"parameters": {"epsilon": 1.0, "horizon": 300}, "topology": {"kind": "ring"}}
    folder = make(
        tmp_path / "x", system=system, **(li if system == "ddp-mab" else {"parameters": {}})
    )
    terms = dict(traffic_section(folders.read(folder)).terms)
    assert ("Cost as the paper counts it" in terms) is (system == "ddp-mab")


def test_no_interval_is_told_where_none_is_drawn(run_directory):
    series = folders.read(run_directory)
    beside = [series, replace(series, spec=msgspec.structs.replace(series.spec, system="mase"))]
    for runs, told in ((2, False), (5, True)):
        few = [replace(one, runs=(one.runs * 5)[:runs]) for one in beside]
        page = comparison.several_page(few, "", "")
        assert ("95%" in page.sections[0].text[0]) is told
        (ranking,) = page.sections[0].rankings
        assert all((row.low is not None) is told for row in ranking.rows)


def test_delays_too_short_to_be_timed_are_no_picoseconds(run_directory):
    section = delays(
        run_directory, Delay(messages=10, histogram=[(1e-9, 5), (0.00123, 4), (1.5, 1)])
    )
    values = ["10", "0.00 ms", "1.23 ms", "1,500.00 ms"]
    assert [value for _, value in section.terms] == values


def test_delays_are_those_of_all_runs_in_figure_and_numbers(run_directory):
    section = delays(
        run_directory,
        Delay(messages=1, histogram=[(0.001, 1)]),
        Delay(messages=3, histogram=[(0.002, 3)]),
    )
    assert dict(section.terms) == {
        "Messages timed": "4",
        "Half within": "2.00 ms",
        "Slowest": "2.00 ms",
    }
    assert section.charts[0].rows == [(0.001, 1), (0.002, 3)]


def test_the_slowest_links_stand_first(run_directory):
    links = [LinkDelay(-1, 0, 7, 0.002, 0.004), LinkDelay(3, 1, 5, 0.05, 0.07)]
    section = delays(run_directory, Delay(messages=12, histogram=[(0.01, 12)], links=links))
    (slowest,) = section.tables
    assert slowest.title == "By link (the 2 slowest of 2)"
    assert [[cell.text for cell in row] for row in slowest.rows] == [
        ["agent 3", "agent 1", "5", "50", "70"],
        ["the coordinator", "agent 0", "7", "2", "4"],
    ]


def test_players_messages_to_the_arms_are_told_and_one_run_has_no_interval(tmp_path):
    directory = make(
        tmp_path / "tdfs",
        system="tdfs-ucb",
        agents={"count": 2},
        parameters={"horizon": 30},
        repeat=1,
    )
    series = folders.read(directory)
    assert traffic_section(series).text == [
        "A run sends 120 to and from the arms that all share; 6 of control."
    ]
    assert [chart.caption for chart in figures.section(series).charts][1:] == ["One run."]
    in_field = replace(series, spec=msgspec.structs.replace(series.spec, mode="field"))
    told = ["lab" in traffic_section(s).charts[0].caption for s in (series, in_field)]
    assert told == [True, False]


def test_the_network_is_that_of_the_first_run(tmp_path):
    make(
        tmp_path / "ddp",
        system="ddp-mab",
        agents={"count": 8},
        topology={"kind": "erdos-renyi", "p": 0.4},
        parameters={"epsilon": 1.0, "horizon": 2000},
    )
    series = folders.read(tmp_path / "ddp")
    graph = series.spec.graph(0)
    edges = {tuple(sorted(edge)) for edge in graph.edges()}
    pairs = {
        (source, target) for source, target, *_ in network.draw(series, network.use(series)).rows
    }
    assert {pair for pair in pairs if -1 not in pair} == edges


def test_series_are_called_by_what_differs_and_never_by_their_folders(tmp_path):
    def called(*changes):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for n, change in enumerate(changes):
            (path := folder / f"folder-{n}").mkdir(parents=True)
            RunDirectory(path, prepare(_raw(**change))).open()
        return differences.names(folders.find(folder))

    low, high = {"parameters": {"epsilon": 0.1}}, {"parameters": {"epsilon": 1.0}}
    other = {"system": "mase", "parameters": {}}
    assert called(low, high) == ["epsilon = 0.1", "epsilon = 1.0"]
    assert called(low, other) == ["dp-mase", "mase"]
    assert called(low, high, other) == ["dp-mase, epsilon = 0.1", "dp-mase, epsilon = 1.0", "mase"]
    assert called({"seed": 1}, {"seed": 2}) == ["dp-mase, seed 1", "dp-mase, seed 2"]
    assert called({}, {}) == ["dp-mase, seed 3 (1)", "dp-mase, seed 3 (2)"]


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


def test_a_plain_star_is_said_and_not_drawn(run_directory):
    section = network.section(folders.read(run_directory))
    assert section.charts == []
    assert section.text[0].startswith("A plain star: 16 agents spoke with the coordinator, and no")
    assert not (run_directory / "report-figures" / "network.svg").exists()


def test_one_block_of_equal_epsilon_is_said_and_not_drawn():
    series = _series(spent=[0.25, 0.0, 0.25], epsilon=0.25)
    section = privacy.section(series)
    assert section.charts == []
    assert "Whoever released anything spent the same, ε = 0.25." in dict(section.terms)["Spent"]


def test_epsilon_does_not_apply_to_sums_over_groups(tmp_path):
    arms = {"kind": "bernoulli", "means": {"random": "uniform", "count": 3, "per_agent": True}}
    parameters = {"horizon": 300, "group_size": 2}
    make(tmp_path / "anonymous", system="anonymous", arms=arms, parameters=parameters, repeat=1)
    page = run_page.run_page(folders.read(tmp_path / "anonymous"))
    terms = dict(next(section for section in page.sections if section.id == "privacy").terms)
    assert terms["ε"] == "Does not apply: no differential privacy is claimed."
    assert "Spent" not in terms
    assert not any("ε" in tile.label for tile in page.tiles)


def test_compare_says_once_what_holds_of_all(tmp_path, run_directory):
    other = make(tmp_path / "other", parameters={"epsilon": 0.25})
    made = comparison.several_page([folders.read(run_directory), folders.read(other)], "", "")
    section = next(section for section in made.sections if section.id == "privacy")
    assert dict(section.terms)["Against"] == "Whoever reads all messages of all agents."
    assert "Against" not in section.tables[0].header
    assert [row[0].text for row in section.tables[0].rows] == ["epsilon = 0.5", "epsilon = 0.25"]
    assert "protects nothing" in dict(section.terms)["In the lab"]


def test_compare_says_all_that_is_promised(tmp_path):
    parameters = {"epsilon": 1.0, "horizon": 20}
    for name, variant in (("one", "corrected"), ("other", "printed")):
        make(tmp_path / name, system="tdfs-private-bound", agents={"count": 2}, variant=variant,
             parameters=parameters, repeat=1)  # fmt: skip
    made = comparison.several_page(folders.find(tmp_path), "", "")
    section = next(section for section in made.sections if section.id == "privacy")
    promised = dict(section.terms)["Promised"]
    assert "ε = 2 (M ε) against whoever sees all choices and collisions" in promised


def test_a_logarithmic_axis_has_no_numbers_on_top_of_each_other():
    with canvas() as (figure, axes):
        axes.set_yscale("log")
        axes.plot([1, 2], [6.0, 120.0])
        large_numbers(axes)
        svg = to_svg(figure, "log", "")
    assert ticks(svg)[-4:] == ["10", "100", "20", "50"]  # the first is x's last


def test_a_table_of_runs_has_no_column_of_zeros_and_no_seed_that_is_always_the_same(tmp_path):
    players = {"system": "tdfs-ucb", "agents": {"count": 2}, "parameters": {"horizon": 30}}
    page = run_page.run_page(folders.read(make(tmp_path / "tdfs", **players)))
    (runs,) = next(section for section in page.sections if section.id == "runs").tables
    assert not {"seed", "data messages", "data bytes"} & set(runs.header)
    assert "posse replay DIR --run N plays one alone, --seed 3 --repeat N makes the" in runs.note
    assert not {"Data messages", "Data bytes"} & {tile.label for tile in page.tiles}
    (arms,) = page.sections[0].tables
    assert arms.header == ["arm", "true mean", "pulls", "estimate"]
    assert "whose own answer it was" not in arms.note


def test_a_rank_has_zero_bytes_beside_one_that_sent_some(run_directory, tmp_path):
    alone = make(tmp_path / "alone", system="independent", parameters={})
    page = comparison.several_page([folders.read(run_directory), folders.read(alone)], "", "")
    (ranking,) = page.sections[0].rankings
    sizes = {row.name: dict(row.cells)["bytes"] for row in ranking.rows}
    assert sizes["independent"] == "0"
    assert sizes["dp-mase"] != "0"


def test_equal_points_of_a_sweep_keep_the_shades_of_its_order(run_directory):
    series = folders.read(run_directory)
    twice = [
        msgspec.structs.replace(run, regret_curve=[[0.0, 0.0], [9.0, 5.0]]) for run in series.runs
    ]
    every = [series, replace(series, runs=twice), replace(series, runs=twice)]
    drawn = regret(every, ["p = 1", "p = 2", "p = 4"]).svg
    plain = regret(every, ["x", "y", "z"]).svg
    assert drawn.count("stroke-opacity") > plain.count("stroke-opacity")
