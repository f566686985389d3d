"""Coupled runs: the field's code on other rewards, with the same noisy numbers.

A first run draws its noise by the field's class, and each noisy number is kept. A second run, whose
rewards differ, gets the numbers of the first (the coupling that proves a noisy release private:
Barthe, Gaboardi, Hsu and Pierce 2016; "randomness alignment", Zhang and Kifer, POPL 2017). Where
all that is told follows from noisy numbers, an adversary sees the same in both, whatever the
rewards are: so every reward of a run is changed at once. What one reward costs then is
Σ |moved| / scale over the numbers that it moves, exactly, by the noise that the field's code asked
for. Whether it also got noise of that law, anew each time, is judged by all draws together.

Nothing here is learned or guessed, so a few runs find what counting needs thousands for. It covers
systems that take all their noise from `AgentContext.noise`; a run that never asks for any is left
to counting.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from posse.arms import ArmsContext
from posse.arms.csv import CsvArms
from posse.audit.canaries import MOST_OF_A_SEARCH, Cost, Search, reward_named
from posse.audit.law import Draw, faults_of_law
from posse.audit.replay import (
    ApartError,
    CoupledRun,
    Coupler,
    first_arm,
    ones,
    opposite,
    other_arms,
    redraw,
    zeros,
)
from posse.durable.journal import Journal
from posse.durable.recording import record_sources
from posse.gates import files
from posse.plan import Plan
from posse.protocol.privacy import AdversaryView, total_cost
from posse.wire.sources import of_this_machine

_PAIRS = 10
_CHANGES = (opposite, zeros, ones, first_arm, other_arms)
"""Runs whose rewards are all changed, and how."""

_MOST_RUNS, _ENOUGH = 20, 600
_DRAWS = {"laplace": 20_000, "gaussian": 4_000, "polya": 1_500, "coins": 1_000}
"""Runs go on until this many numbers were noised, or there were this many runs; then their draws
are made again until there are this many of a kind."""

COUPLED = _PAIRS * (1 + len(_CHANGES)) + 2 * MOST_OF_A_SEARCH + _MOST_RUNS
"""The most runs that coupled runs take."""

_CLOSE = 1 + 1e-9


class Coupling(msgspec.Struct, frozen=True, kw_only=True):
    """What coupled runs found: `violations` are sentences, each of which refutes the claim.

    `draws` numbers were noised by class `noise`; of `canaries` rewards the one that cost most cost
    `cost`.
    """

    noise: str
    draws: int
    canaries: int
    cost: float
    violations: list[str]
    cut: str = ""

    @property
    def says(self) -> str:
        """What was carried out, in a sentence."""
        return (
            f"{self.draws:,} numbers noised by {self.noise}; of {self.canaries} rewards changed "
            f"one by one the dearest costs ε = {self.cost:.4g}{self.cut}"
        )


def run_coupled(
    plan: Plan, sees: AdversaryView, claimed: float, delta: float, watched: int = 1
) -> Coupling | None:
    """Carry out coupled runs against a claim of (claimed, delta); None if they tell nothing.

    `watched`: how many agents view "agent" sees.
    """
    coupler = Coupler(plan, sees, watched)
    runs = [coupler.first(number) for number in range(_PAIRS)]
    if any(source.bare for run in runs for source in run.noise):
        return None
    if claimed and not any(run.draws for run in runs):
        return None
    # what is found is a proof, so the rest need not be done
    costs: list[Cost] = []
    faults = []
    try:
        for run in runs:
            for rewards in _CHANGES:
                coupler.again(run, rewards)
        # one arm's rewards are used most often where that arm is the best
        for run in (runs[0], coupler.first(_MOST_RUNS, first_arm)):
            faults += _dearest(coupler, run, claimed, delta, costs)
    except ApartError as error:
        faults.append(str(error))
    faults += [fault for run in runs for fault in _books(run, claimed, delta)]
    more: list[list[list[Draw]]] = []
    if not any(faults):
        while runs[0].size and len(runs) < _MOST_RUNS and sum(r.size for r in runs) < _ENOUGH:
            runs.append(coupler.first(len(runs)))
        more = [draws for run in runs for draws in _drawn_again(run, len(runs))]
    draws = [[source.draws for source in run.noise] for run in runs] + more
    faults += faults_of_law(draws)
    kinds = {draw.kind for run in runs for draw in run.draws}
    if not any(faults) and kinds:
        faults += [_again(kinds), _cut(plan)]
    sources = {type(source.inner).__name__ for source in runs[0].noise}
    return Coupling(
        noise=", ".join(sorted(sources)),
        draws=sum(len(d.given) for run in draws for own in run for d in own),
        canaries=len(costs),
        cost=max((cost.epsilon for cost in costs), default=0.0),
        violations=list(dict.fromkeys(filter(None, faults))),
        cut=coupler.cut_says,
    )


def _dearest(
    coupler: Coupler, run: CoupledRun, claimed: float, delta: float, costs: list[Cost]
) -> list[str]:
    """Sentences on rewards that cost more than is claimed or entered; their costs join `costs`."""
    search = Search(coupler, run, coupler.again(run, zeros))
    faults = []
    entered = {
        rank: total_cost(ledger, delta or None) if _is_laplace(run, rank) else np.inf
        for rank, ledger in enumerate(run.ledgers)
    }
    for canary, cost in search.alone(delta, lambda cost: cost.epsilon > claimed * _CLOSE):
        costs.append(cost)
        faults.append(cost.fault)
        price = f"by the noise that is asked for, {reward_named(canary)} costs {cost.epsilon:.4g}"
        if cost.epsilon > claimed * _CLOSE:
            faults.append(f"{price}, and ε = {claimed:.4g} is claimed")
        elif cost.epsilon > entered.get(canary[0], np.inf) * (1 + 1e-6):
            faults.append(f"{price}, and its agent's ledger has {entered[canary[0]]:.4g}")
    return faults


def _is_laplace(run: CoupledRun, rank: int) -> bool:
    """Whether an agent's noise protects it alone, so that its ledger has the whole cost."""
    return rank < len(run.noise) and all(d.kind == "laplace" for d in run.noise[rank].draws)


def _books(run: CoupledRun, claimed: float, delta: float) -> list[str]:
    """A sentence for each agent whose ledger lacks a release, or has more than is claimed."""
    faults = []
    for source, ledger in zip(run.noise, run.ledgers, strict=False):
        spent = total_cost(ledger, delta or None)
        if spent > claimed * (1 + 1e-6):
            faults.append(
                f"agent {source.rank}'s ledger has ε = {spent:.4g}, and {claimed:.4g} is claimed"
            )
        asked = [(draw.scale, draw.sensitivity) for draw in source.draws if draw.kind == "laplace"]
        for scale, sensitivity in dict.fromkeys(asked):
            entered = [r for r in ledger if np.isclose(r.scale, scale, rtol=1e-6, atol=0)]
            single = all(np.isclose(r.sensitivity, sensitivity, atol=0) for r in entered)
            times = sum(r.times for r in entered)
            if not entered or (single and times < asked.count((scale, sensitivity))):
                faults.append(
                    f"agent {source.rank}'s ledger lacks a release: noise of scale {scale:.4g} was "
                    f"asked for {asked.count((scale, sensitivity))} times, entered {times}"
                )
                break
        # a host may have drawn once before, to load a library
        shared = [draw.scale for draw in source.draws if draw.kind in ("gaussian", "polya")]
        times = sum(r.times for r in ledger)
        if shared and (asked_for := shared.count(shared[-1])) > times:
            faults.append(
                f"agent {source.rank}'s ledger lacks a release: a share of noise was asked for "
                f"{asked_for} times, entered {times}"
            )
    return faults


def _drawn_again(run: CoupledRun, runs: int) -> Iterator[list[list[Draw]]]:
    """The draws of a run made again, for its own values, for none and for all of its scale.

    In turn by the run's sources, which have drawn before, and by new ones, which have not.
    """
    here = of_this_machine(lambda: 0)
    share: dict[str, float] = {
        kind: most / runs / max(1, sum(len(d.given) for d in run.draws if d.kind == kind))
        for kind, most in _DRAWS.items()
    }
    for turn in range(math.ceil(max(share.values(), default=0.0))):
        fresh = turn % 2 == 1
        sources = [here.noise() if fresh else source.inner for source in run.noise]
        yield [
            [
                redraw(noise, draw, _values(draw, turn // 2 % 3))
                for draw in source.draws
                if turn < share[draw.kind]
            ]
            for noise, source in zip(sources, run.noise, strict=True)
        ]


def _values(draw: Draw, which: int) -> Any:
    """The values of a draw; or all zero, or of the size of its sensitivity."""
    if draw.kind == "coins" or which == 0:
        return draw.values if draw.kind in ("laplace", "coins") else draw.values.astype(np.int64)
    size = (draw.sensitivity or 1.0) * (which == 2)
    return np.full(len(draw.values), size).astype(float if draw.kind == "laplace" else np.int64)


def _again(kinds: set[str]) -> str:
    """A sentence if a process that is started again draws noise anew that it drew before."""
    zero = np.zeros(1)
    whole = np.zeros(1, dtype=np.int64)

    def drawn(journal: Journal) -> list[list[float]]:
        noise = record_sources(journal, of_this_machine(lambda: 0), field=True).noise()
        draws: dict[str, Callable[[], Iterable[float]]] = {
            "laplace": lambda: noise.noisy(zero, 1.0, 1.0),
            "gaussian": lambda: noise.discrete_gaussian(whole, 1e6),
            "polya": lambda: noise.polya(whole, 1e6, 2),
            "coins": lambda: noise.bernoulli(0.5, 40),
        }
        return [list(draws[kind]()) for kind in sorted(kinds) for _ in range(3)]

    with files.temporary("posse-audit-") as folder:
        journal = Journal(Path(folder) / "journal", "audit", synchronous=False)
        journal.begin("audit")
        before = drawn(journal)
        journal.commit()
        journal.close()
        journal = Journal(Path(folder) / "journal", "audit", synchronous=False)
        with journal.replay() as inputs:
            after = drawn(journal)
            list(inputs)
        journal.remove()
    if before == after:
        return ""
    return "an agent that is started again releases what it released before with new noise"


def _cut(plan: Plan) -> str:
    """A sentence if a log's rewards are not cut to `arms.clip`: coupled runs have no log."""
    if not plan.spec.arms.unit_interval:
        return ""
    low, high = getattr(plan.spec.arms, "clip", None) or (0.0, 1.0)
    rewards = [low - 9 * (high - low), low, high, high + 9 * (high - low)]
    with files.temporary("posse-audit-") as folder:
        rows = "".join(f"{arm},{reward}\n" for arm in (0, 1) for reward in rewards)
        files.write(Path(folder) / "log.csv", f"arm,reward\n{rows}", lasting=False)
        arms = CsvArms(path="log.csv", count=2, clip=(low, high))
        generator = np.random.default_rng()
        context = ArmsContext(0, 1, 0, 0, folder, generator, lambda: generator)
        drawn = arms.build(context).draw(0, len(rewards))
    if drawn.min() >= 0 and drawn.max() <= 1:
        return ""
    return f"rewards in a log are not cut to arms.clip: one becomes {np.abs(drawn).max():.4g}"
