"""What is installed for development, in CI and in the image: known by version and by hash."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = {
    "run": ("report",),
    "dev": ("dev", "examples", "report"),
    "docs": ("docs",),
    "image": ("field", "metrics"),
}
"""The extras of each."""


def locked(name: str) -> dict[str, list[tuple[str, int]]]:
    """By package its versions (one or more, by Python), each with how many hashes it has."""
    found: dict[str, list[tuple[str, int]]] = {}
    text = (ROOT / f"requirements/{name}.lock").read_text()
    for entry in re.split(r"\n(?=[a-z0-9])", text):
        if match := re.match(r"([a-z0-9][\w.-]*)==([^\s;]+)", entry):
            hashes = len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", entry))
            found.setdefault(canonicalize_name(match[1]), []).append((match[2], hashes))
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_its_hashes_and_fits_what_the_project_asks_for(name: str) -> None:
    versions = locked(name)
    assert len(versions) > 10
    assert all(hashes for found in versions.values() for _, hashes in found)
    extras = [r for extra in LOCKS[name] for r in PROJECT["optional-dependencies"][extra]]
    for text in (*PROJECT["dependencies"], *extras, "setuptools>=77"):
        asked = Requirement(text)
        if asked.name == "posse-systems":
            continue  # from the checkout itself
        found = versions.get(canonicalize_name(asked.name))
        assert found, f"{text} is not in requirements/{name}.lock; run: make lock"
        assert all(asked.specifier.contains(version) for version, _ in found), text


def test_what_is_built_takes_nothing_that_is_not_locked() -> None:
    makefile, dockerfile = (ROOT / "Makefile").read_text(), (ROOT / "Dockerfile").read_text()
    installs = re.findall(r"^\t\$\(PIP\) (.+)", makefile, re.M)
    installs += re.findall(r"pip install (.+)", dockerfile)
    assert len(installs) == 9
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)


def test_what_compiles_is_locked_too_and_agrees_with_the_image() -> None:
    compiles, image = locked("compile"), locked("image")
    assert all(hashes for found in compiles.values() for _, hashes in found)
    asked = re.findall(r'"(mypy>=[\d.]+)"', (ROOT / "systems/setup.py").read_text())
    assert asked == (ROOT / "requirements/compile.in").read_text().split()
    for needed in map(Requirement, asked):
        assert all(version in needed.specifier for version, _ in compiles[needed.name])
    for name in compiles.keys() & image.keys():
        assert [version for version, _ in compiles[name]] == [version for version, _ in image[name]]


def test_the_image_has_what_draws_the_page_that_its_log_recommends() -> None:
    assert {"jinja2", "matplotlib"} <= locked("image").keys()
