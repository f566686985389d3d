"""The medium: the one place where the players' choices meet (Tossou and Dimitrakakis 2015)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import (
    Dismiss,
    Finish,
    Note,
    PeerFinished,
    PeerLost,
    Played,
    Pull,
    Pulled,
    Received,
    Send,
    ServerEffect,
    ServerEffects,
    ServerEvent,
    Started,
    Timer,
    TimerFired,
)
from posse.seam.messages import OnMissing, RemoteProtocolError
from posse_systems.tossou2015.messages import (
    Choice,
    CollisionsRow,
    DismissedRow,
    Outcome,
    RewardsRow,
)

CURVE_POINTS = 200


@dataclass(slots=True)
class Medium:
    """Resolves one slot after the other.

    When every player has chosen, the medium pulls the chosen arms. It tells each player its sample,
    its payoff and whether it collided, and nothing else of the others. A player alone on its arm is
    paid its sample. Of players that collide, one drawn uniformly is (`collision` 1), or none (2).
    With `shared_sample` they see the same sample, else each sees its own.

    The medium dismisses a player that answers a slot twice, names an arm that does not exist,
    leaves, is lost, or has not answered `deadline` seconds after the slot began (unless
    `on_missing` is "wait"). The run then goes on if `on_missing` is "continue", else it ends. About
    200 times in a run the medium notes each player's total payoff and collisions.
    """

    arms: int
    players: int
    horizon: int
    collision: int
    shared_sample: bool
    deadline: float
    on_missing: OnMissing
    winners: np.random.Generator
    slot: int = 1
    choices: list[int] = field(default_factory=list)
    waiting: set[int] = field(default_factory=set)
    present: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    collisions: list[int] = field(default_factory=list)
    met: bool = False
    every: int = 1
    timer: Timer = field(init=False)

    def __post_init__(self) -> None:
        self.present = list(range(self.players))
        self.waiting = set(self.present)
        self.choices = [-1] * self.players
        self.rewards = [0.0] * self.players
        self.collisions = [0] * self.players
        self.every = -(-self.horizon // CURVE_POINTS)
        self.timer = Timer(self.deadline)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Take a player's choice, the arms' samples, or word that a player is gone."""
        if type(event) is Received and isinstance(event.message, Choice):
            return self._take_choice(event.sender, event.message)
        if type(event) is Pulled:
            return self._resolve(event)
        match event:
            case Started():
                return [self.timer]
            case TimerFired() if self.on_missing == "wait":
                return [self.timer]
            case TimerFired():
                return self._dismiss(sorted(self.waiting), "silent")
            case PeerFinished(sender):
                return self._dismiss([sender], "left")
            case PeerLost(peer):
                return self._dismiss([peer], "lost")
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    @property
    def awaited(self) -> int:
        """The players that have not chosen in this slot."""
        return len(self.waiting)

    def keep(self, received: Sequence[Received]) -> bool:
        """Take choices that do not complete the slot; False if one must be refused or punished."""
        chosen: dict[int, int] = {}
        for event in received:
            choice = event.message
            if not isinstance(choice, Choice) or choice.slot != self.slot:
                return False
            if choice.arm < self.arms:
                chosen[event.sender] = choice.arm
        if len(chosen) < len(received) or not chosen.keys() < self.waiting:
            return False
        for player, arm in chosen.items():
            self.choices[player] = arm
        self.waiting -= chosen.keys()
        return True

    def _take_choice(self, player: int, choice: Choice) -> ServerEffects:
        slot, arm = choice.slot, choice.arm
        if slot > self.slot:
            raise RemoteProtocolError("out-of-turn", f"slot {slot} in slot {self.slot}")
        if slot < self.slot or player not in self.waiting:
            return self._dismiss([player], "answered-twice")
        if arm >= self.arms:
            return self._dismiss([player], "no-such-arm")
        self.choices[player] = arm
        self.waiting.remove(player)
        return [] if self.waiting else self._pull()

    def _pull(self) -> ServerEffects:
        chosen = [arm for arm in self.choices if arm >= 0]
        distinct = set(chosen)
        self.met = len(distinct) < len(chosen)
        return [Pull(tuple(sorted(distinct if self.shared_sample else chosen)), 1)]

    def _resolve(self, pulled: Pulled) -> ServerEffects:
        slot = self.slot
        samples = payoffs = self._deal_samples(pulled)
        meeting: set[int] = set()
        winners: tuple[int, ...] = ()
        if self.met:
            payoffs = samples.copy()
            meeting, winners = self._settle_collisions(payoffs)
        effects: list[ServerEffect] = [Played(tuple(self.choices), tuple(payoffs), winners)]
        for i in self.present:
            payoff = payoffs[i]
            self.rewards[i] += payoff
            effects.append(Send(i, Outcome(slot, samples[i], payoff, i in meeting)))
        if slot % self.every == 0 or slot == self.horizon:
            effects.append(Note(CollisionsRow(tuple(self.collisions))))
            effects.append(Note(RewardsRow(tuple(self.rewards))))
        self.slot = slot + 1
        self.choices = [-1] * self.players
        self.waiting = set(self.present)
        effects.append(self.timer if slot < self.horizon else Finish("horizon"))
        return effects

    def _deal_samples(self, pulled: Pulled) -> list[float]:
        """The sample that each player sees; 0 for a player that is absent."""
        values = pulled.sums.tolist()
        if self.shared_sample:
            seen = {arm: values[n] for n, arm in enumerate(pulled.arms)}
            return [seen.get(arm, 0.0) for arm in self.choices]
        samples = [0.0] * self.players
        order = sorted(self.present, key=self.choices.__getitem__)
        for n, i in enumerate(order):
            samples[i] = values[n]
        return samples

    def _settle_collisions(self, payoffs: list[float]) -> tuple[set[int], tuple[int, ...]]:
        """Set the payoffs of losing colliders to 0; return the colliders and the winners."""
        meeting: set[int] = set()
        winners: list[int] = []
        chosen: dict[int, list[int]] = {}
        for i in self.present:
            chosen.setdefault(self.choices[i], []).append(i)
        for arm in sorted(chosen):
            colliders = chosen[arm]
            if len(colliders) == 1:
                continue
            winner = -1
            if self.collision == 1:
                winner = colliders[int(self.winners.integers(len(colliders)))]
                winners.append(winner)
            for i in colliders:
                self.collisions[i] += 1
                if i != winner:
                    payoffs[i] = 0.0
            meeting.update(colliders)
        return meeting, tuple(winners)

    def _dismiss(self, players: list[int], reason: str) -> ServerEffects:
        effects: list[ServerEffect] = []
        for i in players:
            effects += [Note(DismissedRow(i, self.slot)), Dismiss(i, reason)]
            self.present.remove(i)
            self.waiting.discard(i)
            self.choices[i] = -1
        if self.on_missing != "continue" or not self.present:
            return [*effects, Finish("missing")]
        return effects if self.waiting else [*effects, *self._pull()]
