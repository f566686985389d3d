"""The verdict: what stands first, and that no trouble is left out anywhere."""

import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import posse
from posse.audit.guess import Guess
from posse.audit.whole import AUDIT, Document
from posse.cli.main import main
from posse.durable.directory import RunDirectory
from posse.engines import memory
from posse.measure.traffic import RESENT
from posse.plan import prepare
from posse.report.audit import audit_page
from posse.report.comparison import several_page
from posse.report.read import read
from posse.report.run_page import run_page
from posse.results import words
from posse.results.record import Absence, Detail, Proof, RunRecord
from posse.results.traffic import Amount
from posse.results.verdict import (
    TROUBLES,
    Truth,
    VerdictLine,
    drawn_anew,
    losses,
    verdict,
    verdict_line,
)
from posse.system.truth import truth_of
from posse_arena.page import arena_page
from posse_systems.tossou2015.messages import PlayerParameters
from tests.arena.test_result import small
from tests.operate.test_live import STATE
from tests.support.runfile import describe_run

SPEC = describe_run("dp-mase", 8, [0.9, 0.1], parameters={"epsilon": 0.5}, engine="memory")


def ended(**told: Any) -> RunRecord:
    given: dict[str, Any] = {"run": 0, "seed": 0, "status": "identified", "elapsed_seconds": 1.0}
    return RunRecord(**(given | told))


def resent() -> RunRecord:
    run = ended(best_arm=0)
    run.communication.control.kinds[RESENT] = Amount(7, 70, 700)
    return run


class Left(Detail):
    @property
    def left_early(self) -> list[int]:
        return [5]


TROUBLED: dict[str, tuple[RunRecord, str]] = {
    "no answer": (ended(status="exhausted"), "run 1: the rewards were used up first"),
    "used up": (
        ended(best_arm=0, exhausted={3: "no rewards"}, loss="It counts less."),
        "agent 3 ran out of rewards in 1 of 1 run. It counts less.",
    ),
    "missing": (
        ended(best_arm=0, missing=[Absence(2, 1.0, 9.0, "lost")], loss="Bounds are void."),
        "agent 2 (lost). Bounds are void.",
    ),
    "dismissed": (
        ended(best_arm=0, dismissed={1: "out of turn"}, proofs={4: Proof("k", "p", ("", ""))}),
        "agent 4 signed two values for one round",
    ),
    "left early": (ended(best_arm=0, detail=Left()), "agent 5, by the system's own rules"),
    "started again": (ended(best_arm=0, restarts={6: 2}), "agent 6 (2 times)"),
    "sent again": (resent(), "7 frames, after connections were lost"),
    "refused": (ended(best_arm=0, refused={"replayed": 8}), "8 replayed"),
}
"""A run with each trouble, and what is said of it."""


def test_there_is_a_run_for_each_trouble() -> None:
    assert TROUBLED.keys() == TROUBLES.keys()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    plan, path = prepare(SPEC), tmp_path_factory.mktemp("run") / "run"
    RunDirectory(path, plan).open().complete(posse.run(SPEC))
    return path


@pytest.mark.parametrize("label", TROUBLED)
def test_every_trouble_is_in_the_line_in_the_terminal_and_on_the_page(
    label: str, folder: Any
) -> None:
    run, said = TROUBLED[label]
    told = verdict([run], asked=1)
    assert label in told.line.split(" · ")
    assert said in dict(words.rows([run], told))[label]
    whole = posse.run(SPEC)
    whole.runs = [run]
    assert f"\n  {label}" in repr(whole)
    assert label in [label for label, _ in whole.document()["verdict"]["losses"]]
    run.pulls_per_arm = [1, 1]
    page = html.unescape(run_page(replace(read(folder), runs=[run])).html())
    assert said in page.partition("<main>")[0]  # above everything else


def test_seven_places_have_their_line_from_one_function(
    folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def marked(*, sentence: str, **told: Any) -> VerdictLine:
        return VerdictLine(sentence=f"[one] {sentence}", **told)

    monkeypatch.setattr("posse.results.verdict.VerdictLine", marked)
    series = read(folder)
    audited = Document(
        system="mine", variant="corrected", claim="ε = 1", sees="messages", verdict=None,
        guess=Guess(claimed=0.1, lower_bound=0.5, error=0.01, hits=60, trials=100, words=""),
        word="not refuted", says="", words="",
    )  # fmt: skip
    (tmp_path / AUDIT).write_bytes(msgspec.json.encode(audited))
    (tmp_path / "run.toml").write_bytes((folder / "spec.toml").read_bytes())
    over = ["--over", "parameters.epsilon=0.5,1.0", "--jobs", "1", "--out", tmp_path / "out"]
    capsys.readouterr()
    assert main(["sweep", str(tmp_path / "run.toml"), *map(str, over)]) == 0
    places = {
        "terminal": words.rows(series.runs)[0][1],
        "page": run_page(series).title,
        "compare": several_page([series, series], "", "").title,
        "sweep": capsys.readouterr().out.partition("done: ")[2],
        "live": run_page(replace(series, live=STATE)).title,
        "audit": audit_page(tmp_path).title,
        "arena": arena_page(small()).lead,
    }
    assert [place for place, said in places.items() if not said.startswith("[one] ")] == []


def test_what_matters_most_comes_first_whatever_was_found() -> None:
    found = [("a is best at 1", True), ("No clear best at 2", False)]
    after = {"missing": "1 of 2 ended"}
    assert verdict_line(found).line == "done: No clear best at 2; a is best at 1"
    assert verdict_line(found, **after).state == "partial"
    after["under_way"] = "Run 2"
    assert verdict_line(found[:1], **after).line == "under way: Run 2. Until now: a is best at 1"
    after["failure"] = "It broke"
    assert verdict_line([], **after).line == "failed: It broke"
    assert verdict_line(found[:1], **after).line == "partial: It broke. Until then: a is best at 1"
    assert [verdict_line(found[:n]).clear for n in range(3)] == [False, True, False]


def test_a_warning_is_a_loss_too() -> None:
    told = verdict([ended(best_arm=0)], asked=1, warnings=["no keys"])
    assert told.losses == (("warning", "no keys"),)


def sentence(*runs: RunRecord, asked: int = 0, **more: Any) -> str:
    return verdict(runs, asked=asked or len(runs), **more).sentence


ARM = ended(best_arm=0)


@pytest.mark.parametrize(
    ("told", "state", "said"),
    [
        (verdict([], asked=4, failure="agent 3 fell silent."), "failed",
         "Failed: agent 3 fell silent"),
        (verdict([ARM], asked=4, failure="agent 3 fell silent"), "partial",
         "Stopped after 1 of 4 runs: agent 3 fell silent. "
         "Until then: Arm 0 is the best, says the one run"),
        (verdict([ARM], asked=4, under_way="Run 2 of 4 is under way"), "under way",
         "Run 2 of 4 is under way. Until now: Arm 0 is the best, says the one run"),
        (verdict([], asked=4, under_way="1 of 3 agents are here"), "under way",
         "1 of 3 agents are here"),
        (verdict([ARM], asked=4), "partial",
         "1 of 4 runs ended: Arm 0 is the best, says the one run"),
        (verdict([ARM] * 3, asked=3), "done", "Arm 0 is the best, say all 3 runs"),
    ],
)  # fmt: skip
def test_a_failure_comes_first_then_what_is_under_way_then_the_answer(
    told: VerdictLine, state: str, said: str
) -> None:
    assert (told.state, told.sentence) == (state, said)
    assert told.clear == (state == "done")


def test_runs_that_do_not_agree_name_no_best_arm() -> None:
    runs = [ended(best_arm=k, right=k == 1) for k in (0, 0, 1, 1, 2)]
    told = verdict(runs, asked=5)
    said = "The 5 runs do not agree: arm 0 in 2, arm 1 in 2, arm 2 in 1; right in 2 of 5"
    assert (told.sentence, told.clear) == (said, False)
    assert sentence(*runs[:2], runs[4]) == (
        "Arm 0 is the best, say 2 of 3 runs; that is wrong"
    )  # no run is right
    assert sentence(ended(best_arm=1, right=True), *runs[2:4], runs[0]) == (
        "Arm 1 is the best, say 3 of 4 runs; the truth is another arm in 1"
    )
    lone = ended(best_arm=1, status="no_consensus")
    assert sentence(lone) == "Arm 1 is the likeliest, without consensus, says the one run"


def test_where_each_run_draws_its_arms_none_is_named() -> None:
    runs = [ended(best_arm=k, right=k < 2) for k in (0, 1, 2)]
    assert sentence(*runs, anew=True) == (
        "The best arm was found in 2 of 3 runs, each on arms of its own"
    )
    assert sentence(*(ended(best_arm=k) for k in (0, 1)), anew=True).startswith(
        "An arm was named in all 2 runs"
    )
    drawn = {"kind": "uniform", "count": 3}
    assert drawn_anew({"arms": {"means": drawn}})
    assert not drawn_anew({"arms": {"means": drawn | {"seed": 4}}})
    assert not drawn_anew({"arms": {"means": [0.1, 0.2]}})


def test_an_answer_that_is_not_one_arm_is_said_all_the_same() -> None:
    users = ended(status="horizon", answers=[0, 1, 1], regret=5.0)
    assert sentence(users, truths=[Truth(own_best=(2, 3))]) == (
        "2 of 3 users settled on the arm best for them"
    )
    assert sentence(users, users, truths=[Truth(own_best=(n, 3)) for n in (1, 2)]) == (
        "1.5 of 3 users settled on the arm best for them, on average over 2 runs"
    )
    assert sentence(users) == "3 of 3 agents named 2 different arms"
    played = ended(status="horizon", regret=20.0)
    assert sentence(played, truths=[Truth(random_regret=80.0)]) == (
        "Regret 20, 25 % of random play's, in 1 run"
    )
    earned = ended(status="horizon", rewards=30.0, pulls=120)
    assert sentence(earned) == "Rewards 30, 0.25 a pull, in 1 run"


def test_who_went_missing_is_in_the_sentence() -> None:
    lost = ended(best_arm=0, dismissed={3: "lost"})
    assert sentence(lost) == "Arm 0 is the best, says the one run; it went without agent 3"
    assert sentence(ARM, lost).endswith("say all 2 runs; 1 of them without agent 3")


def test_random_play_of_agents_with_their_own_arms_by_hand() -> None:
    """Means .9 and .1: a pull at random costs .4."""
    plan = prepare(SPEC)
    record = memory.run(plan, 0)
    truth = truth_of(plan.spec, plan.system, plan.parameters, record)
    assert record.pulls is not None
    assert truth.random_regret == pytest.approx(0.4 * record.pulls)
    assert truth.own_best is None


@pytest.mark.parametrize("collision", [1, 2])
def test_random_play_of_players_is_what_random_players_lose(collision: int) -> None:
    """Against a simulation of 20,000 slots, whose standard error is below .005 a slot."""
    raw = describe_run("random-player", 3, [0.9, 0.7, 0.5, 0.3], engine="memory")
    plan = prepare(raw | {"parameters": {"horizon": 20_000, "collision": collision}})
    record = memory.run(plan, 0)
    assert isinstance(plan.parameters, PlayerParameters)
    truth = truth_of(plan.spec, plan.system, plan.parameters, record)
    by_chance = truth.random_regret
    assert by_chance is not None
    assert np.isclose(by_chance, record.regret or 0.0, atol=20_000 * 0.02)


def test_a_run_far_from_the_others_is_warned_of() -> None:
    runs = [ended(run=n, best_arm=0, regret=10.0 + n) for n in range(6)]
    assert losses(runs) == ()
    runs[2].regret = 600.0
    (said,) = losses(runs, ["first"])[1:]
    assert said[0] == "warning"
    assert said[1].startswith("regret is 600 or more in 1 of 6 runs, and from 10 to 15 in the")
