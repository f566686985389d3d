"""Rio, Barlier, Colin and Soare 2023: best-arm identification by votes."""

from posse.papers.rio import failure, figures, privacy, rows, samples, speed

EXPERIMENTS = (
    *figures.EXPERIMENTS,
    *speed.EXPERIMENTS,
    *samples.EXPERIMENTS,
    *failure.EXPERIMENTS,
    *privacy.EXPERIMENTS,
    *rows.EXPERIMENTS,
)
