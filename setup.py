"""With POSSE_COMPILE, compiles what handles each frame and each pull; else posse is plain Python.

See "Compiled" in docs/performance.md. An editable install (`pip install -e`) is never compiled,
because edits would have no effect.
"""

import os
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

COMPILED = [
    "posse/agent/byzantine",
    "posse/agent/cooperative",
    "posse/agent/destination",
    "posse/agent/flooding",
    "posse/agent/hybrid",
    "posse/agent/players",
    "posse/agent/robust",
    "posse/agent/tree_means",
    "posse/agent/trimmed",
    "posse/agent/arrivals",
    "posse/coordinator/players",
    "posse/arms/buffer",
    "posse/arms/shared",
    "posse/clocks/immediate",
    "posse/clocks/pace",
    "posse/clocks/run_clock",
    "posse/clocks/virtual",
    "posse/wire/broadcast",
    "posse/wire/line",
    "posse/wire/session",
    "posse/engines/agents/process",
    "posse/engines/agents/each_link",
    "posse/engines/coordinator/hub",
    "posse/wire/links",
    "posse/engines/memory",
    "posse/engines/agents/mesh",
    "posse/engines/agents/one_to_all",
    "posse/engines/coordinator/patience",
    "posse/wire/restraint",
    "posse/engines/coordinator/roster",
    "posse/engines/coordinator/router",
    "posse/engines/agents/uplink",
    "posse/hosts/agent",
    "posse/hosts/agent_run",
    "posse/hosts/coordinator",
    "posse/hosts/endpoint",
    "posse/hosts/server",
    "posse/measure/account",
    "posse/measure/regret",
    "posse/measure/traffic",
    "posse/protocol/wire",
]
"""Modules to compile, by file."""

EXACT = ["-ffp-contract=off"]
"""A fused product and sum, which ARM has, would be rounded once less than Python's and NumPy's."""


def compiled() -> list[Extension]:
    """The modules above by mypyc, and the kernel, which works on NumPy's memory, by Cython."""
    from Cython.Build import cythonize  # noqa: PLC0415  (a plain build has neither)
    from mypyc.build import mypycify  # noqa: PLC0415

    kernel = Extension("posse.agent.kernel", ["posse/agent/kernel.pyx"])
    modules = mypycify([f"{name}.py" for name in COMPILED], opt_level="2", debug_level="0")
    modules += cythonize([kernel], build_dir="build/cython", quiet=True)
    for module in modules:
        module.extra_compile_args += EXACT
    return modules


for link in ("agent", "coordinator", "protocol", "topologies"):
    if not Path("posse", link).is_dir():
        sys.exit(
            f"posse/{link} is no link to the folder {link}, as git checks it out where links are "
            "not allowed (Windows); allow them (git config core.symlinks true, Developer Mode), "
            "and check out again"
        )

if not os.environ.get("POSSE_COMPILE") or "editable_wheel" in sys.argv:
    setup()
elif {"egg_info", "dist_info"} & {*sys.argv}:  # pip asks for requirements before it installs them
    # mypy looks types up in the imported packages
    needed = tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]
    setup(setup_requires=["cython>=3.1", "mypy>=2.4", *needed])
else:
    setup(ext_modules=compiled())
