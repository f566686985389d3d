"""Tossou and Dimitrakakis 2015: players that share arms, and collide."""

from posse.papers.experiment import of_paper
from posse.papers.tossou import counters, figures, shared, starving, sums, theory

EXPERIMENTS = of_paper(
    "Tossou and Dimitrakakis 2015", figures, theory, starving, sums, counters, shared
)
