"""Whether a run named the best arm, where means are known."""

from posse.results.record import RunRecord
from posse.spec.runfile import RunSpec
from posse.theory.bounds import MeansUnknownError, run_means

_SAME = 1e-12


def right(spec: RunSpec, record: RunRecord) -> bool | None:
    """Whether the run's one answer has the greatest mean, averaged over the agents.

    None where means are not known, and where agents look for an arm each; a run that ended without
    the consensus it looked for is not right.
    """
    if record.best_arm is None and record.status != "no_consensus":
        return None
    try:
        means = run_means(spec, record.run)
    except MeansUnknownError:
        return None
    return record.best_arm is not None and bool(means[record.best_arm] >= means.max() - _SAME)
