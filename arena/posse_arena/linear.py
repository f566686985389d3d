"""Linear bandits with contexts, alone and federated; made by what `posse.extend` offers.

Each agent sees the features x of its arms before a pull, and a reward of mean θ·x after it, with
‖x‖ ≤ 1. All agents have the same θ. It pulls the arm of the largest x·θ̂ + α (x' V⁻¹ x)^½, where
V = λ I + Σ x x', u = Σ x y and θ̂ = V⁻¹ u (LinUCB: Li et al. 2010; Abbasi-Yadkori et al. 2011).

FedUCB (Dubey and Pentland, NeurIPS 2020) adds up the noisy sums of all agents at a server, or, in
`FEDUCB_GRAPH`, of all agents at most γ hops away at each agent. Of that
paper, and of its correction by Zhou and Chowdhury (arXiv 2302.13945), only abstracts could be read
here. What their abstracts name, and what follows from it, is derived below and tested:

- printed: an agent shares when the determinant of V has grown enough, V being of its own data
  without noise, and pulls by these too. So a reward decides when is sent, and which features are in
  the sums: it moves them by more than its own term, and the claim does not hold.
- corrected: an agent shares after every `batch` pulls, and pulls by what was shared alone. Then a
  pull is in the sums of one batch, which it moves by its own term, and all else follows from them.

On a graph an agent tells its neighbours its noisy sums of a batch, and in γ - 1 hops more what it
was told for the first time, before it pulls again: those who pass sums on learn nothing that a
server would not.

Noise is Laplace's on the sums of each batch. The papers' is Gaussian, in trees; these pay only for
many batches.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from posse.extend import (
    COORDINATOR,
    AgentContext,
    AgentEffects,
    AgentEvent,
    AgentRole,
    Alone,
    Broadcast,
    Claim,
    ClaimContext,
    CoordinatorContext,
    Disclose,
    Finish,
    FloatArray,
    LabOnly,
    Mesh,
    Message,
    Network,
    Noise,
    OneRecord,
    Parameters,
    PeerFinished,
    Pull,
    Pulled,
    Received,
    Release,
    RemoteProtocolError,
    RunSpec,
    Send,
    ServerEffects,
    ServerEvent,
    ServerRole,
    SpecError,
    Star,
    Started,
    System,
    UnitInterval,
    Wiring,
    along,
    unprotected,
)

_MOST = 100
"""Features of an arm, at most."""

_LONGEST = 800_000
"""Numbers in a message, at most: a frame has 8 MiB."""

_Sums = Annotated[list[float], Meta(max_length=_MOST * (_MOST + 1))]


class LinearParameters(Parameters, frozen=True, kw_only=True):
    """LinUCB."""

    horizon: Annotated[int, Meta(ge=1, description="T, slots")]
    width: Annotated[float, Meta(ge=0, description="α, of the confidence bound")] = 1.0
    ridge: Annotated[float, Meta(gt=0, description="λ")] = 1.0


class PooledParameters(LinearParameters, frozen=True, kw_only=True):
    """Sums that are shared."""

    batch: Annotated[int, Meta(ge=1, description="B, pulls between two exchanges")] = 1


class FedUcbParameters(LinearParameters, frozen=True, kw_only=True):
    """Noisy sums that are shared."""

    epsilon: Annotated[float, Meta(gt=0, le=1e9, description="ε of a pull")]
    dimensions: Annotated[int, Meta(ge=1, le=_MOST, description="d, features of an arm")]
    batch: Annotated[int, Meta(ge=1, description="B, pulls between two exchanges")] = 50
    growth: Annotated[
        float, Meta(gt=0, description="printed: share when log det V has grown by this")
    ] = 1.0


class GraphParameters(FedUcbParameters, frozen=True, kw_only=True):
    """Noisy sums that travel over a graph."""

    gamma: Annotated[
        int | Literal["diameter"], Meta(description="γ, how many hops the sums of a batch travel")
    ] = "diameter"


class LinearSums(Message, frozen=True):
    """Agent to server: the sums of a batch, x x' by rows and then x y."""

    batch: int
    sums: _Sums


class LinearTotal(Message, frozen=True):
    """Server to agents: the sums of all agents up to a batch."""

    batch: int
    sums: _Sums


class LinearWish(Message, frozen=True):
    """Agent to server, printed: whether it wants to share after this slot."""

    slot: int
    share: bool


class LinearTurn(Message, frozen=True):
    """Server to agents, printed: whether all share after this slot."""

    slot: int
    share: bool


class LinearHeard(Message, frozen=True):
    """Agent to neighbour: sums of a batch that it did not have before this hop, by origin."""

    batch: int
    hop: int
    origins: Annotated[list[int], Meta(max_length=_LONGEST)]
    sums: Annotated[list[float], Meta(max_length=_LONGEST)]


def sensitivity(dimensions: int) -> float:
    """The most by which a pull moves the sums, in their 1-norm, if another takes its place.

    x x' is symmetric, so its upper triangle is noised: Σ_{i≤j} |x_i x_j| = (‖x‖₁² + ‖x‖₂²) / 2 ≤
    (d + 1) / 2, and ‖x y‖₁ ≤ √d. Two of them: (√d + 1)².
    """
    return float((np.sqrt(dimensions) + 1) ** 2)


def to_triangle(sums: FloatArray) -> FloatArray:
    """The numbers that are noised: the upper triangle of Σ x x' by rows, then Σ x y."""
    return np.concatenate([sums[:, :-1][np.triu_indices(len(sums))], sums[:, -1]])


def from_triangle(numbers: FloatArray, dimensions: int) -> FloatArray:
    """The sums again, shape (d, d + 1)."""
    gram = np.zeros((dimensions, dimensions))
    gram[np.triu_indices(dimensions)] = numbers[:-dimensions]
    gram += np.triu(gram, 1).T
    return np.column_stack([gram, numbers[-dimensions:]])


def chosen(features: FloatArray, sums: FloatArray, parameters: LinearParameters) -> int:
    """The arm of the largest upper confidence bound; features (K, d), sums (d, d + 1).

    Noise may leave V without an inverse, so its eigenvalues below λ are raised to λ.
    """
    values, vectors = np.linalg.eigh(sums[:, :-1])
    values = np.maximum(values, 0.0) + parameters.ridge
    turned = features @ vectors
    estimates = turned @ ((vectors.T @ sums[:, -1]) / values)
    widths = np.sqrt((turned**2 / values).sum(axis=1))
    # rounded, so that equal bounds go to the first arm on every machine
    return int(np.round(estimates + parameters.width * widths, 9).argmax())


@dataclass
class LinearAgent:
    """Pulls by shared sums and, if `local`, by its own that are not shared yet."""

    contexts: Callable[[int], FloatArray]
    parameters: Any
    noise: Noise | None
    shares: bool
    local: bool
    by_growth: bool
    slot: int = 0
    batch: int = 0
    shared: FloatArray = field(init=False)
    own: FloatArray = field(init=False)
    features: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        dimensions = self.contexts(0).shape[1]
        self.shared, self.own = np.zeros((2, dimensions, dimensions + 1))

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Started():
                return self._next()
            case Pulled(_, _, sums):
                x = self.features
                self.own += np.outer(x, [*x, float(sums[0])])
                self.slot += 1
                return self._after_pull()
            case Received(_, LinearTurn(slot, share)) if slot == self.slot and self.by_growth:
                return self._share() if share else self._next()
            case Received(_, LinearTotal(batch, sums)) if (
                batch == self.batch and len(sums) == self.shared.size
            ):
                self.shared = np.reshape(sums, self.shared.shape)
                return self._next()
            case _:
                raise RemoteProtocolError("out-of-turn", f"{type(event).__name__}")

    def _after_pull(self) -> AgentEffects:
        if not self.shares or self.slot == self.parameters.horizon:
            return self._next()
        if self.by_growth:
            return [Send(COORDINATOR, LinearWish(self.slot, self._has_grown()))]
        return self._next() if self.slot % self.parameters.batch else self._share()

    def _has_grown(self) -> bool:
        """Whether log det V has grown by `growth` since the last exchange."""
        base = self.shared[:, :-1] + self.parameters.ridge * np.eye(len(self.shared))
        signs, logs = np.linalg.slogdet(np.array([base, base + self.own[:, :-1]]))
        return bool(signs[0] <= 0 or logs[1] - logs[0] > self.parameters.growth)

    def _share(self) -> AgentEffects:
        self.batch += 1
        sums, self.own = self.own, np.zeros_like(self.own)
        if self.noise is None:
            return self._tell(sums)
        most, epsilon = sensitivity(len(sums)), self.parameters.epsilon
        noisy = self.noise.noisy(to_triangle(sums), most, most / epsilon)
        release = Release("laplace", most, most / epsilon, epsilon, f"batch {self.batch}")
        return [Disclose(release), *self._tell(from_triangle(noisy, len(sums)))]

    def _tell(self, sums: FloatArray) -> AgentEffects:
        """Tell others the sums of this batch."""
        return [Send(COORDINATOR, LinearSums(self.batch, sums.ravel().tolist()))]

    def _next(self) -> AgentEffects:
        if self.slot == self.parameters.horizon:
            return [Finish("horizon", None)]
        features = self.contexts(self.slot)
        arm = chosen(features, self.shared + self.own * self.local, self.parameters)
        self.features = features[arm]
        return [Pull((arm,), 1)]


@dataclass
class GraphAgent(LinearAgent):
    """Adds up the sums of those at most `gamma` hops away; in lockstep with its neighbours.

    `known` are a batch's sums by origin, `new` those that this hop tells; `heard` has messages by
    batch, hop and sender, as a neighbour may be a hop ahead.
    """

    rank: int = 0
    agents: int = 1
    neighbours: tuple[int, ...] = ()
    gamma: int = 1
    hop: int = 0
    known: dict[int, FloatArray] = field(default_factory=dict)
    heard: dict[tuple[int, int], dict[int, LinearHeard]] = field(default_factory=dict)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Received(sender, LinearHeard() as told):
                self._check(sender, told)
                self.heard.setdefault((told.batch, told.hop), {})[sender] = told
                return self._listen()
            case _:
                return super().handle(event, now)

    def _check(self, sender: int, told: LinearHeard) -> None:
        """Refuse what is out of turn, or names agents that there are not."""
        batch, hop = told.batch, told.hop
        near = (self.batch, self.hop) <= (batch, hop) and batch <= self.batch + 1
        fits = len(told.sums) == len(told.origins) * self.shared.size
        if not near or not 1 <= hop <= self.gamma or sender in self.heard.get((batch, hop), {}):
            raise RemoteProtocolError("out-of-turn", f"hop {hop} of batch {batch}")
        if not fits or not {*told.origins} <= {*range(self.agents)}:
            raise RemoteProtocolError("no-such-agent", f"origins {told.origins}")

    def _tell(self, sums: FloatArray) -> AgentEffects:
        self.known, self.hop = {self.rank: sums}, 1
        if not self.neighbours:
            return self._add()
        return [Broadcast(self._message([self.rank])), *self._listen()]

    def _message(self, origins: list[int]) -> LinearHeard:
        sums = [number for origin in origins for number in self.known[origin].ravel().tolist()]
        return LinearHeard(self.batch, self.hop, origins, sums)

    def _listen(self) -> AgentEffects:
        """Go on to the next hop, once all neighbours have told this one, and then to pull."""
        told = self.heard.get((self.batch, self.hop), {})
        if not self.hop or len(told) < len(self.neighbours):
            return []
        del self.heard[self.batch, self.hop]
        new: list[int] = []
        for sender in sorted(told):
            shape = (len(told[sender].origins), *self.shared.shape)
            tables = np.reshape(told[sender].sums, shape)
            for origin, table in zip(told[sender].origins, tables, strict=True):
                if origin not in self.known:
                    self.known[origin] = table
                    new.append(origin)
        if self.hop == self.gamma:
            return self._add()
        self.hop += 1
        return [Broadcast(self._message(sorted(new))), *self._listen()]

    def _add(self) -> AgentEffects:
        # by rank: the order in which messages arrive must not decide how they are rounded
        self.shared = self.shared + np.sum([self.known[n] for n in sorted(self.known)], axis=0)
        self.hop = 0
        return self._next()


@dataclass
class LinearServer:
    """Adds up the sums of all agents; in the printed form all share if one wishes it."""

    agents: int
    batch: int = 1
    total: FloatArray | None = None
    heard: dict[int, FloatArray] = field(default_factory=dict)
    wishes: dict[int, bool] = field(default_factory=dict)
    done: int = 0

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Received(sender, LinearWish(slot, share)) if sender not in self.wishes:
                self.wishes[sender] = share
                if len(self.wishes) < self.agents:
                    return []
                anybody, self.wishes = any(self.wishes.values()), {}
                return [Broadcast(LinearTurn(slot, anybody))]
            case Received(sender, LinearSums(batch, sums)):
                fits = self.total is None or len(sums) == len(self.total)
                if batch != self.batch or sender in self.heard or not fits:
                    raise RemoteProtocolError("out-of-turn", f"sums of batch {batch}")
                self.heard[sender] = np.array(sums)
                return self._add() if len(self.heard) == self.agents else []
            case PeerFinished():
                self.done += 1
                return [Finish("horizon", None)] if self.done == self.agents else []
            case _:
                return []

    def missing(self) -> list[int]:
        """The agents that it waits for."""
        waits = self.wishes or self.heard
        return [agent for agent in range(self.agents) if agent not in waits]

    def _add(self) -> ServerEffects:
        # by rank: the order in which messages arrive must not decide how they are rounded
        added = np.sum([self.heard[agent] for agent in range(self.agents)], axis=0)
        self.total = added if self.total is None else self.total + added
        self.batch, self.heard, batch = self.batch + 1, {}, self.batch
        return [Broadcast(LinearTotal(batch, self.total.tolist()))]


def _agent(context: AgentContext, *, shares: bool = True, private: bool = False) -> LinearAgent:
    assert context.contexts is not None  # `check_features` has seen to it
    printed = private and context.variant == "printed"
    return LinearAgent(
        contexts=context.contexts,
        parameters=context.parameters,
        noise=context.noise if private else None,
        shares=shares,
        local=printed or not shares,
        by_growth=printed,
    )


def _on_graph(context: AgentContext) -> GraphAgent:
    assert context.contexts is not None  # `check_features` has seen to it
    return GraphAgent(
        contexts=context.contexts,
        parameters=context.parameters,
        noise=context.noise,
        shares=True,
        local=False,
        by_growth=False,
        rank=context.rank,
        agents=context.agents,
        neighbours=context.neighbours,
        gamma=int(context.knowledge["gamma"]),
    )


def _network(spec: RunSpec, parameters: GraphParameters, run: int) -> Network:
    graph = spec.graph(run)
    gamma = graph.diameter if parameters.gamma == "diameter" else parameters.gamma
    return along(graph, [{"gamma": max(1, gamma)} for _ in range(spec.agents.count)])


def _server(context: CoordinatorContext) -> LinearServer:
    return LinearServer(context.agents)


def check_features(spec: RunSpec, parameters: LinearParameters) -> None:
    """`SpecError` unless arms have as many features as these parameters are made for."""
    count: Callable[[], int] = getattr(spec.arms, "feature_count", int)
    if not (features := count()):
        needs = "must be 'linear', or 'csv' with arms.features: this system needs features"
        raise SpecError("arms.kind", needs)
    if features > _MOST:
        raise SpecError("arms.features", f"has {features} numbers a row; there may be {_MOST}")
    if isinstance(parameters, FedUcbParameters) and parameters.dimensions != features:
        raise SpecError(
            "parameters.dimensions",
            f"is {parameters.dimensions}, but arms have {features} features",
        )
    if isinstance(parameters, GraphParameters):
        most = _LONGEST // (features * (features + 1))
        if parameters.gamma != "diameter" and parameters.gamma < 1:
            raise SpecError("parameters.gamma", f"is {parameters.gamma}; sums travel 1 hop or more")
        if spec.agents.count > most:
            raise SpecError(
                "agents.count",
                f"is {spec.agents.count}; with {features} features a message has room for the sums "
                f"of {most} agents",
            )


def _claim(context: ClaimContext) -> Claim:
    printed = context.variant == "printed"
    return Claim(
        change=OneRecord(),
        mechanism="laplace",
        epsilon=context.parameters.epsilon,
        holds=not printed,
        note="A reward decides when sums are sent and which features are in them, so it moves them "
        "by more than its own term." * printed,
        proof="A pull is in the sums of one batch, which it moves by at most (√d + 1)² in the "
        "1-norm; what an agent pulls follows from sums that were sent before." * (not printed),
        uncovered="pulls themselves, which the agent's own users see",
    )


_system = partial(
    System,
    clocks=("slots",),
    unit_interval=UnitInterval(),
    check=check_features,
    field=LabOnly("needs features, which only the lab's arms have"),
)
_STAR = ServerRole(_server, (LinearSums, LinearWish))

LINUCB = _system(
    name="LinUCB",
    title="LinUCB with contexts, every agent alone",
    paper="Li et al. 2010",
    parameters=LinearParameters,
    shape=Alone(partial(_agent, shares=False)),
    one_form=True,
    claim=unprotected("Nothing is sent; whoever sees an agent's pulls learns of its rewards."),
)
POOLED = _system(
    name="pooled LinUCB",
    title="LinUCB with contexts, all data in one place",
    paper="Li et al. 2010",
    parameters=PooledParameters,
    shape=Star(AgentRole(_agent, (LinearTotal,)), _STAR),
    one_form=True,
    claim=unprotected("Sums of features and rewards are sent as they are."),
)
FEDUCB = _system(
    name="FedUCB",
    title="federated LinUCB with contexts, of noisy sums at a server",
    paper="Dubey and Pentland 2020; Zhou and Chowdhury 2023",
    parameters=FedUcbParameters,
    shape=Star(AgentRole(partial(_agent, private=True), (LinearTotal, LinearTurn)), _STAR),
    claim=_claim,
)
FEDUCB_GRAPH = _system(
    name="FedUCB on a graph",
    title="federated LinUCB with contexts, of noisy sums that travel over a graph",
    paper="Dubey and Pentland 2020; Zhou and Chowdhury 2023",
    parameters=GraphParameters,
    shape=Mesh(AgentRole(_on_graph, (LinearHeard,)), Wiring(_network, broadcasts=True)),
    one_form=True,
    claim=_claim,
)
