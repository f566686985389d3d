"""What a run ends with: its record, figures, standings and bounds."""

from posse.measure.numbers import counted
from posse.protocol.estimates import Estimate, counted_privately, observed
from posse.results.base import Results, Standing
from posse.results.figures import Figure
from posse.results.record import Delay, Detail, Lines, NetworkFacts, RunRecord
from posse.results.traffic import ClosedForm, RoundCost
from posse.system.bounds import (
    Bound,
    Curve,
    NoBoundError,
    logarithmic,
    mean_gaps,
    positive,
    require_law,
    run_gaps,
    run_means,
    shared_gaps,
    ucb1_regret,
    undrawn,
)

__all__ = [
    "Bound",
    "ClosedForm",
    "Curve",
    "Delay",
    "Detail",
    "Estimate",
    "Figure",
    "Lines",
    "NetworkFacts",
    "NoBoundError",
    "Results",
    "RoundCost",
    "RunRecord",
    "Standing",
    "counted",
    "counted_privately",
    "logarithmic",
    "mean_gaps",
    "observed",
    "positive",
    "require_law",
    "run_gaps",
    "run_means",
    "shared_gaps",
    "ucb1_regret",
    "undrawn",
]
