"""posse check."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.capture import CaptureResult

from tests.cli.conftest import Posse

PLAYERS = 'system = "tdfs-private"\nagents.count = 3\nparameters = { horizon = 300, epsilon = 1.0 }'
COOPERATIVE = (
    'system = "private-ucb"\nagents.count = 4\ntopology.kind = "ring"\n'
    "parameters = { horizon = 300, epsilon = 0.5 }"
)
LAB = '\narms = { kind = "bernoulli", means = [0.9, 0.6, 0.3] }'
FIELD = '\nmode = "field"\narms = { kind = "csv", path = "PATH", count = 3, clip = [0.0, 1.0] }'


Check = Callable[..., CaptureResult[str]]


@pytest.fixture
def check(tmp_path: Path, posse: Posse) -> Check:
    """Checks a run file of this text; what was printed."""

    def written(text: str, *words: str, code: int = 0) -> CaptureResult[str]:
        (tmp_path / "run.toml").write_text(text)
        return posse("check", tmp_path / "run.toml", *words, code=code)

    return written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAYERS + LAB, "ε = 3 (M ε) against whoever sees all choices and collisions"),
        (PLAYERS + FIELD.replace("PATH", "log.csv"), "ε = 1 against whoever sees all choices"),
        (COOPERATIVE + LAB, "ε = 6.383, δ = 1e-06 (the whole schedule, composed; epsilon = 0.5"),
        (COOPERATIVE + FIELD.replace("PATH", "{rank}.csv"), "ε = 6.383, δ = 1e-06 (the whole"),
    ],
)
def test_check_says_the_epsilon_that_is_spent_and_against_whom(
    text: str, said: str, check: Check
) -> None:
    out = check(text).out
    assert said in out
    assert ("A run of the lab illustrates this and protects nothing" in out) is (LAB in text)
    assert ("Adding a row, removing it or moving" in out) is (LAB not in text)


def test_check_says_what_repetitions_over_one_log_cost(check: Check) -> None:
    arms = 'arms = { kind = "csv", path = "{rank}.csv", count = 3 }'
    run = 'system = "dp-mase"\nrepeat = 3\nagents.count = 8\nparameters.epsilon = 0.5\n'
    out = check(run + arms).out
    assert "so that all of them together cost at most ε = 1.5." in out
    assert "a reward is not a number in [0, 1], because that ends the run too" in out


FIELD = """
system = "ddp-mab"
mode = "field"
agents.count = 50
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 4 }
topology.kind = "ring"
parameters = { epsilon = 0.1, horizon = 20_000 }
"""


def test_check_says_what_is_really_spent_and_against_whom(check: Check) -> None:
    said = check(FIELD).out
    assert 'parameters.noise = "per_agent"' in said
    assert "ε = 0.1 against whoever reads all messages of all agents" in said
    assert "privacy: at most ε = 10, δ = 0.001 for each reward, ever; each row of a log" in said
    said = check(FIELD, "--set", "parameters.noise=printed").out
    assert "ε = 5 (M ε, not ε) against whoever reads all messages" in said


def test_arms_that_tie_are_warned_of_before_a_run_that_may_never_end(
    run_file: Path, posse: Posse
) -> None:
    tie = "--set", "arms.means=[0.3,0.5,0.5]"
    said = "warning: arms.means: 2 arms share the best mean, 0.5: the run may never end"
    assert said in posse("check", run_file, *tie).out
    assert posse("run", run_file, *tie, "--repeat", "1", code=3).err.startswith(said)


@pytest.mark.parametrize(
    ("system", "parameters", "warned"),
    [
        ("mase", "{}", True),
        ("central", "{}", True),
        ("independent", "{}", True),
        ("corrupted-elimination", "{xi=0.1}", True),
        ("cdp-mab", "{epsilon=0.5,horizon=1000}", False),
    ],
)
def test_who_eliminates_arms_until_one_is_left_is_warned_of_ties(
    system: str, parameters: str, warned: bool, run_file: Path, posse: Posse
) -> None:
    changes = f"system={system}", f"parameters={parameters}", "agents.count=64"
    command = ["check", run_file, *(f"--set={change}" for change in changes)]
    for means, ties in (("[0.5,0.3,0.5]", True), ("[0.5,0.3,0.3]", False)):
        said = posse(*command, f"--set=arms.means={means}").out
        assert ("may never end" in said) is (warned and ties)


OWN = """
from dataclasses import replace
from posse.extend import AgentRole, Message, Mesh, Wiring, along
from posse.system import get_system

class One(Message, frozen=True, tag="same"):
    x: int

class Other(Message, frozen=True, tag="same"):
    x: str

def mesh(knowledge, *hears):
    ucb = get_system("cooperative-ucb")
    make, told = ucb.agent.make, lambda spec, parameters, run: along(spec.graph(run), knowledge)
    return replace(ucb, shape=Mesh(AgentRole(make, hears or ucb.agent.hears), Wiring(told)))

TAGS = mesh(None, One, Other)
KNOWN = mesh([{"k": object()}] * 4)
ROWS = mesh([{}] * 3)
ADVICE = replace(mesh(None), advise=lambda spec, parameters: "one sentence")

class Raises(get_system("cooperative-ucb").parameters, frozen=True, kw_only=True):
    def __post_init__(self):
        {}["limit"]

MODEL = replace(mesh(None), parameters=Raises)
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TAGS", "cannot be used: TypeError: If a type union contains multiple Struct types, all"),
        ("KNOWN", "has knowledge that cannot be sent: Encoding objects of type object is unsupp"),
        ("ROWS", "has 4 rows of neighbours and 3 of knowledge for 4 agents"),
        ("ADVICE", "advises 'one sentence'; it must be a list of sentences"),
        ("MODEL", "cannot be used: KeyError: 'limit' ("),
    ],
)
def test_check_finds_what_is_wrong_with_a_users_system(
    name: str, said: str, tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "own_checked.py").write_text(OWN)
    text = COOPERATIVE.replace("private-ucb", f"own_checked:{name}") + LAB
    printed = check(text.replace(", epsilon = 0.5", ""), "--trust", code=2)
    assert said in printed.err
    assert printed.out == ""


def test_one_is_not_many(run_file: Path, posse: Posse) -> None:
    alone = ["system=independent", "agents.count=1", "parameters=", "repeat=1"]
    said = posse("check", run_file, *(f"--set={one}" for one in alone)).out
    assert "variant corrected; 1 agent; 3 arms; 1 run from seed 5" in said


@pytest.mark.parametrize("system", ["cdp-mab", "single-mab"])
@pytest.mark.parametrize("enough", [False, True])
def test_a_horizon_without_a_single_round_is_told(
    system: str, enough: bool, run_file: Path, posse: Posse
) -> None:
    """S(1) of one agent at ε = 1e6, T = 1000: ⌈32 log(8 · 3 · 1000)⌉ = 323, of three arms."""
    parameters = f"parameters={{ horizon = {1000 if enough else 900}, epsilon = 1e6 }}"
    alone = ["--set", f"system={system}", "--set", parameters, "--set", "agents.count=1"]
    assert ("the first round alone takes" in posse("check", run_file, *alone).out) != enough


def test_check_reads_the_logs_of_rewards_that_are_on_this_machine(
    tmp_path: Path, check: Check
) -> None:
    (tmp_path / "rewards-0.csv").write_text("arm,reward\n0,1\n")
    (tmp_path / "rewards-1.csv").write_text("arm,reward\n0,1\n2,7\n")
    wrong = f"agent 1: {tmp_path}/rewards-1.csv, line 3: has the reward 7, outside [0, 1]"
    assert wrong in check(FIELD, code=2).err
    absent = f"{tmp_path}/rewards-2.csv does not exist, nor do the logs of 47 more agents"
    assert absent in check(FIELD, "--set", "arms.clip=[0, 9]").out


def test_what_a_file_says_is_shown_in_printable_letters(run_file: Path, posse: Posse) -> None:
    """Of a run file or a ledger that somebody sent, none commands the terminal."""
    target = '{ kind = "python", target = "\\u001b[2J\\u202etxt:make", count = 2 }'
    said = posse("check", run_file, "--set", f"arms={target}").out
    assert r"module '\x1b[2J\u202etxt' is neither" in said
    assert all(line.isprintable() for line in said.splitlines())


def test_check_says_which_node_is_which_agent(tmp_path: Path, check: Check, posse: Posse) -> None:
    (tmp_path / "g.gml").write_text(
        'graph [ node [ id 0 label "2" ] node [ id 1 label "1" ] node [ id 2 label "3" ]'
        " edge [ source 0 target 1 ] edge [ source 0 target 2 ] ]"
    )
    text = (
        'system = "cooperative-ucb"\nagents.count = 3\nparameters.horizon = 5\n'
        'arms = { kind = "bernoulli", means = [0.5, 0.6] }\n'
        'topology = { kind = "file", path = "g.gml" }\n'
    )
    assert "\n  agents by name: 0 is 1, 1 is 2, 2 is 3\n" in check(text).out
    ran = posse("run", tmp_path / "run.toml", "--engine", "memory", "--json", "-q").out
    assert json.loads(ran)["network"]["names"] == ["1", "2", "3"]


@pytest.mark.parametrize(("word", "hang"), [("  claim: ", 9), ("  not on this machine: ", 4)])
def test_on_a_terminal_long_lines_are_broken_under_what_they_belong_to(
    word: str, hang: int, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = check(FIELD).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "70")
    broken = check(FIELD).out
    assert broken.split() == whole.split()
    assert max(len(line) for line in whole.splitlines()) > 200
    lines = broken.splitlines()
    assert all(len(line) <= 70 or len(line.split()) == 1 for line in lines)
    at = next(at for at, line in enumerate(lines) if line.startswith(word))
    assert len(lines[at + 1]) - len(lines[at + 1].lstrip()) == hang


@pytest.mark.parametrize(
    ("engine", "where"), [("memory", "in virtual time"), ("processes", "over relays of this")]
)
def test_it_says_what_links_have(run_file: Path, engine: str, where: str, posse: Posse) -> None:
    link = 'network.links=[{ends=[0,"coordinator"],delay=0.2,bandwidth=1000}]'
    given = ["network.delay=0.05", "network.loss=0.01", link, "engine.transport=tcp"]
    options = [f"--set={one}" for one in (*given, f"engine.kind={engine}")]
    said = " ".join(posse("check", run_file, *options).out.split())
    assert (
        "network: delay 50 to 200 ms on 8 links; loss 1 % on 8 links; "
        f"bandwidth 1000 bytes/s on 1 link; {where}"
    ) in said
