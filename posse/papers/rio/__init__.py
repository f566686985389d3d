"""Rio, Barlier, Colin and Soare 2023: best-arm identification by votes."""

from posse.papers.rio import failure, figures, privacy, rows, samples, speed

_MODULES = (figures, speed, samples, failure, privacy, rows)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
