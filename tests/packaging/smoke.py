"""Run by a Python that has posse installed from a wheel, in a folder outside the checkout.

`python -I smoke.py plain|compiled`: both engines give one answer, and the build is the one named.
"""

import sys
import tempfile
from pathlib import Path

import posse
from posse.cli.version import is_compiled

RUN = {
    "system": "dp-mase",
    "seed": 3,
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.2]},
    "parameters": {"epsilon": 1.0},
}


def main() -> None:
    """Run, compare, and say where posse was imported from."""
    assert is_compiled() == (sys.argv[1] == "compiled"), sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        results = [
            posse.run(RUN, engine=engine, out=f"{folder}/{engine}")
            for engine in ("memory", "processes")
        ]
    memory, processes = (result.runs[0] for result in results)
    assert memory.best_arm == processes.best_arm == 0
    assert memory.communication.data == processes.communication.data
    print(f"posse {posse.__version__}, {sys.argv[1]}, from {Path(posse.__file__).parent}: works")


if __name__ == "__main__":
    main()
