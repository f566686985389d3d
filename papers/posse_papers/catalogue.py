"""The papers' experiments, as data: of each paper its figures and what it proves."""

import importlib

from posse import SpecError
from posse.experiments import nearest
from posse_papers.experiment import Experiment

_PAPERS = {
    "Rio et al. 2023": "rio.figures rio.theory rio.proofs",
    "Dubey and Pentland 2020": "dubey.figures dubey.theory dubey.proofs dubey.compared",
    "Tossou and Dimitrakakis 2015": "tossou.figures tossou.theory tossou.proofs tossou.compared",
    "Esfandiari et al. 2022": "esfandiari.figures esfandiari.theory esfandiari.proofs "
    "esfandiari.compared",
    "Li and Song 2022": "li.figures li.theory li.proofs li.compared",
    "The noise itself": "noise",
    "Audits": "audits",
}
"""By paper the modules of its experiments."""


def experiments() -> dict[str, Experiment]:
    """Every experiment by name, in the order of the papers and figures."""
    return {
        experiment.name: experiment.but(paper=paper)
        for paper, modules in _PAPERS.items()
        for module in modules.split()
        for experiment in importlib.import_module(f"posse_papers.{module}").EXPERIMENTS
    }


def named(name: str) -> Experiment:
    """The experiment of that name; the nearest is offered if there is none."""
    known = experiments()
    if name not in known:
        raise SpecError(
            f"posse paper {name}", f"not known; {nearest(name, list(known), 'posse paper')}"
        )
    return known[name]
