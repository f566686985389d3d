"""Esfandiari, Mirrokni and Schneider 2022: the server sees groups, never a user."""

from posse.papers.esfandiari import estimates, figures, growth, hard

EXPERIMENTS = (
    *figures.EXPERIMENTS,
    *estimates.EXPERIMENTS,
    *growth.EXPERIMENTS,
    *hard.EXPERIMENTS,
)
