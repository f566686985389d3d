"""Claims of cooperation on a graph and of its baselines (Dubey and Pentland 2020)."""

from functools import lru_cache

import numpy as np

from posse.claims.base import ITS_PULLS, ClaimContext, released, unprotected
from posse.protocol.accounting import composed
from posse.protocol.cooperative import (
    AdapParameters,
    PrivateAloneParameters,
    PrivateParameters,
    privacy_bound,
    pulls_per_release,
    release_counts,
)
from posse.protocol.privacy import Claim, View

_MESSAGES = "whoever reads all messages that carry the agent's means and counts"
_ONCE = (
    "An arm's rewards fall into disjoint batches, whose mean one reward moves by at most 1/n and "
    "which is noised once, by Lap(1/(ε n)). Pulls, counts and the answer are functions of noisy "
    "means ({source})."
)

means = unprotected(
    "In every slot each agent's mean reward and number of pulls of every arm are sent as they are. "
    "Two messages of an agent that follow each other give away its reward."
)

rewards = unprotected("Every single reward of every agent is sent as it is, with its arm.")

_destination = unprotected(
    "Means are sent as they are; who receives them is trusted to add the noise."
)


@lru_cache(maxsize=64)
def _schedule(counts: tuple[int, ...], v: float, delta: float) -> float:
    """ε of all possible releases of an arm together; the one after n pulls costs n^(-v/2)."""
    costs = np.array(counts, dtype=float) ** (-v / 2)
    return composed(costs, np.ones(len(counts), dtype=np.int64), delta)


def private(context: ClaimContext) -> Claim:
    """Private Multi-Agent UCB."""
    p: PrivateParameters = context.parameters
    if p.noise_at == "destination":
        return _destination(context)
    if p.releases == "doubling":
        return robust(context)
    if context.variant == "printed":
        return _refuted(
            p,
            _MESSAGES,
            "messages",
            "Not satisfied as printed: the agent's own raw sums decide its pulls, and their "
            "counts are sent without noise, so that one reward can change a count for certain.",
        )
    return _of_schedule(p, release_counts(p.epsilon, p.v, p.horizon), _MESSAGES, "messages")


def robust(context: ClaimContext) -> Claim:
    """Releases in doubling batches; the claim holds whatever follows from them and whoever lies."""
    return released(
        epsilon=context.parameters.epsilon,
        adversary=_MESSAGES,
        proof=_ONCE.format(source="Sajed and Sheffet 2019; Azize and Basu 2022, Lemma 1"),
    )


def _of_schedule(
    p: PrivateAloneParameters, counts: tuple[int, ...], adversary: str, sees: View
) -> Claim:
    """Releases of an arm's mean at fixed numbers of its pulls, whatever the rewards."""
    lemma = privacy_bound(p.epsilon, p.v, p.horizon, p.delta_prime)
    return released(
        epsilon=_schedule(counts, p.v, p.delta_prime),
        delta=p.delta_prime,
        formula=f"the whole schedule, composed; epsilon = {p.epsilon:g} is only its rate",
        adversary=adversary,
        sees=sees,
        note=f"Over the whole horizon. Lemma 3.6 of Dubey and Pentland says {lemma:.4g}; epsilon "
        "= 1 is not 'no privacy'.",
        proof="An arm's mean over n rewards is released at fixed n <= T with Lap(n^(v/2 - 1)), so "
        "that all releases there may be cover a reward whatever the rewards are. They are composed "
        "by Rényi differential privacy (Mironov 2017) and read at δ' (Canonne, Kamath and Steinke "
        "2020, Proposition 12). Pulls, counts and the answer are functions of them.",
    )


def _refuted(p: PrivateAloneParameters, adversary: str, sees: View, why: str) -> Claim:
    """A printed claim that does not hold."""
    return Claim(
        mechanism="laplace",
        epsilon=privacy_bound(p.epsilon, p.v, p.horizon, p.delta_prime),
        delta=p.delta_prime,
        formula="as printed, Lemma 3.6",
        adversary=adversary,
        sees=sees,
        holds=False,
        note=why,
    )


def private_means(context: ClaimContext) -> Claim:
    """DP-UCB-INT."""
    p: PrivateAloneParameters = context.parameters
    if context.variant == "printed":
        return _refuted(
            p,
            ITS_PULLS,
            "pulls",
            "Not satisfied as printed: the noise of an arm that is not pulled is drawn again "
            "in every slot, without bound; see the ledger.",
        )
    f = pulls_per_release(p.epsilon)
    return _of_schedule(p, tuple(range(f, p.horizon + 1, f)), ITS_PULLS, "pulls")


def batched_means(context: ClaimContext) -> Claim:
    """AdaP-UCB."""
    p: AdapParameters = context.parameters
    return released(
        epsilon=p.epsilon,
        adversary=ITS_PULLS,
        sees="pulls",
        note="Nothing is sent before the end.",
        proof=_ONCE.format(source="Azize and Basu 2022, Theorem 6"),
    )
