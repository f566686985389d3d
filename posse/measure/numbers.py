"""Numbers and lists written for people."""

import math
from collections.abc import Sequence
from typing import Any

from posse.gates.shown import printable
from posse.measure.confidence import Mean, mean_of


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


def total(value: float) -> str:
    """A sum of rewards or of regret for people: it may miss 0 by its rounding."""
    return number(round(value, 12))


def with_interval(mean: Mean, n: int = 0) -> str:
    """A mean with its 95 % interval, and its n unless it is this one, which stands beside it.

    What the mean does not have is left out. The interval's width decides how many digits are
    written: two of its own. Where all values are alike there is nothing to say but the mean.
    """
    width = (mean.high or 0.0) - (mean.low or 0.0)
    number_of = "" if mean.n == n else f"n = {mean.n}"
    if mean.low is None and mean.n > 1:
        return total(mean.mean) + f" ({number_of})" * bool(number_of)
    if not width > 0:
        return total(mean.mean)
    digits = max(0, 1 - math.floor(math.log10(width)))
    middle, low, high = (f"{value:z,.{digits}f}" for value in (mean.mean, mean.low, mean.high))
    return f"{middle} ({low} to {high}{', ' * bool(number_of)}{number_of})"


def average(values: Sequence[float]) -> str:
    """The mean of values as `with_interval` writes it; "–" without any."""
    return with_interval(mean_of(values)) if values else "–"


_LISTED = 12


def listed(values: Sequence[object]) -> str:
    """The first 12 values, and how many more there are."""
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(map(str, values[:_LISTED])) + more


def named(ranks: Sequence[int]) -> str:
    """Agents by rank: "agent 3", "agents 1, 2", "nobody"."""
    if not ranks:
        return "nobody"
    return f"agent{'s' if len(ranks) > 1 else ''} {listed(ranks)}"


def by_name(names: Sequence[str]) -> str:
    """Which agent is which: "0 is alice, 1 is bob"."""
    return listed([f"{rank} is {printable(name)}" for rank, name in enumerate(names)])


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 run", "2 runs"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
