"""Li and Song 2022: federated elimination over three structures."""

from posse.papers.li import central, noise, numbers, structures, theorems

EXPERIMENTS = (
    *central.EXPERIMENTS,
    *structures.EXPERIMENTS,
    *theorems.EXPERIMENTS,
    *noise.EXPERIMENTS,
    *numbers.EXPERIMENTS,
)
