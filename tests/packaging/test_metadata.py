"""What a package index, a citation and a reader of the changelog are told agrees with the code."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import posse
from tests.support.runs import printed

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = ("posse", "agent", "coordinator", "topologies", "protocol")


def test_every_folder_of_modules_is_a_package_that_is_found():
    skeleton = ROOT / "posse" / "skeleton"  # what `posse new` writes
    folders = {file.parent for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    lacking = {folder for folder in folders if not (folder / "__init__.py").is_file()}
    assert {folder for folder in lacking if not folder.is_relative_to(skeleton)} == set()


def test_the_rooms_are_at_the_top_and_imported_as_part_of_posse():
    for room in ROOMS[1:]:
        assert (ROOT / "posse" / room).readlink() == Path("..", room)
    assert PROJECT["tool"]["setuptools"]["packages"]["find"]["include"] == ["posse", "posse.*"]
    assert (ROOT / "posse" / "py.typed").is_file()


def test_a_checkout_without_links_is_refused_and_not_made_a_wheel_without_rooms(tmp_path):
    """Git on Windows writes a link as a file with its target, unless links are allowed."""
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "posse").mkdir()
    (tmp_path / "posse" / "agent").write_text("../agent")
    done = subprocess.run(
        [sys.executable, "setup.py", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "posse/agent is no link to the folder agent" in done.stderr


@pytest.mark.parametrize("code", ["import agent", "from protocol.wire import Codec"])
def test_a_room_imported_by_its_bare_name_is_refused_by_the_linter(code):
    ruff = [sys.executable, "-m", "ruff", "check", "--stdin-filename", "posse/plan.py", "-"]
    done = subprocess.run(
        ruff, input=f"{code}\n", cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "TID251" in done.stdout


def test_the_changelog_has_a_section_for_this_version():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    here = Version(posse.__version__)
    assert headings[0] == ("Unreleased" if here.is_devrelease else posse.__version__)
    released = [Version(heading) for heading in headings if heading != "Unreleased"]
    assert released == sorted(released, reverse=True)
    assert released[0] < here or not here.is_devrelease


def test_the_version_stands_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "posse.__version__"}
    for document in ("CITATION.cff", "README.md", "docs/first-steps.md", "Dockerfile"):
        assert posse.__version__ not in (ROOT / document).read_text()


def test_no_text_says_how_to_install_a_strangers_posse():
    """The index has another project under the bare name."""
    bare = re.compile(r"""(?:pip|uv|pipx)[\w -]* (?:install|add)[^\n`'"]* ["']?posse(?![\w-])""")
    files = printed(["git", "ls-files"], cwd=ROOT).splitlines()
    texts = [ROOT / name for name in files if (ROOT / name).is_file()]
    said = [
        f"{path}: {found}" for path in texts for found in bare.findall(path.read_text("latin-1"))
    ]
    assert said == []


def test_the_citation_has_the_license_and_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
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


def test_workflows_name_actions_by_commit_and_tools_by_hash():
    """A tag can be moved to other code; a commit and a hash cannot."""
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        text = path.read_text()
        uses = re.findall(r"uses: (\S+)", text)
        assert uses
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", name) for name in uses)
        assert all(
            "--require-hashes" in line for line in text.splitlines() if "pip install" in line
        )


def test_every_distribution_has_one_version_a_license_and_a_description():
    for folder in ("systems", "papers", "arena"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        assert project["license"] == "Apache-2.0", folder
        assert (ROOT / folder / project["readme"]).is_file(), folder
        package = ROOT / folder / f"posse_{folder}" / "__init__.py"
        (own,) = re.findall(r'^__version__ = "(.+)"', package.read_text(), re.M)
        assert own == posse.__version__, folder
