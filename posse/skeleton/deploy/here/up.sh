#!/bin/sh
# A coordinator and all agents on this machine, each with keys and rewards of its own: sh up.sh
# Your own rewards: rewards-0.csv, rewards-1.csv and so on, before. The next run: sh up.sh second
set -eu
cd "$(dirname "$0")"
count=$(sed -n '/^count/{s/[^0-9]//gp;q;}' run.toml)
address=tcp://127.0.0.1:${PORT:-7000}
[ -d keys ] || posse keys keys --agents "$count"
posse coordinator run.toml --bind "$address" --keys keys/coordinator --out "${1:-first}" &
coordinator=$!
rank=0
while [ "$rank" -lt "$count" ]; do
    python3 example_data.py "rewards-$rank.csv" "$rank"
    posse agent --join "$address" --keys "keys/agent-$rank" --run run.toml --data "rewards-$rank.csv" 2>"agent-$rank.log" &
    rank=$((rank + 1))
done
# its closing table follows; each agent's log says what it spent
wait "$coordinator" || { code=$?; kill $(jobs -p) 2>/dev/null || :; exit "$code"; }
