"""What experiments run: points, by the line they belong to and their place on the axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

SEED = 1
"""The seed of every experiment; repetitions differ by their number."""

Variant = Literal["corrected", "printed"]
VARIANTS: tuple[Variant, ...] = ("corrected", "printed")


class Computation:
    """A point that is no run of a system: `of(variant, generator, *arguments)` gives its numbers.

    `of` is a function of a module, so that other processes can call it; what it returns are the
    sample's `numbers`. Repetition n of every computation has the n-th generator of the seed.
    """

    def __init__(self, of: Callable[..., dict[str, Any]], *arguments: Any) -> None:
        self.of = of
        self.arguments = arguments

    @property
    def module(self) -> str:
        """Where `of` is written."""
        return self.of.__module__

    def identity(self) -> list[Any]:
        """What it is, as plain data."""
        return [self.module, self.of.__qualname__, *self.arguments]

    def __call__(self, variant: str, number: int) -> dict[str, Any]:
        """The numbers of one repetition."""
        sequence = np.random.SeedSequence(SEED, spawn_key=(number,))
        return self.of(variant, np.random.default_rng(sequence), *self.arguments)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One setting: the line of the figure it belongs to, its place on the axis, what to run.

    `run` is a run specification without seed, repeat, variant and engine, or a computation. It is
    repeated `times` as often as the experiment's other points, in these `variants`. A line that is
    called "left: ε = .1" lies in the panel "left".
    """

    line: str
    x: float = 0.0
    run: dict[str, Any] | Computation
    times: int = 1
    variants: tuple[Variant, ...] = VARIANTS


def by_line(runs: dict[str, Any], **more: Any) -> list[Point]:
    """Points from what each line runs: {line: run}, or {line: {place on the axis: run}}.

    `more` is said of all of them.
    """
    return [
        Point(line=line, x=x, run=run, **more)
        for line, of in runs.items()
        for x, run in (of if _is_by_place(of) else {0.0: of}).items()
    ]


def _is_by_place(of: Any) -> bool:
    return isinstance(of, dict) and "system" not in of


def always(runs: dict[str, Any]) -> Callable[[bool], list[Point]]:
    """The same points in the quick and the full form (see `by_line`)."""
    return lambda quick: by_line(runs)
