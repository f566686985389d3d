"""`posse import`: a run file of a public log or graph, with a receipt of what was read."""

import csv
import math
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from posse import importing
from posse.cli.listing import in_toml
from posse.cli.options import FolderToWrite, Json, PositiveNumber, print_json, shared
from posse.errors import InputError
from posse.gates import files
from posse.importing import Chosen, Logged, PolicyEstimate, Unsaid
from posse.measure.numbers import counted
from posse.spec.edge_list import read_edges
from posse.spec.graph_file import read_graph
from posse.topologies.graphs import Graph, GraphError

_MOST_ARMS = 100
"""More arms than that are asked for: few logs have rows enough for each."""


@dataclass(kw_only=True)
class Receipt:
    """What became of a file: the files written, rows by what happened to them, estimates."""

    file: str
    kind: str
    written: list[str]
    read: int = 0
    used: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    estimates: list[PolicyEstimate] = field(default_factory=list)


_Column = Annotated[str, Parameter(metavar="COLUMN")]


@shared
class ColumnOptions:
    """What stands where in a log, and what is kept of it."""

    arm: _Column = ""
    """the column that names the arm"""
    reward: _Column = ""
    """the column that has the reward"""
    cost: bool = False
    """that column has costs: a reward is minus a cost"""
    missing: str = ""
    """what stands there if no reward does, as 99"""
    propensity: _Column = ""
    """the probability of the logged arm"""
    person: _Column = ""
    """the column that names the person of a row"""
    separator: str = ""
    """what stands between cells (default: found)"""
    no_header: bool = False
    """the first line is a row: columns are 1, 2, …"""
    arms: PositiveNumber | None = None
    """keep the N commonest arms (default: all, up to 100)"""
    agents: PositiveNumber = 1
    """deal the rows to N agents"""


def import_file(
    path: Path,
    /,
    *,
    columns: ColumnOptions = ColumnOptions(),
    weights: Annotated[str | None, Parameter(metavar="NAME")] = None,
    graph: bool = False,
    out: FolderToWrite | None = None,
    how: Json = Json(),
) -> None:
    """Write a run file of a public log or graph, with a receipt of what was read.

    In a terminal it asks for what it cannot know, and says at the end which options say the same.

    Args:
        path: a log (CSV, Parquet, Vowpal Wabbit) or a graph
        weights: keep an edge list's third word as NAME; '' leaves it out
        graph: a table's rows are edges
        out: folder for the run file (default: the file's name)
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist, or is no file")
    stem = path.name.partition(".")[2] if path.name.startswith("out.") else path.name.split(".")[0]
    folder = out or Path(stem or "imported")
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [1]):
        raise InputError(f"{folder} exists already; choose another folder with --out")
    answers: dict[str, str] = {}
    while True:
        try:
            receipt = _receipt(path, folder, columns, weights, graph=graph)
            break
        except Unsaid as unsaid:
            if how.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise
            said = answers[unsaid.option] = _answer(unsaid)
            if unsaid.option == "weights":
                weights = said
            else:
                given: Any = int(said) if unsaid.option == "arms" else said
                columns = replace(columns, **{unsaid.option: given})
    files.write(folder / "receipt.json", msgspec.json.format(msgspec.json.encode(receipt)))
    if how.json:
        print_json(receipt)
    else:
        print("\n".join(_lines(receipt)))
    if answers:
        options = (word for name, said in answers.items() for word in (f"--{name}", said))
        print(f"  asked        posse import {shlex.join([str(path), *options])}")


def _receipt(
    path: Path, folder: Path, columns: ColumnOptions, weights: str | None, *, graph: bool
) -> Receipt:
    kind = importing.look(path)
    asked = columns.arm or columns.reward
    table = kind == "columns" and (
        graph or not (asked or importing.ends_of(path, kind, columns.separator) is None)
    )
    if table or (kind == "graph" and not asked):
        return _graph(path, folder, weights, columns if table else None)
    return _log(path, folder, columns)


def _answer(unsaid: Unsaid) -> str:
    """What the user types; the error if that is nothing, or no number where one is asked for."""
    print(unsaid)
    try:
        said = input(f"{unsaid.question} ").strip()
    except EOFError:
        raise unsaid from None
    number = said.isdecimal() and int(said) > 1
    if not (number if unsaid.option == "arms" else said or unsaid.option == "weights"):
        raise unsaid
    return said


def _chosen(columns: ColumnOptions) -> Chosen:
    same = {*Chosen.__struct_fields__} - {"header"}
    given = {name: getattr(columns, name) for name in same}
    return Chosen(**given, header=not columns.no_header)


def _log(path: Path, folder: Path, columns: ColumnOptions) -> Receipt:
    log = importing.logged(path, _chosen(columns))
    many = len(set(log.arms))
    if many < 2:
        raise InputError(f"{path} has one arm, '{log.arms[0]}'; a bandit needs two")
    if columns.arms is None and many > _MOST_ARMS:
        text = f"{path} has {many:,} arms; say by --arms N how many of the commonest"
        raise Unsaid(text, "arms", "How many of the commonest?")
    arms = importing.keep_commonest(log, columns.arms or many)
    low, high = min(log.rewards), max(log.rewards)
    clip = "" if low >= 0 and high <= 1 else f"clip = [{low!r}, {high!r}]\n"
    if clip:
        log.changed.append(f"a run takes rewards from {low:g} to {high:g} as 0 to 1 (arms.clip)")
    written = _write_log(log, arms, folder, clip, columns.agents)
    return Receipt(
        file=str(path),
        kind={"vw": "Vowpal Wabbit", "parquet": "Parquet", "columns": "a table"}[log.kind],
        written=[str(one) for one in written],
        read=log.read,
        used=len(log.arms),
        left_out=log.left_out,
        examples=log.examples,
        changed=log.changed,
        doubtful=log.doubtful,
        estimates=importing.estimates(log, arms),
    )


def _write_log(log: Logged, arms: list[str], folder: Path, clip: str, agents: int) -> list[Path]:
    """The logs of the agents and a run file; the rows of one person go to one agent."""
    dealt: dict[Any, int] = {}
    persons = log.persons or range(len(log.arms))
    owner = [dealt.setdefault(person, len(dealt) % agents) for person in persons]
    rarest = len(log.arms)
    files.make_folder(folder, inside=True)
    written = []
    named: list[tuple[str, Any]] = [("person", log.persons), ("propensity", log.propensities)]
    besides = [(name, values) for name, values in named if values]
    for rank in range(agents):
        rows = [n for n, agent in enumerate(owner) if agent == rank]
        held = Counter(log.arms[n] for n in rows)
        rarest = min(rarest, *(held[arm] for arm in arms))
        written.append(folder / f"log-{rank}.csv")
        with files.replacing(written[-1]) as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["arm", "reward", *(name for name, _ in besides)])
            table.writerows(
                [log.arms[n], log.rewards[n], *(values[n] for _, values in besides)] for n in rows
            )
    if not rarest:
        log.doubtful.append("an agent has no row of some arm: rows are drawn with replacement")
    system = 'system = "adap-ucb"\nparameters.epsilon = 1.0' if log.persons else 'system = "ucb1"'
    if log.persons:  # whose rewards only a system with a claim may count
        log.changed.append("adap-ucb is run, at ε = 1 for one reward: persons need a claim")
    text = (
        f"{system}\nagents.count = {agents}\nparameters.horizon = {max(len(arms), rarest)}\n\n"
        f'[arms]\nkind = "csv"\npath = "log-{{rank}}.csv"\nnames = {in_toml(arms)}\n{clip}'
    )
    if log.persons:
        most = max(Counter(log.persons).values())  # so that every row may be used
        text += f'\n[privacy]\nperson = "person"\nrewards_per_person = {most}\n'
    files.write(folder / "run.toml", text)
    return [folder / "run.toml", *written]


def _graph(path: Path, folder: Path, weights: str | None, columns: ColumnOptions | None) -> Receipt:
    changed: list[str] = []
    copied = folder / path.name
    try:
        if columns is None:
            graph = read_graph(path, None, weights)
            content: str | bytes = files.read(path)
        else:
            copied = folder / "edges.tsv"
            content, changed = importing.edge_list(path, _chosen(columns), weights)
            graph = read_edges(content, None, weights)
    except (GraphError, OSError, UnicodeDecodeError) as error:
        said = str(error).replace('weights = "NAME"', "--weights NAME")
        said = f"{path}: " + said.replace('weights = ""', "--weights ''")
        if weights is None and "--weights" in said:
            question = "What is the third word called (empty: leave it out)?"
            raise Unsaid(said, "weights", question) from None
        raise InputError(said) from None
    agents = graph.agents
    files.make_folder(folder, inside=True)
    files.write(copied, content)
    keys = f'kind = "file", path = {in_toml(copied.name)}'
    keys += "" if weights is None else f", weights = {in_toml(weights)}"
    files.write(
        folder / "run.toml",
        f'system = "cooperative-ucb"\nagents.count = {agents}\nparameters.horizon = 1000\n'
        f'arms = {{ kind = "bernoulli", means = [0.7, 0.5, 0.3] }}\ntopology = {{ {keys} }}\n',
    )
    if graph.names:
        changed.append(f"agents are named by the file: 0 is {graph.names[0]}")
    if weights == "" and columns is None:
        changed.append("weights are left out")
    read = graph.size + sum(graph.left_out.values())
    return Receipt(
        file=str(path),
        kind=f"a graph of {counted(agents, 'node')} and {counted(graph.size, 'edge')}",
        written=[str(folder / "run.toml"), str(copied)],
        read=read,
        used=graph.size,
        left_out=dict(graph.left_out),
        changed=changed,
        doubtful=list(_doubts(graph, importing.declared(path), read)),
    )


def _doubts(graph: Graph, declared: tuple[int, int] | None, read: int) -> Iterator[str]:
    """What may be wrong with a graph, of which a comment declared its nodes and edges."""
    if declared and declared != (graph.agents, read):
        yield f"its comments say {declared[0]:,} nodes and {declared[1]:,} edges"
    if not graph.connected:
        yield f"it has {len(graph.components):,} parts without links"
    several = sum(any(map(math.isnan, named.values())) for named in graph.attributes.values())
    if several:
        yield f"{counted(several, 'edge')} with more than one weight: such a one counts as none"


def _lines(receipt: Receipt) -> list[str]:
    """The receipt for a terminal."""
    lines = [f"{receipt.file} is {receipt.kind}"]
    if receipt.read:
        lines.append(f"  rows         {receipt.read:,} read, {receipt.used:,} used")
    for reason, count in receipt.left_out.items():
        example = receipt.examples.get(reason, "")
        said = reason.replace("edges ", "edge ", 1) if count == 1 else reason
        lines.append(f"  left out     {count:,} {said}" + f" ({example})" * bool(example))
    lines += [f"  changed      {text}" for text in receipt.changed]
    lines += [f"  doubtful     {text}" for text in receipt.doubtful]
    for one in receipt.estimates:
        interval = "" if one.low is None else f" ({one.low:.4g} to {one.high:.4g})"
        lines.append(f"  {one.what:<24} {one.value:.4g}{interval}, n = {one.n:,}")
    return [
        *lines,
        *(f"  written      {name}" for name in receipt.written),
        "",
        f"  posse run {receipt.written[0]}",
    ]
