"""Tossou and Dimitrakakis 2015: players that share arms, and collide."""

from posse.papers.tossou import figures, shared, sums, theory

_MODULES = (figures, theory, sums, shared)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
