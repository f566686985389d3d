"""Run files and reward logs that are made to harm: one sentence, exit code 2, and nothing large."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from posse.cli.main import main

HEAD = 'system = "dp-mase"\nagents.count = 8\nparameters = { epsilon = 1.0, delta = 0.3 }\n'
ARMS = '[arms]\nkind = "bernoulli"\nmeans = [0.9, 0.2]\n'
CSV = '[arms]\nkind = "csv"\npath = "rewards-{rank}.csv"\ncount = 4\n'
RANDOM = '[arms]\nkind = "bernoulli"\nmeans = { random = "uniform", count = '

RUN_FILES: dict[str, str | bytes] = {
    "nested lists": HEAD + ARMS + "[x]\ny = " + "[" * 100_000 + "]" * 100_000,
    "keys 2,000 deep": ".".join(["a"] * 2_000) + " = 1\n" + HEAD + ARMS,
    "an integer of 100,000 digits": f"seed = {'9' * 100_000}\n{HEAD}{ARMS}",
    "a seed of 2^70": f"seed = {2**70}\n{HEAD}{ARMS}",
    "epsilon inf": HEAD.replace("1.0", "inf") + ARMS,
    "epsilon nan": HEAD.replace("1.0", "nan") + ARMS,
    "a deadline nan": HEAD + ARMS + "[engine]\ndeadline = nan\n",
    "a deadline inf": HEAD + ARMS + "[engine]\ndeadline = inf\n",
    "a deadline of 1e300": HEAD + ARMS + "[engine]\ndeadline = 1e300\n",
    "2^62 arms": f"{HEAD}{RANDOM}{2**62} }}\n",
    "10^9 arms": f"{HEAD}{RANDOM}1_000_000_000 }}\n",
    "10^9 arms in a log": HEAD + CSV.replace("count = 4", "count = 1_000_000_000"),
    "10^9 dimensions": f"{HEAD}{RANDOM}4, dimensions = 1_000_000_000 }}\n".replace(
        "uniform", "cosine"
    ),
    "10^9 agents": HEAD.replace("= 8", "= 1_000_000_000") + ARMS,
    "10^12 repetitions": f"repeat = 1_000_000_000_000\n{HEAD}{ARMS}",
    "latin-1": (HEAD + ARMS).encode() + b"# \xe9\n",
    "a NUL": (HEAD + ARMS).encode() + b"x = \x00\n",
    "8 MiB": (HEAD + ARMS).encode() + b"#" * (8 << 20),
    "a large float": HEAD.replace("1.0", "9" * 10_000 + ".0") + ARMS,
}

LOGS = {
    "a field of a million": b"arm,reward\n0," + b"1" * 1_000_000 + b"\n",
    "a NUL and a quote that does not end": b'arm,reward\n0,"\x00\n',
    "latin-1": b"arm,reward\n0,\xff\n",
    "an arm of 100,000 digits": b"arm,reward\n" + b"9" * 100_000 + b",1\n",
    "a reward of 1e999": b"arm,reward\n0,1e999\n",
    "nothing": b"",
}


@pytest.fixture(autouse=True)
def little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Far more than any of these must take, and less than any would that got through."""
    monkeypatch.chdir(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def refused(capsys: pytest.CaptureFixture[str], *command: str) -> int:
    """The exit code of a command that says one sentence, which is short."""
    code = main(list(command))
    shown = capsys.readouterr().err
    assert shown.startswith("posse: ")
    assert shown.count("\n") == 1
    assert len(shown) < 2_000
    return code


@pytest.mark.parametrize("what", RUN_FILES)
def test_a_run_file_that_is_a_bomb_is_a_mistake_like_any_other(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RUN_FILES[what]
    Path("run.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert refused(capsys, "check", "run.toml") == 2


@pytest.mark.parametrize(
    ("what", "engine"), [*((what, "memory") for what in LOGS), ("latin-1", "processes")]
)
def test_a_reward_log_that_is_a_bomb_is_a_mistake_like_any_other(
    what: str, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run.toml").write_text(HEAD + CSV)
    for rank in range(8):
        Path(f"rewards-{rank}.csv").write_bytes(LOGS[what])
    out = ("--engine", engine, "--quiet", "--out", engine)
    assert refused(capsys, "run", "run.toml", *out) == 2
