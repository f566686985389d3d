"""The papers' experiments, as data: a package per paper, each with a tuple EXPERIMENTS."""

import difflib
import importlib

from posse.errors import SpecError
from posse.papers.experiment import Experiment

PAPERS = ("rio", "dubey", "tossou", "esfandiari", "li", "noise")


def experiments() -> dict[str, Experiment]:
    """Every experiment by name, in the order of the papers and figures."""
    return {
        experiment.name: experiment
        for paper in PAPERS
        for experiment in importlib.import_module(f"posse.papers.{paper}").EXPERIMENTS
    }


def named(name: str) -> Experiment:
    """The experiment of that name; the nearest is offered if there is none."""
    known = experiments()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise SpecError(f"posse paper {name}", f"not known; {hint}known: {', '.join(known)}")
    return known[name]
