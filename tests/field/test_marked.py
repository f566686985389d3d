"""No reward of the field, and no sum of rewards that nobody noised, is in what a run leaves behind.

Every reward of the logs is 0 or `MARK`, no multiple of which is a whole number: a number that is
one tells of rewards.
"""

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from posse.cli import series as closing
from posse.cli.main import main
from posse.durable.directory import RunDirectory
from posse.engines import memory
from posse.protocol.log import PublicRow
from posse.results import words
from tests.conftest import Start
from tests.field.test_processes import RUN, as_a_user
from tests.support.field import CASES, MEANS, field
from tests.support.noise import needs_noise

needs_noise()

MARK = 0.6180339887498949
NUMBER = re.compile(r"\d*\.\d+(?:e-?\d+)?")


@pytest.fixture(scope="module")
def rewards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marked")
    generator = np.random.default_rng(5)
    for name in [*range(12), "all"]:
        rows = [
            f"{arm},{MARK * int(paid)!r}"
            for arm, mean in enumerate(MEANS)
            for paid in generator.random(400) < mean
        ]
        (folder / f"rewards-{name}.csv").write_text("\n".join(["arm,reward", *rows]))
    return folder


def marked(text: str) -> list[str]:
    """The numbers in a text that are rewards added up."""
    return [
        number
        for number in NUMBER.findall(text)
        if len(number) > 6
        and 1 <= (times := round(float(number) / MARK)) < 1e7
        and abs(float(number) - times * MARK) < 1e-9 * times
    ]


def left_behind(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, marked(path.read_bytes().decode(errors="replace"))


def test_sums_of_rewards_are_found() -> None:
    assert marked(f"1.5,{37 * MARK!r}\n{MARK * 1000!r} 0.61 618.03") == [
        repr(37 * MARK),
        repr(1000 * MARK),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("system", CASES)
def test_no_reward_is_in_the_files_and_lines_of_a_run(
    system: str, rewards: Path, tmp_path: Path
) -> None:
    spec = field(system, rewards)
    result = spec.result([memory.run(spec, 0)])
    RunDirectory(tmp_path / "out", spec).open().complete(result)
    console = Console(file=io.StringIO(), width=200)
    closing.show(result, tmp_path / "out", console)
    (tmp_path / "lines").write_text(console.file.getvalue())  # type: ignore[attr-defined]
    (tmp_path / "repr").write_text(f"{result!r} {result.runs[0]!r} {result._repr_html_()}")
    assert [(path.name, found) for path, found in left_behind(tmp_path) if found] == []
    public = {kind.table for kind in spec.system.results.log if issubclass(kind, PublicRow)}
    assert result.runs[0].log.keys() <= public
    assert result.runs[0].agent_logs == []
    assert "rewards" not in dict(words.rows(result.runs))


def test_the_lab_knows_them(rewards: Path) -> None:
    """The same rows, of which a field run leaves out those of rewards."""
    record = memory.run(field("tdfs-private", rewards, mode="lab"), 0)
    assert "rewards" in record.log
    assert marked(json.dumps(record.document()))


@pytest.mark.slow
@pytest.mark.parametrize("system", ["tdfs-private", "dp-mase"])
def test_no_reward_is_in_what_real_processes_leave_behind(
    system: str, rewards: Path, tmp_path: Path, start: Start
) -> None:
    """Journals need them, to send what was sent; they are for their user alone."""
    rewards = shutil.copytree(rewards, tmp_path / "rewards")
    case = CASES[system]["parameters"]
    path = "rewards-all.csv" if system == "tdfs-private" else "rewards-{rank}.csv"
    arms = f'{{ kind = "csv", path = "{path}", count = 4, replace = true }}'
    parameters = "\n".join(f"{name} = {value}" for name, value in case.items())
    text = RUN.format(system=system, arms=arms, more="", parameters=parameters)
    said = as_a_user(start, rewards, text)
    (run,) = json.loads(said[0][0])["runs"]
    if system == "tdfs-private":
        assert run["detail"]["players"]["reward_per_player"] is None
        assert sum(run["pulls_per_arm"]) == 4 * case["horizon"]
    else:  # an agent may be stopped before it has an answer
        assert set(run["answers"]) <= {0, None}
        assert run["best_arm"] == 0
    assert [marked(out + err) for out, err in said] == [[]] * 5
    assert main(["report", str(rewards / "out")]) == 0
    for file, found in left_behind(rewards):
        if found and not re.fullmatch(r"rewards-(\d+|all)\.csv", file.name):
            assert "journal" in file.name, file
            assert file.stat().st_mode & 0o077 == 0, file


def test_a_table_of_the_field_has_only_public_rows(rewards: Path, tmp_path: Path) -> None:
    spec = field("tdfs-private", rewards)
    RunDirectory(tmp_path, spec).open().complete(spec.result([memory.run(spec, 0)]))
    assert {path.name for path in tmp_path.glob("*.csv")} >= {"collisions.csv"}
    assert not (tmp_path / "rewards.csv").exists()
    rows = list(csv.reader((tmp_path / "collisions.csv").read_text().splitlines()))
    assert rows[0] == ["run", "now", *(f"player_{n}" for n in range(4))]
