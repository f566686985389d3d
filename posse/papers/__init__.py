"""The papers' experiments, as data: one file per paper, each with a tuple EXPERIMENTS."""

import difflib
import importlib

from posse.errors import SpecError
from posse.papers.base import Experiment

PAPERS = (
    "rio",
    "rio_theory",
    "dubey",
    "dubey_theory",
    "tossou",
    "tossou_theory",
    "esfandiari",
    "esfandiari_theory",
    "li",
    "li_theory",
    "audits",
)


def experiments() -> dict[str, Experiment]:
    """Every experiment by name, in the order of the papers and figures."""
    found: dict[str, Experiment] = {}
    for paper in PAPERS:
        module = importlib.import_module(f"posse.papers.{paper}")
        for experiment in module.EXPERIMENTS:
            found[experiment.name] = experiment
    papers = list(dict.fromkeys(experiment.paper for experiment in found.values()))
    return dict(sorted(found.items(), key=lambda item: papers.index(item[1].paper)))


def named(name: str) -> Experiment:
    """The experiment of that name; the nearest is offered if there is none."""
    known = experiments()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise SpecError(f"posse paper {name}", f"not known; {hint}known: {', '.join(known)}")
    return known[name]
