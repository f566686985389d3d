"""Numbers and lists written for people."""

import math
from collections.abc import Sequence
from typing import Any

from posse.measure.confidence import mean_ci


def short(value: float, digits: int = 3) -> str:
    """A number in few characters: 950, 20k, 1.5M."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.{digits}g}{suffix}"
    return f"{value:.{digits}g}"


def number(value: Any) -> str:
    """A value for people: "–" for None and NaN, "∞" and "-∞"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if isinstance(value, int) or value == round(value) or abs(value) >= 1000:
        return f"{value:z,.0f}"
    return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def with_ci(values: list[float]) -> str:
    """Mean ± half-width of its 95% interval."""
    if not values:
        return "–"
    mean, half = mean_ci(values)
    return number(mean) + (f" ± {number(half)}" if half else "")


_LISTED = 12


def listed(values: Sequence[object]) -> str:
    """The first 12 values, and how many more there are."""
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(map(str, values[:_LISTED])) + more


def named(ranks: Sequence[int]) -> str:
    """Agents by rank: "agent 3", "agents 1, 2"."""
    return f"agent{'s' if len(ranks) > 1 else ''} {listed(ranks)}"


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 run", "2 runs"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
