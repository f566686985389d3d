"""Shared by benchmarks: run files, plain tables, and bars for the figures."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

T = TypeVar("T")

FIVE = (0.9, 0.7, 0.5, 0.3, 0.1)

_HELD: list[list[str]] = []
"""Work, figure, bar, and whether it is met."""


def run_file(
    system: str, agents: int, means: Sequence[float] = FIVE, **more: Any
) -> dict[str, Any]:
    """A run file's content, on Bernoulli arms."""
    arms = {"kind": "bernoulli", "means": list(means)}
    return {"system": system, "seed": 1, "agents": {"count": agents}, "arms": arms, **more}


def compare(
    title: str,
    rounds: int,
    ways: Mapping[str, Callable[[], T]],
    figures: Mapping[str, tuple[Callable[[T], float], str]],
) -> list[float]:
    """Show what two ways give, and the ratios of the first to the second; return their medians.

    The ways alternate, so that other load affects both. `figures`: by name how to take a figure
    from what a way gives, and its form.
    """
    given: dict[str, list[T]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            given[name].append(way())
    rows, ratios = [[name] for name in ways], []
    for read, form in figures.values():
        taken = [[read(each) for each in made] for made in given.values()]
        for row, values in zip(rows, taken, strict=True):
            row.append(spread(values, form))
        ratios.append([one / other for one, other in zip(*taken, strict=True)])
    show(
        f"{title}, {rounds} rounds: median (least-greatest)",
        ["", *figures],
        [*rows, ["ratio", *map(spread, ratios)]],
    )
    return [median(ratio) for ratio in ratios]


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table with a title: the first column aligned left, the others right."""
    cells = [list(columns), *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        first = row[0].ljust(widths[0])
        rest = "  ".join(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))
        print(f"  {first}  {rest}")
        if number == 0:
            print("  " + "-" * (sum(widths) + 2 * (len(widths) - 1)))


def spread(values: Sequence[float], form: str = "{:.2f}") -> str:
    """The median, and in brackets the least and the greatest."""
    middle, least, most = map(form.format, (median(values), min(values), max(values)))
    return f"{middle} ({least}-{most})"


def hold(work: str, value: float, bar: float, *, most: bool = False) -> None:
    """Print a figure beside its bar: the largest allowed with `most`, else the least."""
    met = value <= bar if most else value >= bar
    row = [
        work,
        f"{value:.2f}",
        f"{'<=' if most else '>='} {bar:g}",
        "met" if met else "missed",
    ]
    _HELD.append(row)
    print(f"  {work}: {row[1]}, bar {row[2]}: {row[3]}")


def show_bars() -> None:
    """Show all figures held against a bar so far."""
    if _HELD:
        show("bars", ["", "figure", "bar", ""], _HELD)
