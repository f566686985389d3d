"""Tossou and Dimitrakakis 2015: players that share arms, and collide."""

from posse.papers.tossou import counters, figures, shared, starving, sums, theory

EXPERIMENTS = (
    *figures.EXPERIMENTS,
    *theory.EXPERIMENTS,
    *starving.EXPERIMENTS,
    *sums.EXPERIMENTS,
    *counters.EXPERIMENTS,
    *shared.EXPERIMENTS,
)
