"""Private and byzantine-proof at once, open in Remark 6 of Dubey and Pentland 2020: ours."""

from functools import partial
from typing import Any

from posse.papers.checks import above
from posse.papers.dubey.figures import REGRET
from posse.papers.experiment import Axes, Experiment, Runs, bars, run_file
from posse.papers.sample import regret
from posse.papers.statements import ours

_ARMS = {"kind": "bernoulli", "means": [0.6, 0.5, 0.5]}
_GRAPHS: dict[str, Any] = {
    "ring": {"kind": "ring"},
    "Erdős–Rényi": {"kind": "erdos-renyi", "p": 0.3},
    "complete": {"kind": "complete"},
}
_LAWS: dict[str, Any] = {
    "mass at 0": {"law": "point", "value": 0.0},
    "opposite": {"law": "opposite"},
    "informed": {"law": "informed"},
}
_M = 20
_ROBUST, _MEAN = "robust", "mean, as private-ucb"
_SETTING = (
    "M = 20, Erdős–Rényi p = .3, γ = diameter/2, K = 3 with means .6, .5, .5, T = 2,000 "
    "(in full 20,000), ε = 1; liars lie in every message, agents believe the true share. "
    "Quick: the graphs, and the settings without liars, run twice as often as said."
)
_compared = partial(
    Experiment, metric=regret, repeat=(4, 50), variants=("corrected",), assumed=_SETTING
)


def _run(
    quick: bool,
    estimator: str,
    share: float,
    law: str = "informed",
    epsilon: float = 1.0,
    graph: str = "Erdős–Rényi",
) -> dict[str, Any]:
    """One setting; `estimator` is "robust", "mean", or "byzantine", which is not private."""
    liars = round(share * _M)
    lies = {"agents": liars, "rate": 1.0, **_LAWS[law]} if liars else {"agents": 0, "rate": 0.0}
    system = "robust-private-ucb"
    more: dict[str, Any] = {"epsilon": epsilon, "estimator": estimator}
    if estimator == "byzantine":
        system, more = "byzantine-ucb", {"assumed_contamination": share}
    given = {"horizon": 2000 if quick else 20_000, "contamination": lies, **more}
    return run_file(system, _M, _ARMS, given, topology=_GRAPHS[graph])


def _alone(quick: bool, epsilon: float = 1.0) -> dict[str, Any]:
    given = {"horizon": 2000 if quick else 20_000, "epsilon": epsilon}
    return run_file("adap-ucb", _M, _ARMS, given)


def _often(quick: bool, estimator: str, share: float, **more: Any) -> Runs:
    """Twice as often in the quick form, where less would not tell the two estimators apart."""
    return Runs(_run(quick, estimator, share, **more), times=2 if quick else 1)


EXPERIMENTS = (
    _compared(
        "robust-liars",
        "", "Private cooperation against liars",
        *(
            ours(f"{law}: better than the mean as soon as somebody lies",
                 above(f"{law}: {_MEAN}", f"{law}: {_ROBUST}", where=lambda x: x > 0))
            for law in _LAWS
        ),
        ours("without liars no worse than the mean",
             above(f"informed: {_MEAN}", f"informed: {_ROBUST}", where=0)),
        lines=lambda quick: {
            f"{law}: {line}": {
                0.0: _often(quick, estimator, 0.0),
                0.2: _run(quick, estimator, 0.2, law),
            }
            for law in _LAWS
            for line, estimator in ((_ROBUST, "robust"), (_MEAN, "mean"))
        } | {
            "opposite: byzantine-ucb, not private": {
                share: _run(quick, "byzantine", share, "opposite") for share in (0.0, 0.2)
            },
        },
        axes=Axes("share of agents that lie", REGRET),
    ),
    _compared(
        "robust-epsilon",
        "", "Private cooperation against a tenth of liars, over ε",
        ours("better than the mean at every ε", above(_MEAN, _ROBUST)),
        ours("better than acting alone from ε = .3 on",
             above("alone (AdaP-UCB)", _ROBUST, where=lambda x: x >= 0.3)),
        lines=lambda quick: {
            _ROBUST: {e: _run(quick, "robust", 0.1, epsilon=e) for e in (0.1, 0.3, 1.0)},
            _MEAN: {e: _run(quick, "mean", 0.1, epsilon=e) for e in (0.1, 0.3, 1.0)},
            "alone (AdaP-UCB)": {e: _alone(quick, e) for e in (0.1, 0.3, 1.0)},
        },
        axes=Axes("ε", REGRET, "x"),
    ),
    _compared(
        "robust-graphs",
        "", "Private cooperation against a tenth of liars, on three graphs",
        *(
            ours(f"{graph}: better than the mean",
                 above(f"{graph}, mean", f"{graph}, robust"))
            for graph in _GRAPHS
        ),
        lines=lambda quick: {
            f"{graph}, {estimator}": _often(quick, estimator, 0.1, graph=graph)
            for graph in _GRAPHS
            for estimator in ("robust", "mean")
        },
        axes=bars(REGRET),
    ),
)  # fmt: skip
