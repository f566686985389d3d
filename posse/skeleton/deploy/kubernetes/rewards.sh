#!/bin/sh
# Put an agent's own rewards into its claim, before up.sh, which then leaves them as they are:
#   sh rewards.sh RANK FILE.csv
set -eu
rank=$1
file=$(realpath "$2")
cd "$(dirname "$0")"
with() { # SCRIPT of sed: it, with the rank and the image put in
    sed "$1; s/RANK/$rank/g; s/image: posse$/image: ${POSSE_IMAGE:-posse:local}/"
}
pod=posse-rewards-$rank
kubectl apply -f namespace.yaml
with '/^---/,$d' <agent.yaml | kubectl -n posse apply -f - # its claim alone
with '' <rewards.yaml | kubectl -n posse apply -f -
trap 'kubectl -n posse delete pod "$pod" --now' EXIT
kubectl -n posse wait --for=condition=Ready "pod/$pod" --timeout=120s
kubectl -n posse exec -i "$pod" -- sh -c 'cat >/data/new && mv /data/new /data/rewards.csv' <"$file"
