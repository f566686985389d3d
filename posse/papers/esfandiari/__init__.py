"""Esfandiari, Mirrokni and Schneider 2022: the server sees groups, never a user."""

from posse.papers.esfandiari import estimates, figures, growth, hard
from posse.papers.experiment import of_paper

EXPERIMENTS = of_paper("Esfandiari et al. 2022", figures, estimates, growth, hard)
