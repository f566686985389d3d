"""Compiles the modules that handle each frame and each pull, if POSSE_COMPILE is set.

See "Compiled" in docs/performance.md. An editable install (`pip install -e`) is never compiled,
because edits would have no effect.
"""

import os
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

COMPILED = [
    "agent/byzantine",
    "agent/cooperative",
    "agent/destination",
    "agent/flooding",
    "agent/hybrid",
    "agent/players",
    "agent/robust",
    "agent/trimmed",
    "agent/ways",
    "coordinator/players",
    "posse/arms/buffer",
    "posse/arms/shared",
    "posse/clocks/conductor",
    "posse/clocks/immediate",
    "posse/clocks/pace",
    "posse/clocks/run_clock",
    "posse/clocks/virtual",
    "posse/durable/broadcast",
    "posse/durable/session",
    "posse/engines/agent_process",
    "posse/engines/each_link",
    "posse/engines/hub",
    "posse/engines/links",
    "posse/engines/memory",
    "posse/engines/mesh",
    "posse/engines/one_to_all",
    "posse/engines/patience",
    "posse/engines/restraint",
    "posse/engines/roster",
    "posse/engines/router",
    "posse/engines/uplink",
    "posse/hosts/agent",
    "posse/hosts/agent_run",
    "posse/hosts/coordinator",
    "posse/hosts/endpoint",
    "posse/hosts/server",
    "posse/measure/account",
    "posse/measure/regret",
    "posse/measure/traffic",
    "protocol/wire",
]
"""Modules to compile, by file."""

wanted = bool(os.environ.get("POSSE_COMPILE")) and "editable_wheel" not in sys.argv
if not wanted:
    setup()
elif {"egg_info", "dist_info"} & {*sys.argv}:  # pip asks for requirements before it installs them
    # mypy looks types up in the imported packages
    needed = tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]
    setup(setup_requires=["cython>=3.1", "mypy>=2.4", *needed])
else:
    from Cython.Build import cythonize
    from mypyc.build import mypycify

    files = [f"{module}.py" for module in COMPILED]
    # a fused product and sum would be rounded once less than NumPy's
    kernel = Extension(
        "agent.kernel", ["agent/kernel.pyx"], extra_compile_args=["-ffp-contract=off"]
    )
    setup(ext_modules=mypycify(files, opt_level="2", debug_level="0") + cythonize(kernel))
