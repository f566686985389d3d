"""What keys cost: the same run with CURVE on every link and without, messages per second.

    python -m bench.field [--agents 4] [--seconds 3] [--repeat 3]

Agents are processes of their own that join over tcp on loopback, as in the field. `central` sends
one message per activation and has equal arms here, so that only the number of messages ends it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.tables import show
from posse.engines.processes import ProcessEngine
from posse.plan import prepare
from posse.security import keys


def messages_per_second(agents: int, folder: Path | None, seconds: float) -> float:
    """Frames that the coordinator takes per second of a run that does not end by itself."""
    spec = prepare(
        {
            "system": "central",
            "agents": {"count": agents},
            "arms": {"kind": "bernoulli", "means": [0.5, 0.5]},
            "engine": {"clock": "wall", "deadline": 60.0},
        }
    )
    pairs = keys.for_coordinator(folder, agents) if folder else None
    engine = ProcessEngine(spec, bind="tcp://127.0.0.1:*", token="", spawn=0, keys=pairs)
    command = [sys.executable, "-P", "-m", "posse", "agent", "--join", engine.endpoint]
    options = ["--keys", str(folder)] if folder else []
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [*command, *options, "--rank", str(rank)],
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        for rank in range(agents)
    ]
    seen: list[tuple[float, int]] = []

    class Enough(Exception):
        """The time is up."""

    def observe(host: object) -> None:
        now = time.perf_counter()
        if not seen:
            seen.append((now, engine.hub.frames))
        elif now - seen[0][0] >= seconds:
            seen.append((now, engine.hub.frames))
            raise Enough

    try:
        with engine:
            engine.run(spec, 0, observe)
    except Enough:
        pass
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    (began, first), (ended, last) = seen
    return (last - first) / (ended - began)


def main() -> None:
    """Print the best of some repeats of both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keys.create(folder, options.agents)
        plain, keyed = [], []
        for _ in range(options.repeat):
            plain.append(messages_per_second(options.agents, None, options.seconds))
            keyed.append(messages_per_second(options.agents, folder, options.seconds))
    show(
        f"{options.agents} agents, best of {options.repeat}",
        ["links", "messages/s"],
        [["without keys", f"{max(plain):,.0f}"], ["with keys", f"{max(keyed):,.0f}"]],
    )
    print(f"with keys / without: {max(keyed) / max(plain):.2f}")


if __name__ == "__main__":
    main()
