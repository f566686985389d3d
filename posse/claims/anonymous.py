"""Claims of anonymous bandits (Esfandiari, Mirrokni and Schneider 2022)."""

from posse.claims.base import ClaimContext
from posse.protocol.anonymous import AnonymousParameters, ExploreThenCommitParameters
from posse.protocol.privacy import Claim

TRUST = {
    "masked": (
        "No single report can be read, by the coordinator or by other users, unless all other "
        "members of its sum, at least C - 1, collude. The coordinator passes on the public keys: "
        "agents with keys sign theirs and believe their own allowlist; without, it is trusted "
        "not to replace them."
    ),
    "sink": (
        "The first member of each group sees every report of its group in the clear, so it is "
        "trusted with them and to add up honestly. The coordinator, which carries the reports "
        "sealed, sees sums only, and without keys it is trusted not to replace the public keys, "
        "which agents with keys sign."
    ),
}

_CLOSING = "; the lab's closing report, which measures every user apart"


def sums_over_groups(context: ClaimContext) -> Claim:
    """Every observation covers at least C users."""
    p: AnonymousParameters | ExploreThenCommitParameters = context.parameters
    return Claim(
        mechanism="aggregation",
        unit=f"each report, in sums over at least {p.group_size} users",
        adversary="the coordinator, which follows the protocol",
        sees="coordinator",
        note=f"Every observation adds up at least {p.group_size} users. {TRUST[p.aggregation]} "
        "Syntactic and per round, not differential privacy: a sum of 0 or of the group's size "
        "reveals every member's reward, and the difference of two rounds estimates one member's "
        "mean by design.",
        proof="A group has C + 1 to 2C + 1 users and at most one is left out of a round "
        "(Esfandiari et al. 2022, section 3.1); masks cancel in the sum alone (Bonawitz et al. "
        "2017).",
        uncovered="every estimated mean of every user and arm, which the coordinator learns across "
        f"rounds; which arm a user plays{'' if context.field else _CLOSING}",
    )
