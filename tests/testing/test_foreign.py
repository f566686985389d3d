"""The judge of foreign agents, on the one in C of `clients/c`: as it is, and with faults."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import zmq

from posse.errors import InputError
from posse.testing.foreign import judge_agent
from posse.testing.judge import JudgeFinding
from tests.support.patience import PATIENCE
from tests.support.relay import relay
from tests.support.remote import Agent, coordinator, free_port
from tests.support.runs import refused, spec

SOURCE = Path(__file__).parents[2] / "clients" / "c" / "agent.c"
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def built(folder: Path, source: str) -> Path:
    """The program of this source, with the libzmq that pyzmq brings, else with the system's."""
    (folder / "agent.c").write_text(source)
    ours = [*(Path(zmq.__file__).parents[1] / "pyzmq.libs").glob("libzmq*")]
    library = [str(ours[0]), f"-Wl,-rpath,{ours[0].parent}"] if ours else ["-lzmq"]
    flags = ["-O1", "-Wall", "-Wextra", "-Werror"]
    command = ["cc", *flags, "-o", f"{folder}/agent", f"{folder}/agent.c", *library, "-lm"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    return folder / "agent"


@contextmanager
def started(program: Path, endpoint: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The program as a process, which ends with the context."""
    with subprocess.Popen([program, endpoint], stderr=subprocess.PIPE) as agent:
        try:
            yield agent
        finally:
            agent.kill()


def judged(program: Path) -> list[JudgeFinding]:
    """What the judge finds of this program."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    with started(program, endpoint):
        return list(judge_agent(endpoint, wait=PATIENCE))


def test_the_agent_in_c_keeps_every_sentence(tmp_path: Path) -> None:
    found = judged(built(tmp_path, SOURCE.read_text()))
    assert [finding.check for finding in found if not finding.held] == []
    assert len(found) == 15


PLANTED = {
    "P is answered": ("envelope(count == taken ? 'C' : 'A', 0, NULL, 0);", "(void)0;"),
    "after Configure it sends Ready": ("found ? (int64_t)number(&found) : 0", "(int64_t)0"),
    "after Unknown it joins anew": ("{ known = playing = 0; join(); }", "(void)0;"),
    "a frame that came before is dropped": ("if (count != taken + 1) {", "if (!count) {"),
    "what is missing is asked for": ("if (count - taken < 0x80000000)", "if (!count)"),
    "it votes as mase does": ("integer(k); left[k] = 0;", "integer(arms - k); left[k] = 0;"),
    "rising sequences": ("    ++sequence;\n", "    ;\n"),
    "after A everything": ("else again();", ""),
    "is answered by G": ("envelope('G', confirmed, NULL, 0);", "again();"),
    "after Whose comes Resume": (
        "integer(connection); integer(taken);",
        "integer(0); integer(taken);",
    ),
    "a Report that can be true": ("bytes(pulls, 8 * arms)", "bytes(pulls, 8 * arms - 8)"),
    "Goodbye is confirmed": ("{ envelope('C', 0, NULL, 0); return 1; }", "return 1;"),
}


@pytest.mark.slow
@pytest.mark.parametrize("sentence", PLANTED)
def test_a_planted_fault_is_found(sentence: str, tmp_path: Path) -> None:
    right, wrong = PLANTED[sentence]
    text = SOURCE.read_text()
    assert text.count(right) == 1
    found = judged(built(tmp_path, text.replace(right, wrong)))
    assert [finding.held for finding in found] == [True] * (len(found) - 1) + [False]
    assert sentence in found[-1].check


def test_it_runs_beside_ours_whatever_is_cut(tmp_path: Path) -> None:
    plan = spec(
        "mase",
        2,
        repeat=2,
        arms={"kind": "bernoulli", "means": [0.0, 1.0, 0.0]},
        parameters={"delta": 0.3, "beta": 0.5},
        engine={"clock": "wall", "deadline": 60.0},
    )
    program = built(tmp_path, SOURCE.read_text())
    heard = 0

    def observe(host: object) -> None:
        nonlocal heard
        heard += 1
        if heard in {1, 4}:
            way.cut()

    with ExitStack() as opened:
        with coordinator(plan) as engine:
            way = opened.enter_context(relay(engine.endpoint))
            agent = opened.enter_context(started(program, way.endpoint))
            ours = Agent(way.endpoint, 1)
            engine.hub.gather()
            records = [engine.run(plan, number, observe) for number in range(2)]
        said = agent.communicate(timeout=PATIENCE)[1]
        assert ours.ended() == 0
    assert (agent.returncode, said) == (0, b"")
    assert [(record.status, record.best_arm) for record in records] == [("identified", 1)] * 2
    assert [refused(record) for record in records] == [{}, {}]


def test_an_address_that_is_taken_is_said() -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as taken:
        port = taken.bind_to_random_port("tcp://127.0.0.1")
        with pytest.raises(InputError, match="cannot be bound"):
            next(judge_agent(f"tcp://127.0.0.1:{port}"))
