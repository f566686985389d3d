"""Parts of five papers' algorithms, to experiment with one by one: machines, counters, formulas.

The papers are told in docs/best-arm.md (Rio et al. 2023), docs/cooperative.md (Dubey and Pentland
2020), docs/players.md (Tossou and Dimitrakakis 2015), docs/anonymous.md (Esfandiari et al. 2022)
and docs/federated.md (Li and Song 2022). Whole systems run by `posse.run`.
"""

from posse.seam.arms import ActivitySpec, Csv, Graph, RandomMeans, from_edges, regular, ring, star
from posse.seam.noise import HonakerSums, HybridSums, SeededNoise, TreeSums
from posse.seam.results import mean_gaps, positive
from posse.security.noise import FieldNoise
from posse_systems.dubey2020.agent import PrivateMeans
from posse_systems.dubey2020.lone import PrivateLoneUcb
from posse_systems.dubey2020.messages import exploration_slots, release_counts, zeta
from posse_systems.dubey2020.trimmed import TrimmedMeans
from posse_systems.esfandiari2022.decomposition import (
    Assignment,
    Decomposition,
    at_random,
    by_flow,
    greedy,
)
from posse_systems.esfandiari2022.groups import UserGroup, form_groups
from posse_systems.esfandiari2022.learners import (
    AnonymousLearner,
    BatchedElimination,
    ExploreThenCommit,
    effective_horizon,
)
from posse_systems.esfandiari2022.messages import estimates, grid, roster, schedule_length, sweeps
from posse_systems.li2022.agent import CdpAgent
from posse_systems.li2022.messages import Active, Means, Schedule, uploaders
from posse_systems.li2022.shared import SharedLaplace, SharedNoise
from posse_systems.li2022.theory import elimination_rounds
from posse_systems.rio2023.agent import DpMaseVoter
from posse_systems.rio2023.messages import corrupted_failure, epoch_length, epoch_radius, threshold
from posse_systems.rio2023.system import rounds_of_votes, samples_of_epochs
from posse_systems.tossou2015.agent import (
    ContinualCounter,
    TdfsPlayer,
    Ucb,
    UcbPrivate,
    UcbPrivateBound,
)
from posse_systems.tossou2015.messages import (
    Choice,
    Outcome,
    privacy_factor,
    privacy_weight,
    target_rank,
)
from posse_systems.tossou2015.system import (
    Plays,
    fair_sharing_regret,
    plays_with_bound,
    plays_without_bound,
)

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
