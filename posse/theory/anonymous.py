"""The regret of anonymous bandits (Esfandiari et al. 2022)."""

import numpy as np

from posse.protocol.anonymous import ParallelUcbParameters
from posse.spec.runfile import RunSpec
from posse.theory.bounds import Bound, run_gaps, ucb1_regret, undrawn

BATCHED = undrawn("No bound is drawn: the paper's is Õ(N C sqrt(α K T)), without constants.")
EXPLORING = undrawn(
    "No bound is drawn: the paper's is Õ(N C^(2/3) K^(1/3) T^(2/3)), without constants."
)


def each_alone(spec: RunSpec, parameters: ParallelUcbParameters, run: int) -> Bound:
    """UCB1's bound, summed over the users."""
    users = [(row.max(), ucb1_regret(row)) for row in run_gaps(spec, run)]
    return Bound(
        label="UCB1's bound, each user alone",
        # UCB1's bound is large for a tiny gap, which costs at most itself in every round
        regret=lambda t: np.sum([np.minimum(bound(t), most * t) for most, bound in users], axis=0),
        note="Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, once for each user's own means.",
    )
