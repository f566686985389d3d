"""Arms whose rewards an application tells: it asks which arm a request gets, and tells later."""

import random
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse.arms.base import Arms, ArmsContext, ArmsTable, Clip, check_clip
from posse.arms.buffer import RewardBuffer
from posse.arms.persons import Admit, Persons
from posse.errors import PosseError
from posse.live import address
from posse.live.desk import MOST_OPEN, Desk, DeskSettings, Memory, RunSoFar
from posse.live.service import Service, service_of
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import MOST_ARMS, Explore, Pull


class IdleChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What requests get whose reward is not used: the best arm known, any, or always `arm`."""

    choose: Literal["best", "uniform", "fixed"] = "best"
    arm: Annotated[int, Meta(ge=0, lt=MOST_ARMS)] | str = 0


class LiveArms(ArmsTable, frozen=True, kw_only=True, tag_field="kind", tag="live"):
    """Requests of a running application: `ask()` gives each an arm, `tell()` brings its reward.

    - `names`: the arms' labels, or `count`: K, and they are called 0 to K - 1.
    - `listen`: where the application asks, "unix:PATH" or "http://127.0.0.1:PORT"; {rank} becomes
      the agent's rank, or the port counts up with it. `token`: a file with the token that HTTP asks
      for. In engine memory neither is needed. `flag`: what OpenFeature calls the decision.
    - `timeout`: seconds after which a reward is given up; `on_timeout` says what then happens:
      "again" asks another request, a number in [0, 1] counts as the reward, "end" ends the run.
    - `durable`: a decision is on disk before it is answered, a reward before it is confirmed, in
      the file `store`.
    - `open`: this many decisions may be open at a time; `rate`: requests a second over HTTP.
    - `clip = [lo, hi]`: for rewards outside [0, 1], as of logs.
    """

    names: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=100)]],
        Meta(max_length=10_000, description="the arms' labels"),
    ] = msgspec.field(default_factory=list)
    count: Annotated[
        int, Meta(ge=0, le=MOST_ARMS, description="K, arms, if they have no names")
    ] = 0
    listen: Annotated[str, Meta(description="unix:PATH or http://127.0.0.1:PORT, with {rank}")] = ""
    token: Annotated[str, Meta(description="a file with the token that HTTP asks for")] = ""
    flag: Annotated[
        str, Meta(pattern=r"^[\w.~-]{1,100}$", description="the flag's key in OpenFeature")
    ] = "posse"
    timeout: Annotated[
        float, Meta(gt=0, le=3e7, description="seconds until a reward is given up")
    ] = 1800.0
    on_timeout: Annotated[
        Literal["again", "end"] | Annotated[float, Meta(ge=0, le=1)],
        Meta(description="'again', 'end', or the reward that a missing one counts as"),
    ] = "again"
    durable: Annotated[bool, Meta(description="keep decisions and rewards on disk")] = True
    store: Annotated[str, Meta(description="the file of decisions and rewards, with {rank}")] = (
        "live-{rank}.decisions"
    )
    idle: Annotated[IdleChoice, Meta(description="what requests get while nothing is ordered")] = (
        IdleChoice()
    )
    open: Annotated[int, Meta(ge=1, le=10 * MOST_OPEN, description="decisions open at a time")] = (
        MOST_OPEN
    )
    rate: Annotated[float, Meta(ge=0, description="requests a second over HTTP; 0: no limit")] = 0.0
    clip: Clip = None
    unit_interval = True
    """Rewards outside [0, 1] are refused unless clipped."""

    def __post_init__(self) -> None:
        check_clip(self.clip)
        if len(set(self.names)) < len(self.names):
            raise ValueError("names has a name twice")
        if self.names and self.count not in (0, len(self.names)):
            raise ValueError(f"names has {len(self.names)} arms, but count is {self.count}")
        if self.arm_count() < 2:
            raise ValueError(f"has {self.arm_count()} arm(s); give names or count, 2 at least")
        if self.listen and (problem := address.fault(self.listen, token=bool(self.token))):
            raise ValueError(f"listen = '{self.listen}': {problem}")
        self._fixed()

    records: ClassVar[str] = (
        "Live decisions: each reward that was told is one record, which is used once, at its arm."
    )
    """What a guarantee per reward means for a record."""

    ends: ClassVar[str] = (
        "Whoever visits the application sees the arms that are shown: while the agent waits, and "
        "after the run, the best it knows, unless [arms.idle] says otherwise."
    )
    """What a run reveals of rewards besides its messages."""

    def arm_count(self) -> int:
        """K."""
        return len(self.names) or self.count

    def labels(self) -> tuple[str, ...]:
        """The arms' names."""
        return tuple(self.names) or tuple(map(str, range(self.count)))

    def check_agents(self, agents: int) -> None:
        """Raise ValueError if several agents would listen, or write, at one place."""
        if agents > 1 and self.listen.startswith("unix:") and "{rank}" not in self.listen:
            raise ValueError("listen must contain {rank}: every agent has its own socket")
        if agents > 1 and self.durable and "{rank}" not in self.store:
            raise ValueError("store must contain {rank}: every agent has its own file")

    def missing(self, base: str, ranks: Sequence[int]) -> str:
        """What these agents lack on this machine, in a sentence, or ""."""
        if self.token and ranks and not (Path(base) / self.token).is_file():
            return f"token: {Path(base) / self.token} does not exist"
        if self.listen.startswith("http:") and ranks:
            return address.lacks_http()
        return ""

    def ledger(self, base: str, rank: int) -> tuple[Path, None]:
        """The path of the agent's ledger; there is no log."""
        return Path(f"{self._store(base, rank)}.ledger"), None

    def _store(self, base: str, rank: int) -> Path:
        return Path(base).resolve() / self.store.replace("{rank}", str(rank))

    def _fixed(self) -> int:
        arm = self.idle.arm
        if isinstance(arm, str):
            if arm not in self.names:
                raise ValueError(f"idle.arm = '{arm}' is none of names")
            return self.names.index(arm)
        if not arm < self.arm_count():
            raise ValueError(f"idle.arm = {arm} is none of {self.arm_count()} arms")
        return arm

    def settings(self, persons: Persons | None) -> DeskSettings:
        """What the desk is told of them."""
        return DeskSettings(
            names=self.labels(),
            flag=self.flag,
            timeout=self.timeout,
            on_timeout=self.on_timeout,
            idle=self.idle.choose,
            fixed=self._fixed(),
            clip=self.clip,
            open=self.open,
            most_of_person=persons.most if persons is not None else None,
        )

    def key(self, base: str, rank: int) -> tuple[str, str]:
        """What tells an agent's service from others of this process."""
        return str(self._store(base, rank)), str(rank)

    def service(
        self, base: str, rank: int, persons: Persons | None = None, door: tuple[str, str] = ("", "")
    ) -> Service:
        """The service of an agent in this process; it is opened once, and listens then.

        `door`: this agent's own address and token file, in place of `listen` and `token`.
        """
        settings = self.settings(persons)
        path = self._store(base, rank) if self.durable else None

        def make() -> Service:
            made = Service(settings, path, rank)
            file = door[1] or self.token
            where = door[0] or (address.resolved(self.listen, base, rank) if self.listen else "")
            if where:
                token = Path(base) / file if file else None
                try:
                    made.doors.append(address.open_door(made, where, token, self.rate))
                except BaseException:
                    made.close()
                    raise
            return made

        made = service_of(self.key(base, rank), make)
        if made.settings != settings:
            raise PosseError(
                f"agent {rank}: this process serves other live arms at {self._store(base, rank)}; "
                "end it first, or give these another arms.store"
            )
        return made

    def build(self, context: ArmsContext) -> "Live":
        """The arms of one agent, in a new run."""
        return Live(self, context)


class Live(Arms):
    """One agent's live arms in one run, which `token` tells from others.

    `given`: how many rewards of each arm were used. A restart goes on with the same token.
    """

    simulated = False

    def __init__(self, spec: LiveArms, context: ArmsContext, token: bytes = b"") -> None:
        self.given: NDArray[np.int64] = np.zeros(spec.arm_count(), dtype=np.int64)
        self.service = spec.service(context.base, context.rank, context.persons)
        self.service.begin(token or secrets.token_bytes(16))

    def admit_by(self, admit: Admit) -> None:
        """See `posse.arms.persons.NamesPersons`: decisions ask it, before their rewards."""
        self.service.admit_by(admit)

    def read(self, arm: int, first: int, count: int) -> FloatArray:
        """Rewards of an arm by their places in this run."""
        return np.array(self.service.read(arm, first, count))

    def draw(self, arm: int, count: int) -> FloatArray:
        rewards = self.read(arm, int(self.given[arm]), count)
        self.given[arm] += count
        return rewards

    def __getstate__(self) -> Any:
        raise TypeError("live arms without a journal are not plain data")


class Rehearsed(Arms):
    """Live arms without an application: each order goes over a desk, and coins are its rewards."""

    def __init__(self, spec: LiveArms, context: ArmsContext) -> None:
        self._desk = Desk(spec.settings(None), Memory(), random.Random(context.seed))
        self._desk.begin(RunSoFar(run=1))
        self._coins = context.rewards
        self._count = spec.arm_count()

    def draw(self, arm: int, count: int) -> FloatArray:
        first = self._desk.have(arm)
        self._desk.order((arm,), (first + count,))
        while not (decision := self._desk.ask(0.0)).idle:
            self._desk.tell(
                0.0, decision.id, float(self._coins.random() < (arm + 0.5) / self._count)
            )
        return np.array(self._desk.read(arm, first, count))


def rehearsed(spec: Any, context: ArmsContext) -> Arms:
    """The arms of one agent for an audit, which asks no application."""
    arms: Arms = Rehearsed(spec, context) if isinstance(spec, LiveArms) else spec.build(context)
    return arms


class LiveBuffer(RewardBuffer):
    """The queue before live arms: an order waits until its rewards have been told."""

    def __init__(self, arms: Live, count: int, acted: Any = None) -> None:
        super().__init__(arms, count, acted)
        self._live = arms
        self.alarm = arms.service.alarm

    def come(self, order: Pull | Explore) -> bool:
        """Whether all rewards of this order, or of one activation, have come.

        The first time the order is handed to the desk.
        """
        times = order.times if type(order) is Pull else 1
        given, service = self._live.given, self._live.service
        counts = [int(given[k]) + max(0, times - self.held(k)) for k in order.arms]
        service.order(order, order.arms, counts, explore=type(order) is Explore)
        return service.have(order.arms, counts)

    def finished(self, answer: int | None) -> None:
        """The agent is done: the desk serves its answer."""
        self._live.service.finish(answer)
