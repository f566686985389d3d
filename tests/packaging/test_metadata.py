"""What a package index, a citation and a reader of the changelog are told agrees with the code."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

import posse

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = ("posse", "agent", "coordinator", "topologies", "protocol")


def test_every_folder_of_modules_is_a_package_that_is_found():
    skeleton = ROOT / "posse" / "skeleton"  # what `posse new` writes
    folders = {file.parent for room in ROOMS for file in (ROOT / room).rglob("*.py")} - {skeleton}
    assert {folder for folder in folders if not (folder / "__init__.py").is_file()} == set()
    include = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    names = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert {name for name in names if not any(fnmatch(name, one) for one in include)} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_that_it_is_typed(room):
    assert (ROOT / room / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"][room]


def test_the_changelog_has_the_version():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"
    assert posse.__version__ in headings


def test_the_citation_has_the_version_and_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == posse.__version__
    dated = re.search(
        rf"^## \[{re.escape(posse.__version__)}\] - (\S+)$",
        (ROOT / "CHANGELOG.md").read_text(),
        re.M,
    )
    assert str(citation["date-released"]) == dated[1]
    assert citation["license"] == PROJECT["project"]["license"]
    assert [
        (" ".join(author["family-names"] for author in paper["authors"]), paper["year"])
        for paper in citation["references"]
    ] == [
        ("Rio Barlier Colin Soare", 2023),
        ("Dubey Pentland", 2020),
        ("Tossou Dimitrakakis", 2015),
        ("Esfandiari Mirrokni Schneider", 2022),
        ("Li Song", 2022),
    ]


def test_the_workflow_runs_on_every_python_that_is_promised():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    promised = [
        said.rsplit(" ", 1)[1]
        for said in PROJECT["project"]["classifiers"]
        if said.startswith("Programming Language :: Python :: 3.")
    ]
    assert workflow["jobs"]["all"]["strategy"]["matrix"]["python"] == promised
    assert {"run": ".ci/run"} in workflow["jobs"]["all"]["steps"]
