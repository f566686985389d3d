"""The agents of best-arm identification with private communications (Rio et al. 2023)."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from posse.seam.machines import (
    COORDINATOR,
    Abort,
    AgentEffect,
    AgentEffects,
    AgentEvent,
    AgentMachine,
    Disclose,
    Explore,
    ExploringMachine,
    Finish,
    Observed,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from posse.seam.messages import MOST_PULLS, FloatArray, RemoteProtocolError, Variant, pack_floats
from posse.seam.noise import Noise, Release
from posse_systems.rio2023.messages import (
    Eliminated,
    Sample,
    Vote,
    eliminable,
    epoch_length,
    epoch_radius,
    successive_elimination_radius,
)

NEAR = 192
"""An agent looks at this many activations first: it mostly acts within these."""

_FIRST = 1 << 12
"""Radii that are computed once for all agents."""

_TOO_LONG = (
    "epoch {} would take it beyond 2^53 pulls: the means of the {} arms left cannot be told apart "
    "at this epsilon, their gap is too small or zero; give arms that differ more, or a larger "
    "epsilon"
)


def compute_radii(t: int, count: int, arms: int, failure: float) -> FloatArray:
    """`successive_elimination_radius` of the `count` samples after `t`."""
    if t + count <= _FIRST:
        return _compute_first_radii(arms, failure)[t : t + count]
    radii: FloatArray = successive_elimination_radius(
        np.arange(t + 1, t + count + 1), arms, failure
    )
    return radii


@lru_cache(maxsize=8)
def _compute_first_radii(arms: int, failure: float) -> FloatArray:
    """The radii of the first samples, which all agents need."""
    radii: FloatArray = successive_elimination_radius(np.arange(1, _FIRST + 1), arms, failure)
    return radii


def _read_eliminated(event: Received, arms: int) -> frozenset[int]:
    """The arms in a coordinator's `Eliminated`, checked."""
    if event.sender != COORDINATOR or not isinstance(event.message, Eliminated):
        raise RemoteProtocolError("out-of-turn", type(event.message).__name__)
    if max(event.message.arms) >= arms:
        raise RemoteProtocolError("no-such-arm", str(max(event.message.arms)))
    return frozenset(event.message.arms)


@dataclass(slots=True)
class MaseVoter(ExploringMachine):
    """MASE (Algorithm 1) with successive elimination as the local test.

    At each activation the agent pulls every arm of L_n once and votes against

        E = { k in L_n : max_l μ̂_l - μ̂_k >= 2 sqrt(log(K t_n² / η) / t_n) }.

    Corrupted Elimination (Algorithm 3) withholds a vote with probability ξ: ν ~ Bernoulli(1-ξ) is
    drawn once per arm and never again. E leaves L_n either way. `votes=False` is `independent`.

    Arms that the coordinator eliminates leave L_n at once (Algorithm 1, line 14). `eager=False` is
    the letter of Algorithm 3: line 12 synchronises only the active agent, after its own test and
    after line 10 has tested whether it is done. So an agent acts once more on the old L_n.
    """

    arms: int
    failure: float
    noise: Noise
    xi: float = 0.0
    votes: bool = True
    eager: bool = True
    candidates: tuple[int, ...] = ()
    t: int = 0
    local: tuple[int, ...] = ()
    dead: frozenset[int] = frozenset()
    sums: FloatArray = field(default_factory=lambda: np.zeros(0))

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        match event:
            case Started():
                self.local = self.candidates or tuple(range(self.arms))
                self.sums = np.zeros(self.arms)
                return [Explore(self.local)]
            case Observed(arms, rewards):
                return self._test(arms, rewards)
            case Received():
                self.dead |= _read_eliminated(event, self.arms)
                if self.eager:
                    return self._go_on([], without=self.dead)
                return [Explore(self.local)] if self._due else []
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def lookahead(self, rewards: FloatArray) -> int:
        if not self.eager and self._due:
            return 0
        width: int = rewards.shape[1]
        for ahead in sorted({min(width, NEAR), width}):
            means = self.sums[list(self.local), None] + np.cumsum(rewards[:, :ahead], axis=1)
            means /= np.arange(self.t + 1, self.t + ahead + 1)
            radii = compute_radii(self.t, ahead, self.arms, self.failure)
            fires = means.max(axis=0) - means.min(axis=0) >= 2 * radii
            first = int(fires.argmax())
            if fires[first]:
                return first
        return width

    def _test(self, arms: tuple[int, ...], rewards: FloatArray) -> AgentEffects:
        # a cumulative sum as in `lookahead`, so that both round alike
        self.sums[list(arms)] += np.cumsum(rewards, axis=1)[:, -1]
        self.t += rewards.shape[1]
        means = self.sums[list(self.local)] / self.t
        radius = successive_elimination_radius(float(self.t), self.arms, self.failure)
        losers = eliminable(self.local, means, 2 * float(radius))
        effects: list[AgentEffect] = []
        if losers and self.votes:
            vote = losers
            if self.xi:
                sent = self.noise.bernoulli(1 - self.xi, len(losers))
                vote = tuple(k for k, nu in zip(losers, sent, strict=True) if nu)
            if vote:
                effects.append(Send(COORDINATOR, Vote(vote)))
        if self.eager:
            return self._go_on(effects, without=frozenset(losers))
        remaining = tuple(k for k in self.local if k not in losers)
        if len(remaining) == 1:
            return [*effects, Finish("done", remaining[0])]
        return self._go_on(effects, without=self.dead | set(losers))

    @property
    def _due(self) -> bool:
        """Whether Algorithm 3 changes L_n or ends at the next activation, whatever the rewards."""
        return len(self.local) == 1 or not self.dead.isdisjoint(self.local)

    def _go_on(self, effects: list[AgentEffect], without: frozenset[int]) -> AgentEffects:
        local = tuple(k for k in self.local if k not in without)
        if local == self.local:
            return effects
        self.local = local
        if not local or (self.eager and len(local) == 1):
            return [*effects, Finish("done", local[0] if local else None)]
        return [*effects, Explore(local)]


@dataclass(slots=True)
class DpMaseVoter(AgentMachine):
    """DP-MASE (Algorithm 2): in each epoch one mean per arm, noised once, and then votes.

    In epoch e the agent pulls every arm of L_n R(e, |L_n|) times, computes μ̃_k = μ̂_k + Lap(1/(εR))
    and votes against { k : max_l μ̃_l - μ̃_k > 2(h + c) }. Arms that the coordinator eliminated leave
    L_n only at the end of an epoch, as the proof of privacy needs.

    An agent does not begin an epoch that would take it beyond `MOST_PULLS`; it aborts the run.
    """

    arms: int
    beta: float
    epsilon: float
    variant: Variant
    noise: Noise
    candidates: tuple[int, ...] = ()
    epoch: int = 0
    pulls: int = 0
    in_all: int = 0
    local: tuple[int, ...] = ()
    dead: frozenset[int] = frozenset()

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        match event:
            case Started():
                self.local = self.candidates or tuple(range(self.arms))
                return self._begin_epoch([], arms_for_length=self.arms)
            case Pulled(_, _, sums):
                return self._end_epoch(sums)
            case Received():
                self.dead |= _read_eliminated(event, self.arms)
                return []
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _begin_epoch(self, effects: list[AgentEffect], arms_for_length: int) -> AgentEffects:
        self.epoch += 1
        self.pulls = epoch_length(arms_for_length, self.epoch, self.beta, self.epsilon)
        self.in_all += self.pulls * len(self.local)
        if self.in_all > MOST_PULLS:
            return [*effects, Abort(_TOO_LONG.format(self.epoch, len(self.local)))]
        return [*effects, Pull(self.local, self.pulls)]

    def _end_epoch(self, sums: FloatArray) -> AgentEffects:
        scale = 1.0 / self.pulls / self.epsilon
        noisy = self.noise.noisy(sums / self.pulls, 1.0 / self.pulls, scale)
        width = 2 * epoch_radius(len(self.local), self.epoch, self.beta, self.epsilon, self.pulls)
        losers = tuple(
            k for k, mean in zip(self.local, noisy, strict=True) if noisy.max() - mean > width
        )
        epoch = f"epoch {self.epoch}"
        release = Release("laplace", 1.0 / self.pulls, scale, self.epsilon, epoch)
        effects: list[AgentEffect] = [Disclose(release)]
        if losers:
            effects.append(Send(COORDINATOR, Vote(losers)))
        remaining = tuple(k for k in self.local if k not in losers)
        self.local = tuple(k for k in remaining if k not in self.dead)
        if len(remaining) == 1:
            return [*effects, Finish("done", remaining[0])]
        if len(self.local) <= 1:
            return [*effects, Finish("done", self.local[0] if self.local else None)]
        # printed: line 17 computes R before line 18 drops what the coordinator eliminated
        length_for = len(remaining) if self.variant == "printed" else len(self.local)
        return self._begin_epoch(effects, length_for)


@dataclass(slots=True)
class RawSender(AgentMachine):
    """`central`: sends one raw reward of every arm of G to the coordinator at each activation."""

    arms: int
    candidates: tuple[int, ...] = ()
    local: tuple[int, ...] = ()

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        match event:
            case Started():
                self.local = self.candidates or tuple(range(self.arms))
                return [Pull(self.local, 1)]
            case Pulled(arms, _, sums):
                sample = Sample(arms, pack_floats(sums))
                return [Send(COORDINATOR, sample), Pull(self.local, 1)]
            case Received():
                gone = _read_eliminated(event, self.arms)
                self.local = tuple(k for k in self.local if k not in gone)
                return [Pull(self.local, 1)] if self.local else [Finish("done")]
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)
