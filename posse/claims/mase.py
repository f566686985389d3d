"""Claims of best-arm identification (Rio et al. 2023)."""

from posse.claims.base import ALL_MESSAGES, TIMING, ClaimContext, released, unprotected
from posse.protocol.mase import CorruptedParameters, DpMaseParameters, epoch_length, epoch_radius
from posse.protocol.privacy import Claim, Neighbours

nothing = unprotected("Votes follow raw rewards.")

raw_rewards = unprotected("Every raw reward is sent.")

silence = unprotected(
    "No agent sends anything before its end, which tells of its rewards, as does the arm it found; "
    "whoever sees its pulls learns more."
)


def private_votes(context: ClaimContext) -> Claim:
    """DP-MASE."""
    p: DpMaseParameters = context.parameters
    pulls = epoch_length(context.arms, 1, p.beta, p.epsilon)
    # arm 0's lead misses the first epoch's vote by two scales of the noise
    lead = 2 * epoch_radius(context.arms, 1, p.beta, p.epsilon, pulls) - 2 / (p.epsilon * pulls)
    return released(
        epsilon=p.epsilon,
        adversary=ALL_MESSAGES,
        proof="A reward is in the window of one epoch, whose mean it moves by at most 1/R and "
        "which is noised once, by Lap(1/(ε R)). Windows are disjoint. Votes, the lengths of epochs "
        "and the end are functions of noisy means and of votes (Rio et al. 2023, Proposition 4.1).",
        uncovered=f"the pulls themselves; which agent is active; {TIMING}",
        worst=(Neighbours(levels=(lead - 1 / pulls, 0.0)),),
    )


def withheld_votes(context: ClaimContext) -> Claim:
    """Corrupted Elimination."""
    p: CorruptedParameters = context.parameters
    return Claim(
        mechanism="randomized-response",
        unit="the best arm",
        adversary="whoever reads one agent's votes",
        sees="agent",
        guess=1 - p.eta,
        holds=False,
        note=(
            f"Claimed: such an adversary names the best arm with probability at most "
            f"{1 - p.eta:.3g}. The proof bounds the adversary by a guarantee made for "
            "the agent and ignores guessing among the arms without a vote."
        ),
        uncovered="every reward: no differential privacy is claimed",
    )
