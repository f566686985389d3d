"""The persons behind rewards, of each of whom only this many rewards are used."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Rows = list[NDArray[np.int64]]
"""By arm, rows of a log, counted from 0 in the order of the file."""


class Persons(NamedTuple):
    """What names the person of each reward, and how many of one person are used.

    `column` is that of a log; of the user's own arms it is a word for people.
    """

    column: str
    most: int


class PersonOfRow(NamedTuple):
    """Each row's person: `names` by number; by arm, each row's number and its place."""

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


Admit = Callable[[Sequence[str]], list[bool]]
"""Says which of these rewards may be used, each by the name of its person, and counts them."""


@runtime_checkable
class NamesPersons(Protocol):
    """Arms that name the person of a reward only as they give it."""

    def admit_by(self, admit: Admit) -> None:
        """From now on use only the rewards that `admit` allows."""
        ...


class FirstOfEach:
    """Admits the first `most` rewards of each person in a run; the field's ledger counts all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used = Counter[str]()

    def __call__(self, names: Sequence[str]) -> list[bool]:
        admitted = []
        for name in names:
            self._used[name] += 1
            admitted.append(self._used[name] <= self._most)
        return admitted


_NUMBER = re.compile(r"([+-]?)0*(\d+)(?:\.(\d*?)0*)?", re.A)

_NOBODY = {"", "nan", "-nan", "null", "none", "nat", "n/a", "<na>", "#n/a", "#na", "na"}
"""What files have for a person who is not known, in any case of letters."""


def name_of(person: Any) -> str:
    """One name for all ways to write the same letters and numbers; "" if it is nobody's.

    Letters are compared as they look: forms that Unicode calls compatible are one (NFKC), what has
    no width is left out, and blanks count as one or, at the ends, as none. Capitals differ from
    small letters. 7, 7.0, +7 and 07 are one person: to count two as one costs rows, to count one as
    two would cost more than was allowed.
    """
    if isinstance(person, float) and person.is_integer():
        person = int(person)
    text = person.decode(errors="replace") if isinstance(person, bytes) else str(person)
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace())
    text = " ".join(text.split())
    if number := _NUMBER.fullmatch(text):
        sign, whole, part = number.groups()
        text = f"{'-' * (sign == '-')}{whole}{'.' * bool(part)}{part or ''}"
    return "" if text.casefold() in _NOBODY else text
