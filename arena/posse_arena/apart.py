"""What may not be compared, and why: rules over what systems are and claim."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from posse_arena.result import Apart, CellResult, EntrantResult


@dataclass(frozen=True)
class Known:
    """An entrant in a task, and one of its cells there."""

    entrant: EntrantResult
    cell: CellResult

    def has(self, parameter: str) -> bool:
        """Whether it has a parameter of this name."""
        return parameter in self.entrant.parameters


Of = Callable[[Known], bool]


@dataclass(frozen=True)
class Rule:
    """Whom it is about, and from whom these stand apart in a respect."""

    respect: str
    about: Of
    others: Of
    why: Callable[[Known], str]


def _alone(known: Known) -> bool:
    return known.entrant.network == "alone"


def _bounded(known: Known) -> bool:
    return known.cell.epsilon is not None and not _alone(known)


def _trusts(known: Known) -> bool:
    return _bounded(known) and known.cell.sees == "coordinator"


def _knows_liars(known: Known) -> bool:
    return known.has("assumed_contamination")


RULES = (
    Rule(
        "ε",
        _alone,
        _bounded,
        lambda known: (
            "its ε is 0 because it sends nothing, which says nothing of who sees its "
            f"pulls: {known.cell.claimed}"
        ),
    ),
    Rule(
        "ε",
        lambda known: not _alone(known) and known.cell.holds and not _bounded(known),
        _bounded,
        lambda known: f"no ε bounds what its messages tell: {known.cell.claimed}",
    ),
    Rule(
        "ε",
        lambda known: not known.cell.holds,
        _bounded,
        lambda known: f"its claim is refuted: {known.cell.claimed}",
    ),
    Rule(
        "ε",
        _trusts,
        lambda known: _bounded(known) and not _trusts(known),
        lambda known: f"it needs honest agents and a server that obeys: {known.cell.claimed}",
    ),
    Rule(
        "bytes",
        lambda known: known.entrant.network == "server",
        lambda known: not known.entrant.network,
        lambda known: "its bytes go to and from a server, theirs between neighbours",
    ),
    Rule(
        "seconds",
        lambda known: ":" in known.entrant.system,
        lambda known: ":" not in known.entrant.system,
        lambda known: "its machine is plain Python, agent by agent; theirs share arrays in memory",
    ),
    Rule(
        "regret under liars",
        _knows_liars,
        lambda known: not _knows_liars(known),
        lambda known: "it is told what share of the agents may lie",
    ),
    Rule(
        "errors",
        lambda known: known.cell.task == "best-arm" and not known.has("delta"),
        lambda known: known.has("delta"),
        lambda known: "it stops when its parameters say so, they when they err with at most δ",
    ),
)


def apart(entrants: Sequence[EntrantResult], cells: Sequence[CellResult]) -> list[Apart]:
    """Every rule that applies, task by task."""
    by_name = {entrant.name: entrant for entrant in entrants}
    tasks: dict[str, dict[str, Known]] = {}
    for cell in cells:
        known = Known(by_name[cell.entrant], cell)
        tasks.setdefault(cell.task, {}).setdefault(cell.entrant, known)
    return [
        Apart(task, name, others, rule.respect, rule.why(one))
        for task, known_by_name in tasks.items()
        for rule in RULES
        for name, one in known_by_name.items()
        if rule.about(one)
        and (others := [name for name, other in known_by_name.items() if rule.others(other)])
    ]
