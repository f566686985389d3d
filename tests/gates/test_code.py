"""Nothing is imported that another user can change, whoever imports it and whenever."""

import importlib.util
import os
import py_compile
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from posse.gates import code
from posse.gates.code import Imports, NotTrusted, trusting
from posse.own_code import load
from tests.support.own_code import forget_own_code

NOBODY = 65534


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    before, path = set(sys.modules), sys.path.copy()
    yield
    sys.path[:] = path
    code._INSTALLED.clear()
    forget_own_code()
    for name in set(sys.modules) - before:
        if name.startswith("guarded_"):
            del sys.modules[name]


def write(path: Path, text: str = "X = 1\n", mode: int = 0o644) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def sibling(folder: Path) -> None:
    write(folder / "guarded_module.py", "from guarded_sibling import X\n")
    write(folder / "guarded_sibling.py", mode=0o646)


def elsewhere(folder: Path) -> None:
    other = folder.with_name(f"{folder.name}-other")
    write(other / "guarded_sibling.py")
    other.chmod(0o777)
    lines = (
        "import sys",
        f"sys.path.insert(0, {str(other)!r})",
        "from guarded_sibling import X\n",
    )
    write(folder / "guarded_module.py", "\n".join(lines))


def later(folder: Path) -> None:
    write(folder / "guarded_module.py", "class X:\n    def __init__(self): import guarded_sibling")
    write(folder / "guarded_sibling.py", mode=0o666)


def of_nobody(folder: Path) -> None:
    write(folder / "guarded_module.py", "from guarded_sibling import X\n")
    write(folder / "guarded_sibling.py")
    os.chown(folder / "guarded_sibling.py", NOBODY, NOBODY)


def package(folder: Path) -> None:
    write(folder / "guarded_module" / "__init__.py", "from guarded_module.inner import X\n")
    write(folder / "guarded_module" / "inner.py", mode=0o666)


def namespace(folder: Path) -> None:
    write(folder / "guarded_module.py", "from guarded_space.inner import X\n")
    write(folder / "guarded_space" / "inner.py")
    (folder / "guarded_space").chmod(0o777)


def linked(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere.py")
    write(elsewhere, mode=0o666)
    (folder / "guarded_module.py").symlink_to(elsewhere)


def on_the_path_by_a_link(folder: Path) -> None:
    sibling(folder)
    link = folder.with_name("link")
    link.symlink_to(folder)
    sys.path.insert(0, str(link))
    code._INSTALLED.clear()


def sourceless(folder: Path) -> None:
    write(folder / "guarded_module.py", "from guarded_sibling import X\n")
    write(folder / "guarded_sibling.py")
    py_compile.compile(str(folder / "guarded_sibling.py"), str(folder / "guarded_sibling.pyc"))
    (folder / "guarded_sibling.py").unlink()
    os.chown(folder / "guarded_sibling.pyc", NOBODY, NOBODY)


def cached(folder: Path) -> None:
    write(folder / "guarded_module.py")
    cache = Path(importlib.util.cache_from_source(str(folder / "guarded_module.py")))
    cache.parent.mkdir()
    py_compile.compile(str(folder / "guarded_module.py"), str(cache))
    cache.chmod(0o666)


def cache_folder(folder: Path) -> None:
    write(folder / "guarded_module.py")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__").chmod(0o777)


def huge(folder: Path) -> None:
    write(folder / "guarded_module.py", "from guarded_sibling import X\n")
    write(folder / "guarded_sibling.py")
    os.truncate(folder / "guarded_sibling.py", 1 << 40)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize(
    "prepare",
    [
        *(sibling, elsewhere, later, of_nobody, package, namespace, linked, sourceless, cached),
        *(cache_folder, huge, on_the_path_by_a_link),
    ],
)
def test_what_another_user_can_change_is_not_imported(
    prepare: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    prepare(folder)
    with trusting(Imports.OWN), pytest.raises(NotTrusted, match="written by|no more than"):
        load("guarded_module:X", [str(folder)], "posse.systems")()


def test_ones_own_is_and_what_was_trusted_too(tmp_path: Path) -> None:
    write(tmp_path / "guarded_module.py", "from guarded_sibling import X\n")
    write(tmp_path / "guarded_sibling.py", mode=0o666)
    with trusting(Imports.NOTHING), pytest.raises(NotTrusted, match="with --trust it is"):
        load("guarded_module:X", [str(tmp_path)], "posse.systems")
    with trusting(Imports.ALL):
        assert load("guarded_module:X", [str(tmp_path)], "posse.systems") == 1


def test_another_process_imports_no_more_than_this_one() -> None:
    assert code.trusted() == "ALL"
    with trusting(Imports.OWN):
        assert code.trusted() == "OWN"
        code.trust("NOTHING")
        assert code.trusted() == "NOTHING"
        code._TRUSTED[:] = [Imports.ALL, Imports.OWN]
