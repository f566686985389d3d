"""Figures 1 to 6 of Rio et al. 2023: the sample complexity, in rounds."""

from functools import partial

from posse.papers.checks import above, exponent, falling, slower, trend
from posse.papers.experiment import Axes, Experiment, Lines, Runs
from posse.papers.limits import right
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
    dp_against_n,
    dp_lines,
    often,
    xi_against_n,
    xi_lines,
)
from posse.papers.statements import By, Statement, claim, ours

_LEFT, _RIGHT = "DP-MASE", "Corrupted Elimination"
_figure = partial(Experiment, axes=Axes("number of agents N", "rounds", "xy"), repeat=(10, 20))


def _with_baselines(problem: int, quick: bool) -> Lines:
    counts = agents(quick)
    return {
        **dp_against_n(_LEFT, problem, counts),
        **baselines(_LEFT, problem, counts),
        **xi_against_n(_RIGHT, problem, counts),
        **baselines(_RIGHT, problem, counts),
    }


def _conclusions(problem: int) -> tuple[Statement, ...]:
    """What section 6 says of Figure 1; of Figure 3 "the same conclusions" (appendix C.2)."""
    lines = {_LEFT: dp_lines(_LEFT), _RIGHT: xi_lines(_RIGHT)}
    # with rewards without a bound only the printed form of DP-MASE runs
    by: dict[str, By] = {_LEFT: "both" if problem == 1 else "printed", _RIGHT: "both"}
    where = {s: s if problem == 1 else f"C.2, as in {s}" for s in ("6.1", "6.2", "6.3")}
    found = []
    for name, of in lines.items():
        central, alone = f"{name}: CENTRAL", f"{name}: INDEPENDENT"
        found += [
            claim(f"{name}: solved much faster if raw rewards are shared", where["6.1"],
                  above(of, central), by[name]),
            claim(f"{name}: sample complexity grows with N", where["6.1"], trend(of), by[name]),
            claim(f"{name}: scales better with N than INDEPENDENT", where["6.1"],
                  slower(of, alone), by[name]),
            claim(f"{name}: collaborating is faster than INDEPENDENT", where["6.1"],
                  above(alone, of), by[name]),
        ]  # fmt: skip
    return (
        *found,
        claim("DP-MASE: gets worse with smaller ε", where["6.2"],
              falling(*lines[_LEFT]), by[_LEFT]),
        claim("corrupting messages lowers the rounds, more so with larger ξ", where["6.3"],
              falling(*lines[_RIGHT])),
        claim("the best arm is returned with confidence 1 − δ = .95", "6", right(0.05)),
        ours("CENTRAL does not depend on N", exponent(f"{_RIGHT}: CENTRAL", -0.15, 0.15)),
    )  # fmt: skip


def _figure_2(quick: bool) -> Lines:
    etas = (0.3, 0.6, 0.9) if quick else (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    return {
        f"Problem {problem}": {eta: corrupted(128, 0.0, eta, problem=problem) for eta in etas}
        for problem in (1, 2)
    }


def _figure_4(quick: bool) -> Lines:
    return {
        line: of
        for problem in (1, 2)
        for line, of in {
            **dp_against_n(f"{_LEFT}, Problem {problem}", problem, agents(quick)),
            **xi_against_n(f"{_RIGHT}, Problem {problem}", problem, agents(quick)),
        }.items()
    }


_BETAS = {
    problem: {f"Problem {problem}: β={beta:g}": beta for beta in (0.3, 0.5, 0.8)}
    for problem in (1, 2)
}


def _figure_5(quick: bool) -> Lines:
    return {
        line: {
            n: Runs(dp(n, 0.5, beta, problem=problem), variants=FORMS[problem])
            for n in agents(quick)
        }
        for problem, betas in _BETAS.items()
        for line, beta in betas.items()
    }


_LAWS = {"uniform": None, "unbalanced": {"kind": "power", "gamma": 0.8}}


def _figure_6(quick: bool) -> Lines:
    return {
        f"{name}: {law}": {n: run(n, activity) for n in agents(quick)}
        for law, activity in _LAWS.items()
        for name, run in (
            (_LEFT, lambda n, activity: often(dp(n, 0.1, activity=activity))),
            (_RIGHT, lambda n, activity: corrupted(n, 0.05, activity=activity)),
        )
    }


EXPERIMENTS = (
    _figure(
        "rio-1", "Figure 1", "Sample complexity on Problem 1",
        *_conclusions(1),
        lines=partial(_with_baselines, 1),
        assumed=f"{ASSUMED} β = .5, η = .9. {CONTRADICTION} {ALONE}",
    ),
    _figure(
        "rio-2", "Figure 2", "Sample complexity of Féraud et al. (ξ = 0) against η",
        claim("the sample complexity and η are positively correlated", "C.2",
              trend(("Problem 1", "Problem 2"))),
        claim("the best arm is returned with confidence .95", "6", right(0.05)),
        lines=_figure_2, axes=Axes("η", "rounds"), repeat=(12, 60),
        assumed=f"N = 128, η from .1 to .95 (the figure's are lost; below .2 rounds grow "
        f"again). {SPREAD}",
    ),
    _figure(
        "rio-3", "Figure 3", "Sample complexity on Problem 2",
        *_conclusions(2),
        lines=partial(_with_baselines, 2),
        assumed=f"{ASSUMED} {SPREAD} DP-MASE runs as printed only: rewards without a bound are "
        f"not those that Proposition 4.1 is about, and the claim is marked as not holding. {ALONE}",
    ),
    _figure(
        "rio-4", "Figure 4", "Figures 1 and 3 without the baselines",
        claim("Problem 1: the curves of DP-MASE in the order of ε", "C.2",
              falling(*dp_lines(f"{_LEFT}, Problem 1"))),
        claim("Problem 2: the curves of DP-MASE in the order of ε", "C.2",
              falling(*dp_lines(f"{_LEFT}, Problem 2")), "printed"),
        *(
            claim(f"Problem {n}: the curves of Corrupted Elimination in the order of ξ", "C.2",
                  falling(*xi_lines(f"{_RIGHT}, Problem {n}")))
            for n in (1, 2)
        ),
        lines=_figure_4,
        assumed=f"{ASSUMED} {SPREAD}",
    ),
    _figure(
        "rio-5", "Figure 5", "Sample complexity of DP-MASE against the local accuracy",
        claim("Problem 1: the sample complexity increases with the local accuracy 1 − β", "C.3",
              falling(*_BETAS[1])),
        claim("Problem 2: the same", "C.3", falling(*_BETAS[2]), "printed"),
        lines=_figure_5, repeat=(10, 10),
        assumed=f"{ASSUMED} {SPREAD}",
    ),
    _figure(
        "rio-6", "Figure 6", "Agents that are not equally active, Problem 1",
        *(
            claim(f"{name}: much faster if unbalanced (here: faster with every N)", "C.4",
                  above(f"{name}: uniform", f"{name}: unbalanced"))
            for name in (_LEFT, _RIGHT)
        ),
        claim("without losing accuracy", "C.4",
              right(0.05, tuple(f"{name}: unbalanced" for name in (_LEFT, _RIGHT)))),
        lines=_figure_6,
        assumed=f"{ASSUMED} P(n) ∝ (n + α)^-.8 with α = 0 and n from 1; η = .9.",
    ),
)  # fmt: skip
