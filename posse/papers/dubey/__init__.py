"""Dubey and Pentland 2020: private and byzantine-proof cooperation on a graph."""

from posse.papers.dubey import byzantine, figures, numbers, privacy

EXPERIMENTS = (
    *figures.EXPERIMENTS,
    *byzantine.EXPERIMENTS,
    *numbers.EXPERIMENTS,
    *privacy.EXPERIMENTS,
)
