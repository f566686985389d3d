"""The verdict: what stands first, and that no trouble is left out anywhere."""

import html
from collections.abc import Callable
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
from posse.reading.folder import read
from posse.report.audit import audit_page
from posse.report.comparison import several_page
from posse.report.run_page import run_page
from posse.results import words
from posse.results.record import Absence, Detail, Proof, RunRecord
from posse.results.traffic import Amount
from posse.results.verdict import (
    VerdictLine,
    verdict,
)
from posse.system.truth import truth_of
from posse_arena.page import arena_page
from posse_systems.tossou2015.messages import PlayerParameters
from tests.arena.test_result import small
from tests.operate.test_live import STATE
from tests.support.conversations import examples
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


def sentence(*runs: RunRecord, asked: int = 0, **more: Any) -> str:
    return verdict(runs, asked=asked or len(runs), **more).sentence


ARM = ended(best_arm=0)


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


@examples(Path(__file__).with_name("verdict.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
