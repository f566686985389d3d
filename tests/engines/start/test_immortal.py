"""Immortal objects, in a process of their own, by each Python that is here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posse.engines.start import immortal
from tests.support.patience import PATIENCE

CODE = """
import json, runpy, sys
make_immortal = runpy.run_path(sys.argv[1])["make_immortal"]

class Point:
    def __init__(self, x):
        self.x = x

def far(points):
    return sum(point.x for point in points) + 12345678901

points = [Point(x) for x in range(3)]
code = far.__code__
counted = [points, points[1], Point, far, code, code.co_consts, json.loads, {"a": 1}]
many = make_immortal()
before = [sys.getrefcount(one) for one in counted]
more = [one for one in counted for _ in range(5)]
same = [sys.getrefcount(one) for one in counted] == before
del more
points.append(Point(3))
del points[0], points
assert far(counted[0]) == 12345678907
assert json.loads("[1, {}]") == [1, {}]
after = object()
count = sys.getrefcount(after)
again = after
assert sys.getrefcount(after) == count + 1  # what comes later is counted
print(many > 10_000, same, sys.version_info >= (3, 12))
"""


def pythons() -> list[str]:
    """This Python, and those that pyenv or the system has beside it."""
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    found = [str(path) for root in roots for path in root.glob("3.1[1-9]*/bin/python")]
    found += [path for minor in range(11, 20) if (path := shutil.which(f"python3.{minor}"))]
    return [sys.executable, *found]


@pytest.mark.parametrize("python", pythons())
def test_references_to_immortal_objects_are_not_counted(python: str) -> None:
    done = subprocess.run(
        [python, "-I", "-c", CODE, str(immortal.__file__)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode == 127 or "pyenv:" in done.stderr:
        pytest.skip(f"{python} does not run")
    assert (done.returncode, done.stderr) == (0, "")
    many, same, can = done.stdout.split()
    assert many == same == can
