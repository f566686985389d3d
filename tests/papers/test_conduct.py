"""The papers' experiments: statements decided by hand-made runs, and every specification valid."""

import dataclasses
import json
import pickle
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from posse import papers
from posse.cli import main as cli
from posse.papers import base, conduct, page, repetitions, reproduction
from posse.papers.base import Computation, Experiment, Measured, Point
from posse.plan import prepare
from posse.results.record import RunRecord


def measured(**lines):
    """Runs whose regret is as given: line name -> {x: [regret of each run]}."""
    out = Measured("corrected", base.regret)
    for line, places in lines.items():
        for x, values in places.items():
            out.runs[line, float(x)] = [
                RunRecord(run=n, seed=1, status="identified", best_arm=0, regret=value)
                for n, value in enumerate(values)
            ]
    return out


@pytest.mark.parametrize(
    ("high", "low", "answer"),
    [
        ([10, 11, 12], [1, 2, 3], "borne out"),
        ([1, 2, 3], [10, 11, 12], "not borne out"),
        ([5, 9, 1], [4, 5, 6], "undecided"),
        # what all runs share does not hide the difference
        ([100, 500, 900], [99, 498.9, 899.1], "borne out"),
        ([10], [1], "undecided"),
    ],
)
def test_an_order_is_decided_run_by_run(high, low, answer):
    found = base.falling("", "a", "b").check(measured(a={0: high}, b={0: low}))
    assert found.answer == answer


def test_one_place_the_other_way_refutes_an_order():
    runs = measured(a={1: [9, 9.1], 2: [1, 1.1]}, b={1: [1, 1.1], 2: [9, 9.1]})
    assert base.above("", "a", "b").check(runs).answer == "not borne out"
    assert base.above("", "a", "b", lambda x: x == 1).check(runs).answer == "borne out"


def test_growth_and_its_sign():
    runs = measured(a={1: [1, 2, 3], 2: [5, 6, 7]})
    assert base.grows("", "a").check(runs).answer == "borne out"
    assert base.grows("", "a", sign=-1).check(runs).answer == "not borne out"


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.49, 0.51, "borne out"),
        (0.495, 0.6, "undecided"),
        (0.508, 0.6, "not borne out"),
        (0.4, 0.492, "not borne out"),
    ],
)
def test_slope_is_the_exponent(low: float, high: float, answer: str) -> None:
    # each mean is known up to 4.303 / sqrt(3) = 2.48 %, so log 10 / log 100 up to .0076
    runs = measured(a={1: [99, 100, 101], 100: [990, 1000, 1010]})
    found = base.slope("", "a", low, high).check(runs)
    assert found.answer == answer
    assert "power 0.50 ± 0.01" in found.evidence


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        ([101, 100, 99], "borne out"),
        ([150, 150, 151], "not borne out"),
        ([90, 110, 120], "undecided"),
    ],
)
def test_alike_within_a_share(other, answer):
    runs = measured(a={0: [100, 100, 100]}, b={0: other})
    assert base.alike("", "a", "b", within=0.05).check(runs).answer == answer


def test_right_needs_enough_runs():
    assert base.right("", 0.05).check(measured(a={0: [1.0] * 10})).answer == "undecided"
    assert base.right("", 0.05).check(measured(a={0: [1.0] * 100})).answer == "borne out"
    wrong = measured(a={0: [1.0] * 100})
    for record in wrong.runs["a", 0.0][:20]:
        record.best_arm = 1
    assert base.right("", 0.05).check(wrong).answer == "not borne out"


@pytest.mark.parametrize("name", list(papers.experiments()))
def test_every_experiment_can_be_run(name):
    experiment = papers.named(name)
    for quick in (True, False):
        points = experiment.points(quick)
        keys = [(point.line, point.x) for point in points]
        assert len(keys) == len(set(keys))
        for point in points:
            if isinstance(point.run, Computation):
                # other processes are sent it, and files are named by what it is
                pickle.loads(pickle.dumps(point.run))
                json.dumps(point.run.identity())
                continue
            for variant in experiment.variants:
                prepare({**point.run, "seed": 1, "variant": variant})
    if experiment.agreement is not None:
        prepare({**experiment.agreement, "seed": 1})
    assert experiment.statements
    assert experiment.repeat[0] <= experiment.repeat[1]


def small():
    def points(quick):
        return [
            Point(
                line=f"ε={epsilon}",
                x=agents,
                run={
                    "system": "dp-mase",
                    "agents": {"count": agents},
                    "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
                    "parameters": {"epsilon": epsilon},
                },
            )
            for agents in (6, 12)
            for epsilon in (0.1, 0.5)
        ]

    return Experiment(
        name="small",
        paper="A paper",
        figure="Figure 1",
        title="A small one",
        x_label="agents",
        y_label="rounds",
        points=points,
        repeat=(2, 3),
        statements=(
            base.grows("More agents, more rounds.", "ε=0.5"),
            base.cannot("It is beautiful.", "No run can say."),
        ),
    )


@pytest.fixture(scope="module")
def outcome():
    return conduct.conduct(small(), quick=True)


def test_both_variants_are_run_and_both_engines_agree(outcome):
    assert set(outcome.measured) == {"corrected", "printed"}
    for runs in outcome.measured.values():
        assert {len(records) for records in runs.runs.values()} == {2}
        assert len(runs.runs) == 4
    assert outcome.agrees
    names = [name for name, _, _ in outcome.agreement]
    assert {"answer", "rounds", "data payload bytes"} <= set(names)
    assert all(memory is not None for name, memory, _ in outcome.agreement if name == "rounds")


def test_a_disagreement_of_engines_is_said(outcome):
    outcome_ = conduct.Outcome(**{**vars(outcome), "agreement": [("rounds", 1, 2)]})
    assert not outcome_.agrees
    assert page.outcome_page(outcome_).alerts


def test_the_page_has_the_figure_the_claims_and_the_numbers(outcome, tmp_path):
    page.outcome_page(outcome).write(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "A small one" in text
    assert "No run can say." in text
    rounds = outcome.measured["corrected"].mean("ε=0.5", 12)[0]
    assert f"{rounds:,.0f}" in text
    csv = (tmp_path / "report-figures/small-corrected.csv").read_text().splitlines()
    assert csv[0] == "line,agents,mean,ci95"
    assert len(csv) == 5


def test_reproduction_has_one_row_per_statement(outcome):
    text = reproduction.text([json.loads(json.dumps(outcome.document()))])
    rows = re.findall(r"^\| (?!statement|-).*\|$", text, flags=re.M)
    assert len(rows) == 2
    assert rows[1].count("**cannot be**") == 2
    assert "## A paper" in text


def test_the_list_names_all(capsys):
    assert cli.main(["paper"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in papers.experiments())


def test_the_nearest_name_is_offered(capsys):
    assert cli.main(["paper", "rio-11"]) == 2
    assert "did you mean 'rio-1'?" in capsys.readouterr().err


def test_an_experiment_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(papers, "experiments", lambda: {"small": small()})
    document = tmp_path / "reproduction.md"
    arguments = ["paper", "--all", "--quick", "--out", str(tmp_path), "--document", str(document)]
    assert cli.main(arguments) == 0
    assert (tmp_path / "small/quick/report.html").is_file()
    assert "engines agree" in capsys.readouterr().out
    assert "More agents, more rounds." in document.read_text()


def test_repetitions_are_kept_and_not_run_again(tmp_path, monkeypatch):
    first = conduct.conduct(small(), quick=True, folder=tmp_path, jobs=1)
    monkeypatch.setattr(repetitions, "one", None)
    again = conduct.conduct(small(), quick=True, folder=tmp_path, jobs=1)
    for variant in ("corrected", "printed"):
        for key, records in first.measured[variant].runs.items():
            curves = [record.regret_curve for record in again.measured[variant].runs[key]]
            assert curves == [record.regret_curve for record in records]
    assert [f.evidence for f in again.findings["printed"]] == [
        f.evidence for f in first.findings["printed"]
    ]
    assert again.processor_seconds == first.processor_seconds > 0


def test_half_a_file_and_other_code_count_for_nothing(tmp_path, monkeypatch):
    task = conduct.repetitions(small(), quick=True, engine="memory", folder=tmp_path)[0][0]
    done = repetitions.one(task)
    assert repetitions.kept(task).record == done.record
    whole = task.path.read_bytes()
    task.path.write_bytes(whole[: len(whole) // 2])
    assert repetitions.kept(task) is None
    task.path.write_bytes(whole)
    monkeypatch.setattr(repetitions, "_code", lambda: "changed")
    changed = conduct.repetitions(small(), quick=True, engine="memory", folder=tmp_path)[0][0]
    assert changed.path != task.path
    assert repetitions.kept(changed) is None


def test_a_system_of_one_form_is_run_once_for_both_variants(tmp_path):
    experiment = dataclasses.replace(
        small(), points=lambda quick: [dataclasses.replace(p, run={
            **p.run, "system": "independent", "parameters": {}}) for p in small().points(quick)],
    )  # fmt: skip
    found = conduct.conduct(experiment, quick=True, folder=tmp_path, jobs=1)
    # both lines are the same then: two sizes, two repetitions
    assert len(list(tmp_path.iterdir())) == 2 * 2
    one, other = (found.measured[v].runs for v in ("corrected", "printed"))
    assert one == other


def number(variant, generator, shift):
    return {"value": shift + generator.random() + (variant == "printed")}


def computed(repeat):
    return dataclasses.replace(
        small(),
        points=lambda quick: [
            Point(line=line, x=0.0, run=Computation(number, shift))
            for line, shift in (("high", 2.0), ("low", 0.0))
        ],
        metric=base.value,
        repeat=(repeat, repeat),
        statements=(base.falling("It falls.", "high", "low"),),
    )


def test_a_computation_is_an_experiment_without_engines(tmp_path):
    found = conduct.conduct(computed(4), quick=True, folder=tmp_path)
    assert found.findings["corrected"][0].answer == "borne out"
    assert found.agreement == []
    assert found.document()["engines_agree"] is None
    high, low = (found.measured["corrected"].values(line, 0.0) for line in ("high", "low"))
    # repetitions of one number share their random numbers
    assert [a - b for a, b in zip(high, low, strict=True)] == pytest.approx([2.0] * 4)
    assert len(set(high)) == 4
    text = reproduction.text([found.document()])
    assert "computed without runs of systems" in text


def test_the_cost_is_the_first_repetitions_times_the_number(tmp_path):
    told = conduct.estimate(small(), quick=False, folder=tmp_path)
    assert told.repetitions == 4 * 2 * 3
    assert told.kept == 4 * 2
    tasks = [t for t, _, _ in conduct.repetitions(
        small(), quick=False, engine="memory", folder=tmp_path)]  # fmt: skip
    seconds = sum(repetitions.kept(t).seconds for t in tasks if t.number == 0)
    assert told.processor_seconds == pytest.approx(3 * seconds)


def started(tmp_path):
    """An experiment under way, two of its repetitions kept, and its workers."""
    command = [sys.executable, "-m", "posse", "paper", "rio-1", "--quick", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    folder = tmp_path / "repetitions"
    deadline = time.monotonic() + 60
    while not (folder.is_dir() and len(list(folder.glob("*.msgpack"))) > 1):
        assert time.monotonic() < deadline, "no two repetitions were kept within 60 s"
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    return process, psutil.Process(process.pid).children(recursive=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_experiment_keeps_what_it_has(tmp_path, number):
    process, workers = started(tmp_path)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "interrupted in rio-1" in said
    assert "Traceback" not in said
    assert list((tmp_path / "repetitions").glob("*.msgpack"))
    assert not (tmp_path / "rio-1").exists()
    assert not psutil.wait_procs(workers, timeout=20)[1]


@pytest.mark.slow
def test_nobody_outlives_a_killed_experiment(tmp_path):
    process, workers = started(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert not psutil.wait_procs(workers, timeout=20)[1]


def test_a_point_can_be_repeated_more_often_than_others():
    experiment = computed(3)
    points = experiment.points(True)
    often = dataclasses.replace(points[0], times=4)
    many = dataclasses.replace(experiment, points=lambda quick: [often, points[1]])
    found = conduct.conduct(many, quick=True, jobs=1).measured["corrected"]
    assert [len(found.runs[p.line, p.x]) for p in points] == [12, 3]
    # pairs are those of equal number
    assert base.falling("", "high", "low").check(found).answer == "borne out"


def test_variants_are_drawn_on_one_scale_and_once_where_they_are_the_same(outcome):
    both = measured(a={1: [1.0, 2.0], 2: [3.0, 4.0]})
    other = measured(a={1: [1.0, 2.0], 2: [30.0, 40.0]})
    experiment = dataclasses.replace(small(), metric=base.regret)
    (one,) = page.draw(experiment, {"corrected": both, "printed": both})
    assert one.title == "Corrected and printed"
    first, second = page.draw(experiment, {"corrected": both, "printed": other})
    ticks = [re.findall(r">([0-9.]+k?)</text>", chart.svg) for chart in (first, second)]
    assert ticks[0] == ticks[1]


def test_an_answer_that_both_variants_share_is_said_once(outcome):
    found = base.Finding(answer="borne out", evidence="so")
    (one,) = page._verdicts("", {"corrected": found, "printed": found})
    assert one.word == "borne out"
    two = page._verdicts("", {"corrected": found, "printed": base.Finding(
        answer="borne out", evidence="otherwise")})  # fmt: skip
    assert [verdict.word for verdict in two] == ["borne out (corrected)", "borne out (printed)"]


def test_an_experiment_over_wires_gives_what_memory_gives(tmp_path):
    first = small().points(True)[0]
    experiment = dataclasses.replace(small(), points=lambda quick: [first], statements=())
    wires = conduct.conduct(experiment, quick=True, engine="processes", folder=tmp_path)
    memory = conduct.conduct(experiment, quick=True, jobs=1)
    key = first.line, first.x
    for variant in ("corrected", "printed"):
        one, other = wires.measured[variant].runs[key], memory.measured[variant].runs[key]
        assert [r.regret_curve for r in one] == [r.regret_curve for r in other]
    assert len(list(tmp_path.iterdir())) == 4


def test_the_cost_is_said_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(papers, "experiments", lambda: {"small": small()})
    assert cli.main(["paper", "small", "--estimate", "--quick", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"small +\d+\.\d processor minutes, +16 repetitions, 8 of them done", said)
    assert not (tmp_path / "small").exists()


def test_the_document_takes_the_full_form_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "experiments", lambda: {"small": small()})
    document = tmp_path / "reproduction.md"
    for form in (["--quick"], []):
        assert cli.main(["paper", "small", *form, "--out", str(tmp_path),
                         "--document", str(document)]) == 0  # fmt: skip
        wanted = "quick" if form else "full"
        assert f"| {wanted} |" in document.read_text()
    again = ["paper", "small", "--quick", "--out", str(tmp_path), "--document", str(document)]
    assert cli.main(again) == 0
    assert "| full |" in document.read_text()
