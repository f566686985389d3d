"""Run every benchmark, or those that are named: `python -m bench star startup`."""

import importlib
import sys

BENCHMARKS = (
    "star",
    "startup",
    "players",
    "mesh",
    "cooperative",
)
"""Modules of this package, each with a `main()` that prints its tables."""


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"{unknown[0]} is no benchmark; known: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
