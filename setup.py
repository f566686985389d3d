"""Compiles `posse/agent/kernel.pyx`, and with POSSE_COMPILE what handles each frame and each pull.

See "Compiled" in docs/performance.md. An editable install (`pip install -e`) is never compiled,
because edits would have no effect.
"""

import os
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

try:
    from Cython.Build import cythonize
except ImportError:
    cythonize = None

COMPILED = [
    "posse/agent/byzantine",
    "posse/agent/cooperative",
    "posse/agent/destination",
    "posse/agent/flooding",
    "posse/agent/hybrid",
    "posse/agent/players",
    "posse/agent/robust",
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

wanted = bool(os.environ.get("POSSE_COMPILE"))


EXACT = ["-ffp-contract=off"]
"""A fused product and sum, which ARM has, would be rounded once less than Python's and NumPy's."""


def kernel() -> list[Extension]:
    """The Cython module; without a compiler an install does without it, unless it is wanted."""
    if cythonize is None:
        return []
    source = Extension("posse.agent.kernel", ["posse/agent/kernel.pyx"], extra_compile_args=EXACT)
    (module,) = cythonize(source, build_dir="build/cython", quiet=True)
    module.optional = not wanted  # `cythonize` drops it
    return [module]


if "editable_wheel" in sys.argv:
    setup()
elif not wanted:
    setup(ext_modules=kernel())
elif {"egg_info", "dist_info"} & {*sys.argv}:  # pip asks for requirements before it installs them
    # mypy looks types up in the imported packages
    needed = tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]
    setup(setup_requires=["mypy>=2.4", *needed])
else:
    from mypyc.build import mypycify

    files = [f"{module}.py" for module in COMPILED]
    modules = mypycify(files, opt_level="2", debug_level="0")
    for module in modules:
        module.extra_compile_args += EXACT
    setup(ext_modules=modules + kernel())
