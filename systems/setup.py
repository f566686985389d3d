"""With POSSE_COMPILE, compiles what handles each pull; else the systems are plain Python.

See "Compiled" in docs/performance.md, and setup.py of posse.
"""

import os
import sys

from setuptools import Extension, setup

COMPILED = [
    "dubey2020/agent",
    "dubey2020/byzantine",
    "dubey2020/destination",
    "dubey2020/flooding",
    "dubey2020/robust",
    "dubey2020/tree_means",
    "dubey2020/trimmed",
    "tossou2015/agent",
    "tossou2015/server",
]
"""Modules of posse_systems to compile, by file."""

EXACT = ["-ffp-contract=off"]
"""A fused product and sum, which ARM has, would be rounded once less than Python's and NumPy's."""


def compiled() -> list[Extension]:
    """The modules above, by mypyc."""
    from mypyc.build import mypycify  # noqa: PLC0415

    files = [f"posse_systems/{name}.py" for name in COMPILED]
    modules: list[Extension] = mypycify(
        files, opt_level="2", debug_level="0", group_name="posse_systems"
    )
    for module in modules:
        module.extra_compile_args += EXACT
    return modules


if not os.environ.get("POSSE_COMPILE") or "editable_wheel" in sys.argv:
    setup()
elif {"egg_info", "dist_info"} & {*sys.argv}:  # pip asks for requirements before it installs them
    setup(setup_requires=["mypy>=2.4", "posse-bandits"])
else:
    setup(ext_modules=compiled())
