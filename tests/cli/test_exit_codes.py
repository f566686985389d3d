"""Wrong input ends with exit code 2 and one sentence, in every command, before anything starts."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from posse.cli.main import VERBS
from tests.support.conversations import transcripts
from tests.support.runfile import FIELD

TABLE = Path(__file__).with_name("wrong.txt")

RIDE = """
system = "dp-mase"
agents.count = 8
arms = { kind = "bernoulli", means = [0.9, 0.1] }
parameters.epsilon = 0.5
"""
HORIZON = "parameters.horizon = 4"
FILES = {
    "ride.toml": RIDE,
    "field.toml": FIELD,
    "logs.toml": FIELD.replace("field", "lab"),
    "players.toml": 'system = "random-player"\nagents.count = 2\nparameters.horizon = 100\n'
    'arms = { kind = "csv", path = "rewards.csv", count = 2 }\n',
    "groups.toml": 'system = "anonymous"\nagents.count = 6\n'
    'arms = { kind = "bernoulli", means = [0.9, 0.1] }\n'
    "parameters = { horizon = 1000, group_size = 2 }\n",
    "shared.toml": RIDE.replace("dp-mase", "tdfs-private").replace("= 8", "= 2") + HORIZON,
    "drive.toml": RIDE.replace("dp-mase", "adap-ucb") + HORIZON,
    "module.toml": 'system = "mase"\nagents.count = 8\n'
    'arms = { kind = "python", target = "nowhere.deep:Arms", count = 2 }\n',
    "leaves.py": "import sys; sys.exit(0)",
    "leaving.py": "import sys\ndef graph(agents, seed): sys.exit(0)",
    "graph.toml": 'topology = { kind = "ring" }\nagents.count = 4\n',
}


@transcripts([TABLE], {})
def test_wrong_input_is_a_sentence_and_changes_nothing(
    play: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    play()
    left = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert left == FILES.keys()


def test_every_command_is_among_them_and_ends_by_code_2() -> None:
    told = re.findall(r"^\$ (\S+).*\n((?:! .*\n)+)= (\d)$", TABLE.read_text(), re.M)
    assert len(told) == TABLE.read_text().count("\n$ ")
    assert {name for name, *_ in told} >= VERBS.keys()
    assert {code for *_, code in told} == {"2"}
