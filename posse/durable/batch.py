"""A batch: work in pieces, where what is kept already is not done again.

Runs, sweeps and the papers' experiments are batches; they differ in what does the work.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from posse.durable.store import Store
from posse.errors import PosseError

A = TypeVar("A")
T = TypeVar("T")

Work = Callable[[list[A]], Iterator[tuple[int, T | PosseError]]]
"""Does tasks, and says what came of each as it ends, with its place among them."""


@dataclass(frozen=True)
class Piece(Generic[A, T]):
    """A task, and under which name what comes of it is kept; without a `store` it is not."""

    task: A
    name: str
    store: Store[T] | None = None


@dataclass(frozen=True)
class Done(Generic[T]):
    """What came of the piece at `place` of a batch; `before`: it was kept already."""

    place: int
    outcome: T | PosseError
    before: bool = False


def carry_out(pieces: Sequence[Piece[A, T]], work: Work[A, T]) -> Generator[Done[T], None, None]:
    """First the pieces that are kept, then the others as they end; each is kept by then.

    `work` is not called if nothing is missing.
    """
    missing = []
    for place, piece in enumerate(pieces):
        kept = piece.store.kept(piece.name) if piece.store is not None else None
        if kept is None:
            missing.append(place)
        else:
            yield Done(place, kept, before=True)
    if not missing:
        return
    for index, outcome in work([pieces[place].task for place in missing]):
        piece = pieces[missing[index]]
        if piece.store is not None and not isinstance(outcome, PosseError):
            piece.store.keep(piece.name, outcome)
        yield Done(missing[index], outcome)
