"""Propositions 4.1 and 5.1 of Rio et al. 2023: what votes give away."""

from functools import partial
from operator import eq
from typing import Any

import numpy as np

from agent.mase import DpMaseVoter
from posse.papers.audit import ASSUMED, audit, audits, own_noise, releases, spends
from posse.papers.experiment import Axes, Experiment
from posse.papers.limits import at_most
from posse.papers.rio.setting import XIS, corrupted
from posse.papers.sample import Sample
from posse.papers.statements import claim, ours
from protocol.machine import Pulled, Send, Started
from protocol.mase import epoch_length, epoch_radius

_ARMS = 10


def success(sample: Sample) -> float:
    """How likely an adversary who sees one agent's votes names the best arm, on average.

    It guesses evenly among the arms that the agent has not voted against; arm 0 is the best.
    """
    voted: dict[int, set[int]] = {agent: set() for agent in range(len(sample.answers))}
    for _, agent, arm in sample.log.get("votes", []):
        voted[int(agent)].add(int(arm))
    chances = [0.0 if 0 in arms else 1 / (_ARMS - len(arms)) for arms in voted.values()]
    return sum(chances) / len(chances)


def dp_mase(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float, change: float
) -> dict[str, Any]:
    """The vote of DP-MASE's first epoch when one reward changes by `change`.

    Two arms, whose sums lie three scales of the noise short of a vote. S: a vote is sent.
    """
    noise, beta = own_noise(generator), 0.5
    pulls = epoch_length(2, 1, beta, epsilon)
    width = 2 * epoch_radius(2, 1, beta, epsilon, pulls)
    short = width - 3 / (epsilon * pulls)

    def release(changed: bool) -> bool:
        voter = DpMaseVoter(2, beta, epsilon, variant, noise)
        voter.handle(Started(), 0.0)
        sums = np.array([short * pulls + change * changed, 0.0])
        effects = voter.handle(Pulled((0, 1), pulls, sums), 0.0)
        return any(isinstance(effect, Send) for effect in effects)

    return audit(trials, release, epsilon)


EXPERIMENTS = (
    Experiment(
        "rio-adversary", "Proposition 5.1", "Who sees one agent's votes guesses the best arm",
        *(
            claim(f"ξ = {xi:g}: from an agent's messages nobody infers the best arm with a "
                  "probability above 1 − η = .1", "Proposition 5.1",
                  at_most("adversary", 0.1, partial(eq, xi)))
            for xi in XIS
        ),
        lines={"adversary": {xi: corrupted(64, xi) for xi in XIS}},
        axes=Axes("ξ", "adversary's success"), repeat=(8, 40), limit=0.1,
        metric=success, keep_log=True,
        assumed="N = 64, Problem 1, η = .9. The adversary guesses evenly among the arms that one "
        "agent has not voted against, all agents in turn, when the run is over.",
    ),
    audits(
        "rio-audit", "Proposition 4.1", "How much privacy DP-MASE spends",
        claim("DP-MASE is ε-differentially private (rewards in [0, 1], Definition 3.1)",
              "Proposition 4.1", spends("DP-MASE")),
        ours("it would be so on Problem 2 too, whose Gaussian rewards the proposition does not "
             "cover", spends("DP-MASE, Gaussian rewards")),
        lines=releases({
            "DP-MASE": (dp_mase, 1.0, 1.0),
            "DP-MASE, Gaussian rewards": (dp_mase, 1.0, 10.0),
        }),
        assumed=f"{ASSUMED} ε = 1, the first epoch; a Gaussian reward may change by any number, "
        "here by 10.",
    ),
)  # fmt: skip
