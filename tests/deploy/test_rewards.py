"""deploy/kubernetes/rewards.sh, with a kubectl that notes what it is told."""

import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]

KUBECTL = """#!/bin/sh
echo "$@" >>"$NOTES/told"
case " $* " in
*" -f - "*) { cat; echo ---; } >>"$NOTES/applied.yaml" ;;
*" exec "*) cat >"$NOTES/written" ;;
esac
"""


def test_rewards_go_into_the_claim_that_the_agent_will_have(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o700)
    (tmp_path / "mine.csv").write_text("arm,reward\n0,1\n")
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(
        [ROOT / "deploy/kubernetes/rewards.sh", "3", "mine.csv"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "NOTES": str(tmp_path)},
        check=True,
    )
    claim, pod = (m for m in yaml.safe_load_all((tmp_path / "applied.yaml").read_text()) if m)
    assert (claim["kind"], claim["metadata"]["name"]) == ("PersistentVolumeClaim", "posse-data-3")
    assert pod["spec"]["containers"][0]["image"] == "posse:local"
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "posse-data-3"}
    assert (tmp_path / "written").read_text() == "arm,reward\n0,1\n"
    assert "delete pod posse-rewards-3" in (tmp_path / "told").read_text().splitlines()[-1]
