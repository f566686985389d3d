"""Packages as if they were installed, for what they offer posse."""

from collections.abc import Mapping
from pathlib import Path


def offer(folder: Path, groups: Mapping[str, Mapping[str, str]], package: str = "others") -> None:
    """Write down in `folder`, as pip does, what a package offers: names and `module:object`."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = []
    for group, offered in groups.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in offered.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
