"""Run every benchmark, or those named: `python -m bench star startup`."""

import sys

from bench import estimator, field, large, live, memory, peers, players, sockets, startup, watch
from bench.tables import show_bars

BENCHMARKS = {
    "star": (sockets.star,),
    "startup": (startup.main,),
    "crowd": (startup.crowd,),
    "players": (players.main,),
    "mesh": (sockets.mesh,),
    "cooperative": (sockets.learning, estimator.main),
    "memory": (memory.main,),
    "growth": (memory.growth,),
}
"""By name what prints the tables."""

ONLY_BY_NAME = {
    "peers": (peers.main,),
    "field": (field.main,),
    "watch": (watch.main,),
    "large": (large.main,),
    "live": (live.main,),
}
"""Not run by default. `peers` needs other systems to compare with; `field` and `watch` measure
keys, journals and watching, `live` decisions on live traffic, `large` has up to 100,000 agents in
memory and takes minutes."""


def main(names: list[str]) -> int:
    known = BENCHMARKS | ONLY_BY_NAME
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"{unknown[0]} is no benchmark; known: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        for benchmark in known[name]:
            benchmark()
    show_bars()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
