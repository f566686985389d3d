"""Wrong input ends with exit code 2 and one sentence, in every command, before anything starts."""

import argparse
import re
import sys

import pytest

from posse.cli import main as cli

SENTENCE = re.compile(
    r"^(?:posse|\S+ (?:agent|coordinator)(?: \[no keys\])?: (?!there are no keys))", re.M
)
"""As a command says it, or as a line of the log where that has begun."""

WRONG = [
    "run absent.toml",
    "run .",
    "run ride.toml --set nonsense",
    "run ride.toml --set parameters.epsilon=-1",
    "run ride.toml --seed -1",
    "abandon absent",
    "simulate absent.toml",
    "run ride.toml --repeat 0",
    "run ride.toml --jobs 0",
    "run ride.toml --ouput out",
    "run ride.toml --engine memory --watch nonsense",
    "run ride.toml --engine memory --watch nonsense:99999",
    "keys folder --agents 100001",
    "keys folder --rank 100000",
    "allow folder 100000 pk_",
    "watch nonsense",
    "watch http://127.0.0.1:1/",
    "run ride.toml --out ride.toml",
    "run ride.toml --out /proc/none",
    "run ride.toml --engine memory --out=",
    "capture ride.toml --out=",
    "report folder --out=",
    "compare folder folder --out=",
    "new own --out=",
    "run logs.toml",
    "run logs.toml --engine memory",
    "run module.toml",
    "run field.toml",
    "run ride.toml --set system=leaves:SYSTEM --out out",
    "run ride.toml --engine memory --set system=private-ucb --set parameters.horizon=300 --set "
    "topology.kind=python --set topology.target=leaving:graph",
    "sweep logs.toml --over seed=1",
    "coordinator players.toml --bind tcp://127.0.0.1:0",
    "list dp-mse",
    "list leaves:SYSTEM",
    "check absent.toml",
    "check ride.toml --set system=leaves:SYSTEM",
    "check ride.toml --set system=",
    "topology ride.toml",
    "topology graph.toml --run -1",
    "topology graph.toml --draw graph.pdf",
    "topology graph.toml --draw /proc/none/graph.svg",
    "sweep absent.toml --over seed=1",
    "sweep ride.toml --over seed",
    "sweep ride.toml --over seed=1 --set system=leaves:SYSTEM",
    "sweep ride.toml --over seed=1 --over seed=2",
    "sweep ride.toml --over parameters.epsilon=x",
    "sweep ride.toml --over seed=1 --out /proc/none",
    "report absent",
    "report ride.toml",
    "report .",
    "compare absent absent",
    "audit absent.toml",
    "audit",
    "audit ride.toml --error 2",
    "audit ride.toml --rest x",
    "audit ride.toml --values 1,0",
    "audit ride.toml --rest 0 --values 1",
    "audit ride.toml --out /proc/none",
    "audit ride.toml --epsilon -1",
    "audit ride.toml --epsilon nan",
    "audit ride.toml --epsilon inf",
    "audit ride.toml --delta -1",
    "audit ride.toml --delta 1",
    "audit ride.toml --delta nan",
    "audit ride.toml --runs 1",
    "audit ride.toml --rest 0",
    "audit ride.toml --rest 0,0,0",
    "audit ride.toml --rest 0,nan",
    "audit ride.toml --rest 0,2",
    "audit ride.toml --rest 0,0 --values 1,1",
    "audit ride.toml --rest 0,0 --values 1000,0",
    "audit ride.toml --rest 0,0 --values nan,0",
    "audit ride.toml --rest 0,0 --agent 99",
    "audit ride.toml --rest 0,0 --arm 7",
    "audit drive.toml --rest 0,0 --place 4",
    "audit shared.toml --sees agent",
    "audit groups.toml --rest 0,0 --arm 1",
    "audit field.toml",
    "audit --captured absent",
    "coordinator absent.toml --bind tcp://127.0.0.1:0",
    "coordinator ride.toml --bind nonsense",
    "coordinator ride.toml --bind tcp://0.0.0.0:0",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --keys absent",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --keys absent --insecure",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --out /proc/none",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --resume=",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --http nonsense",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --http :0 --linger=-1",
    "agent --join tcp://127.0.0.1:1 --linger nan",
    "coordinator field.toml --bind tcp://127.0.0.1:0",
    "agent --join nonsense",
    "agent --join tcp://10.0.0.1:7000",
    "agent --join tcp://127.0.0.1:1 --rank x",
    "agent --join tcp://127.0.0.1:1 --rank ²",
    "agent --join tcp://127.0.0.1:1 --wait nan",
    "agent --join tcp://127.0.0.1:1 --budget x",
    "agent --join tcp://127.0.0.1:1 --delta 1",
    "agent --join tcp://127.0.0.1:1 --keys absent",
    "agent --join tcp://127.0.0.1:1 --run absent.toml",
    "status --join nonsense",
    "status --join tcp://127.0.0.1:1 --wait=-1",
    "status --join tcp://127.0.0.1:1 --keys absent",
    "capture absent.toml --out frames",
    "capture ride.toml --out /proc/none/frames",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --capture /proc/none/frames",
    "agent --join tcp://127.0.0.1:1 --capture /proc/none/frames",
    "frames absent",
    "frames ride.toml",
    "frames absent --from server",
    "completion csh",
    "new 0bad",
    "new numpy",
    "new agent",
    "new own --out /proc/none",
    "allow folder rank public",
    "allow folder 0 public",
    "revoke absent 0",
    "revoke folder rank",
    "ledger absent.csv",
    "keys folder --agents 0",
    "keys folder --agents x",
    "keys ride.toml --agents 1",
    "keys /proc/none --agents 1",
]

RIDE = """
system = "dp-mase"
agents.count = 8
arms = { kind = "bernoulli", means = [0.9, 0.1] }
parameters.epsilon = 0.5
"""
FIELD = """
system = "dp-mase"
mode = "field"
agents.count = 8
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 2 }
parameters.epsilon = 0.5
"""

HORIZON = "parameters.horizon = 4"

PLAYERS = """
system = "random-player"
agents.count = 2
arms = { kind = "csv", path = "rewards.csv", count = 2 }
parameters.horizon = 100
"""
GROUPS = """
system = "anonymous"
agents.count = 6
arms = { kind = "bernoulli", means = [0.9, 0.1] }
parameters = { horizon = 1000, group_size = 2 }
"""
MODULE = """
system = "mase"
agents.count = 8
arms = { kind = "python", target = "nowhere.deep:Arms", count = 2 }
"""


@pytest.mark.parametrize("line", WRONG)
def test_wrong_input_is_a_sentence_and_exit_code_2(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ride.toml").write_text(RIDE)
    (tmp_path / "field.toml").write_text(FIELD)
    (tmp_path / "logs.toml").write_text(FIELD.replace("field", "lab"))
    (tmp_path / "players.toml").write_text(PLAYERS)
    (tmp_path / "groups.toml").write_text(GROUPS)
    shared = RIDE.replace("dp-mase", "tdfs-private").replace("count = 8", "count = 2") + HORIZON
    (tmp_path / "shared.toml").write_text(shared)
    (tmp_path / "drive.toml").write_text(RIDE.replace("dp-mase", "adap-ucb") + HORIZON)
    (tmp_path / "module.toml").write_text(MODULE)
    (tmp_path / "leaves.py").write_text("import sys; sys.exit(0)")
    (tmp_path / "leaving.py").write_text("import sys\ndef graph(agents, seed): sys.exit(0)")
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "graph.toml").write_text('topology = { kind = "ring" }\nagents.count = 4\n')
    code: object
    try:
        code = cli.main(line.split())
    except SystemExit as usage:
        code = usage.code
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert len(SENTENCE.findall(said.err)) == 1, said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "runs").exists()


def test_every_command_is_among_them():
    parser = cli.parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    assert {line.split()[0] for line in WRONG} == set(commands.choices) - cli.added_verbs().keys()
