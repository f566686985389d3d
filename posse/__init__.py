"""posse: private multi-agent bandits, run for real.

    result = posse.run("run.toml", seed=2)                # or a dict, or a RunSpec
    result                                                # what was found, in a few lines
    result.summary(), result.runs[0].best_arm
    result.to_frame(), result.regret_frame(), result.links_frame()

    async with posse.Cluster("run.toml") as cluster:      # agents stay up between runs
        result = await cluster.run(parameters={"epsilon": 0.5})

A mistake in a run file raises `SpecError`, a run that fails raises `RunFailed`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posse.api import load, parse, run
    from posse.cluster import Cluster
    from posse.errors import ArmsError, PosseError, RunFailed, SpecError
    from posse.results.record import RunRecord
    from posse.results.result import Result
    from posse.spec.runfile import RunSpec
    from posse.study import arms_of, compare, read, resume_from, run_audit, sweep

__version__ = "0.2.0.dev0"

__all__ = [
    "ArmsError",
    "Cluster",
    "PosseError",
    "Result",
    "RunFailed",
    "RunRecord",
    "RunSpec",
    "SpecError",
    "arms_of",
    "compare",
    "load",
    "parse",
    "read",
    "resume_from",
    "run",
    "run_audit",
    "sweep",
]

_HOMES = {
    "api": ("load", "parse", "run"),
    "cluster": ("Cluster",),
    "errors": ("ArmsError", "PosseError", "RunFailed", "SpecError"),
    "results.record": ("RunRecord",),
    "results.result": ("Result",),
    "spec.runfile": ("RunSpec",),
    "study": ("arms_of", "compare", "read", "resume_from", "run_audit", "sweep"),
}


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def __getattr__(name: str) -> Any:
    # loaded on first use, because `posse --help` must not load numpy and ZeroMQ
    import importlib  # noqa: PLC0415

    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"posse.{home}"), name)
    raise AttributeError(f"module 'posse' has no attribute '{name}'")
