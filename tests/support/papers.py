"""For tests of the papers' experiments."""

import numpy as np

GENERATOR = np.random.default_rng
