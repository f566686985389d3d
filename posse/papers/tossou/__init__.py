"""Tossou and Dimitrakakis 2015: players that share arms, and collide."""

from posse.papers.tossou import counters, figures, shared, starving, sums, theory

_MODULES = (figures, theory, starving, sums, counters, shared)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
