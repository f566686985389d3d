"""Plain tables."""

from collections.abc import Sequence


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a titled table, the first column to the left and numbers to the right."""
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
    ordered = sorted(values)
    median = ordered[len(ordered) // 2]
    return f"{form.format(median)} ({form.format(ordered[0])}-{form.format(ordered[-1])})"
