"""Who may play what, at random."""

import numpy as np
from hypothesis import strategies as st


def random_alive(users: int, arms: int, seed: int, keep: float = 0.6) -> np.ndarray:
    """Alive sets at random, nobody without an arm."""
    generator = np.random.default_rng(seed)
    alive = generator.random((users, arms)) < keep
    alive[np.arange(users), generator.integers(arms, size=users)] = True
    return alive


instances = st.tuples(
    st.integers(4, 25), st.integers(2, 5), st.integers(0, 10_000), st.sampled_from([0.3, 0.6, 1.0])
)
