"""Twelve claims, audited as `posse audit` does it: six that theory bears out, six that it refutes.

Each is a run file and what the audit is told besides. The hybrid mechanism and the noisy means of
DP-UCB-INT, which no message shows by themselves, are audited as the machines make them.
"""

import itertools
from typing import Any

import numpy as np

from posse.experiments import Audit, AuditVerdict, Guess, ViewTable, judge, prepare
from posse.extend import Finish, Neighbours, Pull, Pulled, Started
from posse_papers.audit import audits, numbers_of, own_noise, seed, spends
from posse_papers.experiment import Computation, Lines, run_file
from posse_papers.statements import claim, ours
from posse_papers.worlds import beside
from posse_systems.algorithms import HybridSums, PrivateLoneUcb, exploration_slots

_TWO = {"kind": "bernoulli", "means": [0.9, 0.1]}
_GAUSS = {"kind": "gaussian", "means": [0.9, 0.1]}
_MANY = {"kind": "bernoulli", "means": [0.7, *[0.5] * 4, *[0.3] * 5]}


def _run(
    system: str, agents: int, parameters: dict[str, Any], arms: dict[str, Any] = _TWO, **more: Any
) -> dict[str, Any]:
    tables = {"engine": {"kind": "memory"}, "variant": "corrected", "seed": 1, **more}
    return run_file(system, agents, arms, parameters, **tables)


_PATH = {"kind": "path"}
_FEW = {"epsilon": 0.5, "horizon": 5}
_ALONE = {"epsilon": 0.02, "horizon": 300}
_CENTRAL = {"epsilon": 0.5, "horizon": 400}
_VOTES = {"epsilon": 1.0, "delta": 0.5}

_EVERY = 20
"""Slots between two averages that are looked at."""

_HALVES = (0.5, 0.5)
_ASKED: dict[str, tuple[Any, ...]] = {
    "dp-mase": (2_000, _run("dp-mase", 1, _VOTES)),
    "dp-mase, unbounded rewards": (100, _run("dp-mase", 2, _VOTES, _GAUSS, variant="printed")),
    "corrupted-elimination, η": (100, _run("corrupted-elimination", 32, {}, _MANY)),
    "private-ucb, corrected": (600, _run("private-ucb", 2, _FEW, topology=_PATH), None, _HALVES),
    "private-ucb, printed": (
        2_000, _run("private-ucb", 2, _FEW, topology=_PATH, variant="printed"), None, _HALVES
    ),
    "masked sums": (50, _run("anonymous", 6, {"group_size": 2, "horizon": 30}), None, _HALVES),
    "cdp-mab, M ε": (1_200, _run("cdp-mab", 4, _CENTRAL), None, _HALVES),
    "cdp-mab, ε": (200, _run("cdp-mab", 4, _CENTRAL), 0.5, _HALVES),
}  # fmt: skip
"""By line what `audited` is given, in the quick form; the full form makes ten times the runs.

Where levels are given the event does not depend on them: a message's noise is the same at all.
"""


def audited(
    runs: int, run: dict[str, Any], epsilon: float | None = None, levels: Any = None
) -> dict[str, Any]:
    """The verdict on the claim of a run file, or on `epsilon`, by this many runs on each data set.

    `levels`: what all other rewards are, by arm; by default the claim's own data sets are tried.
    """
    cases = (Neighbours(levels=levels),) if levels else ()
    audit = Audit(plan=prepare(run), runs=runs, epsilon=epsilon, cases=cases, jobs=1)
    return _told(audit.verdict())


def _told(found: AuditVerdict | Guess) -> dict[str, Any]:
    """The numbers of a verdict."""
    said = f"{found.says}: {found.words}"
    return numbers_of(found.lower_bound, found.claimed or 0.0, found.refuted, said)


def hybrid(trials: int, split: Any, *, generator: np.random.Generator) -> dict[str, Any]:
    """The hybrid mechanism's sums of 0, 0, x, 0 for x = 1 and x = 0, and their differences; ε = 1.

    x is in one node of the first tree and in the doubling at t = 4.
    """

    def released(x: float) -> ViewTable:
        sums = HybridSums(trials, 1.0, split, own_noise(generator))
        said = {}
        for t, item in enumerate((0.0, 0.0, x, 0.0), start=1):
            sums.sums += item
            said[f"sum after {t}"] = sums.insert(0, 0.0)
        for one, other in itertools.combinations(list(said), 2):
            said[f"{other} less {one}"] = said[other] - said[one]
        return ViewTable(tuple(said), np.stack(list(said.values()), axis=1))

    return _told(judge((released(1.0), released(0.0)), (released(1.0), released(0.0)), 1.0))


def noisy_means(trials: int, form: Any, *, generator: np.random.Generator) -> dict[str, Any]:
    """Noisy means of arm 0 in DP-UCB-INT, whose pulls are functions of such means, averaged.

    Its first reward is 1 or 0, all others are 0, and arm 1 gives 1, so that arm 0 rests after the
    K ⌈1/ε⌉ slots in which arms are pulled in turn.
    """
    noise, ties = own_noise(generator), seed(generator)
    plan = prepare(_run("dp-ucb-int", 1, _ALONE, variant=form))
    p: Any = plan.parameters

    def seen(first: float) -> list[float]:
        agent = PrivateLoneUcb(
            2, p.horizon, ties, epsilon=p.epsilon, v=p.v, variant=form, noise=noise
        )
        effects, said = agent.handle(Started(), 0.0), []
        for _ in range(p.horizon):
            (arm,) = next(effect for effect in effects if isinstance(effect, Pull)).arms
            reward = float(arm) if agent.pulls[arm] or arm else first
            effects = agent.handle(Pulled((arm,), 1, np.array([reward])), 0.0)
            said.append(float(agent.noisy_means[0]))
            if isinstance(effects[-1], Finish):
                break
        averages = np.cumsum(said[first_slot - 1 :]) / np.arange(1, p.horizon - first_slot + 2)
        return [float(average) for average in averages[::_EVERY]]

    first_slot = exploration_slots(2, p.epsilon)
    names = tuple(
        f"average of arm 0's noisy means in slots {first_slot} to {t}"
        for t in range(first_slot, p.horizon + 1, _EVERY)
    )

    def table(first: float) -> ViewTable:
        return ViewTable(names, np.array([seen(first) for _ in range(trials)]))

    learned, tested = (table(1.0), table(0.0)), (table(1.0), table(0.0))
    return _told(judge(learned, tested, plan.claim.epsilon, plan.claim.delta or 0.0))


def _lines(quick: bool) -> Lines:
    times, trials = (1, 5_000) if quick else (10, 100_000)
    return {
        **{line: Computation(audited, n * times, *how) for line, (n, *how) in _ASKED.items()},
        "dp-ucb-int, corrected": Computation(noisy_means, trials // 20, "corrected"),
        "dp-ucb-int, printed": Computation(noisy_means, trials // 4, "printed"),
        "hybrid mechanism, split": Computation(hybrid, trials, "half"),
        "hybrid mechanism, unsplit": Computation(hybrid, trials, "tossou"),
    }


EXPERIMENTS = (
    audits(
        "audits", "Twelve claims", "What an audit of the real machines finds of twelve claims",
        claim("DP-MASE is ε-differentially private (rewards in [0, 1], Definition 3.1)",
              "Rio et al., Proposition 4.1", spends("dp-mase"),
              wrong=beside("rewards without a bound",
                              {"dp-mase": "dp-mase, unbounded rewards"})),
        ours("it would be so on Problem 2 too, whose Gaussian rewards the proposition does not "
             "cover", spends("dp-mase, unbounded rewards")),
        claim("from an agent's votes nobody infers the best arm with a probability above 1 − η",
              "Rio et al., Proposition 5.1", spends("corrupted-elimination, η")),
        claim("an agent is (ε', δ')-differentially private after t trials",
              "Dubey and Pentland, Lemma 3.6", spends("private-ucb, printed")),
        ours("it is so if the agent decides by what it released", spends("private-ucb, corrected"),
             wrong=beside("it decides by its raw sums",
                             {"private-ucb, corrected": "private-ucb, printed"})),
        ours("DP-UCB-INT as printed, which noises an arm that rests again in every slot, is "
             "(ε', δ')-private", spends("dp-ucb-int, printed")),
        ours("DP-UCB-INT that noises an arm when it was pulled is",
             spends("dp-ucb-int, corrected")),
        claim("the hybrid mechanism is ε-differentially private",
              "Tossou and Dimitrakakis, Theorem 2, proof", spends("hybrid mechanism, split")),
        ours("it would be so with ε in both parts and the natural logarithm, as the authors' "
             "published code has it", spends("hybrid mechanism, unsplit")),
        ours("who of a group reported what cannot be told from masked sums, as Esfandiari et al. "
             "take for granted", spends("masked sums")),
        claim("CDP-MAB is M ε-differentially private", "Li and Song, Theorem 1",
              spends("cdp-mab, M ε")),
        ours("its messages are private to ε, the symbol that the figures name",
             spends("cdp-mab, ε")),
        lines=_lines,
        assumed="Error rate of an audit .01. The machines are the real ones; data sets, events and "
        "bounds are those of posse audit, on the smallest runs that have what is audited: ε = 1 or "
        ".5, 1 to 6 agents, two arms (32 agents and ten arms for η = .9).",
    ),
)  # fmt: skip
