"""Li and Song 2022: federated elimination over three structures."""

from posse.papers.li import central, noise, numbers, structures, theorems

_MODULES = (central, structures, theorems, noise, numbers)
EXPERIMENTS = tuple(one for module in _MODULES for one in module.EXPERIMENTS)
