"""The papers' experiments, as data: a package per paper, each with a tuple EXPERIMENTS."""

import difflib
import importlib

from posse.errors import SpecError
from posse.papers.experiment import Experiment

PAPERS = {
    "rio": "Rio et al. 2023",
    "dubey": "Dubey and Pentland 2020",
    "tossou": "Tossou and Dimitrakakis 2015",
    "esfandiari": "Esfandiari et al. 2022",
    "li": "Li and Song 2022",
    "noise": "The noise itself",
    "audits": "Audits",
}


def experiments() -> dict[str, Experiment]:
    """Every experiment by name, in the order of the papers and figures."""
    return {
        experiment.name: experiment.but(paper=paper)
        for package, paper in PAPERS.items()
        for experiment in importlib.import_module(f"posse.papers.{package}").EXPERIMENTS
    }


def named(name: str) -> Experiment:
    """The experiment of that name; the nearest is offered if there is none."""
    known = experiments()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise SpecError(f"posse paper {name}", f"not known; {hint}known: {', '.join(known)}")
    return known[name]
