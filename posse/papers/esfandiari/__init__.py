"""Esfandiari, Mirrokni and Schneider 2022: the server sees groups, never a user."""

from posse.papers.esfandiari import estimates, figures, growth, hard

_MODULES = (figures, estimates, growth, hard)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
