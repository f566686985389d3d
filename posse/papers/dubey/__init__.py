"""Dubey and Pentland 2020: private and byzantine-proof cooperation on a graph."""

from posse.papers.dubey import byzantine, figures, numbers, privacy
from posse.papers.experiment import of_paper

EXPERIMENTS = of_paper("Dubey and Pentland 2020", figures, byzantine, numbers, privacy)
