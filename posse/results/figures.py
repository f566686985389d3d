"""How what machines noted in a run is drawn on its page: each system declares its figures."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from posse.results.record import RunRecord

Style = Literal["line", "steps", "points", "bars"]

POINTS = 200
"""Points per drawn curve."""

Pairs = list[tuple[float, float]]

Values = Callable[[RunRecord, int], Sequence[tuple[float, float]]]
"""Gives (x, y) for a run and the number of its arms; no values, no figure.

A run under way has only its server's `log` yet.
"""

_NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure on the page of a system's runs.

    - `name`: that of its files, small letters, digits and -; `title` and `caption` stand above it
    - `style`: a "line" is the mean of all runs with its interval; "steps" are a line for each run;
      "points" are those of the first run that has any, a row for each y; "bars" are means by x
    - `values`: what is drawn; `crosses`: what is marked beside "points"
    - `x`, `y`: what the axes count; x by default the time of the run
    """

    name: str
    title: str
    style: Style
    values: Values
    y: str
    x: str = ""
    caption: str = ""
    crosses: Values = lambda run, arms: ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"the figure {self.name!r:.80}: must be named in a-z, 0-9 and -")
        if self.style not in get_args(Style):
            raise ValueError(
                f"the figure {self.name}: its style is {self.style!r:.80}; it must be one of "
                + ", ".join(get_args(Style))
            )
