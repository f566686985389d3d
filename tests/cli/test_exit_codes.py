"""Wrong input ends with exit code 2 and one sentence, in every command, before anything starts."""

import re
import shlex
import sys

import pytest

from posse.cli import main as cli

SENTENCE = re.compile(
    r"^(?:posse|\S+ (?:agent|coordinator)(?: \[no keys\])?: (?!there are no keys))", re.M
)
"""As a command says it, or as a line of the log where that has begun."""

WRONG = {
    "judge absent:SYSTEM": "module 'absent' is neither in",
    "import none.csv": "none.csv does not exist, or is no file",
    "run absent.toml": "absent.toml: cannot be read",
    "run .": "",
    "run ride.toml --set nonsense": "",
    "run ride.toml --set parameters.epsilon=-1": "parameters.epsilon: is -1",
    "run ride.toml --seed -1": "",
    "run ride.toml --repeat 0": "",
    "run ride.toml --jobs 0": "",
    "run ride.toml --ouput out": "",
    "run ride.toml --engine memory --watch nonsense": "",
    "run ride.toml --engine memory --watch nonsense:99999": "",
    "run ride.toml --out ride.toml": "is a file; name a folder",
    "run ride.toml --out /proc/none": "/proc/none cannot be written",
    "run ride.toml --engine memory --out=": "is empty; name a file or folder, or . for this one",
    "run logs.toml": "",
    "run logs.toml --engine memory": "",
    "run module.toml": "",
    "run field.toml": "",
    "run ride.toml --set system=leaves:SYSTEM --out out": "",
    "run ride.toml --engine memory --set system=private-ucb --set parameters.horizon=300 "
    "--set topology.kind=python --set topology.target=leaving:graph": "",
    "run ride.toml --engine memory --set engine.kind=processes": "is given by --engine",
    "run ride.toml --seed 1 --set seed=2": "seed: is given by --seed and by --set",
    "run --watch ride.toml": "FILE is missing",
    "abandon absent": "",
    "simulate absent.toml": "",
    "simulate ride.toml --kinds flood": "--kinds flood: unknown",
    "simulate ride.toml --faults []": "--faults needs --seed",
    "simulate ride.toml --seed 1 --faults [1]": "--faults cannot be read",
    "keys folder --agents 100001": "",
    "keys folder --rank 100000": "",
    "keys folder --agents 0": "",
    "keys folder --agents x": "",
    "keys ride.toml --agents 1": "",
    "keys /proc/none --agents 1": "",
    "keys '' --agents=2": "is empty; name a file or folder, or . for this one",
    "keys folder": "needs one of",
    "keys folder --rank 1 --coordinator": "needs one of",
    "keys folder --allow 100000 pk_": "",
    "keys folder --allow rank public": "",
    "keys folder --allow 0 public": "",
    "watch nonsense": "is not a directory",
    "watch http://127.0.0.1:1/": "",
    "run absent.toml --capture frames": "",
    "run ride.toml --engine memory --capture /proc/none/frames": "",
    "report folder --out=": "",
    "report": "needs the directory",
    "report absent": "",
    "report ride.toml": "",
    "report .": "",
    "report folder folder --out=": "",
    "report absent absent": "",
    "new own --out=": "",
    "new 0bad": "",
    "new numpy": "",
    "new agent": "",
    "new own --out /proc/none": "",
    "run logs.toml --over seed=1": "",
    "run absent.toml --over seed=1": "",
    "run ride.toml --over seed": "must have the form path=a,b,c",
    "run ride.toml --over seed=1 --set system=leaves:SYSTEM": "",
    "run ride.toml --over seed=1 --over seed=2": "",
    "run ride.toml --over parameters.epsilon=x": "",
    "run ride.toml --over seed=1 --out /proc/none": "",
    "run ride.toml --over topology.kind=ring,star": "topology: is not used by",
    "run ride.toml --over parameters.epsilon=1,-1 --out swept": "parameters.epsilon: is -1",
    "run ride.toml --over parameters.epsilon=0.1,1,1e-1": "has a value twice",
    "run ride.toml --repeat 1 --over repeat=1,2": "repeat: is given by --repeat and by --over",
    "coordinator players.toml --bind tcp://127.0.0.1:0": "",
    "coordinator absent.toml --bind tcp://127.0.0.1:0": "",
    "coordinator ride.toml --bind nonsense": "",
    "coordinator ride.toml --bind tcp://0.0.0.0:0": "add --insecure",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --keys absent": "",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --keys absent --insecure": "",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --out /proc/none": "",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --resume=": "",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --http nonsense": "",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --http :0 --linger=-1": "",
    "coordinator field.toml --bind tcp://127.0.0.1:0": "",
    "coordinator ride.toml --bind tcp://127.0.0.1:0 --capture /proc/none/frames": "",
    "list dp-mse": "did you mean 'dp-mase'? see posse list\n",
    "list leaves:SYSTEM": "",
    "check absent.toml": "",
    "check ride.toml --set system=leaves:SYSTEM": "",
    "check ride.toml --set system=": "posse: system: is required but missing\n",
    "check ride.toml --set agents.count=2": "agents.count: is 2",
    "check ride.toml --set system=mase --set parameters={delta=1e-300}": "delta: is 1e-300",
    "check ride.toml --set system=mase --set parameters={beta=1e-300}": "beta: is 1e-300",
    "check ride.toml --set parameters.epsilon=inf": "inf is not a finite number",
    "check --topology ride.toml": "",
    "check --topology graph.toml --run -1": "",
    "check --topology graph.toml --draw graph.pdf": "must end in .png or .svg",
    "check --topology graph.toml --draw /proc/none/graph.svg": "",
    "check --topology graph.toml --set topology.kind=rong": "topology.kind: 'rong' is not known",
    "check --topology graph.toml --set topology.x=1": "topology.x: unknown key",
    "check --topology graph.toml --set agents.count=many": "agents.count: is 'many'",
    "audit absent.toml": "",
    "audit": "",
    "audit ride.toml --error 2": "is 2; it must be between 0 and .5",
    "audit ride.toml --rest x": "",
    "audit ride.toml --values 1,0": "",
    "audit ride.toml --rest 0 --values 1": "",
    "audit ride.toml --out /proc/none": "",
    "audit ride.toml --epsilon -1": "",
    "audit ride.toml --epsilon nan": "is nan; it must be a number, 0 or more",
    "audit ride.toml --epsilon inf": "",
    "audit ride.toml --delta -1": "",
    "audit ride.toml --delta 1": "is 1; it must be at least 0 and below 1",
    "audit ride.toml --delta nan": "",
    "audit ride.toml --runs 1": "",
    "audit ride.toml --rest 0": "",
    "audit ride.toml --rest 0,0,0": "",
    "audit ride.toml --rest 0,nan": "",
    "audit ride.toml --rest 0,2": "",
    "audit ride.toml --rest 0,0 --values 1,1": "",
    "audit ride.toml --rest 0,0 --values 1000,0": "",
    "audit ride.toml --rest 0,0 --values nan,0": "",
    "audit ride.toml --rest 0,0 --agent 99": "",
    "audit ride.toml --rest 0,0 --arm 7": "",
    "audit drive.toml --rest 0,0 --place 4": "",
    "audit shared.toml --sees agent": "",
    "audit groups.toml --rest 0,0 --arm 1": "",
    "audit field.toml": "",
    "audit --captured absent": "",
    "audit ride.toml --set system=corrupted-elimination --set parameters={eta=0.9,xi=0.1} "
    "--set agents.count=26 --rest 1,0": "--rest: does not apply to corrupted-elimination",
    "audit ride.toml --set system=corrupted-elimination --set parameters={eta=0.9,xi=0.1} "
    "--set agents.count=26 --delta 0.1": "--delta: does not apply to corrupted-elimination",
    "agent --join tcp://127.0.0.1:1 --linger nan": "",
    "agent --join nonsense": "",
    "agent --join tcp://10.0.0.1:7000": "add --insecure",
    "agent --join tcp://127.0.0.1:1 --rank x": "--rank x",
    "agent --join tcp://127.0.0.1:1 --rank ²": "",
    "agent --join tcp://127.0.0.1:1 --wait nan": "",
    "agent --join tcp://127.0.0.1:1 --budget x": "",
    "agent --join tcp://127.0.0.1:1 --delta 1": "",
    "agent --join tcp://127.0.0.1:1 --keys absent": "",
    "agent --join tcp://127.0.0.1:1 --data absent": "--data absent: the file does not exist",
    "agent --join tcp://127.0.0.1:1 --data .": "--data .: is a folder; name a file",
    "agent --join tcp://127.0.0.1:1 --run absent.toml": "",
    "agent --join tcp://127.0.0.1:1 --capture /proc/none/frames": "",
    "status --join nonsense": "",
    "status --join tcp://127.0.0.1:1 --wait=-1": "",
    "status --join tcp://127.0.0.1:1 --keys absent": "",
    "frames absent": "",
    "replay absent": "",
    "frames ride.toml": "",
    "frames absent --from server": "must be a rank, or coordinator",
    "completion csh": "",
    "keys absent --revoke 0": "",
    "keys folder --revoke rank": "",
    "verify absent --keys absent": "",
    "ledger absent.csv": "absent.csv.ledger does not exist: no run used",
}
"""Each with a part of its sentence, where another test does not have it."""

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
def test_wrong_input_is_a_sentence_and_exit_code_2(line, tmp_path, monkeypatch, posse):
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
    printed = posse(*shlex.split(line), code=2)
    assert printed.out == ""
    assert len(SENTENCE.findall(printed.err)) == 1, printed.err
    assert WRONG[line] in printed.err
    assert "Traceback" not in printed.err
    assert not (tmp_path / "runs").exists()


def test_every_command_is_among_them():
    assert {line.split()[0] for line in WRONG} >= cli.VERBS.keys()
