"""A batch: work in pieces, where a piece that is kept already is not done again.

Runs, sweeps and the papers' experiments are batches; they differ in what does the work. A piece
counts as kept only if the same code and files made it (`posse.durable.made_by`): changed code never
passes off old numbers as its own.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from posse.errors import PosseError
from posse.gates import files
from posse.gates.decode import Packed

A = TypeVar("A")
T = TypeVar("T")

Work = Callable[[list[A]], Iterator[tuple[int, T | PosseError]]]
"""Does tasks, and yields the outcome of each as it ends, with its place among them."""

_PIECE: Packed[tuple[str, bytes]] = Packed(tuple[str, bytes])


class Store(Generic[T]):
    """Finished pieces by name, a file in `folder` each; `by` says what makes them.

    `trouble` says why a piece could not be written, "" if all could. The caller still has that
    piece in memory, and goes on.
    """

    def __init__(
        self, folder: Path, by: str, encode: Callable[[T], bytes], decode: Callable[[bytes], T]
    ) -> None:
        self.folder = folder
        self.trouble = ""
        self._by = by
        self._encode = encode
        self._decode = decode

    def kept(self, name: str) -> T | None:
        """The piece of this name; None if it is not there whole, or something else made it."""
        try:
            by, piece = _PIECE.read(files.read(self._path(name)))
            return self._decode(piece) if by == self._by else None
        except (OSError, ValueError, msgspec.MsgspecError):
            return None

    def keep(self, name: str, piece: T) -> None:
        """Write a piece to disk; see `trouble`."""
        try:
            files.make_folder(self.folder, inside=True)
            files.write(self._path(name), msgspec.msgpack.encode((self._by, self._encode(piece))))
        except OSError as error:
            self.trouble = error.strerror or str(error)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.msgpack"


def pieces(folder: Path) -> Iterator[bytes]:
    """Every piece in a store, by name, whatever made it; `Undecodable` if one is damaged."""
    for path in sorted(folder.glob("*.msgpack"), key=lambda path: (len(path.name), path.name)):
        yield _PIECE.read(files.read(path))[1]


@dataclass(frozen=True)
class Piece(Generic[A, T]):
    """A task, and the name under which `store`, if there is one, keeps its outcome."""

    task: A
    name: str
    store: Store[T] | None = None


@dataclass(frozen=True)
class Done(Generic[T]):
    """The outcome of the piece at `place` of a batch; `before`: it was kept already."""

    place: int
    outcome: T | PosseError
    before: bool = False


def carry_out(pieces: Sequence[Piece[A, T]], work: Work[A, T]) -> Generator[Done[T], None, None]:
    """Yield first the kept pieces, then each other piece when it has ended and is kept.

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


def outcomes(
    pieces: Sequence[Piece[A, T]], work: Work[A, T], done: Callable[[bool], None]
) -> list[T]:
    """The outcomes of all pieces, in order; raises the first failure.

    `done` is called as each piece ends, with whether it was kept already.
    """
    outcomes_by_place: dict[int, T] = {}
    with closing(carry_out(pieces, work)) as ended:
        for end in ended:
            if isinstance(end.outcome, PosseError):
                raise end.outcome
            outcomes_by_place[end.place] = end.outcome
            done(end.before)
    return [outcomes_by_place[place] for place in range(len(pieces))]
