"""Tossou and Dimitrakakis 2015: players that share arms, and collide."""

from posse.papers.tossou import figures, starving, sums, theory

EXPERIMENTS = (*figures.EXPERIMENTS, *theory.EXPERIMENTS, *starving.EXPERIMENTS, *sums.EXPERIMENTS)
