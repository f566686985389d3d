"""`posse new --deploy compose`, and deploy/swarm, on a real engine; the swarm has one node.

Each test says what is missing where it skips. `.ci/run` brings the engine up and builds the image.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posse.cli.new import trial
from posse.live import Agent
from posse.security import keys
from tests.support.machine import answers
from tests.support.patience import PATIENCE
from tests.support.runs import printed

pytestmark = pytest.mark.machine

ROOT = Path(__file__).parents[2]
STACK = "posse-test"
KINDS = ("container", "network", "volume")
ENDED = {"complete", "failed", "rejected", "shutdown", "orphaned"}
NAMES = ["coordinator", *(f"agent-{rank}" for rank in range(8))]
GATEWAY = "docker_gwbridge"
"""The bridge that an engine makes for its first swarm, and keeps when it leaves."""


def docker(*arguments: str) -> str:
    return printed(["docker", *arguments], cwd=ROOT, timeout=PATIENCE).strip()


def of(label: str, kind: str) -> list[str]:
    """The engine's containers, networks or volumes that this label says are ours."""
    every = ["-a"] if kind == "container" else []
    return docker(kind, "ls", *every, "-q", "--filter", f"label={label}={STACK}").split()


def wait_until(done: Callable[[], object], what: Callable[[], str], within: float) -> None:
    deadline = time.monotonic() + within
    while not done():
        assert time.monotonic() < deadline, f"not within {within:g} s: {what()}"
        time.sleep(0.2)


@pytest.fixture
def image() -> str:
    if not answers("docker", "info"):
        pytest.skip("no container engine answers (docker info)")
    if not answers("docker", "image", "inspect", "posse:local"):
        pytest.skip("there is no image posse:local (docker build -t posse:local .)")
    return "posse:local"


@pytest.fixture
def compose(image: str) -> list[str]:
    for command in (["docker-compose"], ["docker", "compose"]):
        if answers(*command, "version"):
            return [*command, "-p", STACK]
    pytest.skip("the container engine has no compose (docker-compose, docker compose)")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_compose_finds_the_best_arm_though_all_is_stopped_and_made_anew(
    compose: list[str], image: str, tmp_path: Path
) -> None:
    agents = 16
    for name, content in trial("compose", agents).items():
        (tmp_path / name).write_text(content)
    tmp_path.chmod(0o755)  # what is mounted is read by the image's user

    def up() -> None:
        subprocess.run([*compose, "up", "-d"], cwd=tmp_path, check=True, timeout=PATIENCE)

    try:
        up()
        docker("rm", "-f", f"{STACK}_agent-5_1")
        up()  # at another address, as another container may have this one by now
        killed = docker("inspect", "-f", "{{.State.Pid}}", f"{STACK}_coordinator_1")
        os.kill(int(killed), signal.SIGKILL)  # as for want of memory: its policy starts it again
        restarts = partial(docker, "inspect", "-f", "{{.RestartCount}}", f"{STACK}_coordinator_1")
        wait_until(lambda: restarts() == "1", lambda: f"restarts: {restarts()}", 30)
        docker("stop", f"{STACK}_coordinator_1")
        docker("rm", "-f", *of("com.docker.compose.project", "container"))
        up()
        assert docker("wait", f"{STACK}_coordinator_1") == "0"
        said = docker("logs", f"{STACK}_coordinator_1")
        assert "Arm 0 is the best, says the one run" in said
        assert "[no keys]" not in said
        volumes = [f"-v={STACK}_data-{rank}:/data/{rank}" for rank in range(agents)]
        each = "for rank in $(seq 0 15); do posse ledger --json /data/$rank/rewards.csv; done"
        shown = docker("run", "--rm", "--entrypoint=sh", *volumes, image, "-c", each)
        ledgers = "[" + shown.replace("}\n{", "},{") + "]"
        assert [len(ledger["runs"]) for ledger in json.loads(ledgers)] == [1] * agents
    finally:
        subprocess.run([*compose, "down", "-v"], cwd=tmp_path, capture_output=True, check=False)
    assert [of("com.docker.compose.project", kind) for kind in KINDS] == [[], [], []]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_live_shops_find_the_best_button_and_begin_the_next_run_by_the_same_command(
    compose: list[str],
) -> None:
    live = [*compose, "-f", "docker-compose.live.yml"]
    try:
        for name in ("first", "second"):
            subprocess.run(
                [*live, "up", "-d", "--no-build"],
                cwd=ROOT,
                check=True,
                timeout=PATIENCE,
                env={**os.environ, "POSSE_NAME": name},
            )
            assert docker("wait", f"{STACK}_coordinator_1") == "0"
        token = docker("exec", f"{STACK}_setup_1", "cat", "/party/data-0/shop.token")
        with Agent("http://127.0.0.1:8016", token=token) as agent:
            status = agent.status()
        assert (status["over"], status["answer_name"]) == (True, "green")
        assert status["counts"]["decisions"] == 1_200
    finally:
        subprocess.run([*live, "down", "-v"], cwd=ROOT, capture_output=True, check=False)
    assert [of("com.docker.compose.project", kind) for kind in KINDS] == [[], [], []]


def test_the_image_is_small_and_not_roots(image: str) -> None:
    size, user = docker("image", "inspect", "-f", "{{.Size}} {{.Config.User}}", image).split()
    # 100e6 are SciPy, which any system may need; 85e6 what draws pages, as its own log recommends
    assert int(size) < 550e6
    assert not user.startswith(("0", "root"))


@pytest.fixture
def swarm(image: str) -> Iterator[None]:
    """An engine that manages a swarm: the one it is in, else one of its own for this test."""
    state, manages = docker(
        "info", "-f", "{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}}"
    ).split()
    if state != "inactive":
        if manages != "true":
            pytest.skip(f"this engine is in a swarm ({state}) that it does not manage")
        yield
        return
    had_gateway = answers("docker", "network", "inspect", GATEWAY)
    docker("swarm", "init", "--advertise-addr", "127.0.0.1", "--listen-addr", "127.0.0.1")
    try:
        # an engine answers before it knows its own name
        nodes = partial(docker, "node", "ls", "--format", "{{.Hostname}} {{.Status}}")
        wait_until(lambda: re.fullmatch(r"\S+ Ready", nodes()), lambda: f"a node: {nodes()}", 30)
        yield
    finally:
        docker("swarm", "leave", "--force")
        if not had_gateway:
            # what was on it is taken away after the engine has answered
            rm = partial(answers, "docker", "network", "rm", GATEWAY)
            wait_until(rm, lambda: f"{GATEWAY} is still in use", 30)


@pytest.fixture
def stack(swarm: None) -> Iterator[str]:
    """The name of a stack, of which nothing is left in the end."""

    def left() -> list[list[str]]:
        return [of("com.docker.stack.namespace", kind) for kind in KINDS]

    try:
        yield STACK
    finally:
        docker("stack", "rm", STACK)
        # an engine takes containers and networks away after it has answered, and keeps volumes
        wait_until(lambda: left()[:2] == [[], []], lambda: f"left: {left()}", 30)
        if volumes := of("com.docker.stack.namespace", "volume"):
            docker("volume", "rm", *volumes)
    assert left() == [[], [], []]


def tasks(stack: str, service: str) -> list[dict[str, Any]]:
    """All tasks that a service has had, those that others replaced too, as the engine has them."""
    found = docker("stack", "ps", "-q", "--no-trunc", "-f", f"name={stack}_{service}", stack)
    return list(json.loads(docker("inspect", *found.split()))) if found else []


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_stack_with_a_secret_for_each_finds_the_best_arm_and_stays_ended(
    stack: str, tmp_path: Path
) -> None:
    for folder in ("deploy/swarm", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    keys.create(tmp_path / "deploy/swarm/keys", 8)
    env = {**os.environ, "POSSE_STACK": stack}
    printed([str(tmp_path / "deploy/swarm/up.sh")], env=env, timeout=PATIENCE)

    def services() -> list[list[dict[str, Any]]]:
        return [tasks(stack, service) for service in NAMES]

    def ended() -> bool:
        found = services()
        states = {task["Status"]["State"] for tasks_ in found for task in tasks_}
        return all(found) and states <= ENDED

    def what_happens() -> str:
        logs = [docker("service", "logs", f"{stack}_{name}") for name in NAMES]
        return "\n".join([docker("stack", "ps", "--no-trunc", stack), *logs])

    wait_until(ended, what_happens, 240)
    time.sleep(2)  # a swarm that starts a task again says so at once, and waits 5 s before it does
    found = services()
    assert [len(tasks_) for tasks_ in found] == [1] * len(NAMES), what_happens()
    for (task,) in found:
        assert task["Status"]["State"] == "complete", what_happens()
        assert task["Status"]["ContainerStatus"]["ExitCode"] == 0
    log = docker("service", "logs", f"{stack}_coordinator")
    assert "Arm 0 is the best, says the one run" in log
    assert "[no keys]" not in log
