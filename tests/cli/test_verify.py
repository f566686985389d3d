"""posse verify: a third party with the allowlist alone checks who signed what a result says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posse.cli.main import main
from posse.protocol.signing import Signer
from posse.results.vouched import KIND, last_word
from posse.security import keys

NAME = bytes(range(32))
RUN = """
system = "private-ucb"
seed = 1
agents.count = 3
arms = { kind = "bernoulli", means = [0.9, 0.1] }
topology.kind = "complete"
parameters = { epsilon = 1.0, horizon = 60 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A result whose answers were signed, and the keys."""
    keys.create(tmp_path / "keys", 3)
    (tmp_path / "run.toml").write_text(RUN)
    out = str(tmp_path / "out")
    assert main(["run", str(tmp_path / "run.toml"), "--engine", "memory", "--out", out]) == 0

    def sign(result: dict[str, Any]) -> None:
        (run,) = result["runs"]
        told = {"horizon": 60, "epsilon": 1.0}
        made = {}
        for rank, arm in enumerate(run["answers"]):
            said = last_word("private-ucb", "corrected", 3, told, arm)
            made[rank] = signer(tmp_path, rank).sign(KIND, said).hex()
        run["signed"] = {"run": NAME.hex(), "answers": made}

    change(tmp_path, sign)
    return tmp_path


def signer(folder: Path, rank: int) -> Signer:
    return Signer(keys.for_agent(folder / "keys", rank).own.signing, {}, NAME)


def change(folder: Path, how: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "out/result.json"
    result = json.loads(path.read_text())
    how(result)
    path.write_text(json.dumps(result))


def verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["verify", str(folder / "out"), "--keys", str(folder / "keys/coordinator")])
    return code, capsys.readouterr().out


def test_what_agents_signed_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "run 0:\n  agents 0, 1, 2 signed the answers that the result has\n"
    assert verified(folder, capsys) == (0, said)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (lambda run: run["answers"].__setitem__(1, 1), "agent 1: what the result has as its"),
        (lambda run: run["signed"]["answers"].pop("2"), "agent 2: its answer 0 is not signed"),
        (lambda run: run["signed"].update(run="00" * 32), "agent 0: what the result has as its"),
        (lambda run: run["signed"]["answers"].update({"0": "oops"}), "agent 0: what the result"),
        (lambda run: run.pop("signed"), "agent 0: its answer 0 is not signed"),
    ],
)
def test_what_was_changed_since_is_found(
    what: Callable[[dict[str, Any]], object],
    said: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(folder, lambda result: what(result["runs"][0]))
    code, out = verified(folder, capsys)
    assert code == 3
    assert said in out


def test_another_configuration_is_not_what_was_signed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "out/spec.toml"
    path.write_text(path.read_text().replace("epsilon = 1.0", "epsilon = 0.1"))
    code, out = verified(folder, capsys)
    assert (code, out.count("is of another answer or run")) == (3, 3)


def test_a_proof_is_checked_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = bytes(8)
    one, other = (signer(folder, 1).state(b"means", place, text).hex() for text in (b"a", b"b"))

    def add(statements: list[str]) -> None:
        proof = {"kind": "means", "place": place.hex(), "statements": statements}
        change(folder, lambda result: result["runs"][0].update(proofs={"1": proof}))

    add([one, other])
    code, out = verified(folder, capsys)
    assert (code, "the proof holds that agent 1 signed two" in out) == (0, True)
    add([one, one])
    code, out = verified(folder, capsys)
    assert (code, "the proof is none that agent 1" in out) == (3, True)
