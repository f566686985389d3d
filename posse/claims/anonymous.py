"""What anonymous bandits claim (Esfandiari et al. 2022)."""

from __future__ import annotations

from protocol.anonymous import (
    AnonymousParameters,
    ExploreThenCommitParameters,
    ParallelUcbParameters,
    Variant,
)
from protocol.privacy import Claim

TRUST = {
    "masked": (
        "No single report can be read, by the coordinator or by other users, unless all other "
        "members of its sum, at least C - 1, collude. The coordinator passes on the public keys: "
        "it is trusted not to replace them."
    ),
    "sink": (
        "The first member of each group sees every report of its group in the clear, so it is "
        "trusted with them and to add up honestly. The coordinator, which carries the reports "
        "sealed, sees sums only, and is trusted not to replace the public keys."
    ),
}

_BOTH = (
    "Syntactic and per round, not differential privacy: a sum of 0 or of the group's size reveals "
    "every member's reward, the difference of two rounds estimates one member's mean by design, "
    "and across rounds the coordinator learns every user's best arm. The lab's closing report, "
    "which measures every user apart, is not part of the protocol."
)


def sums_over_groups(
    parameters: AnonymousParameters | ExploreThenCommitParameters, variant: Variant
) -> Claim:
    """What the server sees of anyone is a sum over at least C users."""
    c = parameters.group_size
    return Claim(
        mechanism="aggregation",
        unit=f"sums over at least {c} users",
        adversary="the coordinator, which follows the protocol",
        note=f"Every observation adds up at least {c} users. {TRUST[parameters.aggregation]} "
        f"{_BOTH}",
    )


def silence(parameters: ParallelUcbParameters, variant: Variant) -> Claim:
    """Nobody sends anything."""
    return Claim(mechanism="silence", note="Every user learns alone and sends nothing.")
