"""The regret of agents that learn alone."""

import numpy as np

from posse.spec.runfile import RunSpec
from posse.theory.bounds import Bound, positive, shared_gaps, ucb1_regret
from protocol.cooperative import AdapParameters, AloneParameters
from protocol.machine import FloatArray


def adap_ucb_regret(gaps: FloatArray, t: FloatArray, epsilon: float, alpha: float) -> FloatArray:
    """Regret of AdaP-UCB after t pulls: Σ_k (16 α log t / min(Δ_k, ε) + α / (α - 3)).

    Azize and Basu, NeurIPS 2022, Theorem 7; sums over Δ_k > 0.
    """
    found = positive(gaps)
    logs = np.log(np.maximum(t, 1.0))
    regret: FloatArray = 16 * alpha * (1 / np.minimum(found, epsilon)).sum() * logs + len(
        found
    ) * alpha / (alpha - 3)
    return regret


def ucb1(spec: RunSpec, parameters: AloneParameters, run: int) -> Bound:
    """UCB1's bound, once for each agent."""
    gaps = shared_gaps(spec, run)
    return Bound(
        label="UCB1's bound, each agent alone",
        regret=lambda t: spec.agents.count * ucb1_regret(gaps, t),
        note="Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, once for each agent.",
    )


def adap_ucb(spec: RunSpec, parameters: AdapParameters, run: int) -> Bound:
    """AdaP-UCB's bound, once for each agent."""
    gaps = shared_gaps(spec, run)
    p = parameters
    return Bound(
        label="AdaP-UCB's bound, each agent alone",
        regret=lambda t: spec.agents.count * adap_ucb_regret(gaps, t, p.epsilon, p.alpha),
        note="Azize and Basu 2022, Theorem 7, once for each agent.",
    )
