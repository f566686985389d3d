"""Rio, Barlier, Colin and Soare 2023: best-arm identification by votes."""

from posse.papers.rio import failure, figures, privacy, rounds

_MODULES = (figures, rounds, failure, privacy)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
