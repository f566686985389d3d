"""The user's own code: found in the user's folders, looked for before it is imported."""

import importlib
import itertools
import json
import os
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import posse
from posse import api, own_code
from posse.cli.main import main
from posse.errors import InputError, PosseError
from posse.plan import Source, prepare
from tests.support.own_code import forget_own_code
from tests.support.packages import offer
from tests.support.runfile import describe_run
from tests.support.runs import printed


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports by itself is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in [name for name in sys.modules if name.startswith("own_bandits")]:
        del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of the user's own."""
    text = "class Arms:\n    best = 3\nloaded = True\nnested = Arms\n"
    (tmp_path / "own_bandits.py").write_text(text)
    return tmp_path


PART = st.text("ab._1", max_size=5)


@given(PART, st.sampled_from(["", ":"]), PART)
@example("a.b", ":", "c.d")
@example("", ":", "b")
@example("a", ":", "")
def test_a_target_has_a_module_and_a_name(module: str, colon: str, name: str) -> None:
    assert own_code.is_target(module + colon + name) == bool(module and colon and name)


def test_what_is_missing_is_said_without_importing_what_is_there(folder: Path) -> None:
    assert own_code.missing("own_bandits:Arms", [str(folder)], "posse.arms") == ""
    assert "own_bandits" not in sys.modules
    assert own_code.missing("json:loads", [str(folder)], "posse.arms") == ""
    sentence = own_code.missing("no_such_bandits.arms:x", [str(folder)], "posse.arms")
    said = f"module 'no_such_bandits' is neither in {folder} nor installed; see path = […]"
    assert sentence == said


class _Editable:
    """What setuptools puts on `sys.meta_path` for a package that is installed editable."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, None) if name == "editable_bandits" else None


def test_a_package_that_only_a_finder_of_its_own_finds_is_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, _Editable])
    assert own_code.missing("editable_bandits.arms:x", [str(folder)], "posse.arms") == ""


def test_an_object_is_loaded_with_the_names_inside_it(folder: Path) -> None:
    assert own_code.load("own_bandits:nested.best", [str(folder)], "posse.arms") == 3
    with pytest.raises(AttributeError):
        own_code.load("own_bandits:worst", [str(folder)], "posse.arms")


@given(st.lists(st.sampled_from([".", "arms", "a/b", "/opt/shared", "/"])))
@example([".", "arms", "/opt/shared"])
def test_folders_are_relative_to_the_run_files_own(named: list[str]) -> None:
    found = own_code.folders_of("/base", named)
    assert found == [str(Path("/base") / name) for name in named]


SCRIPT = """
from agent import MINE
from protocol import MINE
import coordinator, topologies
import posse
from posse.cli.main import main

arms = {"kind": "bernoulli", "means": [0.9, 0.1]}
ride = dict(system="mase", agents={"count": 8}, arms=arms)
if __name__ == "__main__":
    posse.run(ride, engine="memory")
    posse.run(ride)
    assert main(["list"]) == 0
    assert coordinator.MINE == topologies.MINE
"""


@pytest.mark.slow
def test_modules_beside_a_users_script_may_have_the_names_of_our_rooms(tmp_path: Path) -> None:
    for name in ("coordinator/__init__", "protocol/__init__", "agent", "topologies"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text("MINE = 1")
    (tmp_path / "script.py").write_text(SCRIPT)
    printed([sys.executable, "script.py"], cwd=tmp_path)


def test_a_name_without_a_colon_is_what_a_package_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = own_code.missing("best", [], "posse.arms")
    assert said.startswith("no installed package offers it in posse.arms (known: none)")
    offer(tmp_path, {"posse.arms": {"best": "json:loads"}})
    monkeypatch.syspath_prepend(tmp_path)
    assert own_code.missing("best", [], "posse.arms") == ""
    assert own_code.load("best", [], "posse.arms") is json.loads
    assert "(known: best)" in own_code.missing("worst", [], "posse.arms")


# --- which code it is -----------------------------------------------------------------------------

SYSTEM = """
from own_bandits_helper import ARM
from posse.extend import *
class Own(Parameters, frozen=True, kw_only=True): pass
class Agent:
    def __init__(self, context): pass
    def handle(self, event, now):
        return [Pull((0, 1), 1)] if isinstance(event, Started) else [Finish("horizon", ARM)]
def links(agents, seed): return [(ARM, n) for n in range(agents) if n != ARM]
SYSTEM = System(name="own", title="x", paper="x", parameters=Own, clocks=("slots",),
                shape=Alone(Agent), claim=unprotected("x"))
"""
"""Each agent answers ARM, 0 or 1."""


MOMENTS = itertools.count()


def spec(base: Path, arm: int) -> dict[str, Any]:
    """A run of a system whose agents answer `arm`, by a module beside it."""
    base.mkdir(exist_ok=True)
    (base / "own_bandits.py").write_text(SYSTEM)
    helper = base / "own_bandits_helper.py"
    helper.write_text(f"ARM = {arm}")
    # each in the same second, so that Python takes what it compiled before for this
    os.utime(helper, ns=(moment := 10**18 + next(MOMENTS), moment))
    return describe_run("own_bandits:SYSTEM", 2, [0.8, 0.5], base=str(base))


def answers(source: Source) -> list[int | None]:
    return posse.run(source, engine="memory").runs[0].answers


def test_a_file_that_was_edited_or_is_gone_is_refused_until_imported_anew(
    tmp_path: Path,
) -> None:
    raw = spec(tmp_path, 0)
    assert answers(raw) == [0, 0]
    spec(tmp_path, 1)
    with pytest.raises(InputError) as refused:
        prepare(raw)
    assert str(refused.value) == (
        f"{tmp_path}/own_bandits_helper.py was changed after this process had imported it; start "
        "the process again (in a notebook: restart the kernel)"
    )
    for name in ("own_bandits_helper", "own_bandits"):
        importlib.reload(sys.modules[name])
    assert answers(raw) == [1, 1]
    os.unlink(tmp_path / "own_bandits.py")
    with pytest.raises(InputError, match=r"own_bandits\.py was changed after this process"):
        prepare(raw)


def test_other_files_beside_it_may_change(tmp_path: Path) -> None:
    plan = prepare(spec(tmp_path, 0))
    (tmp_path / "own_bandits_other.py").write_text("")
    assert prepare(plan) is plan
    assert prepare(plan.spec).system is plan.system


def test_a_module_that_is_in_no_file_stays(tmp_path: Path) -> None:
    """As one that a notebook made."""
    made = types.ModuleType("own_bandits_made")
    made.best = 3  # type: ignore[attr-defined]
    sys.modules["own_bandits_made"] = made
    for _ in range(2):
        own_code.require_unchanged()
        assert own_code.load("own_bandits_made:best", [str(tmp_path)], "posse.arms") == 3


def test_links_and_compiled_modules_are_in_their_folders(tmp_path: Path) -> None:
    raw = spec(tmp_path / "real", 0)
    (tmp_path / "links").mkdir()
    for name in ("own_bandits.py", "own_bandits_helper.py"):
        (tmp_path / "links" / name).symlink_to(tmp_path / "real" / name)
    (tmp_path / "folder").symlink_to(tmp_path / "links")
    assert answers({**raw, "base": str(tmp_path / "folder")}) == [0, 0]
    assert answers({**raw, "base": str(tmp_path / "links")}) == [0, 0]
    made = types.ModuleType("own_bandits_fast")
    made.__file__ = str(tmp_path / "own_bandits_fast.cpython-311.so")
    sys.modules["own_bandits_fast"] = made
    assert own_code._is_in("own_bandits_fast", [str(tmp_path)])
    assert not own_code._is_in("own_bandits_fast", [str(tmp_path / "real")])


def test_two_folders_with_modules_of_one_name_need_two_processes(tmp_path: Path) -> None:
    one, two = spec(tmp_path / "one", 0), spec(tmp_path / "two", 1)
    assert answers(one) == [0, 0]
    with pytest.raises(
        PosseError, match=r"two/own_bandits\.py is hidden by .*one/own_bandits\.py; re"
    ):
        prepare(two)
    assert answers(one) == [0, 0]


def test_a_process_that_makes_runs_for_others_refuses_an_edited_file(tmp_path: Path) -> None:
    """As a worker of Dask, which lives on between runs."""
    document = msgspec.msgpack.encode(spec(tmp_path, 0))
    assert api.make_encoded_runs((document, [0]))[0].answers == [0, 0]
    spec(tmp_path, 1)
    with pytest.raises(InputError, match="was changed after this process had imported it"):
        api.make_encoded_runs((document, [0]))


def test_graphs_are_of_the_file_that_is_there_now(tmp_path: Path) -> None:
    def degrees(folder: str, arm: int, **topology: object) -> list[int]:
        raw = spec(tmp_path / folder, arm) | {
            "system": "cooperative-ucb",
            "agents": {"count": 4},
            "parameters": {"horizon": 20},
            "topology": topology,
        }
        return [len(links) for links in prepare(raw).spec.graph(0).neighbours]

    own: dict[str, object] = {"kind": "python", "target": "own_bandits:links"}
    assert degrees("one", 0, **own) == [3, 1, 1, 1]
    forget_own_code()
    found = []
    for text in ("0 1\n1 2\n2 3\n", "0 1\n0 2\n0 3\n"):
        (tmp_path / "one" / "graph.txt").write_text(text)
        found.append(degrees("one", 0, kind="file", path="graph.txt"))
    assert found == [[1, 2, 2, 1], [3, 1, 1, 1]]


def test_a_module_that_another_hides_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    raw = spec(second, 0)
    spec(first, 1)
    sys.path.append(str(first))  # as the folder of a script is
    with pytest.raises(PosseError, match=r"second/own_bandits\.py is hidden by .*first/own_ban"):
        prepare(raw)
    (second / "json.py").write_text("")
    with pytest.raises(PosseError, match=r"second/json\.py is hidden by .*; rename yours"):
        prepare({**raw, "system": "json:SYSTEM"})


@pytest.mark.asyncio
async def test_a_cluster_whose_agents_have_older_code_says_so(tmp_path: Path) -> None:
    async with posse.Cluster(spec(tmp_path, 0)) as cluster:
        assert (await cluster.run()).runs[0].answers == [0, 0]
        spec(tmp_path, 1)
        with pytest.raises(InputError, match="was changed after this process had imported it"):
            await cluster.run()
        for name in ("own_bandits_helper", "own_bandits"):
            importlib.reload(sys.modules[name])
        with pytest.raises(
            PosseError, match="own_bandits:SYSTEM has changed since the cluster started"
        ):
            await cluster.run(seed=2)


def test_folders_that_nobody_may_enter_stand_beside_code_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = spec(tmp_path, 0)
    (tmp_path / "own_bandits_private").mkdir()
    stat = os.stat

    def refused(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if "own_bandits_private" in os.fspath(path) and "__init__" in os.fspath(path):
            raise PermissionError(13, "Permission denied", path)
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refused)
    assert answers(raw) == [0, 0]


LINKS = (
    "def links(agents, seed):\n    'A line.'\n    return [[n - 1, n] for n in range(1, agents)]\n"
)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages that offer a topology of one name, and one that offers one of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_bandits_a.py").write_text(LINKS)
    for package, offered in {
        "first": {"campus": "own_bandits_a:links", "lane": "own_bandits_a:links"},
        "second": {"campus": "own_bandits_b:links"},
    }.items():
        offer(tmp_path, {"posse.topologies": offered}, package)
    return tmp_path


def test_a_name_that_two_packages_offer_is_refused_with_what_to_write(packages: Path) -> None:
    said = (
        "'campus' is offered by first as 'own_bandits_a:links' and by second as "
        "'own_bandits_b:links'; write the one that is meant as 'module:object'"
    )
    assert own_code.missing("campus", [], "posse.topologies") == said
    with pytest.raises(own_code.NotTrusted, match="is offered by first as"):
        own_code.load("campus", [], "posse.topologies")
    assert own_code.missing("lane", [], "posse.topologies") == ""
    assert own_code.offered()["campus"] == ["own_bandits_a:links", "own_bandits_b:links"]


def test_check_imports_what_a_package_offers_by_name_and_nothing_else(
    packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = packages / "run.toml"
    for target, trusted in (("lane", True), ("own_bandits_a:links", False)):
        run.write_text(
            'system = "cooperative-ucb"\nagents.count = 3\nparameters.horizon = 5\n'
            'arms = { kind = "bernoulli", means = [0.5, 0.2] }\n'
            f'topology = {{ kind = "python", target = "{target}" }}\n'
        )
        assert main(["check", str(run)]) == (0 if trusted else 2)
        assert ("is code" in capsys.readouterr().err) is not trusted
    assert main(["list", "lane"]) == main(["list", "topologies"]) == 0
    shown = capsys.readouterr().out
    assert "lane: A line." in shown
    assert 'of first: kind = "python", target = "lane"' in shown
