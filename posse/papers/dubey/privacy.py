"""Lemmas 3.2 and 3.5 of Dubey and Pentland 2020, audited."""

from typing import Any

import numpy as np

from agent.cooperative import PrivateMeans
from posse.papers.audit import ASSUMED, audit, audits, own_noise, releases, seed, spends
from posse.papers.dubey.setting import V
from posse.papers.experiment import VARIANTS
from posse.papers.statements import claim, ours
from protocol.cooperative import release_counts


def laplace(trials: int, scale: float, *, generator: np.random.Generator) -> dict[str, Any]:
    """Laplace noise of scale β on 1 and on 0. S: the release exceeds 1.

    Lemma 3.2 prints β/s(f), s(f) = 1 here; the mechanism gives s(f)/β.
    """
    noise = own_noise(generator)

    def release(changed: bool) -> bool:
        return bool(noise.noisy(np.array([float(changed)]), 1.0, scale)[0] > 1)

    return audit(trials, release, scale)


def message(
    trials: int, epsilon: float, *, variant: Any, generator: np.random.Generator
) -> dict[str, Any]:
    """Private Multi-Agent UCB, two arms, first rewards x and 1/2. S: the arm of x is chosen third.

    The counts that are sent after the third slot say which arm that was; the claim is the cost
    n^(-v/2) of that one message with the least n it can carry, n = 1.
    """
    noise, ties = own_noise(generator), seed(generator)
    due = release_counts(epsilon, V, 3)

    def release(changed: bool) -> bool:
        agent = PrivateMeans(
            2, 1, [ties], epsilon=epsilon, variant=variant, noise=[noise], releases=due
        )
        pulled = []
        for t, reward in enumerate((float(changed), 0.5, 0.0), start=1):
            pulled += agent.choose([t])
            agent.learn(pulled[-1], reward)
        first, _, third = pulled
        counts = agent.message["counts"][0]
        return bool(third == first and counts[first] > 1)

    return audit(trials, release, 1.0)


EXPERIMENTS = (
    audits(
        "dubey-audit", "Lemmas 3.2 and 3.5",
        "How much privacy noise and a message spend",
        claim("Laplace noise of scale β gives β/s(f)-differential privacy, β = 1/2", "Lemma 3.2",
              spends("Laplace noise of scale 1/2")),
        claim("a message is n^(−v/2)-differentially private", "Lemma 3.5",
              spends("one message"), "printed"),
        ours("a message is n^(−v/2)-private if the agent decides by what it released",
             spends("one message"), "corrected"),
        lines=releases({
            "Laplace noise of scale 1/2": (laplace, 0.5),
            "one message": (message, 1.0),
        }),
        variants=VARIANTS,
        assumed=f"{ASSUMED} A message: three slots at ε = 1, K = 2, first rewards (x, 1/2).",
    ),
)  # fmt: skip
