"""Claims of players that collide (Tossou and Dimitrakakis 2015)."""

import math

from posse.claims.base import TIMING, ClaimContext, unprotected
from posse.protocol.players import PrivateTdfsParameters, one_sample
from posse.protocol.privacy import Claim, Guarantee

_ALL = "whoever sees all choices and collisions"
_ONE = "whoever sees the choices of one player and nothing else"
_ARMS = "The coordinator keeps the arms, sees every reward and is trusted with them."

_TOSSOU = 1.0 + 1.0 / math.log(2.0)
"""The factor by which the authors' split overspends: it uses ε in both parts, and ln for log2."""

_PARTS = {
    "half": "A sample is in one number of the logarithmic mechanism and at most log2(T_0) nodes of "
    "the binary one, ε/2 each (Chan, Shi and Song 2011)",
    "tossou": "A sample is in one number of the logarithmic mechanism, which costs ε, and at most "
    "log2(T_0) nodes of scale ln(T_0)/ε",
    "tree": "A sample is in one node of each of the ⌊log2 T⌋ + 1 levels, of scale "
    "(⌊log2 T⌋ + 1)/ε (Chan, Shi and Song 2011, Algorithm 2; Honaker 2015)",
}

nothing = unprotected(f"Choices follow raw rewards. {_ARMS}", "pulls")


def silence(context: ClaimContext) -> Claim:
    """The random player."""
    return Claim(
        mechanism="silence",
        epsilon=0.0,
        adversary=_ALL,
        sees="pulls",
        note=_ARMS,
        proof="Choices do not depend on rewards.",
        uncovered=TIMING,
    )


def private_sums(context: ClaimContext) -> Claim:
    """UCB-Private and UCB-Private-Bound.

    Against all choices the number is M ε if players that collide see one sample, because it then
    enters up to M players' sums (Corollary 3). It is ε if each player has a sample of its own.
    """
    p: PrivateTdfsParameters = context.parameters
    one, formula, notes = p.epsilon, "", [_ARMS]
    parts = _PARTS["tree" if p.counter != "hybrid" else p.split]
    if p.split == "tossou":
        one, formula = _TOSSOU * p.epsilon, "(1 + 1/ln 2) ε"
        notes.append(f"With this split the sums cost {_TOSSOU:.3f} ε, not the ε claimed.")
    number = one
    besides: tuple[Guarantee, ...] = ()
    if not one_sample(p, field=context.field):
        shown = "each sample is one player's, and players learn of the others' choices alone"
    else:
        shown = "a shared sample is in the sums of up to M players (Corollary 3)"
        alone = formula
        number, formula = context.agents * one, f"M {formula or 'ε'}"
        if p.offsets == "found" or context.field:
            by = "its collisions" if p.offsets == "found" else "which rows of a log are left"
            notes.append(
                f"One player's choices alone are no better protected: by {by} they "
                "depend on the choices of others, who may have seen the same sample."
            )
        else:
            besides = (Guarantee(adversary=_ONE, epsilon=one, formula=alone),)
    return Claim(
        mechanism="hybrid" if p.counter == "hybrid" else "tree",
        epsilon=number,
        formula=formula,
        unit="the value of one sample, its arm and place fixed",
        adversary=_ALL,
        sees="pulls",
        besides=besides,
        holds=p.split == "half",
        note=" ".join(notes),
        proof=f"{parts}. Choices are functions of the noisy sums, over any horizon; {shown}.",
        uncovered=TIMING,
    )
