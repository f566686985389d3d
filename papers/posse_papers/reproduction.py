"""docs/reproduction.md from the outcomes of the experiments: the papers' claims, and ours."""

from collections import Counter
from collections.abc import Iterable, Mapping

import jinja2

from posse_papers.outcome import DEPENDS, Cost, Judged, Told

_PARTS = {"Claims of the papers": True, "Checks of our own": False}
"""By title whether its statements are claims."""

Both = tuple[Told, Told | None]
"""An experiment's outcome, and that of paper size if there is one."""


def text(
    quick: Mapping[str, Told],
    full: Mapping[str, Told],
    costs: Mapping[str, Cost],
    names: Iterable[str],
) -> str:
    """The document, from the outcomes of both forms by name, and what full forms would cost."""
    either = {**full, **quick}
    known = [name for name in names if name in either]
    told: dict[str, list[Both]] = {}
    for name in known:
        told.setdefault(either[name].paper, []).append((either[name], full.get(name)))
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("posse_papers"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"row": _row, "rows": _rows, "tally": _tally}
    return environment.get_template("reproduction.md.j2").render(
        parts=_PARTS,
        told=told,
        quick=quick.values(),
        full=full.values(),
        costs=costs,
        rest={name: cost for name, cost in costs.items() if name not in full},
        alone=[name for name in known if name not in full and name not in costs],
        not_run=[name for name in names if name not in either],
        larger={name: full.get(name, either[name]) for name in known},
    )


def _tally(outcomes: Iterable[Told], claims: bool) -> str:
    """How many statements have each answer."""
    said = [statement for outcome in outcomes for statement in outcome.statements]
    counts = Counter(one.verdict for one in said if bool(one.place) == claims)
    return ", ".join(f"{n} {answer}" for answer, n in counts.most_common())


def _rows(told: Iterable[Both], claims: bool) -> list[list[str]]:
    """A row for each statement: what it says and where, its experiment, the verdict, its power."""
    rows = []
    for one, large in told:
        larger = dict(enumerate(large.statements if large else ()))
        for i, statement in enumerate(one.statements):
            if bool(statement.place) != claims:
                continue
            same = larger.get(i)
            if same and same.text != statement.text:
                same = None
            rows.append([
                statement.text + (f" ({statement.place})" if claims else ""),
                f"`{one.name}`",
                _word(statement),
                *([_word(same) if same else "", _power(same or statement)] if claims else []),
            ])  # fmt: skip
    return rows


def _power(statement: Judged) -> str:
    """What the verdict's test refuted, without figures."""
    powers = (finding.power.partition(":")[0] for finding in statement.judging.values())
    return "; ".join(dict.fromkeys(filter(None, powers)))


def _row(cells: Iterable[str]) -> str:
    whole = (cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(whole)} |"


def _word(statement: Judged) -> str:
    answer = statement.verdict
    if answer == DEPENDS:
        found = statement.judging.items()
        each = ", ".join(f"{variant}: {finding.answer}" for variant, finding in found)
        return f"**{answer}** ({each})"
    by = f" ({statement.by})" if statement.by != "both" else ""
    return f"**{answer}**{by}"
