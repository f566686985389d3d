"""`posse report` and `posse compare`."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from posse.cli import paths
from posse.errors import InputError, PosseError

_NEEDED = ("jinja2", "matplotlib")


def require_extra() -> None:
    """Raise `PosseError` if the extra `report` is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise PosseError(
            f"reports need {' and '.join(missing)}; install them with: "
            'python -m pip install "posse[report]"'
        )


def report(directory: Path, out: Path | None) -> int:
    """Write the page of a run directory, or of a directory of run directories."""
    require_extra()
    from posse.report import read, run_page, several  # noqa: PLC0415  (matplotlib takes half a second)

    found = read.find(directory)
    path = paths.file(out or directory / "report.html")
    if read.is_run(directory):
        made = run_page.run_page(found[0])
    else:
        name = directory.resolve().name
        made = several.several_page(found, f"{name}: {len(found)} series", "posse report")
    made.write(path)
    print(path)
    return 0


def compare(directories: Sequence[Path], out: Path) -> int:
    """Write one page for several run directories; they must have had the same arms."""
    require_extra()
    from posse.report import read, several  # noqa: PLC0415

    found = [series for directory in directories for series in read.find(directory)]
    if len(found) < 2:
        raise InputError("posse compare needs at least two runs; for one there is posse report")
    several.fit(found)
    paths.file(out)
    systems = list(dict.fromkeys(series.system for series in found))
    title = " · ".join(systems) if len(systems) > 1 else f"{systems[0]}, {len(found)} series"
    several.several_page(found, title, "posse compare · the same arms").write(out)
    print(out)
    return 0
