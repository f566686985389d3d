"""The user's own arms: a Python object with `pull(arm, count) -> rewards`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse import defect, own_code
from posse.arms.base import (
    NO_NUMBER,
    Arms,
    ArmsContext,
    ArmsTable,
    Clip,
    LabMeans,
    check_clip,
    rescale,
)
from posse.arms.persons import Admit, FirstOfEach, Persons, name_of
from posse.errors import ArmsError
from posse.gates.code import NotTrusted
from posse.protocol.arrays import BoolArray, FloatArray
from posse.protocol.machine import MOST_ARMS

_IN_VAIN = 1_000
"""Rewards in a row, all of persons who gave what they may, that end the run."""

_GROUP = "posse.arms"
"""The entry point group in which installed packages offer arms."""


class PythonArms(ArmsTable, frozen=True, kw_only=True, tag_field="kind", tag="python"):
    """`target = "package.module:object"`, imported in the agent's own process.

    An installed package may offer it by a name of its own (entry points `posse.arms`). The object
    has `pull(arm, count)`, which returns `count` rewards in [0, 1]. Instead it may be a callable
    that makes such an object from the keywords `agent`, `agents` and `seed`. If it is made again
    within a run, its `skip(given)`, if any, is told how many rewards of each arm were used. With
    `[privacy] person` it returns a pair: the rewards, and the name of each reward's person.

    - `count`: K. `path`: folders to import from, relative to the run file (default: its folder).
    - `clip = [lo, hi]`: for rewards outside [0, 1]. With it a NaN counts as lo and an infinite
      reward as an end of the interval; without it both end the run.
    - `means`: known means (after clipping), as for kind bernoulli; they give a lab's run regret.
    - `sleeping`: its `open(slot)` returns K times true or false, which arms are open in a slot.
    """

    target: Annotated[str, Meta(description="module:object, or the name that a package offers")]
    count: Annotated[int, Meta(ge=2, le=MOST_ARMS, description="K, arms")]
    path: Annotated[list[str], Meta(description="folders to import from")] = msgspec.field(
        default_factory=lambda: ["."]
    )
    clip: Clip = None
    means: Annotated[
        list[float | list[float]] | None,
        Meta(description="their means after clip, if you know them"),
    ] = None
    sleeping: Annotated[bool, Meta(description="its open(slot) says which arms are open")] = False
    unit_interval = True
    """Rewards outside [0, 1] are an error unless clipped."""

    def __post_init__(self) -> None:
        check_clip(self.clip)
        if self.sleeping and self.means is not None:
            raise ValueError("means are of arms that are always open; delete them, or sleeping")
        if ":" in self.target and not own_code.is_target(self.target):
            raise ValueError(f"target = '{self.target}' must be 'package.module:object'")
        if self.means is not None:
            try:
                known = LabMeans(means=self.means)
            except ValueError as error:
                after = "; state means as they are after clip" if self.clip is not None else ""
                raise ValueError(f"{error}{after}") from None
            if known.arm_count() != self.count:
                raise ValueError(f"means has {known.arm_count()} arms, but count is {self.count}")

    records: ClassVar[str] = (
        "Your own arms: the guarantee per reward is one per record only if no record gives two "
        "rewards and if removing a record leaves all other rewards in their places."
    )
    """What a guarantee per reward means for a record."""

    @property
    def ends(self) -> str:
        """What the end of a run may reveal of rewards."""
        raised = "Everybody sees if an agent's arms raise, because that ends the run."
        return raised if self.clip is not None else f"{raised} {NO_NUMBER}"

    @property
    def closes(self) -> bool:
        return self.sleeping

    def arm_count(self) -> int:
        """K."""
        return self.count

    def check_agents(self, agents: int) -> None:
        """Raise ValueError if there are means for another number of agents."""
        if self.means is not None:
            LabMeans(means=self.means).check_agents(agents)

    def missing(self, base: str, ranks: Sequence[int]) -> str:
        """A sentence if the target's module is not on this machine, else "". It is not imported."""
        folders = own_code.folders_of(base, self.path)
        fault = own_code.missing(self.target, folders, _GROUP) if ranks else ""
        return f"target: '{self.target}': {fault}" if fault else ""

    def ledger(self, base: str, rank: int) -> tuple[Path, None]:
        """The path of the agent's ledger; there is no log."""
        name = self.target.replace(":", ".")
        suffix = f"-{rank}" if rank >= 0 else ""
        return Path(base).resolve() / f"{name}{suffix}.ledger", None

    def build(self, context: ArmsContext) -> "Python":
        """The arms of one agent."""
        folders = own_code.folders_of(context.base, self.path)
        try:
            target = own_code.load(self.target, folders, _GROUP)
            if not hasattr(target, "pull") or isinstance(target, type):
                agent = max(context.rank, 0)  # shared arms are the coordinator's, rank -1
                target = target(agent=agent, agents=context.agents, seed=_seed(context))
        except NotTrusted as error:
            raise ArmsError(f"{context.owner}: arms.target: {error}") from None
        except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
            why = f"arms.target = '{self.target}' cannot be made: {defect.describe(error)}"
            raise ArmsError(f"{context.owner}: {why}") from error
        if self.sleeping and not hasattr(target, "open"):
            what = f"'{self.target}' has no open(slot), which arms.sleeping asks for"
            raise ArmsError(f"{context.owner}: arms.target = {what}")
        given = np.zeros(self.count, dtype=np.int64)
        return Python(target, self.target, self.clip, context.owner, given, context.persons)


def _seed(context: ArmsContext) -> int:
    """The run file's seed; later runs of a `repeat` get others, or all runs would be the same."""
    if not context.run:
        return context.seed
    return int(np.random.SeedSequence([context.seed, context.run]).generate_state(1)[0])


@dataclass(eq=False)
class Python(Arms):
    """The user's own arms of one agent, `target`; sentences about it name it and its `owner`.

    `given` counts the rewards of each arm that it gave. With `persons` it also names the person of
    each, and those that are not admitted are left out.
    """

    simulated = False
    target: Any
    name: str
    clip: tuple[float, float] | None
    owner: str
    given: NDArray[np.int64]
    persons: Persons | None = None
    calls: int = 0

    def __post_init__(self) -> None:
        self._admit: Admit = FirstOfEach(self.persons.most if self.persons is not None else 0)

    def admit_by(self, admit: Admit) -> None:
        """See `posse.arms.persons.NamesPersons`."""
        self._admit = admit

    def skip(self, given: NDArray[np.int64]) -> None:
        """Tell an object that was made again how many rewards of each arm were used."""
        if not hasattr(self.target, "skip"):
            return
        try:
            self.target.skip(given.tolist())
        except (Exception, SystemExit) as error:
            call = f"{self.owner}: {self.name}.skip({given.tolist()})"
            raise ArmsError(f"{call} raised {defect.describe(error)}") from error

    def open(self, slot: int) -> BoolArray:
        """Which arms are open in this slot of the agent, shape (K,)."""
        call = f"{self.owner}: {self.name}.open({slot})"
        try:
            row: BoolArray = np.asarray(self.target.open(slot), dtype=bool)
        except (Exception, SystemExit) as error:
            raise ArmsError(f"{call} raised {defect.describe(error)}") from error
        if row.shape != self.given.shape or not row.any():
            raise ArmsError(
                f"{call} returned {row.tolist()!s:.80}; it must be {len(self.given)} times true or "
                "false, for each arm, and at least one true"
            )
        return row

    def draw(self, arm: int, count: int) -> FloatArray:
        if self.persons is None:
            return self._pull(arm, count)[0]
        kept, in_vain = np.zeros(0), 0
        while len(kept) < count:
            rewards, names = self._pull(arm, count - len(kept))
            admitted = self._admit(names)
            kept = np.concatenate([kept, rewards[admitted]])
            in_vain = 0 if any(admitted) else in_vain + len(names)
            if in_vain >= _IN_VAIN:
                raise ArmsError(
                    f"{self.owner}, arm {arm}: of {in_vain:,} rewards in a row {self.name} named "
                    "only persons of whom no more may be used; give this agent rewards of other "
                    "persons, or allow more by [privacy] in its own run file"
                )
        return kept

    def _pull(self, arm: int, count: int) -> tuple[FloatArray, list[str]]:
        """This number of rewards, and their persons if that is asked."""
        self.calls += 1
        call = f"{self.owner}, arm {arm}, call {self.calls}: {self.name}.pull({arm}, {count})"
        names: list[str] = []
        try:
            pulled = self.target.pull(arm, count)
            if self.persons is not None:
                pulled, persons = _pair(pulled)
                names = [name_of(person) for person in np.asarray(persons, dtype=object).tolist()]
            rewards = np.asarray(pulled, dtype=float)
        except (Exception, SystemExit) as error:
            raise ArmsError(f"{call} raised {defect.describe(error)}") from error
        if rewards.shape != (count,):
            raise ArmsError(
                f"{call} returned shape {rewards.shape}, but {count} rewards were asked for"
            )
        if self.persons is not None and (len(names) != count or "" in names):
            raise ArmsError(
                f"{call} named {sum(map(bool, names))} persons for {count} rewards; with [privacy] "
                "person it returns two sequences: rewards, and the name of each one's person"
            )
        if self.clip is None and not np.isfinite(rewards).all():
            raise ArmsError(f"{call} returned a reward that is NaN or infinite")
        rewards = rescale(rewards, self.clip)
        if count and (rewards.min() < 0 or rewards.max() > 1):
            raise ArmsError(
                f"{call} returned a reward outside [0, 1]; set arms.clip = [lo, hi] if it is meant"
            )
        self.given[arm] += count
        return rewards, names


def _pair(pulled: Any) -> tuple[Any, Any]:
    """Rewards and persons, as the user's own arms return them; nobody if that is no pair."""
    if isinstance(pulled, tuple) and len(pulled) == 2:
        return pulled[0], () if isinstance(pulled[1], str) else pulled[1]
    return pulled, ()
