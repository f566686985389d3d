"""Which extras can be installed where: `python -m tests.packaging.resolve` (needs uv and an index).

Each is resolved for each platform by wheels alone, with the newest versions and with the lowest
that are declared. What is lacking must be what `LACKS` says, no more and no less.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
_GOOGLE = frozenset({"google"})
LACKS: dict[str, frozenset[str]] = {
    "x86_64-manylinux_2_28": frozenset(),
    "aarch64-manylinux_2_28": _GOOGLE,
    "x86_64-unknown-linux-musl": _GOOGLE | {"audit", "examples"},
    "aarch64-unknown-linux-musl": _GOOGLE | {"field", "audit", "examples", "report", "draw"},
    "aarch64-apple-darwin": _GOOGLE,  # uv means macOS 13; from 15 on there is a wheel
    "x86_64-apple-darwin": frozenset(),
    "x86_64-pc-windows-msvc": frozenset(),
}
"""By platform, the extras without wheels there; the field's noise is OpenDP's without it."""

_LOWEST = "x86_64-manylinux_2_28"
_OURS = {"dev", "docs", "bench"}


def _requirements() -> dict[str, list[str]]:
    """What each extra needs beside posse's own packages; "" is posse without one."""
    own, systems = (
        tomllib.loads((ROOT / name).read_text())["project"]
        for name in ("pyproject.toml", "systems/pyproject.toml")
    )
    needed = [*own["dependencies"], *systems["dependencies"]]
    base = [line for line in needed if not line.startswith("posse-")]
    extras = {"": [], **own["optional-dependencies"]}
    return {name: base + more for name, more in extras.items() if name not in _OURS}


def _resolves(needed: list[str], platform: str, resolution: str) -> bool:
    words = ["uv", "pip", "compile", "--quiet", "--only-binary", ":all:", "--python-version"]
    words += ["3.11", "--python-platform", platform, "--resolution", resolution, "-"]
    lines = "\n".join(needed)
    ended = subprocess.run(words, input=lines, text=True, capture_output=True, check=False)
    return ended.returncode == 0


def main() -> int:
    wrong = 0
    for platform, lacks in LACKS.items():
        for name, needed in _requirements().items():
            for resolution in ("highest", *["lowest-direct"] * (platform == _LOWEST)):
                if _resolves(needed, platform, resolution) is (name in lacks):
                    wrong += 1
                    print(f"{platform}, extra {name or 'none'}, {resolution}: not as LACKS says")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
