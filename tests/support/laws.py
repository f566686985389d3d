"""Numbers that were drawn, against the law that they should have."""

import numpy as np
from scipy.stats import chisquare


def p_value(drawn: np.ndarray, values: np.ndarray, law: np.ndarray, least: int = 50) -> float:
    """Of a chi-square test over the values that are expected `least` times, and the rest."""
    counts = law * len(drawn)
    likely = counts >= least
    seen = np.array([(drawn == value).sum() for value in values[likely]])
    rest = len(drawn) - seen.sum(), len(drawn) - counts[likely].sum()
    return float(chisquare(np.append(seen, rest[0]), np.append(counts[likely], rest[1])).pvalue)


def discrete_gaussian(values: np.ndarray, sigma: float) -> np.ndarray:
    weights = np.exp(-(values**2) / (2 * sigma**2))
    return weights / weights.sum()


def discrete_laplace(values: np.ndarray, scale: float) -> np.ndarray:
    """P(x) = tanh(1/(2b)) e^(-|x|/b)."""
    return np.tanh(1 / (2 * scale)) * np.exp(-np.abs(values) / scale)
