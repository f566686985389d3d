"""What theory says about a series of runs, for the figure of its regret."""

from dataclasses import replace

import numpy as np

from posse.errors import PosseError
from posse.plan import prepare
from posse.report.read import Series
from posse.theory.bounds import Bound
from protocol.machine import FloatArray

MOST_RUNS = 20
"""Runs over whose instances a bound is averaged; the first."""

FAR = 3.0
"""A bound beyond this many times what was measured is told, not drawn: all figures of regret have
even axes from 0, so that those of one run and of several are read alike."""


def bound(series: Series) -> Bound | None:
    """The bound of the series, averaged over its runs where each has its own instance."""
    try:
        plan = prepare(series.spec)
    except PosseError:
        return None  # a file of arms, or of a graph, that is no longer there
    runs = [run.run for run in series.runs[:MOST_RUNS]]
    each = [plan.bound(run) for run in runs]
    if not each:
        return None
    curves = [b.regret for b in each if b.regret is not None]
    rounds = [b.rounds for b in each if b.rounds is not None]

    def regret(t: FloatArray) -> FloatArray:
        mean: FloatArray = np.mean([curve(t) for curve in curves], axis=0)
        return mean

    return replace(
        each[0],
        regret=regret if len(curves) == len(each) else None,
        rounds=float(np.mean(rounds)) if len(rounds) == len(each) else None,
    )
