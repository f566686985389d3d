"""Every source file that decides something has its own test; no test file or class is too large.

`agent/host.py` has `tests/agent/test_host.py`, `posse/clocks/virtual.py` has
`tests/clocks/test_virtual.py`, `systems/posse_systems/rio2023/agent.py` has
`tests/systems/rio2023/test_agent.py`. What is tested elsewhere stands in `ELSEWHERE`, with the
reason.
"""

import ast
import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("posse", "agent", "coordinator", "topologies", "protocol", "systems", "papers", "arena")
LONGEST = 600

ELSEWHERE = """
kinds, values and interfaces, which decide nothing: tests/hosts/test_effects.py
    protocol: arrays control errors machine
    posse: errors
    agent: site
    coordinator: setups
    posse/hosts: spending
    posse/system: context network record
a live agent's door, as an application uses it: tests/live/test_client.py
    posse/live: address doors service
what the HTTP door says, in whole requests: tests/live/test_http.py
    posse/live: openapi told
how both ends of a run go on after a kill: tests/testing/test_hosts.py
    agent: recovery
    coordinator: recovery
the coordinator that foreign agents are judged by: tests/testing/test_foreign.py
    posse/testing: played
what tests do to processes and links, whoever started them: tests/testing/test_cluster.py
    posse/testing: controlled
what goes through a journal: tests/durable/test_journal.py
    posse/durable: recording
what every whole run goes through: tests/runs/test_golden.py
    posse/measure: account
    posse/results: result
what experiments are made of, each of which is run: tests/papers/test_conduct.py
    papers/posse_papers: experiment looks noise outcome record repetitions sample statements steps
sentences, shown on a page: tests/papers/test_reproduction.py
    papers/posse_papers: undecided
    posse/testing: small
what the page of an audit reads: tests/report/test_pages.py
    posse/reading: audited
parts of a page, which is read as a whole: tests/report/test_pages.py
    posse/report: audit under_way answers comparison delay differences network page privacy regret
    posse/report: run_page traffic
what a simulated run goes through: tests/engines/simulated/test_cluster.py
    posse/engines/simulated: network
shells around sockets; what they decide is in lobby, joining and links: tests/runs/test_engines.py
    posse/engines: inquiry memory processes
    posse/wire: sources
    agent: uplink run
    coordinator: report
parts of an audit, which is made as a whole: tests/audit/test_whole.py
    posse/audit: judge trials
what coupled runs are made of, judged where faults are planted: tests/audit/test_coupling.py
    posse/audit: canaries law replay
replays as users call them: tests/testing/test_retrace.py
    posse/cli: replay
verbs that hand over, and tables, called as users call them: tests/cli/test_exit_codes.py
    posse/cli: call judge keys progress report security
a mesh's two kinds of links, held to the same: tests/wire/test_links.py
    agent: each_link one_to_all
what commands say, as it is written down: tests/cli/test_said.py
    posse/cli: check ledger simulate verify
what posse verify reads: tests/cli/test_said.py
    posse/results: vouched
and of a run over sockets: tests/field/test_orders.py
    posse/reading: orders
both ends over a fake link: tests/systems/li2022/test_shared_server.py
    systems/posse_systems/li2022: shared_agent
what codecs carry: tests/protocol/test_wire.py
    protocol: message
what posse new writes, and what that imports: tests/cli/test_new.py
    posse: extend
    posse/skeleton: private script script_test system test
what posse new --deploy writes, brought up: tests/deploy/test_containers.py
    posse/skeleton/deploy: example_data
    posse/skeleton/deploy/kubernetes: example_data
public names of what is tested where it is, on which experiments stand: tests/papers/test_conduct.py
    posse: experiments pages verbs
    systems/posse_systems: algorithms
public names of what is tested where it is, by theme: tests/test_seam.py
    posse/seam: arms machines masking messages noise results steps system
steps over arrays, held equal to machines: tests/engines/test_arrays.py
    posse/system: steps
    systems/posse_systems/dubey2020: byzantine_steps lone_steps private_steps robust_steps
    systems/posse_systems/dubey2020: spread spread_costs steps
    systems/posse_systems/li2022: steps travel
    systems/posse_systems/rio2023: mase_steps steps
    systems/posse_systems/esfandiari2022: steps
    posse/engines: crowd tally turns
the same of players: tests/systems/tossou2015/test_steps.py
    posse/engines: groups
    systems/posse_systems/tossou2015: medium_steps private_steps
parts of an arena, which is held as a whole: tests/arena/test_verb.py
    arena/posse_arena: apart arena entrants page rewards
FedUCB by masked sums, beside the form that it equals: tests/arena/test_linear.py
    arena/posse_arena: linear_summed
"""
"""Reasons, each with the test that shows it, and below it the files by folder."""


def sources() -> list[Path]:
    """Every source file but `__init__.py` and `__main__.py`."""
    files = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    kept = (path for path in files if not path.name.startswith(("__", "setup")))
    return [path.relative_to(ROOT) for path in kept]


def mirrors(source: Path) -> list[Path]:
    """The test of the same name, and that of the folder, if it is one inside a room of `posse`."""
    parts = source.parts
    inside = {room: (room, *parts[2:]) for room in ("systems", "papers", "arena")}
    inside["posse"] = parts[1:]
    *folders, name = inside.get(parts[0], parts)
    own = Path("tests", *folders, f"test_{name}")
    return [own, own.parent.with_name(f"test_{folders[-1]}.py")] if len(folders) > 1 else [own]


def has_its_test(source: Path) -> bool:
    """Whether one of its mirrors is there."""
    return any((ROOT / path).is_file() for path in mirrors(source))


def elsewhere() -> set[Path]:
    """The files that `ELSEWHERE` names."""
    lines = re.findall(r"^    (.+): (.+)$", ELSEWHERE, re.M)
    return {Path(folder, f"{name}.py") for folder, names in lines for name in names.split()}


def test_every_source_file_has_its_test() -> None:
    without = {source for source in sources() if not has_its_test(source)} - elsewhere()
    assert sorted(map(str, without)) == [], "write their tests, or say where they are tested"


def test_what_is_tested_elsewhere_is_there_and_has_no_test_of_its_own() -> None:
    assert [str(path) for path in elsewhere() if not (ROOT / path).is_file()] == []
    assert [str(path) for path in elsewhere() if has_its_test(path)] == []
    for test in re.findall(r"^\S.*: (.+)$", ELSEWHERE, re.M):
        assert (ROOT / test).is_file(), test


def test_no_test_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in (ROOT / "tests").rglob("*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_every_public_method_says_what_it_does() -> None:
    """Itself, or in a class that it is inherited from: that is what `help` shows."""
    silent = []
    for source in sources():
        if source.parts[0] not in ("papers", "arena") and source.parts[1] != "skeleton":
            place = source.relative_to("systems") if source.parts[0] == "systems" else source
            module = importlib.import_module(".".join(place.with_suffix("").parts))
            for kind in vars(module).values():
                if inspect.isclass(kind) and kind.__module__ == module.__name__:
                    silent += [f"{source}: {kind.__name__}.{name}" for name in unexplained(kind)]
    assert silent == []


def unexplained(kind: type) -> list[str]:
    """The public methods of a public class, of which neither it nor its bases say anything."""
    own = {
        name: member
        for name, member in vars(kind).items()
        if not name.startswith("_")
        and not kind.__name__.startswith("_")
        # a protocol's fields are said by who has them
        and not (isinstance(member, property) and getattr(kind, "_is_protocol", False))
    }
    return [
        name
        for name, member in own.items()
        if (isinstance(member, METHODS) or (inspect.isfunction(member) and member.__name__ == name))
        and not inspect.getdoc(getattr(kind, name))
    ]


METHODS = (property, classmethod, staticmethod, functools.cached_property)


@pytest.mark.slow
def test_a_class_that_is_too_large_says_why() -> None:
    """Above 300 lines or 20 attributes a sentence in its text begins with "Above"."""
    silent = []
    for path in sources():
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.ClassDef):
                lines, held = (node.end_lineno or 0) - node.lineno + 1, len(attributes(node))
                said = "    Above " in (ast.get_docstring(node, clean=False) or "")
                if not said and (lines > 300 or held > 20):
                    silent.append(f"{path}: {node.name}, {lines} lines, {held} attributes")
    assert silent == []


def attributes(kind: ast.ClassDef) -> set[str]:
    """What its methods set on `self`, and its fields."""
    fields = {
        node.target.id
        for node in kind.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return fields | {
        node.attr
        for node in ast.walk(kind)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
