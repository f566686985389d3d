"""Planted faults by name, and the mechanisms to plant them in; `python -m tests.audit.plants` tries
all, or those that are named (`noise-halved`, `dp-mase`, `honest`), and prints what an audit finds.
"""

import contextlib
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posse.agent.hybrid import HybridSums
from posse.agent.run import AgentRun
from posse.agent.tree import TreeSums
from posse.arms import base, csv
from posse.audit.coupling import Coupling, run_coupled
from posse.audit.replay import CoupledNoise
from posse.durable.recording import RecordedNoise
from posse.errors import RunFailed
from posse.measure.account import Account
from posse.plan import Plan, prepare
from posse.protocol import control
from posse.protocol.machine import COORDINATOR, Pulled, Send
from posse.protocol.noise import Noise
from posse.security.noise import FieldNoise
from posse.system.context import AgentContext
from posse_systems.dubey2020 import agent as cooperative
from posse_systems.dubey2020 import lone
from posse_systems.dubey2020.agent import PrivateMeans
from posse_systems.li2022.messages import Schedule
from posse_systems.li2022.shared import SharedLaplace, SharedNoise
from posse_systems.rio2023.agent import DpMaseVoter
from tests.support.runfile import describe_run

RING = {"kind": "ring"}
_PLAYERS = {"epsilon": 1.0, "horizon": 40, "shared_sample": False}
_ELIMINATION = {"epsilon": 0.5, "horizon": 2000, "noise": "per_agent"}
_LOSING = {"noise": "shared", "dropouts": 1, "horizon": 400}
_LINEAR = {"epsilon": 2.0, "horizon": 24, "batch": 6, "dimensions": 2}
_DIRECTIONS = {"kind": "linear", "count": 4, "dimensions": 2}
MECHANISMS: dict[str, tuple[str, int, dict[str, Any], dict[str, Any]]] = {
    "dp-mase": ("dp-mase", 5, {"epsilon": 1.0}, {}),
    "private-ucb": ("private-ucb", 2, {"epsilon": 0.5, "horizon": 20}, {}),
    "doubling": ("private-ucb", 2, {"epsilon": 1.0, "horizon": 40, "releases": "doubling"}, {}),
    "trees": ("private-ucb", 2, {"epsilon": 0.5, "horizon": 20, "releases": "trees"}, {}),
    "robust": ("robust-private-ucb", 3, {"epsilon": 1.0, "horizon": 40}, {"topology": RING}),
    "dp-ucb-int": ("dp-ucb-int", 1, {"epsilon": 0.5, "horizon": 60}, {}),
    "adap-ucb": ("adap-ucb", 2, {"epsilon": 1.0, "horizon": 60}, {}),
    "tdfs-private": ("tdfs-private", 2, _PLAYERS, {}),
    "tdfs-bound": ("tdfs-private-bound", 2, _PLAYERS, {}),
    "tdfs-tree": ("tdfs-private", 2, _PLAYERS | {"counter": "tree"}, {}),
    "tdfs-honaker": ("tdfs-private", 2, _PLAYERS | {"counter": "honaker"}, {}),
    "cdp-mab": ("cdp-mab", 4, _ELIMINATION, {}),
    "cdp-half": ("cdp-mab", 4, {"epsilon": 0.5, "horizon": 20_000, "participation": 0.5}, {}),
    "cdp-gauss": ("cdp-mab", 4, _ELIMINATION | {"noise": "shared"}, {}),
    "cdp-polya": ("cdp-mab", 4, _ELIMINATION | {"noise": "shared", "noise_law": "laplace"}, {}),
    "ddp-mab": ("ddp-mab", 3, _ELIMINATION, {"topology": RING}),
    "hdp-mab": ("hdp-mab", 3, _ELIMINATION, {"topology": RING}),
    "single-mab": ("single-mab", 1, {"epsilon": 0.5, "horizon": 40_000}, {}),
    "linear": ("posse_arena.linear:FEDUCB", 2, _LINEAR, {"arms": _DIRECTIONS}),
    "cdp-lost": ("cdp-mab", 5, _ELIMINATION | _LOSING, {}),
}  # fmt: skip

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch, str], str | None]
"""Plants a fault in a mechanism; it says why, if it does not apply."""


def plan_of(mechanism: str) -> Plan:
    """The plan of a mechanism."""
    system, agents, given, more = MECHANISMS[mechanism]
    if system == "private-ucb":
        more = more | {"topology": {"kind": "path"}}
    return prepare(
        describe_run(system, agents, [0.9, 0.8, 0.1], parameters=given, engine="memory") | more
    )


def find(mechanism: str, watched: int = 0) -> Coupling:
    """What coupled runs find in a mechanism; `watched`: by who reads this many agents, if any."""
    plan = plan_of(mechanism)
    claim = plan.claim
    assert claim.epsilon is not None
    sees = "agent" if watched else claim.sees
    result = run_coupled(plan, sees, claim.epsilon, claim.delta or 0.0, watched or 1)
    assert result is not None
    return result


def _replace(patch: Patch, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    patch.setattr(owner, name, make(getattr(owner, name)))


Draw = Callable[[Any, float], Any]
Change = Callable[[Any, Any, float, Draw], Any]
"""What is given for values, by the state of one agent's noise, the scale and the right draw."""


def _changed(owner: Any, patch: Patch, change: Change) -> None:
    """Change what a class of noise gives, whatever its law."""
    laplace, gaussian, polya = owner.noisy, owner.discrete_gaussian, owner.polya

    def noisy(self: Any, values: Any, sensitivity: float, scale: float) -> Any:
        return change(self, values, scale, lambda v, b: laplace(self, v, sensitivity, b))

    def integers(self: Any, values: Any, scale: float, draw: Draw) -> Any:
        given = change(self, values, scale, lambda v, b: draw(np.rint(v).astype(np.int64), b))
        return np.rint(given).astype(np.int64)

    patch.setattr(owner, "noisy", noisy)
    patch.setattr(
        owner,
        "discrete_gaussian",
        lambda self, values, scale: integers(
            self, values, scale, lambda v, b: gaussian(self, v, b)
        ),
    )
    patch.setattr(
        owner,
        "polya",
        lambda self, values, scale, n: integers(
            self, values, scale, lambda v, b: polya(self, v, b, n)
        ),
    )


def source(change: Change) -> Plant:
    """A fault in the field's noise."""

    def plant(patch: Patch, mechanism: str) -> None:
        agents, made, begin = MECHANISMS[mechanism][1], Counter[str](), FieldNoise.__init__

        def count(self: Any) -> None:
            begin(self)
            self.rank = made["sources"] % agents
            self.last = self.rank == agents - 1
            self.asked = 0
            made["sources"] += 1

        def counting(self: Any, values: Any, scale: float, draw: Draw) -> Any:
            self.asked += 1
            return change(self, values, scale, draw)

        patch.setattr(FieldNoise, "__init__", count)
        _changed(FieldNoise, patch, counting)

    return plant


class _Asking(Noise):
    """What a machine asks its noise by."""

    def __init__(self, inner: Noise) -> None:
        self.inner = inner
        self.asked = 0
        self.kept: Any = None
        self.scale = 0.0

    def laplace(self, scale: float, size: int) -> Any:
        return self.inner.laplace(scale, size)

    def bernoulli(self, probability: float, size: int) -> Any:
        return self.inner.bernoulli(probability, size)

    def noisy(self, values: Any, sensitivity: float, scale: float) -> Any:
        return self.inner.noisy(values, sensitivity, scale)

    def discrete_gaussian(self, values: Any, deviation: float) -> Any:
        return self.inner.discrete_gaussian(values, deviation)

    def polya(self, values: Any, scale: float, shares: int) -> Any:
        return self.inner.polya(values, scale, shares)


def machine(change: Change) -> Plant:
    """A fault in how a machine asks for noise, which its ledger does not have."""

    def plant(patch: Patch, mechanism: str) -> None:
        begin = AgentContext.__init__

        def count(self: Any, **given: Any) -> None:
            begin(self, **given | {"noise": _Asking(given["noise"])})

        def counting(self: Any, values: Any, scale: float, draw: Draw) -> Any:
            self.asked += 1
            return change(self, values, scale, draw)

        patch.setattr(AgentContext, "__init__", count)
        for name in ("noisy", "discrete_gaussian", "polya"):
            patch.setattr(_Asking, name, getattr(_Asking, name))  # to be restored
        _changed(_Asking, patch, counting)

    return plant


def _seeded(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    if self.asked == 1:
        self.generator = np.random.default_rng(self.rank)
    return values + self.generator.laplace(0, scale, len(values))


def _unseeded(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    return values + np.random.default_rng().laplace(0, scale, len(values))


def _reused(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    if self.asked == 1:
        self.kept = draw(np.zeros(8), scale) / scale
    return values + scale * np.resize(self.kept, len(values))


_SHARED: list[Any] = []


def _between_two(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    """Agent 1 has the noise of agent 0, in the other direction."""
    if self.rank == 0:
        given = draw(values, scale)
        _SHARED.append((given - values) / scale)
        return given
    if self.rank == 1 and len(_SHARED) > self.asked:
        return values - scale * np.resize(_SHARED[-1], len(values))
    return draw(values, scale)


def _walk(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    """Each noise keeps a part of that before the last."""
    new = (draw(values, scale) - values) / scale
    kept = getattr(self, "before", [np.zeros(1), np.zeros(1)])
    noise = 0.8 * new + 0.6 * np.resize(kept[0], len(values))
    self.before = [kept[1], noise]
    return values + scale * noise


def _forgotten(patch: Patch, mechanism: str) -> str | None:
    """The last release of a run is left without noise."""
    if mechanism == "private-ucb":

        def forgotten(release: Any) -> Any:
            def last(self: Any, arm: int, n: int) -> Any:
                mean = self.sums[arm] / n
                effects = release(self, arm, n)
                if n == self.releases[3]:
                    self.sent_means[arm] = mean
                return effects

            return last

        _replace(patch, PrivateMeans, "release", forgotten)
        return None
    asked = 7 if mechanism.startswith("tdfs") else 2
    machine(lambda self, v, b, draw: v if self.asked == asked else draw(v, b))(patch, mechanism)
    return None


def _not_entered(patch: Patch, mechanism: str) -> str | None:
    """The ledger lacks the last release."""
    _replace(patch, Account, "releases", lambda kept: property(lambda self: kept.fget(self)[:-1]))
    return None


def _raw_count(patch: Patch, mechanism: str) -> str | None:
    if mechanism not in ("private-ucb", "doubling", "robust"):
        return "no count is sent"

    def raw(release: Any) -> Any:
        def counted(self: Any, arm: int, n: int) -> Any:
            ones = self.sums[arm]
            effects = release(self, arm, n)
            self.sent_counts[arm] += min(ones, n - self.sent_counts[arm])
            return effects

        return counted

    def early(release: Any) -> Any:
        def counted(self: Any, arm: int, n: int) -> Any:
            ones = self.sums[arm]
            effects = release(self, arm, n)
            self.sent_counts[arm] -= ones > 0
            return effects

        return counted

    _replace(patch, PrivateMeans, "release", early if mechanism == "private-ucb" else raw)
    return None


def _again(patch: Patch, mechanism: str) -> str | None:
    for name in ("noisy", "discrete_gaussian", "polya"):
        patch.setattr(
            RecordedNoise, name, lambda self, *given, n=name: getattr(self._noise, n)(*given)
        )
    return None


def _taking_part(patch: Patch, mechanism: str) -> str | None:
    if mechanism != "dp-mase":
        return "every agent sends in every round, and a run without ends"

    def some(end: Any) -> Any:
        def silent(self: Any, sums: Any) -> Any:
            effects = end(self, sums)
            out = sums.sum() > 1.2 * self.pulls
            return [e for e in effects if not (out and isinstance(e, Send))]

        return silent

    _replace(patch, DpMaseVoter, "_end_epoch", some)
    return None


def _nodes_twice(patch: Patch, mechanism: str) -> str | None:
    if not mechanism.startswith("tdfs") or mechanism == "tdfs-honaker":
        return machine(lambda self, v, b, draw: (draw(v, b) + draw(v, b)) / 2)(patch, mechanism)

    def twice(grow: Any) -> Any:
        def again(self: Any, item: Any, level: int) -> None:
            grow(self, item, level)
            more = self.noise.noisy(self.nodes[level], 1.0, self.scale)
            self.noisy[level] = (self.noisy[level] + more) / 2

        return again

    _replace(patch, TreeSums, "_grow", twice)
    return None


def _smaller_nodes(patch: Patch, factor: float) -> None:
    def begin(old: Any) -> Any:
        def begun(self: Any) -> None:
            old(self)
            self.scale *= factor

        return begun

    _replace(patch, TreeSums, "__post_init__", begin)


def sized(factor: float, only: int = 0) -> Plant:
    """Noise that is sized wrong, in machine and ledger alike; `only`: for means of that many."""

    def smaller(release: Any) -> Any:
        def made(*given: Any) -> Any:
            r = release(*given)
            if only and round(1 / r.sensitivity) != only:
                return r
            scale, epsilon = r.scale * factor, r.epsilon / factor
            return type(r)(r.mechanism, r.sensitivity, scale, epsilon, r.block)

        return made

    def plant(patch: Patch, mechanism: str) -> str | None:
        system = MECHANISMS[mechanism][0]
        if mechanism == "trees":
            if only:
                return "trees know no rounds"
            _smaller_nodes(patch, factor)
        elif system in ("private-ucb", "robust-private-ucb", "dp-ucb-int", "adap-ucb"):
            for module in (cooperative, lone):
                for name in ("mean_release", "batch_release"):
                    if hasattr(module, name):
                        _replace(patch, module, name, smaller)
        elif system == "dp-mase":

            def end(old: Any) -> Any:
                def ended(self: Any, sums: Any) -> Any:
                    wrong = factor if not only or self.epoch == only else 1.0
                    self.epsilon /= wrong
                    effects = old(self, sums)
                    self.epsilon *= wrong
                    return effects

                return ended

            _replace(patch, DpMaseVoter, "_end_epoch", end)
        elif system.startswith("tdfs"):
            if only:
                return "a player's counters know no rounds"
            for name in ("log_scale", "node_scale"):
                _replace(
                    patch,
                    HybridSums,
                    name,
                    lambda kept: property(lambda self: kept.fget(self) * factor),
                )
            if mechanism in ("tdfs-tree", "tdfs-honaker"):
                _smaller_nodes(patch, factor)
        elif mechanism in ("cdp-gauss", "cdp-polya"):
            if only:
                return "one scale for all rounds"
            owner, name = (
                (SharedNoise, "share") if mechanism == "cdp-gauss" else (SharedLaplace, "scale")
            )
            _replace(
                patch, owner, name, lambda kept: property(lambda self: kept.fget(self) * factor)
            )
        else:
            rounds: Counter[int] = Counter()

            def scale(old: Any) -> Any:
                def wrong(self: Any, new: int) -> float:
                    rounds[new] += 1
                    right: float = old(self, new)
                    return right * factor if not only or list(rounds).index(new) == 1 else right

                return wrong

            _replace(patch, Schedule, "scale", scale)
        return None

    return plant


def _for_all(patch: Patch, mechanism: str) -> str | None:
    agents = MECHANISMS[mechanism][1]
    if agents == 1:
        return "one agent"
    if mechanism == "cdp-polya":
        _replace(
            patch, CoupledNoise, "polya", lambda old: lambda self, v, b, n: old(self, v, b, agents)
        )
        return None
    if mechanism == "cdp-gauss":
        patch.setattr(
            SharedNoise, "share", property(lambda self: self.deviation / self.agents**0.5)
        )
        return None
    return sized(1 / agents**0.5)(patch, mechanism)


def _on_a_wrong_clip(patch: Patch, mechanism: str) -> str | None:
    def rescale(rewards: Any, clip: tuple[float, float]) -> Any:
        low, high = clip
        return (np.clip(rewards, low, high + 9 * (high - low)) - low) / (high - low)

    if mechanism in ("cdp-gauss", "cdp-polya"):
        return "rewards outside [0, 1] end the run"
    patch.setattr(base, "rescale", rescale)
    return None


def _fractions_count_more(patch: Patch, mechanism: str) -> str | None:
    real = base.rescale

    def rescale(rewards: Any, clip: tuple[float, float]) -> Any:
        kept = real(rewards, clip)
        return np.where((kept > 0) & (kept < 1), 2.5 * kept, kept)

    if mechanism in ("cdp-gauss", "cdp-polya"):
        return "rewards outside [0, 1] end the run"
    patch.setattr(base, "rescale", rescale)
    return None


def _complains(patch: Patch, mechanism: str) -> str | None:
    """A complaint, which is no message of the algorithm, says that a raw reward was 1."""
    tell = AgentRun.tell

    def telling(self: Any, event: Any, now: float) -> Any:
        if isinstance(event, Pulled) and event.sums.max() >= 1:
            self.say(control.Complaint(COORDINATOR, "unlucky"))
        return tell(self, event, now)

    patch.setattr(AgentRun, "tell", telling)
    return None


def _logs_uncut(patch: Patch, mechanism: str) -> str | None:
    patch.setattr(csv, "rescale", lambda rewards, clip: rewards)
    return None


def _shallow(patch: Patch, mechanism: str) -> str | None:
    if not mechanism.startswith("tdfs") and mechanism != "trees":
        return "no tree"
    if mechanism in ("trees", "tdfs-tree", "tdfs-honaker"):
        _smaller_nodes(patch, 1 - 1 / (MECHANISMS[mechanism][2]["horizon"]).bit_length())
        return None

    def node(self: Any) -> float:
        return 2.0 * max(1.0, math.log2(self.T0) - 1) / self.epsilon

    patch.setattr(HybridSums, "node_scale", property(node))
    return None


def _round_before(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    return draw(np.round(values / scale / 2) * scale * 2, scale)


def _once_for_each_arm(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    if self.kept is None or len(self.kept) < len(values):
        self.kept = (draw(np.zeros(len(values)), scale)) / scale
    return values + scale * self.kept[: len(values)]


def _scale_before(self: Any, values: Any, scale: float, draw: Draw) -> Any:
    before, self.scale = self.scale or scale, scale
    return draw(values, before)


PLANTS: dict[str, Plant] = {
    # the twelve
    "noise-halved": source(lambda self, v, b, draw: draw(v, b / 2)),
    "noise-reused": source(_reused),
    "seeded-by-rank": source(_seeded),
    "sized-for-all": _for_all,
    "wrong-clip": _on_a_wrong_clip,
    "fractions-count-more": _fractions_count_more,
    "complains-of-a-one": _complains,
    "last-forgotten": _forgotten,
    "last-not-entered": _not_entered,
    "raw-count": _raw_count,
    "new-after-restart": _again,
    "drawn-twice": _nodes_twice,
    "taking-part": _taking_part,
    "raw-decides": machine(lambda self, v, b, draw: (draw(v, b), v)[1]),
    # others
    "sized-half": sized(0.5),
    "once-for-each-arm": machine(_once_for_each_arm),
    "round-2-half": sized(0.5, only=2),
    "scale-of-before": machine(_scale_before),
    "rounded-before": machine(_round_before),
    "logs-uncut": _logs_uncut,
    "tree-too-shallow": _shallow,
    "last-agent-bare": source(lambda self, v, b, draw: v if self.last else draw(v, b)),
    "last-agent-half": source(lambda self, v, b, draw: draw(v, b / (1 + self.last))),
    "first-exact": source(lambda self, v, b, draw: v if self.asked == 1 else draw(v, b)),
    "two-coarse-draws": source(lambda self, v, b, draw: draw(draw(v, b / 2**0.5), b / 2**0.5)),
    "between-two-agents": source(_between_two),
    "depends-on-before": source(_walk),
    "cut-at-five-scales": source(
        lambda self, v, b, draw: v + np.clip(draw(v, b) - v, -5 * b, 5 * b)
    ),
    "none-at-zero": source(lambda self, v, b, draw: np.where(v == 0, v, draw(v, b))),
    "unsafe-floats": source(_unseeded),
}


def try_plant(plant: str, mechanism: str, watched: int = 0) -> tuple[str, list[str]]:
    """ "found", "not found" or "n/a", and why."""
    _SHARED.clear()
    with pytest.MonkeyPatch.context() as patch:
        why = PLANTS[plant](patch, mechanism) if plant != "honest" else None
        if why:
            return "n/a", [why]
        violations = find(mechanism, watched).violations
    return ("found" if violations else "not found"), violations


def main(named: list[str]) -> None:
    """Try what is named, and print each outcome with its processor seconds."""
    plants = [n for n in named if n in PLANTS or n == "honest"] or list(PLANTS)
    mechanisms = [n for n in named if n in MECHANISMS] or list(MECHANISMS)
    for plant in plants:
        for mechanism in mechanisms:
            begun = time.process_time()
            try:
                word, why = try_plant(plant, mechanism)
            except RunFailed as error:
                word, why = "refused", [str(error)]
            seconds = time.process_time() - begun
            with contextlib.suppress(BrokenPipeError):
                print(
                    f"{plant:20}{mechanism:14}{word:10}{seconds:6.1f}  {'; '.join(why)[:150]}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
