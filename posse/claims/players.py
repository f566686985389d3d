"""What players on shared arms claim (Tossou and Dimitrakakis 2015)."""

from __future__ import annotations

import numpy as np

from protocol.players import (
    PlayerParameters,
    PrivateTdfsParameters,
    Variant,
)
from protocol.privacy import Claim

_SHARE = 1.0 + 1.0 / float(np.log(2.0))


def nothing(parameters: PlayerParameters, variant: Variant) -> Claim:
    """Of choices that follow rewards."""
    return Claim(mechanism="none", note="Nothing is claimed.")


def silence(parameters: PlayerParameters, variant: Variant) -> Claim:
    """Of choices that follow nothing."""
    return Claim(
        mechanism="silence",
        epsilon=0.0,
        adversary="whoever sees all choices and collisions",
        note="Choices do not depend on rewards.",
    )


def private_sums(parameters: PrivateTdfsParameters, variant: Variant) -> Claim:
    """Of choices that follow private sums, over any horizon."""
    notes = [
        "For one player's choices over any horizon. The coordinator keeps the arms, sees every "
        "reward and is trusted with them."
    ]
    if parameters.offsets == "found":
        notes.append(
            "For its choices given the collisions: offsets found by collisions depend on "
            "the other players' choices."
        )
    elif parameters.shared_sample:
        notes.append(
            "For the choices of all M players together M ε, since players that collide see the "
            "same sample."
        )
    else:
        notes.append(
            "For the choices of all players together as well: each reward is one player's, and "
            "players do not react to each other."
        )
    if parameters.split == "tossou":
        notes.append(
            f"With this split the sums cost {_SHARE:.3f} ε = {_SHARE * parameters.epsilon:.3g}, "
            "not the ε claimed."
        )
    return Claim(
        mechanism="hybrid",
        epsilon=parameters.epsilon,
        unit="one reward of one player",
        adversary="whoever sees all choices and collisions",
        holds=parameters.split == "half",
        note=" ".join(notes),
    )
