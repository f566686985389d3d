"""Noise, noisy sums over time, accounting, and what is claimed of them."""

from posse.agent.hybrid import HybridNodes, HybridSums
from posse.agent.tree import HonakerSums, TreeSums
from posse.protocol.accounting import (
    Losses,
    composed,
    gaussian_deviation,
    laplace_losses,
    polya_loss,
)
from posse.protocol.noise import Noise, SeededNoise
from posse.protocol.privacy import (
    FARTHEST,
    LEAST_EPSILON,
    AdversaryView,
    Claim,
    Epsilon,
    Neighbours,
    OneReward,
    Release,
    slack,
)
from posse.system.claims import (
    ALL_MESSAGES,
    ITS_PULLS,
    SERVER,
    TIMING,
    ClaimContext,
    released,
    silence,
    unprotected,
)

__all__ = [
    "ALL_MESSAGES",
    "FARTHEST",
    "ITS_PULLS",
    "LEAST_EPSILON",
    "SERVER",
    "TIMING",
    "AdversaryView",
    "Claim",
    "ClaimContext",
    "Epsilon",
    "HonakerSums",
    "HybridNodes",
    "HybridSums",
    "Losses",
    "Neighbours",
    "Noise",
    "OneReward",
    "Release",
    "SeededNoise",
    "TreeSums",
    "composed",
    "gaussian_deviation",
    "laplace_losses",
    "polya_loss",
    "released",
    "silence",
    "slack",
    "unprotected",
]
