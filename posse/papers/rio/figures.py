"""Figures 1 to 6 of Rio et al. 2023: the sample complexity, in rounds."""

from functools import partial

from posse.papers.checks import Above, Exponent, Falling, Slower, Trend
from posse.papers.experiment import Experiment
from posse.papers.limits import Right
from posse.papers.points import Point, by_line
from posse.papers.rio.setting import (
    ALONE,
    ASSUMED,
    CONTRADICTION,
    FORMS,
    SPREAD,
    agents,
    baselines,
    corrupted,
    dp,
    dp_lines,
    dp_points,
    xi_lines,
    xi_points,
)
from posse.papers.statements import By, Statement, claim, ours

_LEFT, _RIGHT = "DP-MASE", "Corrupted Elimination"
_figure = partial(Experiment, x_label="number of agents N", y_label="rounds", log="xy")


def _with_baselines(problem: int, quick: bool) -> list[Point]:
    counts = agents(quick)
    return [
        *dp_points(_LEFT, problem, counts),
        *baselines(_LEFT, problem, counts),
        *xi_points(_RIGHT, problem, counts),
        *baselines(_RIGHT, problem, counts),
    ]


def _conclusions(problem: int) -> tuple[Statement, ...]:
    """What section 6 says of Figure 1; of Figure 3 "the same conclusions" (appendix C.2)."""
    left, right = dp_lines(_LEFT), xi_lines(_RIGHT)
    # with rewards without a bound only the printed form of DP-MASE runs
    dp_by: By = "both" if problem == 1 else "printed"
    where = {s: s if problem == 1 else f"C.2, as in {s}" for s in ("6.1", "6.2", "6.3")}
    found = []
    of: tuple[tuple[str, tuple[str, ...], By], ...] = (
        (_LEFT, left, dp_by),
        (_RIGHT, right, "both"),
    )
    for name, lines, by in of:
        central, alone = f"{name}: CENTRAL", f"{name}: INDEPENDENT"
        found += [
            claim(f"{name}: solved much faster if raw rewards are shared", where["6.1"],
                  Above(lines, (central,)), by),
            claim(f"{name}: sample complexity grows with N", where["6.1"], Trend(lines), by),
            claim(f"{name}: scales better with N than INDEPENDENT", where["6.1"],
                  Slower(lines, alone), by),
            claim(f"{name}: collaborating is faster than INDEPENDENT", where["6.1"],
                  Above((alone,), lines), by),
        ]  # fmt: skip
    return (
        *found,
        claim("DP-MASE: gets worse with smaller ε", where["6.2"], Falling(left), dp_by),
        claim("corrupting messages lowers the rounds, more so with larger ξ", where["6.3"],
              Falling(right)),
        claim("the best arm is returned with confidence 1 − δ = .95", "6", Right(0.05)),
        ours("CENTRAL does not depend on N",
             Exponent((f"{_RIGHT}: CENTRAL",), -0.15, 0.15)),
    )  # fmt: skip


def _figure_2(quick: bool) -> list[Point]:
    etas = (0.3, 0.6, 0.9) if quick else (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    return by_line({
        f"Problem {problem}": {eta: corrupted(128, 0.0, eta, problem=problem) for eta in etas}
        for problem in (1, 2)
    })  # fmt: skip


def _figure_4(quick: bool) -> list[Point]:
    counts = agents(quick)
    return [
        point
        for problem in (1, 2)
        for point in (
            *dp_points(f"{_LEFT}, Problem {problem}", problem, counts),
            *xi_points(f"{_RIGHT}, Problem {problem}", problem, counts),
        )
    ]


_BETAS = (0.3, 0.5, 0.8)


def _figure_5(quick: bool) -> list[Point]:
    found = []
    for problem in (1, 2):
        lines = zip(_betas(problem), _BETAS, strict=True)
        runs = {line: {n: dp(n, 0.5, beta, problem=problem) for n in agents(quick)}
                for line, beta in lines}  # fmt: skip
        found += by_line(runs, variants=FORMS[problem])
    return found


_POWER = {"kind": "power", "gamma": 0.8}


def _figure_6(quick: bool) -> list[Point]:
    return [
        point
        for n in agents(quick)
        for law, activity in (("uniform", None), ("unbalanced", _POWER))
        for point in (
            Point(
                line=f"{_LEFT}: {law}",
                x=n,
                run=dp(n, 0.1, activity=activity),
                times=10 if n == 64 else 1,
            ),
            Point(line=f"{_RIGHT}: {law}", x=n, run=corrupted(n, 0.05, activity=activity)),
        )
    ]


def _betas(problem: int) -> tuple[str, ...]:
    return tuple(f"Problem {problem}: β={beta:g}" for beta in _BETAS)


EXPERIMENTS = (
    _figure(
        "rio-1", "Figure 1", "Sample complexity on Problem 1",
        points=partial(_with_baselines, 1),
        repeat=(10, 20),
        assumed=f"{ASSUMED} β = .5, η = .9. {CONTRADICTION} {ALONE}",
        statements=_conclusions(1),
    ),
    _figure(
        "rio-2", "Figure 2", "Sample complexity of Féraud et al. (ξ = 0) against η",
        x_label="η",
        points=_figure_2,
        repeat=(12, 60),
        log="",
        assumed=f"N = 128. {SPREAD}",
        statements=(
            claim("the sample complexity and η are positively correlated", "C.2",
                  Trend(("Problem 1", "Problem 2"))),
            claim("the best arm is returned with confidence .95", "6", Right(0.05)),
        ),
    ),
    _figure(
        "rio-3", "Figure 3", "Sample complexity on Problem 2",
        points=partial(_with_baselines, 2),
        repeat=(10, 20),
        assumed=f"{ASSUMED} {SPREAD} DP-MASE runs as printed only: rewards without a bound are "
        f"not those that Proposition 4.1 is about, and the claim is marked as not holding. {ALONE}",
        statements=_conclusions(2),
    ),
    _figure(
        "rio-4", "Figure 4", "Figures 1 and 3 without the baselines",
        points=_figure_4,
        repeat=(10, 20),
        assumed=f"{ASSUMED} {SPREAD}",
        statements=(
            claim("Problem 1: the curves of DP-MASE in the order of ε", "C.2",
                  Falling(dp_lines(f"{_LEFT}, Problem 1"))),
            claim("Problem 2: the curves of DP-MASE in the order of ε", "C.2",
                  Falling(dp_lines(f"{_LEFT}, Problem 2")), "printed"),
            *(
                claim(f"Problem {n}: the curves of Corrupted Elimination in the order of ξ", "C.2",
                      Falling(xi_lines(f"{_RIGHT}, Problem {n}")))
                for n in (1, 2)
            ),
        ),
    ),
    _figure(
        "rio-5", "Figure 5", "Sample complexity of DP-MASE against the local accuracy",
        points=_figure_5,
        repeat=(10, 10),
        assumed=f"{ASSUMED} {SPREAD}",
        statements=(
            claim("Problem 1: the sample complexity increases with the local accuracy 1 − β",
                  "C.3", Falling(_betas(1))),
            claim("Problem 2: the same", "C.3", Falling(_betas(2)), "printed"),
        ),
    ),
    _figure(
        "rio-6", "Figure 6", "Agents that are not equally active, Problem 1",
        points=_figure_6,
        repeat=(10, 20),
        assumed=f"{ASSUMED} P(n) ∝ (n + α)^-.8 with α = 0 and n from 1; η = .9.",
        statements=(
            *(
                claim(f"{name}: much faster with an unbalanced distribution", "C.4",
                      Above((f"{name}: uniform",), (f"{name}: unbalanced",)))
                for name in (_LEFT, _RIGHT)
            ),
            claim("without losing accuracy", "C.4", Right(0.05)),
        ),
    ),
)  # fmt: skip
