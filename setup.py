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
    "posse/agent/hybrid",
    "posse/arms/buffer",
    "posse/arms/shared",
    "posse/clocks/immediate",
    "posse/clocks/pace",
    "posse/clocks/run_clock",
    "posse/clocks/virtual",
    "posse/wire/broadcast",
    "posse/wire/line",
    "posse/wire/orders",
    "posse/wire/session",
    "posse/agent/process",
    "posse/agent/each_link",
    "posse/coordinator/hub",
    "posse/wire/links",
    "posse/engines/memory",
    "posse/agent/mesh",
    "posse/agent/one_to_all",
    "posse/coordinator/patience",
    "posse/wire/restraint",
    "posse/coordinator/roster",
    "posse/coordinator/router",
    "posse/agent/uplink",
    "posse/agent/host",
    "posse/agent/run",
    "posse/coordinator/host",
    "posse/hosts/endpoint",
    "posse/coordinator/server",
    "posse/measure/account",
    "posse/measure/regret",
    "posse/measure/traffic",
    "posse/protocol/wire",
]
"""Modules to compile, by file."""

EXACT = ["-ffp-contract=off"]
"""A fused product and sum, which ARM has, would be rounded once less than Python's and NumPy's."""


def compiled() -> list[Extension]:
    """The modules above, by mypyc."""
    from mypyc.build import mypycify  # noqa: PLC0415  (a plain build has none)

    files = [f"{name}.py" for name in COMPILED]
    modules: list[Extension] = mypycify(files, opt_level="2", debug_level="0")
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
    setup(setup_requires=["mypy>=2.4", *needed])
else:
    setup(ext_modules=compiled())
