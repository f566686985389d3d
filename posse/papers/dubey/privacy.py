"""Lemmas 3.2 and 3.5 of Dubey and Pentland 2020, audited; the ledger of DP-UCB-INT."""

from typing import Any

import numpy as np

from agent.cooperative import PrivateMeans
from posse.measure.numbers import number
from posse.papers.audit import ASSUMED, audit, audits, own_noise, releases, seed, spends
from posse.papers.dubey.setting import V
from posse.papers.sample import Sample, value_or
from posse.papers.statements import Finding, Measured, claim, ours, verdict
from protocol.cooperative import privacy_bound, release_counts

_DELTA = float(np.exp(-10))


def laplace(
    variant: Any, generator: np.random.Generator, trials: int, scale: float
) -> dict[str, Any]:
    """Laplace noise of scale β on 1 and on 0. S: the release exceeds 1.

    Lemma 3.2 prints β/s(f), s(f) = 1 here; the mechanism gives s(f)/β.
    """
    noise = own_noise(generator)

    def release(changed: bool) -> bool:
        return bool(noise.noisy(np.array([float(changed)]), 1.0, scale)[0] > 1)

    return audit(trials, release, scale)


def message(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float
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
        counts = agent.says()["counts"][0]
        return bool(third == first and counts[first] > 1)

    return audit(trials, release, 1.0)


_BOUND = privacy_bound(0.1, V, 2000, _DELTA)
_ALONE = {
    "system": "dp-ucb-int",
    "agents": {"count": 4},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
    "parameters": {"horizon": 2000, "epsilon": 0.1},
}
_AUDITED = releases({
    "Laplace noise of scale 1/2": (laplace, 0.5),
    "one message": (message, 1.0),
})  # fmt: skip


def ledger(measured: Measured) -> Finding:
    """What DP-UCB-INT's releases cost, composed, is at most Lemma 3.6's ε'."""
    spent = measured.runs["DP-UCB-INT", 0.0][0].spent
    assert spent is not None
    said = f"the agent that spent most: ε' = {number(spent)}, by the lemma {number(_BOUND)}"
    return verdict(spent <= _BOUND, said)


def _share(sample: Sample) -> float | None:
    return None if sample.spent is None else sample.spent / _BOUND


EXPERIMENTS = (
    audits(
        "dubey-audit", "Lemmas 3.2 and 3.5",
        "How much privacy cooperation and its baseline spend",
        claim("Laplace noise of scale β gives β/s(f)-differential privacy, β = 1/2", "Lemma 3.2",
              spends("Laplace noise of scale 1/2")),
        claim("a message is n^(−v/2)-differentially private", "Lemma 3.5",
              spends("one message"), "printed"),
        ours("a message is n^(−v/2)-private if the agent decides by what it released",
             spends("one message"), "corrected"),
        ours("DP-UCB-INT, whose noise the print draws again in every slot, spends no more than "
             "Lemma 3.6 says", ledger),
        lines=lambda quick: {**_AUDITED(quick), "DP-UCB-INT": _ALONE},
        metric=value_or(_share),
        assumed=f"{ASSUMED} A message: three slots at ε = 1, K = 2, first rewards (x, 1/2). "
        "DP-UCB-INT: 2,000 slots at ε = .1, by its ledger, δ' = e⁻¹⁰.",
    ),
)  # fmt: skip
