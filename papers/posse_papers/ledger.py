"""The papers line by line, from ledger.toml and the verdicts."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from posse.verbs import read_whole
from posse_papers.outcome import Judged, Told, counted

_HERE = Path(__file__).parent
_KINDS = ("definition", "reading", "not testable", "cited")
_NUMBER = re.compile(r"\((\d+)\)")
_NAMED = re.compile(r"(?:([A-Z][\w-]*?)s? )?([A-Z\d][\w.()-]*(?: \([a-d]\))?)(?: to (\d+))?.*")


@dataclass(frozen=True)
class Row:
    """What a paper numbers: how it is judged, by an experiment or a kind, and what it says.

    `answer` is the authors'.
    """

    paper: str
    label: str
    how: str
    says: str
    answer: str = ""

    @property
    def tested(self) -> bool:
        """Whether an experiment judges it."""
        return self.how not in _KINDS

    @property
    def names(self) -> list[str]:
        """What it stands for, one by one: 3 to 5 are three."""
        numbers = [int(n) for n in _NUMBER.findall(self.label)]
        if numbers:
            return [f"({n})" for n in range(numbers[0], numbers[-1] + 1)]
        kind, _, rest = self.label.partition(" ")
        if not kind.endswith("s"):
            return [self.label]
        found = re.findall(r"[A-Z]?\d+(?:\.\d+)?", rest)
        if " to " in rest:
            before, last = found[-1].rpartition(".")[::2]
            first = found[0].rpartition(".")[2]
            ends = int(first), int(last) + 1
            found = [f"{before}.{n}" if before else str(n) for n in range(*ends)]
        return [f"{kind.removesuffix('s')} {n}" for n in found]


@cache
def rows() -> tuple[Row, ...]:
    """Every row, in the order of the papers."""
    read = tomllib.loads(read_whole(_HERE / "ledger.toml").decode())
    answers = read.pop("answers")
    return tuple(
        Row(paper, label, how, says, answers.get(paper, {}).get(label, ""))
        for paper, statements in read.items()
        for label, (how, says) in statements.items()
    )


def places(place: str) -> set[str]:
    """What a statement's place names: 2 to 8 are seven equations, if a word does not part them."""
    found: set[str] = set()
    for part in re.split(r"[,;] | and ", place):
        words = part.strip()
        named = _NAMED.fullmatch(words)
        if named is None:
            continue
        word, first, last = named.groups()
        if last:
            found |= {f"({n})" for n in range(int(first), int(last) + 1)}
        elif word in (None, "Equation") and first.isdigit():
            found.add(f"({first})")
        else:
            found.add(f"{word} {first}" if word else first)
    for numbers in re.findall(r"equations? ((?:\d+(?:, )?)+)", place, flags=re.IGNORECASE):
        found |= {f"({n})" for n in re.findall(r"\d+", numbers)}
    return found


def judged_by(row: Row, outcome: Told) -> list[Judged]:
    """The statements of an experiment that judge a row: those that name it, or all of its own."""
    wanted = set(row.names) | {row.label}
    found = [said for said in outcome.statements if places(said.place) & wanted]
    of_it = row.label in outcome.figure or row.label.startswith("Figure")
    return found or [said for said in outcome.statements if said.place and of_it]


def text(outcomes: Mapping[str, Told]) -> str:
    """The page."""
    count = dict.fromkeys(("tested", *_KINDS), 0)
    for row in rows():
        count["tested" if row.tested else row.how] += len(row.names)
    total = sum(count.values())
    papers: dict[str, list[str]] = {}
    for row in rows():
        papers.setdefault(row.paper, []).append(_line(row, outcomes))
    body = "".join(
        f"\n## {paper}\n\n|line|what it says|how|verdict|answer|\n|-|-|-|-|-|\n{''.join(lines)}"
        for paper, lines in papers.items()
    )
    kinds = ", ".join(f"{n} {how}" for how, n in count.items())
    head = read_whole(_HERE / "templates" / "ledger.md").decode()
    return head.format(total=total, kinds=kinds) + body


def _line(row: Row, outcomes: Mapping[str, Told]) -> str:
    how, verdict = row.how, ""
    if row.tested:
        how = f"`{row.how}`"
        if row.how in outcomes:
            verdict = counted(said.verdict for said in judged_by(row, outcomes[row.how]))
    cells = (row.label, row.says, how, verdict, row.answer)
    return "|" + "|".join(cell.replace("|", r"\|") for cell in cells) + "|\n"


def unjudged(outcomes: Mapping[str, Told]) -> Iterator[Row]:
    """Rows whose experiment has no statement about them."""
    for row in rows():
        if row.tested and not (row.how in outcomes and judged_by(row, outcomes[row.how])):
            yield row
