"""The plain loops that modules have in their docstrings, to hold the fast code against them."""

import ast
import math
import re
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_LOOP = re.compile(r"^    def .*\n(?:(?:    .*)?\n)*", re.MULTILINE)


def loops_of(*files: str) -> dict[str, Any]:
    """The functions in the docstrings of these files, by name; a later one may call earlier ones.

    They are read from the source, because a compiled module has no docstring.
    """
    names: dict[str, Any] = {"math": math}
    for file in files:
        docstring = ast.get_docstring(ast.parse((ROOT / file).read_text())) or ""
        for loop in _LOOP.findall(docstring + "\n"):
            exec(textwrap.dedent(loop), names)
    return names
