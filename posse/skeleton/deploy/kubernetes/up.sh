#!/bin/sh
# A coordinator and N agents (default: as in run.toml), each with a Secret and a claim of its own. In this folder:
#   posse keys keys --agents N && sh up.sh
# The coordinator's Secret has its own key and no agent's. Where nobody may see all secrets, each makes
# its own Secret of what `posse keys DIR --rank RANK` made: docs/keys.md.
set -eu
cd "$(dirname "$0")"
count=${1:-$(sed -n '/^count/{s/[^0-9]//gp;q;}' run.toml)}

made() { # KIND… NAME --from-file=WHAT
    kubectl -n posse create "$@" --dry-run=client -o yaml | kubectl apply -f -
}

kubectl apply -f namespace.yaml
made configmap posse-example-data --from-file=example_data.py
made secret generic posse-coordinator --from-file=keys/coordinator
rank=0
while [ "$rank" -lt "$count" ]; do
    made secret generic "posse-agent-$rank" --from-file="keys/agent-$rank"
    rank=$((rank + 1))
done
kubectl apply -k .
rank=0
while [ "$rank" -lt "$count" ]; do
    sed "s/RANK/$rank/g; s/image: posse$/image: ${POSSE_IMAGE:-posse:local}/" agent.yaml | kubectl -n posse apply -f -
    rank=$((rank + 1))
done
