"""Run every benchmark, or those named: `python -m bench star startup`."""

import importlib
import sys

from bench.tables import show_bars

BENCHMARKS = ("star", "startup", "players", "mesh", "cooperative", "memory", "growth")
"""Modules of this package, each with a `main()` that prints its tables."""

ONLY_BY_NAME = ("crowd", "peers", "field", "watch")
"""Not run by default. `crowd` needs more memory than most machines have, `peers` needs other
systems to compare with; `field` and `watch` measure keys, journals and watching."""


def main(names: list[str]) -> int:
    known = BENCHMARKS + ONLY_BY_NAME
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"{unknown[0]} is no benchmark; known: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        importlib.import_module(f"bench.{name}").main()
    show_bars()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
