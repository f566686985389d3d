"""Parts of five papers' algorithms, to experiment with one by one: machines, counters, formulas.

The families are told in docs/best-arm.md (Rio et al. 2023), docs/cooperative.md (Dubey and Pentland
2020), docs/players.md (Tossou and Dimitrakakis 2015), docs/anonymous.md (Esfandiari et al. 2022)
and docs/federated.md (Li and Song 2022). Whole systems run by `posse.run`.
"""

from posse.agent.cooperative import PrivateMeans
from posse.agent.federated import CdpAgent
from posse.agent.hybrid import HybridSums
from posse.agent.lone import PrivateLoneUcb
from posse.agent.mase import DpMaseVoter
from posse.agent.noise import SeededNoise
from posse.agent.players import ContinualCounter, TdfsPlayer, Ucb, UcbPrivate, UcbPrivateBound
from posse.agent.tree import HonakerSums, TreeSums
from posse.agent.trimmed import TrimmedMeans
from posse.arms.base import RandomMeans
from posse.arms.csv import Csv
from posse.coordinator.decomposition import Assignment, Decomposition, at_random, by_flow, greedy
from posse.coordinator.groups import UserGroup, form_groups
from posse.coordinator.learners import (
    AnonymousLearner,
    BatchedElimination,
    ExploreThenCommit,
    effective_horizon,
)
from posse.families.bounds import mean_gaps, positive
from posse.families.federated_theory import elimination_rounds
from posse.families.mase import rounds_of_votes, samples_of_epochs
from posse.families.players import Plays, fair_sharing_regret, plays_with_bound, plays_without_bound
from posse.protocol.anonymous import estimates, grid, roster, schedule_length, sweeps
from posse.protocol.cooperative import exploration_slots, release_counts, zeta
from posse.protocol.federated import Active, Means, Schedule, uploaders
from posse.protocol.mase import corrupted_failure, epoch_length, epoch_radius, threshold
from posse.protocol.players import Choice, Outcome, privacy_factor, privacy_weight, target_rank
from posse.protocol.shared import SharedLaplace, SharedNoise
from posse.security.noise import FieldNoise
from posse.spec.activity import ActivitySpec
from posse.topologies.graphs import Graph, from_edges, regular, ring, star

__all__ = [
    "Active",
    "ActivitySpec",
    "AnonymousLearner",
    "Assignment",
    "BatchedElimination",
    "CdpAgent",
    "Choice",
    "ContinualCounter",
    "Csv",
    "Decomposition",
    "DpMaseVoter",
    "ExploreThenCommit",
    "FieldNoise",
    "Graph",
    "HonakerSums",
    "HybridSums",
    "Means",
    "Outcome",
    "Plays",
    "PrivateLoneUcb",
    "PrivateMeans",
    "RandomMeans",
    "Schedule",
    "SeededNoise",
    "SharedLaplace",
    "SharedNoise",
    "TdfsPlayer",
    "TreeSums",
    "TrimmedMeans",
    "Ucb",
    "UcbPrivate",
    "UcbPrivateBound",
    "UserGroup",
    "at_random",
    "by_flow",
    "corrupted_failure",
    "effective_horizon",
    "elimination_rounds",
    "epoch_length",
    "epoch_radius",
    "estimates",
    "exploration_slots",
    "fair_sharing_regret",
    "form_groups",
    "from_edges",
    "greedy",
    "grid",
    "mean_gaps",
    "plays_with_bound",
    "plays_without_bound",
    "positive",
    "privacy_factor",
    "privacy_weight",
    "regular",
    "release_counts",
    "ring",
    "roster",
    "rounds_of_votes",
    "samples_of_epochs",
    "schedule_length",
    "star",
    "sweeps",
    "target_rank",
    "threshold",
    "uploaders",
    "zeta",
]
