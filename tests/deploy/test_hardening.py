"""What the shipped files let a container do: no more than it needs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from posse.cli.new import trial
from posse.operate.web import Web, answer

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy/kubernetes"
COMPOSE: dict[str, Any] = yaml.safe_load(trial("compose", 3)["docker-compose.yml"])
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def manifests() -> list[dict[str, Any]]:
    resources = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    return [
        document
        for name in (*resources, "agent.yaml", "rewards.yaml")
        for document in yaml.safe_load_all((KUBERNETES / name).read_text())
    ]


JOBS = [manifest for manifest in manifests() if manifest["kind"] == "Job"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_writes_only_its_volumes_and_gains_no_right(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "on-failure:5"
    assert service["mem_limit"] == "512m"


SWARM = {
    name: yaml.safe_load((ROOT / f"deploy/swarm/{name}.yml").read_text())
    for name in ("stack", "agent")
}


def test_a_container_reaches_nobody_but_its_peers() -> None:
    for whole in (COMPOSE, SWARM["stack"]):
        assert whole["networks"] == {"posse": {"internal": True}}
    for service in (*SERVICES.values(), *SWARM["stack"]["services"].values()):
        assert service["networks"] == ["posse"]
        assert "ports" not in service


@pytest.mark.parametrize("name", SWARM)
def test_on_a_swarm_each_party_has_its_own_secret_and_volume_and_ends_once(name: str) -> None:
    stack = SWARM[name]
    (service,) = stack["services"].values()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["deploy"]["restart_policy"] == {"condition": "on-failure", "max_attempts": 5}
    assert service["deploy"]["resources"] == {"limits": {"memory": "512M"}}
    (secret,) = service["secrets"]
    assert secret["mode"] == 0o400
    (file,) = stack["secrets"].values()
    party = "coordinator" if name == "stack" else "agent-RANK"
    assert file == {"file": f"keys/{party}/{party}.key_secret"}
    assert secret["target"] == f"/keys/{party}.key_secret"
    (volume,) = stack["volumes"]
    assert [kept.partition(":")[0] for kept in service["volumes"]] == [volume]


def test_the_coordinator_says_whether_it_is_well() -> None:
    port = "9100"
    assert f"--http :{port} " in SERVICES["coordinator"]["command"]
    assert f":{port}/healthz" in SERVICES["coordinator"]["healthcheck"]["test"][-1]
    coordinator = next(job for job in JOBS if job["metadata"]["name"] == "posse-coordinator")
    (container,) = coordinator["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert {"name": "http", "containerPort": int(port)} in container["ports"]
    assert f"--http=0.0.0.0:{port}" in container["args"]


@pytest.mark.parametrize(
    "service", [SERVICES["coordinator"], SWARM["stack"]["services"]["coordinator"]]
)
def test_a_health_check_asks_past_any_proxy(service: dict[str, Any]) -> None:
    """Docker gives containers the proxy of its client, which does not reach them."""
    kind, python, *code = service["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    proxy = dict.fromkeys(("http_proxy", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    health = Web("--http", ":0", {"/healthz": lambda _, start: answer(start, "", 200)})
    asked = [part.replace("9100", str(health.port)) for part in code]
    try:
        subprocess.run([sys.executable, *asked], env=os.environ | proxy, check=True)
    finally:
        health.close()


def test_what_came_of_it_outlives_the_coordinator() -> None:
    assert "runs:/runs" in SERVICES["coordinator"]["volumes"]
    coordinator = next(job for job in JOBS if job["metadata"]["name"] == "posse-coordinator")
    pod = coordinator["spec"]["template"]["spec"]
    assert {"name": "runs", "mountPath": "/runs"} in pod["containers"][0]["volumeMounts"]
    claims = [m["metadata"]["name"] for m in manifests() if m["kind"] == "PersistentVolumeClaim"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["runs"]["persistentVolumeClaim"]["claimName"] in claims


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job["metadata"]["name"])
def test_a_job_resumes_and_ends_by_its_exit_code(job: dict[str, Any]) -> None:
    assert job["spec"]["backoffLimit"] > 0  # killed or evicted it resumes
    (rule,) = job["spec"]["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["values"] == [1, 2, 3]


PODS = [job["spec"]["template"] for job in JOBS] + [m for m in manifests() if m["kind"] == "Pod"]


@pytest.mark.parametrize("of", PODS, ids=lambda pod: str(pod["metadata"]))
def test_a_pod_writes_only_its_volumes_and_gains_no_right(of: dict[str, Any]) -> None:
    pod = of["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted <= {volume["name"] for volume in pod["volumes"]}


def test_nobody_reaches_a_pod_but_who_must() -> None:
    policies = {
        m["metadata"]["name"]: m["spec"] for m in manifests() if m["kind"] == "NetworkPolicy"
    }
    nobody = policies["posse-nobody-else"]
    assert nobody["podSelector"] == {}
    assert nobody["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in nobody
    joins, metrics = policies["posse-coordinator"]["ingress"]
    assert joins["from"] == [{"podSelector": {"matchLabels": {"app": "posse-agent"}}}]
    assert [port["port"] for port in joins["ports"]] == [7000]
    assert [port["port"] for port in metrics["ports"]] == [9100]
    apps = {job["spec"]["template"]["metadata"]["labels"]["app"] for job in JOBS}
    assert apps == {"posse-agent", "posse-coordinator"}
