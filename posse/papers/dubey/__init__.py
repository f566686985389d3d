"""Dubey and Pentland 2020: private and byzantine-proof cooperation on a graph."""

from posse.papers.dubey import byzantine, figures, numbers, privacy, robust

_MODULES = (figures, byzantine, numbers, privacy, robust)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
