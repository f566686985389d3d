"""What a wheel installs: `posse` alone, which lives beside other packages of our rooms' names."""

import os
import shutil
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tests.support.runs import printed

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
STRANGERS = ("agent", "coordinator", "protocol", "topologies")

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path | None = None) -> str:
    """What the command prints; the test fails with what it says if it fails."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return printed([*map(str, command)], cwd=cwd, env=env, timeout=PATIENCE)


def pip(python: Path | str, *words: object) -> None:
    run(python, "-m", "pip", "--disable-pip-version-check", "-q", *words)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git knows, so that builds leave nothing in the checkout."""
    copy = tmp_path_factory.mktemp("source")
    for name in run("git", "ls-files", cwd=ROOT).splitlines():
        at = ROOT / name
        if at.is_symlink() or at.is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(at, copy / name, follow_symlinks=False)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheels(source: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """posse's, and that of the systems."""
    folder = tmp_path_factory.mktemp("wheels")
    systems = source / "systems"
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, systems)
    return [wheel, *sorted(folder.glob("*.whl"))]


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The Python of a fresh environment; what posse needs comes from ours, without our posse."""
    run(sys.executable, "-m", "venv", tmp_path / "fresh")
    (site,) = (tmp_path / "fresh").glob("lib/python*/site-packages")
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return tmp_path / "fresh" / "bin" / "python"


def stranger(folder: Path, name: str) -> Path:
    """A wheel of somebody else's package of this name."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(f"{name}/__init__.py", f"WHO = 'the stranger {name}'\n")
        made.writestr(f"{name}/wire.py", "WHO = 'a stranger'\n")
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        made.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{info}/RECORD", "")
    return path


def works(python: Path, folder: Path) -> None:
    """posse works in this environment, from another folder than the checkout."""
    said = run(python, "-I", SMOKE, "plain", cwd=folder)
    assert f"from {python.parents[1]}" in said
    assert "dp-mase" in run(python, "-I", "-m", "posse", "list", cwd=folder)


def test_a_wheel_installs_posse_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].split("-")[0] for name in names} == {"posse", "posse_bandits"}
    assert wheel.name.endswith("-py3-none-any.whl")
    for room in STRANGERS:
        own = {f"posse/{path.relative_to(ROOT)}" for path in (ROOT / room).glob("*.py")}
        assert own < set(names)
    for example in ("federated", "live"):
        theirs = (ROOT / "examples" / example).glob("*.*")
        assert {f"posse/skeleton/examples/{example}/{path.name}" for path in theirs} < set(names)


def test_what_is_made_of_the_source_distribution_is_the_same(
    source: Path, wheel: Path, tmp_path: Path
) -> None:
    code = "from setuptools.build_meta import build_sdist; import sys; build_sdist(sys.argv[1])"
    run(sys.executable, "-c", code, tmp_path, cwd=source)
    (archive,) = tmp_path.glob("posse_bandits-*.tar.gz")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, archive)
    (built,) = tmp_path.glob("*.whl")
    ours, again = zipfile.ZipFile(wheel), zipfile.ZipFile(built)
    assert {i.filename: i.CRC for i in ours.infolist()} == {
        i.filename: i.CRC for i in again.infolist()
    }


@pytest.mark.parametrize("first", ["posse", "strangers"])
def test_packages_of_our_rooms_names_live_beside_ours(
    wheels: list[Path], python: Path, tmp_path: Path, first: str
) -> None:
    theirs = [stranger(tmp_path, name) for name in STRANGERS]
    for some in [wheels, theirs] if first == "posse" else [theirs, wheels]:
        pip(python, "install", "--no-deps", "--no-index", *some)
    works(python, tmp_path)
    code = f"import {', '.join(STRANGERS)}; print(agent.WHO, protocol.WHO)"
    said = run(python, "-I", "-c", code, cwd=tmp_path)
    assert said == "the stranger agent the stranger protocol\n"
    pip(python, "uninstall", "--yes", *STRANGERS)
    works(python, tmp_path)


def test_a_machine_can_do_with_the_runtime_and_one_paper(
    wheels: list[Path], python: Path, tmp_path: Path
) -> None:
    """One paper's folder beside the runtime is enough for that paper's systems."""
    pip(python, "install", "--no-deps", "--no-index", *wheels)
    pip(python, "check")
    packages = tmp_path.glob("fresh/lib/python*/site-packages/posse_systems/*2*")
    for folder in packages:
        if folder.name != "rio2023":
            shutil.rmtree(folder)
    assert f"plain, from {python.parents[1]}" in run(python, "-I", SMOKE, "plain", cwd=tmp_path)


def test_what_posse_new_writes_passes_its_test(wheel: Path, python: Path, tmp_path: Path) -> None:
    pip(python, "install", "--no-deps", "--no-index", wheel)
    posse = python.with_name("posse")
    assert "plain Python" in run(posse, "--version", cwd=tmp_path)
    run(posse, "new", "mine", cwd=tmp_path)
    run(posse, "check", "mine/run.toml", "--trust", cwd=tmp_path)
    run(python, "-m", "pytest", "-q", "mine", cwd=tmp_path)
