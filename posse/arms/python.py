"""The user's own arms: a Python object with `pull(arm, count) -> rewards`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse import defect, own_code
from posse.arms.base import (
    MOST_ARMS,
    NO_NUMBER,
    Arms,
    ArmsContext,
    Clip,
    FloatArray,
    LabMeans,
    check_clip,
    rescale,
)
from posse.errors import ArmsError

_GROUP = "posse.arms"
"""The entry point group by which an installed package offers arms."""


class PythonArms(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="python",
):
    """`target = "package.module:object"`, imported in the agent's own process.

    An installed package may offer it by a name of its own (entry points `posse.arms`). The object
    has `pull(arm, count)` and returns `count` rewards in [0, 1]; or it is a callable that makes
    such an object and takes the keywords `agent`, `agents` and `seed`. Its `skip(given)`, if it has
    one, is told how many rewards of each arm it gave, where it is made anew within a run.
    `count`: K. `path`: folders to import from, relative to the run file (default: its own).
    `clip = [lo, hi]` where rewards are not in [0, 1]; with it a reward that is NaN or infinite
    counts as an end of that interval, where it would end the run. `means`: what is known of their
    means (after clipping), as of arms of kind bernoulli; a run in the lab then has regret.
    """

    target: Annotated[str, Meta(description="module:object, or the name that a package offers")]
    count: Annotated[int, Meta(ge=2, le=MOST_ARMS, description="K, arms")]
    path: Annotated[list[str], Meta(description="folders to import from")] = msgspec.field(
        default_factory=lambda: ["."]
    )
    clip: Clip = None
    means: Annotated[
        list[float | list[float]] | None, Meta(description="their means, if you know them")
    ] = None
    unit_interval = True
    """Others are an error unless clipped."""

    def __post_init__(self) -> None:
        check_clip(self.clip)
        if ":" in self.target and not own_code.is_target(self.target):
            raise ValueError(f"target = '{self.target}' must be 'package.module:object'")
        if self.means is not None:
            known = LabMeans(means=self.means)
            if known.arm_count() != self.count:
                raise ValueError(f"means are of {known.arm_count()} arms, count is {self.count}")

    records: ClassVar[str] = (
        "Your own arms: the guarantee per reward is one per record only if no record gives two, "
        "and if a record that is taken out leaves the others' rewards where they were."
    )
    """What a guarantee per reward means per record."""

    @property
    def ends(self) -> str:
        """What the end of a run may tell of rewards."""
        raised = "That an agent's arms raised is seen by all, for it ends the run."
        return raised if self.clip is not None else f"{raised} {NO_NUMBER}"

    def arm_count(self) -> int:
        """K."""
        return self.count

    def check_agents(self, agents: int) -> None:
        """Any number of agents; raise ValueError if there are means of another number."""
        if self.means is not None:
            LabMeans(means=self.means).check_agents(agents)

    def missing(self, base: str, ranks: Sequence[int]) -> str:
        """Whether the target's module is on this machine; it is looked for, not imported."""
        folders = own_code.folders_of(base, self.path)
        said = own_code.missing(self.target, folders, _GROUP) if ranks else ""
        return f"target: '{self.target}': {said}" if said else ""

    def ledger(self, base: str, rank: int) -> tuple[Path, None]:
        """Where it is written down what this agent's rewards cost; there is no log."""
        name = self.target.replace(":", ".")
        who = f"-{rank}" if rank >= 0 else ""
        return Path(base).resolve() / f"{name}{who}.ledger", None

    def build(self, context: ArmsContext) -> "Python":
        """The arms of one agent."""
        folders = own_code.folders_of(context.base, self.path)
        try:
            found = own_code.load(self.target, folders, _GROUP)
            if not hasattr(found, "pull") or isinstance(found, type):
                agent = max(context.rank, 0)  # of arms that all share it is the coordinator's: -1
                found = found(agent=agent, agents=context.agents, seed=_seed(context))
        except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
            raise ArmsError(
                f"{context.who}: arms.target = '{self.target}' cannot be made: {defect.said(error)}"
            ) from error
        return Python(found, self.target, self.clip, context.who)


def _seed(context: ArmsContext) -> int:
    """The run file's, and another in each further run of a `repeat`: else all would be the same."""
    if not context.run:
        return context.seed
    return int(np.random.SeedSequence([context.seed, context.run]).generate_state(1)[0])


class Python(Arms):
    """One agent's own arms."""

    simulated = False

    def __init__(self, target: Any, name: str, clip: tuple[float, float] | None, who: str) -> None:
        self._target = target
        self._name = name
        self._clip = clip
        self._who = who
        self._calls = 0

    def skip(self, given: NDArray[np.int64]) -> None:
        """The object was made anew, and gave so many rewards of each arm before: it may be told."""
        if not hasattr(self._target, "skip"):
            return
        try:
            self._target.skip(given.tolist())
        except (Exception, SystemExit) as error:
            call = f"{self._who}: {self._name}.skip({given.tolist()})"
            raise ArmsError(f"{call} raised {defect.said(error)}") from error

    def draw(self, arm: int, count: int) -> FloatArray:
        self._calls += 1
        call = f"{self._who}, arm {arm}, call {self._calls}: {self._name}.pull({arm}, {count})"
        try:
            rewards = np.asarray(self._target.pull(arm, count), dtype=float)
        except (Exception, SystemExit) as error:
            raise ArmsError(f"{call} raised {defect.said(error)}") from error
        if rewards.shape != (count,):
            raise ArmsError(f"{call} gave shape {rewards.shape}; {count} rewards were asked for")
        if self._clip is None and not np.isfinite(rewards).all():
            raise ArmsError(f"{call} gave a reward that is NaN or infinite")
        rewards = rescale(rewards, self._clip)
        if count and (rewards.min() < 0 or rewards.max() > 1):
            raise ArmsError(
                f"{call} gave a reward outside [0, 1]; set arms.clip = [lo, hi] if that is meant"
            )
        return rewards
