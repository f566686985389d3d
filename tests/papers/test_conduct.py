"""The papers' experiments: every specification valid, run, kept, drawn and told."""

import json
import pickle
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from posse.cli import main as cli
from posse.errors import RunFailed
from posse.gates import files
from posse.plan import prepare
from posse.testing.small import SMALL
from posse_papers import catalogue, conduct, page, repetitions
from posse_papers.checks import falling, ratio, trend
from posse_papers.experiment import Axes, Computation, Experiment, Runs
from posse_papers.looks import ERROR, judged
from posse_papers.outcome import Judged, Tried
from posse_papers.sample import regret, value
from posse_papers.statements import claim, ours, over
from tests.support.papers import measured
from tests.support.patience import PATIENCE
from tests.support.runfile import describe_run


@pytest.mark.parametrize("name", list(catalogue.experiments()))
def test_every_experiment_can_be_run(name):
    experiment = catalogue.named(name)
    for quick in (True, False):
        assert set(experiment.systems(quick)) <= set(SMALL)
        for point in experiment.points(quick).values():
            if isinstance(point.run, Computation):
                # other processes are sent it, and files are named by what it is
                pickle.loads(pickle.dumps(point.run))
                json.dumps(point.run.identity())
                continue
            for variant in set(experiment.variants) & set(point.variants):
                prepare({**point.run, "seed": 1, "variant": variant})
    assert experiment.repeat[0] <= experiment.repeat[1]
    assert experiment.statements
    for statement in experiment.statements:
        assert statement.by == "both" or statement.by in experiment.variants
        # what a paper claims belongs to a figure or statement of it
        assert not statement.place or experiment.figure


def lines(quick):
    return {
        f"ε={epsilon}": {
            agents: describe_run("dp-mase", agents, [0.9, 0.1], parameters={"epsilon": epsilon})
            for agents in (6, 12)
        }
        for epsilon in (0.1, 0.5)
    }


def small():
    return Experiment(
        "small",
        "Figure 1",
        "A small one",
        claim("more agents, more rounds", "4.2", trend("ε=0.5")),
        claim("as printed", "Lemma 1", falling("ε=0.1", "ε=0.5"), "printed"),
        ours("it costs", falling("ε=0.1", "ε=0.5")),
        lines=lines,
        axes=Axes("agents", "rounds"),
        repeat=(2, 3),
    ).but(paper="A paper")


@pytest.fixture(scope="module")
def outcome():
    return conduct.conduct(small(), quick=True)


@pytest.mark.slow
def test_both_variants_are_run_and_both_engines_agree(outcome):
    assert set(outcome.measured) == {"corrected", "printed"}
    for runs in outcome.measured.values():
        assert {len(records) for records in runs.runs.values()} == {2}
        assert len(runs.runs) == 4
    assert outcome.told.engines_agree
    told = {name: memory for name, memory, _ in outcome.agreement}
    assert {"dp-mase: answer", "dp-mase: rounds", "dp-mase: data payload bytes"} <= set(told)
    assert told["dp-mase: rounds"] is not None
    assert [[of.choice for of in said.found] for said in outcome.told.statements[:2]] == [
        [{"form": "corrected"}, {"form": "printed"}],
        [{}],
    ]


def test_a_disagreement_of_engines_is_said(monkeypatch):
    monkeypatch.setattr(conduct, "both_engines", lambda *of: [("rounds", 1, 2)])
    outcome = conduct.conduct(small(), quick=True, jobs=1)
    assert outcome.told.engines_agree is False
    assert page.outcome_page(outcome).alerts


def test_the_nearest_name_is_offered(capsys):
    assert cli.main(["paper", "rio-11"]) == 2
    assert "did you mean 'rio-1'? see posse paper\n" in capsys.readouterr().err


def test_an_experiment_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(catalogue, "experiments", lambda: {"small": small()})
    document = tmp_path / "reproduction.md"
    arguments = ["paper", "--all", "--quick", "--out", str(tmp_path), "--document", str(document)]
    assert cli.main(arguments) == 0
    page = (tmp_path / "small/quick/report.html").read_text()
    for text in ("A small one", "more agents, more rounds (4.2)", "Checks of our own"):
        assert text in page
    csv = (tmp_path / "small/quick/report-figures/small-corrected.csv").read_text().splitlines()
    assert (csv[0], len(csv)) == ("line,agents,mean,low,high", 5)
    assert "engines agree" in capsys.readouterr().out
    assert "|it costs|`small`|**no**||" in document.read_text()


def test_what_cannot_be_written_is_said_and_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(catalogue, "experiments", lambda: {"small": small()})
    opened = files.replacing

    def full(path, **how):
        if path.name.startswith(".room-"):
            return opened(path, **how)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "replacing", full)
    assert cli.main(["paper", "--all", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 3
    said = capsys.readouterr()
    assert "small/quick cannot be written (No space left on device); the outcome is:" in said.err
    assert "more agents, more rounds" in said.out


def test_repetitions_are_kept_and_not_run_again(tmp_path, monkeypatch):
    first = conduct.conduct(small(), quick=True, folder=tmp_path, jobs=1)
    monkeypatch.setattr(repetitions, "_work", None)
    again = conduct.conduct(small(), quick=True, folder=tmp_path, jobs=1)
    for variant in ("corrected", "printed"):
        assert again.measured[variant].runs == first.measured[variant].runs
    assert again.told.statements == first.told.statements
    kept = repetitions.store(tmp_path).kept
    tasks = conduct.repetitions(small(), quick=True, engine="memory")
    seconds = sum(kept(name).seconds for name in {task.name for task, _, _ in tasks})
    assert seconds > 0
    assert again.told.processor_seconds == first.told.processor_seconds == round(seconds, 1)


def test_what_is_made_ahead_is_kept_and_what_fails_left_to_the_experiment_that_needs_it(
    tmp_path, monkeypatch
):
    failing = computed(1).but(lines={"high": Computation(failed)})
    conduct.make_ahead([small(), computed(1), failing], quick=True, folder=tmp_path, jobs=1)
    with pytest.raises(RunFailed, match="no luck"):
        conduct.conduct(failing, quick=True, folder=tmp_path, jobs=1)
    monkeypatch.setattr(repetitions, "_work", None)
    for experiment in (small(), computed(1)):
        conduct.conduct(experiment, quick=True, folder=tmp_path, jobs=1)


def failed():
    raise RunFailed("no luck")


def test_what_other_code_made_counts_for_nothing(tmp_path, monkeypatch):
    (task, *_), *_ = conduct.repetitions(small(), quick=True, engine="memory")
    done = repetitions.one(task)
    repetitions.store(tmp_path).keep(task.name, done)
    assert repetitions.store(tmp_path).kept(task.name) == done
    monkeypatch.setattr(repetitions, "our_code", lambda: "changed")
    assert repetitions.store(tmp_path).kept(task.name) is None


def test_a_system_of_one_form_is_run_once_for_both_variants(tmp_path):
    alone = {"system": "independent", "parameters": {}}
    experiment = small().but(lines={
        line: {x: {**run, **alone} for x, run in of.items()} for line, of in lines(True).items()
    })  # fmt: skip
    found = conduct.conduct(experiment, quick=True, folder=tmp_path, jobs=1)
    # both lines are the same then: two sizes, two repetitions
    assert len(list(tmp_path.iterdir())) == 2 * 2
    one, other = (found.measured[v].runs for v in ("corrected", "printed"))
    assert one == other


def number(shift, *, variant, generator):
    return shift + generator.random() + (variant == "printed")


def computed(repeat):
    return small().but(
        lines={"high": Computation(number, 2.0), "low": Computation(number, 0.0)},
        metric=value,
        repeat=(repeat, repeat),
        statements=(ours("it falls", falling("high", "low")),),
    )


def test_a_computation_is_an_experiment_without_engines(tmp_path):
    found = conduct.conduct(computed(4), quick=True, folder=tmp_path, jobs=1)
    assert found.told.statements[0].verdict == "borne out"
    assert found.agreement == []
    assert found.told.engines_agree is None
    high, low = (found.measured["corrected"].values(line, 0.0) for line in ("high", "low"))
    # repetitions of one number share their random numbers
    assert [a - b for a, b in zip(high, low, strict=True)] == pytest.approx([2.0] * 4)
    assert len(set(high)) == 4


def noisy(gap, *, generator):
    return generator.normal(gap)


def test_what_is_open_is_looked_at_again_and_nothing_else(tmp_path):
    """Two looks on four and eight runs; the second has half the error, and only its points."""
    experiment = Experiment(
        "noisy", "", "Noise",
        ours("clear", falling("far", "clear")),
        ours("near", falling("near", "zero")),
        lines={line: Computation(noisy, gap) for line, gap in
               {"far": 90.0, "clear": 5.0, "near": 1.5, "zero": 0.0}.items()},
        axes=Axes("", "", shape="bars"), repeat=(2, 2), metric=value, variants=("corrected",),
    )  # fmt: skip
    apart = experiment.but(lines={
        line: Runs(of, times=1 + (line == "near"), variants=("corrected",))
        for line, of in experiment.lines.items()
    })  # fmt: skip
    found = conduct.conduct(apart, quick=True, folder=tmp_path, jobs=1)
    clear, near = (said.found[0] for said in found.told.statements)
    assert (clear.looks, clear.repetitions) == (1, 2)
    assert near.looks > 1
    assert near.repetitions == 2**near.looks
    runs = found.measured["corrected"].runs
    assert {line: len(samples) for (line, _), samples in runs.items()} == {
        "far": 2, "clear": 2, "near": 2 * near.repetitions, "zero": near.repetitions
    }  # fmt: skip


def test_errors_of_all_looks_stay_below_a_tenth():
    """Under no difference a test of five looks answers in fewer than 9.7 % of 1,000 series."""
    generator = np.random.default_rng(5)
    answers = 0
    for _ in range(1_000):
        drawn = generator.normal(size=80)
        whole = measured(a={0: list(drawn)}, b={0: [0.0] * 80})
        for look in range(5):
            seen = whole.first(dict.fromkeys(whole.runs, 5 * 2**look), ERROR / 2**look)
            if falling("a", "b")(seen).held != "open":
                answers += 1
                break
    assert 0.05 < answers / 1_000 < 0.097


def test_a_second_seed_is_another_form_beside_the_first(tmp_path, monkeypatch):
    experiment = small().but(lines={
        "ε=0.1": {0.0: Computation(noisy, 9.0)},
        "ε=0.5": {n: Computation(noisy, n) for n in (0.0, 5.0)},
    }, variants=("corrected",), statements=small().statements[2:])  # fmt: skip
    monkeypatch.setattr(catalogue, "experiments", lambda: {"small": experiment})
    out = ["paper", "small", "--jobs", "1", "--out", str(tmp_path)]
    document = tmp_path / "all.md"
    assert cli.main([*out, "--quick"]) == 0
    assert cli.main([*out, "--second-seed", "--document", str(document)]) == 0
    one, two = (
        json.loads((tmp_path / f"small/{form}/outcome.json").read_text())
        for form in ("quick", "second")
    )
    assert one["numbers"] != two["numbers"]
    assert (
        "With a second seed 1 of\n1 of our own checks are answered the same."
        in document.read_text()
    )
    told = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[1])
    assert told["form"] == "second"


def test_a_repetition_that_experiments_share_costs_once(tmp_path):
    counted: set[str] = set()
    first, second = (
        conduct.estimate(small(), counted, quick=True, folder=tmp_path, jobs=1) for _ in range(2)
    )
    assert first.more_seconds == pytest.approx(first.processor_seconds)
    assert (second.more_seconds, second.kept) == (0.0, 8)


def test_the_cost_is_the_first_repetitions_times_the_number(tmp_path):
    told = conduct.estimate(small(), set(), quick=False, folder=tmp_path, jobs=1)
    assert told.repetitions == 4 * 2 * 3
    assert told.kept == 4 * 2
    tasks = [task for task, _, _ in conduct.repetitions(small(), quick=False, engine="memory")]
    kept = repetitions.store(tmp_path).kept
    seconds = sum(kept(task.name).seconds for task in tasks if task.number == 0)
    assert told.processor_seconds == pytest.approx(3 * seconds)


def started(tmp_path):
    """An experiment under way, two of its repetitions kept, and its workers."""
    command = [sys.executable, "-m", "posse", "paper", "rio-1", "--quick", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    folder = tmp_path / "repetitions"
    deadline = time.monotonic() + PATIENCE
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
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130
    assert "interrupted in rio-1" in said
    assert "Traceback" not in said
    assert list((tmp_path / "repetitions").glob("*.msgpack"))
    assert not (tmp_path / "rio-1").exists()
    assert not psutil.wait_procs(workers, timeout=PATIENCE)[1]


@pytest.mark.slow
def test_nobody_outlives_a_killed_experiment(tmp_path):
    process, workers = started(tmp_path)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert not psutil.wait_procs(workers, timeout=PATIENCE)[1]


def test_a_point_can_be_repeated_more_often_than_others():
    often = {**computed(3).lines, "high": Runs(Computation(number, 2.0), times=4)}
    many = computed(3).but(lines=often)
    found = conduct.conduct(many, quick=True, jobs=1).measured["corrected"]
    assert [len(found.runs[line, 0.0]) for line in ("high", "low")] == [12, 3]
    # pairs are those of equal number
    assert falling("high", "low")(found).held == "holds"


def test_variants_are_drawn_on_one_scale_and_once_where_they_are_the_same(outcome):
    both = measured(a={1: [1.0, 2.0], 2: [3.0, 4.0]})
    other = measured(a={1: [1.0, 2.0], 2: [30.0, 40.0]})
    experiment = small().but(metric=regret)
    (one,) = page.draw(experiment, {"corrected": both, "printed": both})
    assert one.title == "Corrected and printed"
    first, second = page.draw(experiment, {"corrected": both, "printed": other})
    ticks = [re.findall(r">([0-9.]+k?)</text>", chart.svg) for chart in (first, second)]
    assert ticks[0] == ticks[1]


def test_a_figure_is_drawn_panel_by_panel(outcome):
    lines = {"left: a": {1: [1.0], 2: [2.0]}, "right: a": {1: [5.0], 2: [9.0]}}
    experiment = small().but(metric=regret)
    charts = page.draw(experiment, {"corrected": measured(**lines)})
    assert [chart.title for chart in charts] == ["left, corrected", "right, corrected"]
    assert [chart.name for chart in charts] == ["small-left-corrected", "small-right-corrected"]
    assert [row[0] for row in charts[0].rows] == ["a", "a"]


def test_a_line_of_one_variant_is_drawn_for_it_alone(outcome):
    both = {"left: a": {1: [1.0], 2: [2.0]}}
    experiment = small().but(metric=regret)
    runs = {"corrected": measured(**both), "printed": measured(**both, b={1: [3.0]})}
    charts = page.draw(experiment, runs)
    assert [chart.title for chart in charts] == ["left, corrected and printed", "Printed"]


def test_forms_that_give_the_same_are_one():
    statement = ours("it falls", falling("a", "b"))
    high, low = [9.0 + n / 10 for n in range(6)], [1.0 + n / 10 for n in range(6)]
    runs = measured(a={1: high}, b={1: low})
    (one,) = judged(statement, {"corrected": runs, "printed": runs}).found
    assert one.choice == {}
    other = measured(a={1: low}, b={1: high})
    two = judged(statement, {"corrected": runs, "printed": other})
    assert [of.choice for of in two.found] == [{"form": "corrected"}, {"form": "printed"}]
    assert two.verdict == "depends on: form"


def test_every_combination_of_choices_is_tried():
    many = ours("it falls", over(
        lambda other, within: ratio(("a", 0.0), (other, 0.0), 1 - within, 1 + within),
        other=("b", "c"), within={"half": 0.5, "double": 1.0},
    ))  # fmt: skip
    runs = measured(a={0: [1.5, 1.5]}, b={0: [2.0, 2.0]}, c={0: [1.0, 1.0]})
    found = judged(many, {"corrected": runs})
    assert [(*one.choice.values(), one.held) for one in found.found] == [
        ("b", "half", "holds"), ("b", "double", "holds"),
        ("c", "half", "fails"), ("c", "double", "holds"),
    ]  # fmt: skip
    assert found.verdict == "depends on: other, within"


def test_a_page_says_each_choice_and_its_wrong_worlds():
    tried = [
        Tried(choice={"c": "1"}, held="holds", said="so", refuted=["half: 2"], passed=["one: 1"]),
        Tried(choice={"c": "2"}, held="fails", said="not so"),
    ]
    (one,) = page._verdicts(Judged(text="it falls", place="4.2", by="both", found=tried))
    assert (one.word, one.claim, one.css) == ("depends on: c", "it falls (4.2)", "open")
    assert one.evidence == (
        "Borne out under 1 of 2 choices. c 1: borne out, so. Refutes half: 2. Does not refute "
        "one: 1. c 2: not borne out, not so."
    )


def test_an_experiment_over_wires_gives_what_memory_gives(tmp_path):
    first = {6: lines(True)["ε=0.1"][6]}
    experiment = small().but(lines={"ε=0.1": first}, statements=())
    wires = conduct.conduct(experiment, quick=True, engine="processes", folder=tmp_path)
    memory = conduct.conduct(experiment, quick=True, jobs=1)
    key = "ε=0.1", 6.0
    for variant in ("corrected", "printed"):
        one, other = wires.measured[variant].runs[key], memory.measured[variant].runs[key]
        assert [sample.curve for sample in one] == [sample.curve for sample in other]
    assert len(list(tmp_path.iterdir())) == 4


def test_the_cost_is_said_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(catalogue, "experiments", lambda: {"small": small()})
    assert (
        cli.main(["paper", "small", "--estimate", "--quick", "--jobs", "1", "--out", str(tmp_path)])
        == 0
    )
    said = capsys.readouterr().out
    assert re.search(r"small +\d+\.\d processor minutes, +16 repetitions, 8 of them done", said)


def test_the_document_has_both_forms_and_names_what_was_not_run(tmp_path, monkeypatch):
    other = small().but(name="other")
    monkeypatch.setattr(catalogue, "experiments", lambda: {"small": small(), "other": other})
    document = tmp_path / "reproduction.md"
    out = ["--out", str(tmp_path), "--jobs", "1"]
    said = [*out, "--document", str(document)]
    for form in (["--quick"], []):
        assert cli.main(["paper", "small", *form, *said]) == 0
    text = document.read_text()
    assert "Claims of the papers, paper size:" in text
    assert "Not run here: `other`." in text
    kept = document.with_suffix(".jsonl").read_text().splitlines()
    assert len(kept) == 2
    assert "|line|what it says|" in (tmp_path / "ledger.md").read_text()
