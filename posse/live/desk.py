"""The desk of a live agent: what a request is answered, and what becomes of its reward.

Without input or output. A machine's order becomes a number of rewards *wanted* of each arm. What is
wanted, has not come and is not out with a request is handed out, so the same order may be given
twice, and after a restart again: nothing is counted but rewards. An order's decisions are handed
out in random order, so that the time of day does not separate the arms; while agents explore, each
round of all their arms is in random order.

Rewards have places: that which was told as the i-th of its arm in a run is used as the i-th.
Whoever uses them keeps count (`posse.arms.live`), so nothing has to be written when one is used.
"""

import hashlib
import math
import random
import secrets
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

MOST_OPEN = 100_000
"""Decisions that may be open at a time; beyond that requests get what idle ones get."""

_LAID_OUT = 256
"""Decisions that are laid out at a time: no request waits until a large order is shuffled."""

_REMEMBERED = 2 * MOST_OPEN
"""Decisions of which a desk without a store knows what became of them."""

Idle = Literal["", "waits", "over", "person", "crowded"]
"""Why a decision's reward is not used: nothing is ordered; the run is over; no more rewards of this
person may be used; too many decisions are open. Empty if it is used."""

IdleWay = Literal["best", "uniform", "fixed"]


class Decision(msgspec.Struct, frozen=True):
    """What a request is answered: an arm by number and name. `idle` says why its reward is not
    used; it is empty if the reward is wanted, under this `id`.
    """

    id: str
    arm: int
    name: str
    idle: Idle = ""


class RewardRefusal(Exception):
    """A reward, or a request, that was not taken: `kind` in a word, and the sentence."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class DeskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the run file says about live arms; see `posse.arms.live.LiveArms`."""

    names: tuple[str, ...]
    timeout: float
    flag: str = "posse"
    on_timeout: Literal["again", "end"] | float = "again"
    idle: IdleWay = "best"
    fixed: int = 0
    clip: tuple[float, float] | None = None
    open: int = MOST_OPEN
    most_of_person: int | None = None
    """None: no person is asked for; else this many rewards of each are used."""


class OpenDecision(msgspec.Struct):
    """A decision whose reward is awaited."""

    run: int
    arm: int
    key: int
    asked: float
    person: bytes


class Closed(msgspec.Struct, frozen=True):
    """A decision that is not open any more: with the told `reward`, or timed out."""

    run: int
    key: int
    reward: float | None


class Keeper(Protocol):
    """Where decisions and rewards are written down; see `posse.live.store`."""

    def asked(self, number: int, decision: OpenDecision) -> None:
        """A decision was handed out."""

    def closed(
        self, number: int, arm: int, place: int, reward: float | None, *, rewarded: bool
    ) -> None:
        """A decision ended: its reward has this place, or -1 if none is used."""

    def find(self, number: int) -> Closed | None:
        """A decision that is not open."""


class Memory(Keeper):
    """A keeper of what a desk without a file needs: the last decisions."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Closed] = OrderedDict()

    def asked(self, number: int, decision: OpenDecision) -> None:
        # one that is still open when the next run begins is late, and not unknown
        self._known[number] = Closed(decision.run, decision.key, None)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def closed(
        self, number: int, arm: int, place: int, reward: float | None, *, rewarded: bool
    ) -> None:
        if (was := self._known.get(number)) is not None:
            self._known[number] = Closed(was.run, was.key, reward if rewarded else None)

    def find(self, number: int) -> Closed | None:
        return self._known.get(number)


class RunSoFar(msgspec.Struct, kw_only=True):
    """What is known of a run when a desk begins it, or goes on with it."""

    run: int
    next: int = 1
    rewards: "list[array[float]]" = []
    open: dict[int, OpenDecision] = {}
    persons: dict[bytes, int] = {}


class Desk:
    """See the module's text. `random_` shuffles; `secret` hides persons' names.

    Not for several threads at once: `posse.live.service` has the lock.

    Above 20 attributes: half of them are of the run, and `begin` makes these anew.
    """

    def __init__(
        self,
        settings: DeskSettings,
        keeper: Keeper,
        random_: random.Random | None = None,
        secret: bytes = b"",
    ) -> None:
        self.settings = settings
        self.keeper = keeper
        self.counts: Counter[str] = Counter()
        self._random = random_ or random.Random(secrets.randbits(128))
        self._secret = secret or secrets.token_bytes(16)
        self._arms = len(settings.names)
        self.answer: int | None = None
        """The arm of the last run that ended; the best one known if it said none."""
        self.silent = 0
        """How many decisions timed out since a reward came."""
        self.trouble = ""
        """Why the run has to end, if it has to."""
        self.admit: Callable[[Sequence[str]], list[bool]] | None = None
        """The ledger of persons, if there is one."""
        self._next = 1
        self.begin(RunSoFar(run=0))
        self.over = True

    # --- runs and orders -------------------------------------------------------------------------

    def begin(self, so_far: RunSoFar) -> None:
        """Begin a run, or go on with it; what is still open of another one is late."""
        arms = range(self._arms)
        self.run, self.over, self.trouble = so_far.run, False, ""
        self._next = max(self._next, so_far.next)
        self._rewards = list(so_far.rewards) or [array("d") for _ in arms]
        self._sums = [math.fsum(rewards) for rewards in self._rewards]
        self._open = dict(so_far.open)
        self._known = {d.person: n for n, d in self._open.items() if d.person}
        self._out = [0] * self._arms
        for decision in self._open.values():
            self._out[decision.arm] += 1
        self._persons = Counter(so_far.persons)
        self._wanted = [0] * self._arms
        self._exploring: tuple[int, ...] = ()
        self._pool: list[int] = []

    def order(self, arms: Sequence[int], times: Sequence[int]) -> None:
        """Hand out decisions until this many rewards of each of these arms came in this run."""
        self._exploring = ()
        self._wanted = [0] * self._arms
        for arm, count in zip(arms, times, strict=True):
            self._wanted[arm] = count
        self._pool = []

    def explore(self, arms: tuple[int, ...]) -> None:
        """Hand out decisions for each of these arms in turn until another order comes."""
        self._exploring = arms
        self._wanted, self._pool = [0] * self._arms, []

    def finish(self, answer: int | None) -> None:
        """The run is over: requests get its answer from now on."""
        self.answer = answer if answer is not None else self._best()
        self.over, self._exploring, self._pool = True, (), []

    def have(self, arm: int) -> int:
        """How many rewards of an arm have come in this run."""
        return len(self._rewards[arm])

    def read(self, arm: int, first: int, count: int) -> list[float]:
        """Rewards of an arm by their places."""
        return self._rewards[arm][first : first + count].tolist()

    def look(self, now: float) -> tuple[int, int, float]:
        """How many decisions are open, how many wait for a request, how long the oldest is open."""
        oldest = next(iter(self._open.values()), None)
        waiting = 0 if self.over else sum(max(0, self._missing(k)) for k in range(self._arms))
        return len(self._open), waiting, max(0.0, now - oldest.asked) if oldest else 0.0

    def _missing(self, arm: int) -> int:
        return self._wanted[arm] - len(self._rewards[arm]) - self._out[arm]

    def _fill(self) -> None:
        """Lay out the next of what is to be handed out, as the whole order in random order has it.

        While agents explore, a round: the arms of which the fewest rewards were asked for.
        """
        left = [max(0, self._missing(arm)) for arm in range(self._arms)]
        if self._exploring:
            levels = {k: len(self._rewards[k]) + self._out[k] for k in self._exploring}
            least = min(levels.values())
            left = [int(levels.get(arm) == least) for arm in range(self._arms)]
        at_once = min(_LAID_OUT, sum(left))
        self._pool = self._random.sample(range(self._arms), at_once, counts=left) if at_once else []

    # --- requests --------------------------------------------------------------------------------

    def ask(self, now: float, person: str = "") -> Decision:
        """The decision for a request, by the clock on the wall, in seconds.

        A `person` whose decision is open gets the same one again.
        """
        self.expire(now)
        hashed = self._hash(person) if person else b""
        if hashed and (known := self._known.get(hashed)) is not None:
            again = self._open[known]
            self.counts["repeated"] += 1
            return self._decision(known, again.arm, again.key)
        if not self._pool and not self.over:
            self._fill()
        if not self._pool:
            return self._idle("over" if self.over else "waits", hashed)
        if len(self._open) >= self.settings.open:
            return self._idle("crowded", hashed)
        if not self._admitted(person, hashed):
            return self._idle("person", hashed)
        arm = self._pool.pop()
        number, key = self._next, secrets.randbits(48)
        self._next += 1
        self._open[number] = decision = OpenDecision(self.run, arm, key, now, hashed)
        self._out[arm] += 1
        if hashed:
            self._known[hashed] = number
        self.keeper.asked(number, decision)
        self.counts["decisions"] += 1
        return self._decision(number, arm, key)

    def _admitted(self, person: str, hashed: bytes) -> bool:
        """Whether a reward of this person may be used; it is then counted as used."""
        most = self.settings.most_of_person
        if most is None:
            return True
        if not hashed or self._persons[hashed] >= most:
            return False
        if self.admit is not None and self.admit([person]) != [True]:
            return False
        self._persons[hashed] += 1
        return True

    def _idle(self, why: Idle, hashed: bytes) -> Decision:
        arm, settings = self.answer if self.over else None, self.settings
        if arm is None:
            if settings.idle == "fixed":
                arm = settings.fixed
            elif settings.idle == "best":
                arm = self._best()
                arm = self.answer if arm is None else arm
        if arm is None:  # the same person is shown the same arm
            draw = random.Random(hashed) if hashed else self._random
            arm = draw.randrange(self._arms)
        self.counts[f"idle, {why}"] += 1
        return Decision(f"idle-{secrets.randbits(48):012x}", arm, settings.names[arm], why)

    def _best(self) -> int | None:
        """The arm with the largest mean so far; None if no reward came yet."""
        means = [
            (total / len(rewards), arm)
            for arm, (total, rewards) in enumerate(zip(self._sums, self._rewards, strict=True))
            if rewards
        ]
        return max(means)[1] if means else None

    def _decision(self, number: int, arm: int, key: int) -> Decision:
        return Decision(f"{number:x}-{key:012x}", arm, self.settings.names[arm])

    def _hash(self, person: str) -> bytes:
        name = person.encode(errors="surrogatepass")
        return hashlib.blake2b(name, key=self._secret, digest_size=16).digest()

    # --- rewards ---------------------------------------------------------------------------------

    def tell(self, now: float, id_: str, reward: float) -> bool:
        """Take a decision's reward; False if it is not used, or was told before.

        `RewardRefusal` if it cannot be taken; then nothing has changed.
        """
        self.expire(now)
        if id_.startswith("idle-"):
            self.counts["told, idle"] += 1
            return False
        value = self._checked(reward)
        number, key = self._split(id_)
        decision = self._open.get(number)
        if decision is None or decision.key != key:
            return self._told_again(number, key, value)
        self._close(number, decision, value, rewarded=True)
        self.counts["rewards"] += 1
        self.silent = 0
        return True

    def _checked(self, reward: float) -> float:
        clip = self.settings.clip
        if isinstance(reward, bool) or not isinstance(reward, int | float):
            raise self._refuse("range", f"the reward {reward!r:.40} is no number")
        if clip is not None:  # as of logs: NaN counts as the lower end
            low, high = clip
            cut = low if math.isnan(reward) else min(max(reward, low), high)
            return (cut - low) / (high - low)
        if not 0 <= reward <= 1:
            raise self._refuse(
                "range",
                f"the reward {reward!r:.40} is not in [0, 1]; set arms.clip = [lo, hi] in the run "
                "file if it is meant",
            )
        return float(reward)

    def _split(self, id_: str) -> tuple[int, int]:
        number, _, key = id_.partition("-")
        try:
            return int(number, 16), int(key, 16)
        except ValueError:
            raise self._refuse("unknown", f"{id_!r:.60} is no decision's id") from None

    def _told_again(self, number: int, key: int, value: float) -> bool:
        closed = self.keeper.find(number) if 0 < number < 1 << 62 else None
        if closed is None or closed.key != key:
            raise self._refuse("unknown", "nobody was given a decision with this id")
        if closed.reward is None or closed.run != self.run:
            raise self._refuse(
                "late",
                "the reward came too late: its decision had timed out, or its run is over",
            )
        if closed.reward != value:
            raise self._refuse("twice", "another reward of this decision was told before")
        self.counts["told again"] += 1
        return False

    def _refuse(self, kind: str, sentence: str) -> RewardRefusal:
        self.counts[f"refused, {kind}"] += 1
        return RewardRefusal(kind, sentence)

    def _close(self, number: int, decision: OpenDecision, value: float, *, rewarded: bool) -> None:
        del self._open[number]
        if decision.person:
            self._known.pop(decision.person, None)
        arm = decision.arm
        self._out[arm] -= 1
        place = len(self._rewards[arm])
        self._rewards[arm].append(value)
        self._sums[arm] += value
        self.keeper.closed(number, arm, place, value, rewarded=rewarded)

    # --- time ------------------------------------------------------------------------------------

    def expire(self, now: float) -> None:
        """Handle decisions whose reward did not come in time."""
        until, choice = now - self.settings.timeout, self.settings.on_timeout
        while self._open:
            number = next(iter(self._open))  # the oldest: all may take as long
            decision = self._open[number]
            if decision.asked > until:
                return
            self.counts["timed out"] += 1
            self.silent += 1
            if not isinstance(choice, str) and not self.over:
                self._close(number, decision, choice, rewarded=False)
                continue
            del self._open[number]
            if decision.person:
                self._known.pop(decision.person, None)
            self._out[decision.arm] -= 1
            self.keeper.closed(number, decision.arm, -1, None, rewarded=False)
            if choice == "end":
                self.trouble = self.trouble or (
                    f"no reward of arm {decision.arm} came within {self.settings.timeout:g} s; "
                    'set arms.on_timeout = "again" to ask another request'
                )
