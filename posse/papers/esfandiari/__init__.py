"""Esfandiari, Mirrokni and Schneider 2022: the server sees groups, never a user."""

from posse.papers.esfandiari import bounds, estimates, figures

_MODULES = (figures, estimates, bounds)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
