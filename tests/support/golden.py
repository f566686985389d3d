"""What a run in memory put on the wire and what it turned out to be, as hashes."""

import hashlib
import json
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.engines import memory
from posse.plan import prepare
from posse.wire.world import World

Golden = dict[str, Any]

FILE = Path(__file__).parents[1] / "runs" / "golden.json"


class CountingArms:
    """Arms of kind `python` without chance: arm k pays in k of every five pulls, spread out."""

    def __init__(self, agent: int, agents: int, seed: int) -> None:
        self._pulls = agent + 5  # the seed is another in each run of a `repeat`

    def skip(self, given: list[int]) -> None:
        """Go on after this many rewards of each arm."""
        self._pulls += sum(given)

    def pull(self, arm: int, count: int) -> list[float]:
        """Rewards 0 and 1."""
        first, self._pulls = self._pulls, self._pulls + count
        return [float((first + n) * (arm + 1) % 5 < arm + 1) for n in range(count)]


def write_logs(folder: Path, agents: int = 4, rows: int = 300) -> None:
    """A reward log per agent and one for all, that arms of kind `csv` read: four arms, 0 or 1."""
    for rank, name in enumerate([*map(str, range(agents)), "all"]):
        lines = ["arm,reward"]
        for row in range(rows):
            lines += [f"{arm},{int(row * 7 % 10 < 8 - 2 * arm)}" for arm in range(4)]
        lines[1:] = lines[1 + 4 * rank :] + lines[1 : 1 + 4 * rank]
        (folder / f"rewards-{name}.csv").write_text("\n".join(lines) + "\n")


def arithmetic() -> str:
    """A hash of how this machine calculates.

    The last bit of a logarithm, a product of matrices or a draw of noise is the business of
    numpy's version, the C library and the processor. Where these differ, so do runs.
    """
    generator = np.random.default_rng(1)
    x = generator.random(4099)
    square = x[:4096].reshape(64, 64)
    results = [
        generator.laplace(size=999),
        generator.normal(size=999),
        generator.exponential(size=999),
        generator.binomial(1000, 0.3, size=99).astype(float),
        *(f(x) for f in (np.log, np.exp, np.sqrt, np.cumsum)),
        np.array([x.sum(), x.mean(), x.std(), x @ x]),
        square @ square,
        square.sum(axis=0),
        x**1.5,
    ]
    return _digest(*(np.ascontiguousarray(r, dtype="<f8").tobytes() for r in results))


def taken(run: dict[str, Any]) -> dict[str, Any]:
    """The hashes of run 0 of a specification: of its frames in order, and of its document."""
    spec = prepare(run)
    wire = hashlib.sha256()
    frames = 0

    def hear(source: int, target: int, frame: bytes) -> None:
        nonlocal frames
        frames += 1
        wire.update(struct.pack("<iiI", source, target, len(frame)) + frame)

    records = [memory.run(spec, number, tap=hear) for number in (0, 1)]
    document = spec.result(records).document()
    parts = dict(_parts(document))
    return {
        "frames": frames,
        "wire": wire.hexdigest(),
        "document": _digest(json.dumps(parts).encode()),
        "parts": {name: value[:8] for name, value in parts.items()},
    }


def without_clock_and_chance(patch: pytest.MonkeyPatch) -> None:
    """Let every clock of posse stand still, and the operating system's generator say 7."""
    patch.setattr("secrets.randbits", lambda bits: 7)
    patch.setattr(World, "randbits", staticmethod(lambda bits: 7))
    patch.setattr(World, "monotonic", staticmethod(lambda: 0.0))
    patch.setattr(World, "monotonic_ns", staticmethod(lambda: 0))
    clocks = {time.monotonic_ns: lambda: 0, time.monotonic: lambda: 0.0}
    for name, module in list(sys.modules.items()):
        if name.startswith("posse."):
            for attribute, value in list(vars(module).items()):
                if getattr(value, "__module__", "") == "time" and value in clocks:
                    patch.setattr(module, attribute, clocks[value])


def _parts(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each part of a result's document with its hash, without what a clock measured."""
    del document["summary"]["elapsed_seconds"]
    del document["verdict"], document["truths"]  # follow from the rest
    runs = document.pop("runs")
    whole = document | {f"run.{name}": [run[name] for run in runs] for name in runs[0]}
    for name, value in sorted(whole.items()):
        if name not in ("run.elapsed_seconds", "run.resources"):
            yield name, _digest(json.dumps(value, sort_keys=True).encode())


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()
