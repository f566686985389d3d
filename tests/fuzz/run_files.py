"""Run files drawn from the schema itself go through every verb: `python -m tests.fuzz.run_files`.

A small run of a system has some of its keys drawn anew, by the types and bounds of the models. What
`posse check` accepts must run, in both engines with one result, and be resumed, reported, compared,
swept, audited and simulated; what it refuses, all refuse alike, in a sentence, with nothing begun.
Failures are shrunk, and kept in `corpus/any-verb`, which the test replays.
"""

import argparse
import functools
import hashlib
import json
import math
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from msgspec import inspect as mi

import posse
from posse.spec.runfile import RunSpec, put, read
from posse.system import find_system
from posse.testing.small import SMALL
from tests.fuzz.verbs import MOST_MB, Ended, Verbs

CORPUS = Path(__file__).parent / "corpus" / "any-verb"
VERBS = ("processes", "again", "report", "compare", "sweep", "audit", "simulate", "topology")

_SHRINKING = 60.0
"""Seconds for which a failure is made smaller."""

_SKELETON = Path(posse.__file__).parent / "skeleton"
_SCRIPTS = ("script", "private")
_OWN = '''"""Arms and a graph of the user's own."""

import numpy as np


class Fair:
    """Rewards of 0 and 1, always the same."""

    def __init__(self, agent=0, agents=1, seed=0):
        self.chance = np.random.default_rng([seed, agent])

    def pull(self, arm, count):
        return (self.chance.random(count) < 0.9 - 0.3 * min(arm, 2)).astype(float)


class Wrong:
    def pull(self, arm, count):
        return [7.0] * count


def graph(agents, seed):
    return [(i, i + 1) for i in range(agents - 1)]


def none(agents, seed):
    raise OSError("no graph today")
'''

_MOST = {"horizon": 400, "repeat": 3, "agents.count": 6, "rows": 3, "cols": 3, "rounds": 20}
"""Keys by which a run grows without bound, and so takes as long as it is asked to."""

_WORDS = {
    "target": ["own:Fair", "own:Wrong", "own:graph", "own:none", "absent:Fair", "own"],
    "generator": ["cycle_graph", "erdos_renyi_graph", "karate_club_graph", "nothing", "os"],
    "path": ["rewards-{rank}.csv", "graph.txt", "short.csv", "absent", "."],
    "inboxes": ["10.0.0.0/8", "::1/128", "nonsense"],
    "person": ["person", "arm", "absent"],
    "reuse": ["never"],
}
_NAMES = ["arm", "reward", "person", "a", "", "ä", "x y", "{rank}", "coordinator", "0-1", "\x1b[1m"]
_GRID = st.sampled_from([n / 10 for n in range(11)])
_GAPS = st.lists(_GRID, min_size=2, max_size=6, unique=True)
"""Means of different arms, which no test tells apart if they are equal."""


def _bounded(kind: mi.IntType, key: str) -> st.SearchStrategy[int]:
    low = kind.ge if kind.ge is not None else -3
    high = kind.le if kind.le is not None else 1 << 53
    high = min(high, _MOST.get(key, high))
    few = [value for value in (low, low + 1, 2, 3, 4, 5, 12, high) if low <= value <= high]
    return st.sampled_from(sorted(set(few))) | st.integers(low, min(high, low + 20))


def _real(kind: mi.FloatType, key: str) -> st.SearchStrategy[float]:
    bounds = [kind.ge, kind.le]
    if kind.gt is not None:
        bounds += [math.nextafter(kind.gt, math.inf), kind.gt]
    if kind.lt is not None:
        bounds += [math.nextafter(kind.lt, -math.inf), kind.lt]
    some = [float(value) for value in bounds if value is not None]
    return st.sampled_from([*some, 0.5, 0.1, 1.0, 0.9, 2.0, 10.0])


_PATIENCE = st.sampled_from([30.0, 60.0, 1e9])
"""Seconds of `[engine]`, with which a run on a busy machine ends."""


def values(kind: mi.Type, key: str = "") -> st.SearchStrategy[Any]:
    """What a key of this type may be; sometimes at, or one step beyond, its bounds."""
    name = key.rpartition(".")[2]
    match kind:
        case _ if key in ("engine.deadline", "engine.joining", "engine.absence"):
            return _PATIENCE
        case mi.Metadata(inner):
            return values(inner, key)
        case mi.IntType():
            return _bounded(kind, key if key in _MOST else name)
        case mi.FloatType():
            return _real(kind, name)
        case mi.BoolType():
            return st.booleans()
        case mi.StrType():
            return st.sampled_from(_WORDS.get(name, _NAMES))
        case mi.LiteralType(options):
            return st.sampled_from(options)
        case mi.NoneType():
            return st.nothing()
        case mi.UnionType(types):
            return st.one_of(*(values(one, key) for one in types))
        case mi.ListType(item) | mi.VarTupleType(item):
            if name == "means":
                return _GAPS | st.lists(values(item, key), max_size=3)
            return st.lists(values(item, key), max_size=4)
        case mi.TupleType(items):
            return st.tuples(*(values(item, key) for item in items)).map(list)
        case mi.DictType(of, to):
            return st.dictionaries(values(of, key).map(str), values(to, key), max_size=2)
        case mi.StructType():
            return _tables(kind, key)
        case _:
            return st.sampled_from([0, 1, 0.5, "x", True])


@functools.lru_cache(None)
def _table_of(cls: type) -> mi.StructType:
    kind = mi.type_info(cls)
    assert isinstance(kind, mi.StructType)
    return kind


def _tables(kind: mi.StructType, key: str) -> st.SearchStrategy[dict[str, Any]]:
    """A table with what is required, and some of the rest."""

    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, Any]:
        table = {kind.tag_field: kind.tag} if kind.tag_field else {}
        for field in kind.fields:
            if field.required or draw(st.integers(0, 3)) == 3:
                inner = f"{key}.{field.encode_name}" if key else field.encode_name
                table[field.encode_name] = draw(st.deferred(lambda: values(field.type, inner)))  # noqa: B023
        return table

    return drawn()


def _keys(system: str) -> dict[str, mi.Type]:
    """The keys that are drawn one by one, with their types; whole for what `kind` decides."""
    found: dict[str, mi.Type] = {}
    for field in _table_of(RunSpec).fields:
        name, kind = field.encode_name, field.type
        if name in ("agents", "engine", "privacy"):
            found |= {f"{name}.{inner.encode_name}": inner.type for inner in kind.fields}  # type: ignore[attr-defined]
        elif name not in ("system", "base", "path", "parameters"):
            found[name] = kind
    parameters = find_system(system, [str(_SKELETON)]).parameters
    for field in _table_of(parameters).fields:
        found[f"parameters.{field.encode_name}"] = field.type
    return found


@st.composite
def run_files(draw: st.DrawFn) -> dict[str, Any]:
    """A small run with some keys drawn anew."""
    system = draw(st.sampled_from([*SMALL, *(f"{name}:SYSTEM" for name in _SCRIPTS)]))
    small = SMALL.get(system, {**SMALL["central"], "parameters": {"rounds": 2}})
    raw = {"system": system, "seed": 1, **json.loads(json.dumps(small))}
    keys = _keys(system)
    put(raw, "engine.kind", "memory")
    for key in draw(st.lists(st.sampled_from(sorted(keys)), max_size=4, unique=True)):
        put(raw, key, draw(values(keys[key], key)))
    return raw


def surroundings(folder: Path) -> None:
    """What a run file may name, in its folder."""
    for script in _SCRIPTS:
        shutil.copy(_SKELETON / f"{script}.py", folder)
    (folder / "own.py").write_text(_OWN)
    (folder / "graph.txt").write_text("0 1 2.5\n1 2 1\n2 3 1\n3 4 1\n4 5 1\n")
    for rank in range(32):
        rows = [f"{n % 3},{(n * 7 + rank) % 3 % 2},p{n % 50}" for n in range(3_000)]
        log = folder / f"rewards-{rank}.csv"
        log.write_text("arm,reward,person\n" + "\n".join(rows) + "\n")
    (folder / "short.csv").write_text("arm,reward\n0,1\n1,0\n2,1\n")


class Failure(NamedTuple):
    """What ended otherwise than it may: which command, how, and what it said."""

    command: str
    how: str
    ended: Ended

    @property
    def kind(self) -> str:
        """The same for the same mistake, as far as a sentence tells."""
        last = (self.ended.complained.strip().splitlines() or [""])[-1]
        return f"{self.command.split()[0]} {self.how}: {re.sub(r'[0-9.]+', '#', last)[:100]}"


ACCEPTED = [0]
"""How many run files `check` accepted."""

_UNKNOWABLE = re.compile(
    r"without an answer|has no (more|rewards)|used up|only \d+ rewards?|cannot be used: OSError"
    r"|must be (a number )?in \[0, 1\]|own:Wrong|outside \[0, 1\]|no graph today"
)
"""How a run may fail that `check` accepted: what rewards are is seen when they are drawn."""


def _fault(ended: Ended, accepted: bool, verb: str) -> str:
    """How a command ended otherwise than it may; "" if it did not."""
    text = ended.complained
    if ended.code is None:  # an audit says how long it takes, and it takes long
        return "" if verb == "audit" and " left" in text else "did not end"
    if ended.megabytes > MOST_MB:
        return f"took {ended.megabytes:.0f} MB"
    if "Traceback" in text or "defect" in text:
        return "has a defect"
    if ended.code not in (0, 1, 2, 3):
        return f"ended with {ended.code}"
    if ended.code and not text.strip():
        return "said nothing"
    if not accepted:
        return "" if ended.code == 2 else f"ended with {ended.code} where check refuses"
    if ended.code == 2 and verb in ("audit", "report", "compare", "topology", "simulate"):
        return ""  # they need more than a run does: a claim, a graph, an answer
    if ended.code and not _UNKNOWABLE.search(text):
        return f"ended with {ended.code}"
    return ""


def _same(folder: Path, one: str, other: str) -> bool:
    """Whether two results say the same of what was found and sent."""
    found = []
    for name in (one, other):
        document = json.loads((folder / name / "result.json").read_text())
        kept = ("status", "best_arm", "rounds", "pulls", "regret_curve")
        found.append([{key: run.get(key) for key in kept} for run in document["runs"]])
    return found[0] == found[1]


def failures(verbs: Verbs, raw: dict[str, Any], chosen: tuple[str, ...]) -> Iterator[Failure]:
    """What goes wrong with a run file, if anything; `chosen` of `VERBS` beside check and run."""
    with tempfile.TemporaryDirectory(prefix="posse-any-") as name:
        folder = Path(name)
        surroundings(folder)
        (folder / "run.toml").write_text(tomli_w.dumps(raw))
        yield from _failures(verbs, folder, raw, chosen)


def _failures(
    verbs: Verbs, folder: Path, raw: dict[str, Any], chosen: tuple[str, ...]
) -> Iterator[Failure]:
    checked = verbs.run(folder, "check", "run.toml", "--trust")
    accepted = checked.code == 0
    ACCEPTED[0] += accepted
    if how := _fault(checked, accepted, "check"):
        yield Failure("check", how, checked)
        return
    accepted = accepted and "not on this machine" not in checked.said
    field = raw.get("mode") == "field"
    lines = {
        "run": ("run", "run.toml", "--out", "a", "-q"),
        "processes": ("run", "run.toml", "--engine", "processes", "--out", "b", "-q"),
        "again": ("run", "run.toml", "--out", "a", "-q"),
        "report": ("report", "a"),
        "compare": ("compare", "a", "b"),
        "sweep": ("sweep", "run.toml", "--over", "seed=1,2", "--jobs", "1", "--out", "s", "-q"),
        "audit": ("audit", "run.toml", "--runs", "20", "--jobs", "1", "--out", "u"),
        "simulate": ("simulate", "run.toml", "--seeds", "1", "--jobs", "1"),
        "topology": ("topology", "run.toml"),
    }
    if "compare" in chosen:
        chosen = ("processes", *(verb for verb in chosen if verb != "processes"))
    for verb in ("run", *chosen):
        if verb in ("again", "report", "compare") and not (folder / "a" / "result.json").exists():
            continue
        if verb == "compare" and not (folder / "b" / "result.json").exists():
            continue
        if field and verb in ("sweep", "audit", "simulate", "processes"):
            continue
        if verb == "processes" and "network" in raw:
            continue  # they wait for delays, of an hour if it says so
        if verb == "topology" and ("topology" not in raw or not accepted):
            continue  # of what is wrong elsewhere it shows the graph
        ended = verbs.run(folder, *lines[verb])
        if how := _fault(ended, accepted, verb):
            yield Failure(" ".join(lines[verb]), how, ended)
        if verb == "run" and not accepted and (folder / "a").exists():
            yield Failure(verb, "left a folder", ended)
        both = all((folder / name / "result.json").exists() for name in "ab")
        both = both and raw["engine"].get("clock") != "wall"  # by which each run is another
        if verb == "processes" and both and not _same(folder, "a", "b"):
            yield Failure(verb, "another result than in memory", ended)


def load() -> None:
    """Load the systems of the skeleton, whose keys are drawn too."""
    for name in _SCRIPTS:
        find_system(f"{name}:SYSTEM", [str(_SKELETON)])


class Found(AssertionError):
    """A failure of a kind that was not found before."""


def search(count: int, first: int) -> int:
    """Draw this many run files; print and keep what fails. The number of kinds of failure."""
    known: set[str] = set()
    tried = 0
    load()
    with Verbs() as verbs:
        while tried < count:
            smallest: list[tuple[dict[str, Any], tuple[str, ...], Failure]] = []
            only: list[str] = []
            found_at = math.inf

            @seed(first + tried)
            @settings(
                max_examples=count - tried,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
                report_multiple_bugs=False,
            )
            @given(run_files(), st.lists(st.sampled_from(VERBS), max_size=2, unique=True))
            def holds(raw: dict[str, Any], chosen: list[str]) -> None:
                nonlocal tried, found_at
                tried += not only  # noqa: B023
                if time.monotonic() > found_at + _SHRINKING:
                    return
                for failure in failures(verbs, raw, tuple(chosen)):
                    if failure.kind in known or (only and failure.kind not in only):  # noqa: B023
                        continue
                    found_at = min(found_at, time.monotonic())
                    only[:] = [failure.kind]  # noqa: B023
                    smallest[:] = [(raw, tuple(chosen), failure)]  # noqa: B023
                    raise Found(failure.kind)

            try:
                holds()
                break
            except (Found, Flaky):
                raw, chosen, failure = smallest[0]
                known.add(failure.kind)
                print(f"FOUND after {tried}: {failure.kind}\n{failure.ended.complained[-600:]}")
                print(f"{tomli_w.dumps(raw)}# {' '.join(chosen)}", flush=True)
                keep(raw, chosen)
    print(f"{tried} run files, {ACCEPTED[0]} of which check accepts; {len(known)} kinds of failure")
    return len(known)


def keep(raw: dict[str, Any], chosen: tuple[str, ...]) -> None:
    """Write a run file into the corpus, the verbs in its first line."""
    text = f"# {' '.join(chosen)}\n{tomli_w.dumps(raw)}"
    CORPUS.mkdir(exist_ok=True)
    (CORPUS / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.toml").write_text(text)


def kept() -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    """The run files of the corpus: name, content, verbs."""
    for path in sorted(CORPUS.glob("*.toml")):
        verbs = path.read_text().partition("\n")[0].removeprefix("#").split()
        raw = {key: value for key, value in read(path).items() if key != "base"}
        yield path.stem, raw, tuple(verbs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    return 1 if search(options.count, options.first) else 0


if __name__ == "__main__":
    sys.exit(main())
