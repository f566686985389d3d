"""The persons behind the rewards of a log, of each of whom only so many rewards are used."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = list[NDArray[np.int64]]
"""By arm, rows of a log, counted from 0 in the order of the file."""


class Persons(NamedTuple):
    """The column that names the person of each reward, and how many of one person are used."""

    column: str
    most: int


class PersonOfRow(NamedTuple):
    """Whose each row of a log is: `names` by number; by arm, each row's number and its place."""

    names: Sequence[str]
    numbers: Rows
    places: Rows

    def first(self, most: int) -> Rows:
        """By arm, the rows that are among the first `most` of their person in the file."""
        numbers, places = np.concatenate(self.numbers), np.concatenate(self.places)
        order = np.lexsort((places, numbers))
        begins = np.searchsorted(numbers[order], np.arange(len(self.names)))
        earlier = np.empty_like(numbers)
        earlier[order] = np.arange(len(numbers)) - begins[numbers[order]]
        ends = np.cumsum([len(rows) for rows in self.numbers])[:-1]
        return [np.flatnonzero(rank < most) for rank in np.split(earlier, ends)]


class NumberOfName(dict[str, int]):
    """Numbers names in the order in which they are first asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]
