"""Claims of agents that decide alone: UCB1, DP-UCB-INT and AdaP-UCB."""

from posse.claims.base import ITS_PULLS, ClaimContext, released
from posse.claims.cooperative import ONCE, of_schedule, refuted
from protocol.cooperative import AdapParameters, PrivateAloneParameters, pulls_per_release
from protocol.privacy import Claim


def private_means(context: ClaimContext) -> Claim:
    """DP-UCB-INT."""
    p: PrivateAloneParameters = context.parameters
    if context.variant == "printed":
        return refuted(
            p,
            ITS_PULLS,
            "pulls",
            "Not satisfied as printed: the noise of an arm that is not pulled is drawn again "
            "in every slot, without bound; see the ledger.",
        )
    f = pulls_per_release(p.epsilon)
    return of_schedule(p, tuple(range(f, p.horizon + 1, f)), ITS_PULLS, "pulls")


def batched_means(context: ClaimContext) -> Claim:
    """AdaP-UCB."""
    p: AdapParameters = context.parameters
    return released(
        epsilon=p.epsilon,
        adversary=ITS_PULLS,
        sees="pulls",
        note="Nothing is sent before the end.",
        proof=ONCE.format(source="Azize and Basu 2022, Theorem 6"),
    )
