"""Real hosts: network namespaces with a delay, a Slurm cluster, manifests.

Each test asks for an ordinary thing and says what is missing where it skips. `.ci/run` lays out the
namespaces (20 ms on every packet that leaves a host) and brings the cluster up.
"""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.cli.new import trial
from posse.engines import memory
from posse.plan import prepare
from posse.security import keys
from posse.spec.runfile import read
from tests.support.killed import logged
from tests.support.machine import answers
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.remote import free_port

pytestmark = pytest.mark.machine

ROOT = Path(__file__).parents[2]
DELAY = 0.020
"""Laid out on every packet that leaves a host. A message takes so long at least, and on a busy
machine longer; no test knows how much."""
NEAR = 0.9
"""A delay is known to a sixteenth of an octave, and in the field in whole milliseconds."""
PLACES = (0, 1, 2, 1, 2, 1, 2, 1)
"""The host of each agent; the coordinator is on host 0. Neighbours on a ring are on two hosts."""
POSSE = [sys.executable, "-P", "-m", "posse"]
SHARED_FILE = "./run.toml"

DP_MASE = """
system = "dp-mase"
seed = 7
[agents]
count = 8
[arms]
kind = "bernoulli"
means = [0.8, 0.6, 0.4, 0.2]
[parameters]
epsilon = 0.5
[engine]
clock = "wall"
deadline = 60.0
"""

SAME = ("status", "answers", "slots", "pulls", "regret_curve")

DURABLE = """
system = "private-ucb"
agents.count = 4
arms = { kind = "bernoulli", means = [0.7, 0.5, 0.3] }
topology.kind = "ring"
parameters = { epsilon = 0.5, horizon = 2_000 }
engine = { durable = true, deadline = 60.0 }
"""

DDP_MAB = """
system = "ddp-mab"
seed = 7
[agents]
count = 8
[arms]
kind = "bernoulli"
means = [0.9, 0.5, 0.3, 0.1]
[topology]
kind = "ring"
[parameters]
horizon = 20_000
epsilon = 1.0
[engine]
deadline = 60.0
"""

FIELD = """
system = "ddp-mab"
mode = "field"
[agents]
count = 8
[arms]
kind = "csv"
path = "rewards-{rank}.csv"
count = 4
replace = true
[privacy]
reuse = "unlimited"
[topology]
kind = "ring"
[parameters]
horizon = 20_000
epsilon = 1.0
[engine]
deadline = 60.0
"""


def hosts() -> dict[str, str]:
    """Three network namespaces LAB-h1, LAB-h2, LAB-h3 and their addresses, if they are there."""
    if shutil.which("ip") is None:
        return {}
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    named = re.findall(r"^(\S+-h[123])\b", listed.stdout, re.MULTILINE)
    lab = sorted(named)[:3]
    found = {}
    for name in lab:
        shown = subprocess.run(
            ["ip", "-n", name, "-4", "-o", "addr", "show", "eth0"],
            capture_output=True,
            text=True,
            check=False,
        )
        if match := re.search(r"inet ([\d.]+)/", shown.stdout):
            found[name] = match[1]
    return found if len(found) == 3 else {}


def on(host: str, *arguments: str) -> list[str]:
    return ["ip", "netns", "exec", host, *POSSE, *arguments]


def across_hosts(
    run_file: Path, tmp_path: Path, nat: Mapping[int, str] = MappingProxyType({})
) -> tuple[dict[str, Any], list[str], float]:
    """The result of a run with its coordinator on the first host and agents on all three.

    Those of `nat` are in these network namespaces instead, and accept no connections.

    And what each agent logged, and the least seconds that a message between hosts was seen to take:
    an agent knows the coordinator's clock up to half of its quickest round trip's excess, and in a
    message between agents two such errors meet.
    """
    laid_out = hosts()
    if not laid_out:
        pytest.skip("there are no three network namespaces *-h1 to *-h3 (ip netns)")
    folder = tmp_path / "keys"
    keys.create(folder, 8)
    names = list(laid_out)
    port = free_port()
    endpoint = f"tcp://{laid_out[names[0]]}:{port}"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    agents = [
        subprocess.Popen(
            on(
                nat.get(rank, names[PLACES[rank]]),
                *("agent", "--join", endpoint, "--keys", str(folder), "--rank", str(rank)),
                *("--wait", "60", "--run", str(run_file)),
                *(("--inbox", "coordinator") if rank in nat else ()),
            ),
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(8)
    ]
    try:
        done = subprocess.run(
            on(
                names[0],
                *("coordinator", str(run_file), "--bind", f"tcp://0.0.0.0:{port}"),
                *("--keys", str(folder), "--json", "--out", str(tmp_path / "out")),
            ),
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        logs = [agent.communicate(timeout=PATIENCE)[1] for agent in agents]
        assert done.returncode == 0, done.stderr + "".join(logs)
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()
    trips = [float(t) for log in logs for t in re.findall(r"round trip ([\d.]+) ms", log)]
    assert len(trips) == 8
    assert sorted(trips)[1] > NEAR * 2 * 1e3 * DELAY  # agent 0 is beside the coordinator
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["links"] == "keys"
    return result, logs, NEAR * (DELAY - (1e-3 * max(trips) - 2 * DELAY))


def in_the_lab(run_file: Path, tmp_path: Path) -> dict[str, Any]:
    command = [*POSSE, "run", str(run_file), "--json", "--engine", "memory"]
    out = subprocess.check_output([*command, "--out", str(tmp_path / "lab")], text=True)
    result: dict[str, Any] = json.loads(out)
    return result


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [("dp-mase", DP_MASE), ("ddp-mab", DDP_MAB)])
def test_eight_agents_on_three_hosts(name: str, text: str, tmp_path: Path) -> None:
    """Half of all messages or more took what was laid out at least; the answer is the lab's."""
    run_file = tmp_path / f"{name}.toml"
    run_file.write_text(text)
    result, _, least = across_hosts(run_file, tmp_path)
    (there,) = result["runs"]
    (here,) = in_the_lab(run_file, tmp_path)["runs"]
    assert there["best_arm"] == here["best_arm"] == 0
    # all but agent 0's messages cross hosts (on the ring those too), so the median did
    assert least < there["delay"]["p50"] < there["elapsed_seconds"], there["delay"]
    if name == "ddp-mab":
        for metric in ("regret", "slots", "pulls"):
            assert there[metric] == here[metric]


@pytest.mark.slow
def test_eight_agents_on_three_hosts_with_rewards_of_their_own(tmp_path: Path) -> None:
    """The field: the answer is known to all, and how long messages took to each agent alone."""
    generator = np.random.default_rng(7)
    for rank in range(8):
        rows = [
            f"{arm},{int(reward)}"
            for arm, mean in enumerate((0.9, 0.5, 0.3, 0.1))
            for reward in generator.random(2000) < mean
        ]
        (tmp_path / f"rewards-{rank}.csv").write_text("\n".join(["arm,reward", *rows]))
    run_file = tmp_path / "field.toml"
    run_file.write_text(FIELD)
    result, logs, least = across_hosts(run_file, tmp_path)
    (there,) = result["runs"]
    assert there["best_arm"] == 0
    assert there["answers"] == [0] * 8
    assert there["delay"] is None
    delays = [float(t) for log in logs for t in re.findall(r"took ([\d.]+) ms \(median\)", log)]
    assert len(delays) == 8
    assert min(delays) > 1e3 * least, delays


@pytest.fixture
def behind_nat() -> Iterator[str]:
    """A network namespace whose way out is the second host, which translates its address."""
    laid_out = [*hosts()]
    if not laid_out or shutil.which("iptables") is None:
        pytest.skip("there are no three network namespaces *-h1 to *-h3 (ip netns), or no iptables")
    router, inside = laid_out[1], laid_out[1].replace("-h2", "-nat")
    within = ["ip", "netns", "exec", router]
    out = ["-s", "10.99.61.0/24", "-j", "MASQUERADE"]
    for command in (
        ["ip", "netns", "add", inside],
        [
            "ip",
            "-n",
            router,
            "link",
            "add",
            "nat0",
            "type",
            "veth",
            "peer",
            "eth0",
            "netns",
            inside,
        ],
        ["ip", "-n", router, "addr", "add", "10.99.61.1/24", "dev", "nat0"],
        ["ip", "-n", router, "link", "set", "nat0", "up"],
        ["ip", "-n", inside, "addr", "add", "10.99.61.2/24", "dev", "eth0"],
        ["ip", "-n", inside, "link", "set", "lo", "up"],
        ["ip", "-n", inside, "link", "set", "eth0", "up"],
        ["ip", "-n", inside, "route", "add", "default", "via", "10.99.61.1"],
        [*within, "sysctl", "-qw", "net.ipv4.ip_forward=1"],
        [*within, "iptables", "-t", "nat", "-A", "POSTROUTING", *out],
    ):
        subprocess.check_call(command)
    yield inside
    subprocess.check_call([*within, "iptables", "-t", "nat", "-D", "POSTROUTING", *out])
    subprocess.check_call(["ip", "netns", "del", inside])


@pytest.mark.slow
def test_agents_behind_a_nat_take_part_in_a_mesh(behind_nat: str, tmp_path: Path) -> None:
    """Two neighbours of each other and of two agents outside, who cannot reach them."""
    run_file = tmp_path / "run.toml"
    run_file.write_text(DDP_MAB)
    result, logs, least = across_hosts(run_file, tmp_path, {1: behind_nat, 2: behind_nat})
    (there,) = result["runs"]
    (here,) = in_the_lab(run_file, tmp_path)["runs"]
    for metric in ("answers", "regret", "slots", "pulls"):
        assert there[metric] == here[metric], logs
    assert there["communication"]["data"] == here["communication"]["data"]
    forwarded = there["communication"]["forwarded"]
    assert forwarded["messages"] > 0
    assert forwarded["bytes"] > 50 * forwarded["messages"]
    delays = {(source, target): p50 for source, target, _, p50, _ in there["delay"]["links"]}
    assert {(0, 1), (2, 1), (1, 2), (3, 2)} <= delays.keys()
    assert delays[3, 2] > least + NEAR * DELAY  # from the second host to the first and back


def started(journal: Path) -> bool:
    return journal.exists() and logged(journal) > 20_000


@pytest.mark.slow
def test_a_slurm_array_task_that_is_preempted_resumes_in_another_job(tmp_path: Path) -> None:
    if not answers("srun", "-N2", "-n2", "true"):
        pytest.skip("no Slurm cluster of two nodes answers (srun)")
    keys.create(tmp_path / "keys", 4)
    run_file = tmp_path / "run.toml"
    run_file.write_text(DURABLE)
    settings = f"POSSE={sys.executable} -P -m posse,POSSE_OUT=sweep,POSSE_OVER=seed=5 7"
    submit = [
        *("sbatch", "--parsable", "--array=1", "--nodes=2", "--ntasks=4", "--output=job.out"),
        *(f"--export=ALL,{settings}", str(ROOT / "deploy/slurm/posse.sbatch"), "run.toml", "keys"),
    ]

    def submitted() -> str:
        return subprocess.check_output(submit, text=True, cwd=tmp_path).strip()

    def shown() -> str:
        return output.read_text() if (output := tmp_path / "job.out").exists() else ""

    def wait_until(done: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, shown()
            time.sleep(0.2)

    first = submitted()
    wait_until(lambda: started(tmp_path / "sweep/1/coordinator.journal"))
    subprocess.check_call(["scancel", "--batch", "--signal=TERM", first])
    wait_until(lambda: not subprocess.check_output(["squeue", "-h", "-j", first]))
    assert "posse abandon" in shown()
    submitted()
    wait_until((tmp_path / "sweep/1/result.json").exists)
    (there,) = json.loads((tmp_path / "sweep/1/result.json").read_text())["runs"]
    assert there["restarts"]["-1"] == 1
    undisturbed = [*POSSE, "run", str(run_file), "--seed=7", "--engine=memory", "--json"]
    (here,) = json.loads(subprocess.check_output(undisturbed))["runs"]
    assert [there[what] for what in SAME] == [here[what] for what in SAME]


def test_the_manifests_are_valid_and_no_party_has_anothers_secrets(tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl to build the kustomization")
    pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    validate = Path(sys.executable).with_name("kubernetes-validate")
    folder = ROOT / "deploy/kubernetes"
    shared = subprocess.check_output(["kubectl", "kustomize", str(folder)], text=True)
    agents = [(folder / "agent.yaml").read_text().replace("RANK", str(rank)) for rank in range(2)]
    for name, text in (("shared", shared), ("agent-0", agents[0]), ("agent-1", agents[1])):
        (tmp_path / f"{name}.yaml").write_text(text)
        subprocess.check_call([str(validate), "--strict", str(tmp_path / f"{name}.yaml")])
        assert "runAsNonRoot: true" in text
        secrets = set(re.findall(r"secretName: ([\w-]+)", text))
        assert secrets == {f"posse-{name if name != 'shared' else 'coordinator'}"}
        assert "backoffLimit: 6" in text
        assert "values: [1, 2, 3]" in text or "values:\n        - 1\n" in text
    subprocess.check_call([str(validate), "--strict", str(folder / "rewards.yaml")])
    assert "clusterIP: None" in shared
    assert "--run=/etc/posse/run.toml" in agents[0]


@settings(max_examples=8)
@given(st.integers(1, 64))
def test_the_compose_file_gives_each_agent_its_own_volumes(agents: int) -> None:
    compose = yaml.safe_load(trial("compose", agents)["docker-compose.yml"])
    services = compose["services"]
    mounted = {
        name: {volume.partition(":")[0] for volume in services[name]["volumes"]} - {SHARED_FILE}
        for name in services
        if name != "setup"
    }
    own = {f"agent-{rank}": {f"agent-{rank}", f"data-{rank}"} for rank in range(agents)}
    assert mounted == own | {"coordinator": {"coordinator", "runs"}}
    assert compose["volumes"].keys() == set().union(*mounted.values())
    (command,) = {services[f"agent-{rank}"]["command"] for rank in range(agents)}
    assert command.endswith("--run /etc/posse/run.toml --data /data/rewards.csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("examples/compose.toml", "identified"),
        ("deploy/kubernetes/run.toml", "identified"),
        ("examples/field/run.toml", "identified"),
        ("examples/field/network.toml", "horizon"),
    ],
)
def test_the_shipped_run_files_find_the_best_arm_on_the_example_data(
    name: str, status: str, tmp_path: Path
) -> None:
    needs_noise()
    write = runpy.run_path(str(ROOT / "examples/field/example_data.py"))["write"]
    for rank in range(8):
        write(tmp_path / f"rewards-{rank}.csv", rank)
    record = memory.run(prepare({**read(ROOT / name), "base": str(tmp_path)}), 0)
    assert (record.status, record.best_arm) == (status, 0)
