#!/bin/sh
# The six cases of Li and Song 2022, Fig. 11. Further arguments go to `posse run`, e.g. --engine memory.
set -e
here=$(dirname "$0")

case_of() {
  name=$1; parts=$2; shift 2
  echo "case $name"
  posse run "$here/components.toml" --set "topology.components=$parts" "$@"
}

five() { printf '[%s, %s, %s, %s, %s]' "$1" "$1" "$1" "$1" "$1"; }

case_of "1: five complete of 20" "$(five '{ kind = "complete", count = 20 }')" "$@"
echo "case 2: complete of 53, 24, 10, 6, 7"
posse run "$here/components.toml" "$@"
case_of "3: one complete of 100" '[{ kind = "complete", count = 100 }]' "$@"
case_of "4: five random of 20" "$(five '{ kind = "erdos-renyi", count = 20, p = 0.3 }')" "$@"
case_of "5: five stars of 20" "$(five '{ kind = "star", count = 20 }')" "$@"
case_of "6: a hundred alone" '[{ kind = "single", count = 100 }]' "$@"
