"""Rio, Barlier, Colin and Soare 2023: best-arm identification by votes."""

from posse.papers.experiment import of_paper
from posse.papers.rio import failure, figures, privacy, rows, samples, speed

EXPERIMENTS = of_paper("Rio et al. 2023", figures, speed, samples, failure, privacy, rows)
