"""The two problems of Rio et al. 2023 (appendix C.1) as run files, and Figures 1 to 6."""

from functools import partial
from typing import Any

from posse.extend import Variant
from posse_papers.checks import above, exponent, falling, faster, right, slower, trend
from posse_papers.experiment import VARIANTS, Axes, Experiment, Lines, Runs, along, panels, run_file
from posse_papers.statements import By, Statement, claim, ours, over

PROBLEMS: dict[int, dict[str, Any]] = {
    1: {"kind": "bernoulli", "means": [0.7, 0.5, 0.3] + [0.1] * 7},
    2: {"kind": "gaussian", "means": [11.0, 10.8] + [10.4] * 8, "sd": 0.5},
}
DELTA = 0.05
XIS = (0.0, 0.05, 0.1)
ASSUMED = "N = 64, 128, 256, 512, 1024 (the text says 64 to 1024; quick: 64 and 256)."


def agents(quick: bool) -> list[int]:
    """N of the figures."""
    return [64, 256] if quick else [64, 128, 256, 512, 1024]


def run(
    system: str, count: int, problem: int = 1, activity: Any = None, **parameters: Any
) -> dict[str, Any]:
    """One system with N = `count` on a problem."""
    found = run_file(system, count, PROBLEMS[problem], {"delta": DELTA, **parameters})
    return found | {"agents": {"count": count, "activity": activity}} if activity else found


def dp(count: int, epsilon: float, beta: float = 0.5, **more: Any) -> dict[str, Any]:
    """DP-MASE."""
    return run("dp-mase", count, epsilon=epsilon, beta=beta, **more)


def corrupted(count: int, xi: float, eta: float = 0.9, **more: Any) -> dict[str, Any]:
    """Corrupted Elimination, at ξ = 0 the algorithm of Féraud et al. 2019."""
    return run("corrupted-elimination", count, xi=xi, eta=eta, **more)


_SPREAD = "The deviation of Problem 2's rewards is not printed: 0.5."
_CONTRADICTION = (
    "M contradicts itself in the paper: line 1 of Algorithm 3 takes it from log η (printed), the "
    "text after Proposition 5.3 from log η_ξ (corrected)."
)
_ALONE = (
    "In INDEPENDENT an agent that has chosen leaves the draw, and rounds count the others' turns."
)

_figure = partial(Experiment, axes=Axes("number of agents N", "rounds", "xy"), repeat=(2, 20))
_DP, _CORRUPTED = "DP-MASE", "Corrupted Elimination"
_LINES = {
    _DP: {f"ε={epsilon:g}": epsilon for epsilon in (0.05, 0.1, 0.25)},
    _CORRUPTED: {f"ξ={xi:g}": xi for xi in XIS},
}
"""The curves of each panel by their ε, the most private first, and by their ξ."""
_BASELINES = ("CENTRAL", "INDEPENDENT")
_PROBLEMS = {"Problem 1": 1, "Problem 2": 2}
_FORMS: dict[int, tuple[Variant, ...]] = {1: VARIANTS, 2: ("printed",)}
"""Of DP-MASE by problem: the rewards of Problem 2 have no bound, so that it is printed only."""


def _private(quick: bool, n: int, epsilon: float, problem: int = 1, activity: Any = None) -> Runs:
    """DP-MASE, six or ten times as often for 64 agents.

    Their last votes fall into the second or the third epoch, which is four times as long, so that
    means need many runs; values of ε lie closer together on Problem 2.
    """
    run = dp(n, epsilon, problem=problem, activity=activity)
    usual = 5 if quick else 1
    few = 6 if quick and problem == 1 else 10
    return Runs(run, times=few * usual if n == 64 else usual, variants=_FORMS[problem])


def _votes(quick: bool, n: int, xi: float, problem: int = 1, activity: Any = None) -> Runs:
    """Corrupted Elimination; on Problem 1 values of ξ lie closer together."""
    times = 5 if problem == 1 else 3
    return Runs(corrupted(n, xi, problem=problem, activity=activity), times if quick else 1)


def _panels(problem: int, quick: bool) -> dict[str, Lines]:
    """Both algorithms on a problem, against N."""
    runs = {
        _DP: lambda epsilon, n: _private(quick, n, epsilon, problem),
        _CORRUPTED: lambda xi, n: _votes(quick, n, xi, problem),
    }
    return {name: along(runs[name], lines, agents(quick)) for name, lines in _LINES.items()}


def _with_baselines(problem: int, quick: bool) -> Lines:
    """The same with both baselines; the slope of INDEPENDENT is what others are compared with."""
    often = {"CENTRAL": 3, "INDEPENDENT": 5 if problem == 1 else 3}
    alone = along(
        lambda name, n: Runs(run(name.lower(), n, problem), often[name] if quick else 1),
        _BASELINES, agents(quick),
    )  # fmt: skip
    return panels({name: {**lines, **alone} for name, lines in _panels(problem, quick).items()})


def _names(panel: str, name: str) -> list[str]:
    """An algorithm's curves in a panel, in their order."""
    return [f"{panel}: {line}" for line in _LINES[name]]


def _conclusions(problem: int) -> tuple[Statement, ...]:
    """What section 6 says of Figure 1; of Figure 3 "the same conclusions" (appendix C.2).

    Figure 4 has the same curves without the baselines.
    """
    # with rewards without a bound only the printed form of DP-MASE runs
    by: dict[str, By] = {_DP: "both" if problem == 1 else "printed", _CORRUPTED: "both"}
    where = {s: s if problem == 1 else f"C.2 ({s})" for s in ("6.1", "6.2", "6.3, Section C.3")}
    found = []
    for name in _LINES:
        line = _names(name, name)
        central, alone = (f"{name}: {other}" for other in _BASELINES)
        found += [
            claim(f"{name}: solved much faster if raw rewards are shared", where["6.1"],
                  above(line, central), by[name]),
            claim(f"{name}: sample complexity grows with N", where["6.1"], trend(line), by[name]),
            claim(f"{name}: scales better with N than INDEPENDENT", where["6.1"],
                  slower(line, alone), by[name]),
            claim(f"{name}: collaborating is faster than INDEPENDENT", where["6.1"],
                  above(alone, line), by[name]),
        ]  # fmt: skip
    return (
        *found,
        claim("DP-MASE: gets worse with smaller ε", where["6.2"],
              falling(*_names(_DP, _DP)), by[_DP]),
        claim("corrupting messages lowers the rounds, more so with larger ξ",
              where["6.3, Section C.3"],
              falling(*_names(_CORRUPTED, _CORRUPTED))),
        ours("CENTRAL does not depend on N", over(
            lambda within: exponent(f"{_CORRUPTED}: CENTRAL", -within, within), within=(0.15, 0.3)
        )),
    )  # fmt: skip


_BETAS = {f"β={beta:g}": beta for beta in (0.3, 0.5, 0.8)}


def _figure_5(quick: bool) -> Lines:
    def lines(problem: int) -> Lines:
        runs = partial(Runs, variants=_FORMS[problem])
        return along(lambda beta, n: runs(dp(n, 0.5, beta, problem=problem)), _BETAS, agents(quick))

    return panels({name: lines(problem) for name, problem in _PROBLEMS.items()})


_LAWS: dict[str, Any] = {"uniform": None, "unbalanced": {"kind": "power", "gamma": 0.8}}


EXPERIMENTS = (
    _figure(
        "rio-1", "Figures 1 and 4", "Sample complexity on Problem 1",
        *_conclusions(1),
        lines=partial(_with_baselines, 1),
        assumed=f"{ASSUMED} β = .5, η = .9. {_CONTRADICTION} {_ALONE}",
    ),
    _figure(
        "rio-2", "Figure 2", "Sample complexity of Féraud et al. (ξ = 0) against η",
        claim("the sample complexity and η are positively correlated", "C.2",
              trend(_PROBLEMS)),
        lines=lambda quick: along(
            lambda problem, eta: corrupted(128, 0.0, eta, problem=problem), _PROBLEMS,
            (0.3, 0.6, 0.9) if quick else (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
        ),
        axes=Axes("η", "rounds"), repeat=(4, 60),
        assumed=f"N = 128, η from .1 to .95 (the figure's are lost; below .2 rounds grow "
        f"again). {_SPREAD}",
    ),
    _figure(
        "rio-3", "Figures 3 and 4", "Sample complexity on Problem 2",
        *_conclusions(2),
        lines=partial(_with_baselines, 2),
        assumed=f"{ASSUMED} {_SPREAD} DP-MASE runs as printed only: rewards without a bound are "
        "not those that Proposition 4.1 is about, and the claim is marked as not holding. "
        f"{_ALONE}",
    ),
    _figure(
        "rio-5", "Figure 5", "Sample complexity of DP-MASE against the local accuracy",
        claim("Problem 1: the sample complexity increases with the local accuracy 1 − β", "C.3",
              falling(*(f"Problem 1: {line}" for line in _BETAS))),
        claim("Problem 2: the same", "C.3", falling(*(f"Problem 2: {line}" for line in _BETAS)),
              "printed"),
        lines=_figure_5, repeat=(3, 10),
        assumed=f"{ASSUMED} {_SPREAD}",
    ),
    _figure(
        "rio-6", "Figure 6", "Agents that are not equally active, Problem 1",
        *(
            claim(f"{name}: much faster if unbalanced", "C.4, Proposition 4.3", over(
                lambda times, name=name: faster(f"{name}: uniform", f"{name}: unbalanced", times),
                times=(1.0, 1.5, 2.0)))
            for name in (_DP, _CORRUPTED)
        ),
        claim("without losing accuracy", "C.4",
              right(0.05, tuple(f"{name}: unbalanced" for name in (_DP, _CORRUPTED)))),
        lines=lambda quick: {
            f"{name}: {law}": {n: runs(quick, n, level, activity=activity) for n in agents(quick)}
            for law, activity in _LAWS.items()
            for name, runs, level in ((_DP, _private, 0.1), (_CORRUPTED, _votes, 0.05))
        },
        assumed=f"{ASSUMED} P(n) ∝ (n + α)^-.8 with α = 0 and n from 1; η = .9.",
    ),
)  # fmt: skip
