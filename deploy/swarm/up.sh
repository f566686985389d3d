#!/bin/sh
# A coordinator and N agents (default 8, as in run.toml) on a swarm, each with a secret and a volume of its own:
#   posse keys deploy/swarm/keys --agents 8 && deploy/swarm/up.sh
# Agents are dealt to the nodes in turn, and stay on theirs with their volumes; nodes have the image. Where
# nobody may see all secrets, each makes its own (docs/keys.md) and its people call docker secret create.
set -eu
cd "$(dirname "$0")"
count=${1:-8}
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT
set -- -c stack.yml # from where the paths of files count
rank=0
while [ "$rank" -lt "$count" ]; do
    host=$(docker node ls --format '{{.Hostname}}' | sort | awk -v rank="$rank" '{n[NR - 1] = $0} END {print n[rank % NR]}')
    sed "s/RANK/$rank/g; s/HOST/$host/" agent.yml >"$made/agent-$rank.yml"
    set -- "$@" -c "$made/agent-$rank.yml"
    rank=$((rank + 1))
done
docker stack deploy --resolve-image never "$@" "${POSSE_STACK:-posse}"
