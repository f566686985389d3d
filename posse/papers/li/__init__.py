"""Li and Song 2022: federated elimination over three structures."""

from posse.papers.experiment import of_paper
from posse.papers.li import central, noise, numbers, structures, theorems

EXPERIMENTS = of_paper("Li and Song 2022", central, structures, theorems, noise, numbers)
