"""Randomness: one stream per (seed, run, agent, purpose), and the same one every time."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.seeds import Purpose, generator, generators

KEYS = st.tuples(
    st.integers(0, 2**64), st.integers(0, 1000), st.integers(-1, 5000), st.sampled_from(Purpose)
)


@given(KEYS, KEYS)
def test_another_key_gives_another_stream(
    one: tuple[int, int, int, Purpose], other: tuple[int, int, int, Purpose]
) -> None:
    if one != other:
        assert generator(*one).integers(2**63) != generator(*other).integers(2**63)


@given(KEYS)
def test_a_stream_is_that_of_numpys_seed_sequence(key: tuple[int, int, int, Purpose]) -> None:
    seed, run, rank, purpose = key
    sequence = np.random.SeedSequence(seed, spawn_key=(run, rank + 1, int(purpose)))
    assert (
        generator(*key).bit_generator.state == np.random.default_rng(sequence).bit_generator.state
    )


@given(
    st.integers(0, 2**64),
    st.integers(0, 1000),
    st.integers(1, 300),
    st.sampled_from(Purpose),
    st.randoms(),
)
def test_all_of_a_run_made_together_are_the_same(
    seed: int, run: int, agents: int, purpose: Purpose, choice: random.Random
) -> None:
    together = generators(seed, run, agents, purpose)
    assert len(together) == agents
    for rank in {0, agents - 1, choice.randrange(agents)}:
        alone = generator(seed, run, rank, purpose)
        assert together[rank].bit_generator.state == alone.bit_generator.state


def test_neighbouring_streams_are_uncorrelated() -> None:
    keys = list(itertools.product((0, 1), (0, 1), (-1, 0, 1), Purpose))
    draws = np.array([generator(*key).standard_normal(2_000) for key in keys])
    correlation = np.corrcoef(draws)[np.triu_indices(len(keys), 1)]
    # the largest of n correlations of right streams exceeds this with probability 1e-4
    bound = np.sqrt(2 * np.log(2 * len(correlation) / 1e-4) / 2_000)
    assert np.abs(correlation).max() < bound


def test_streams_do_not_change_between_versions() -> None:
    """A published run file must give its published run."""
    drawn = generator(1, 0, 0, Purpose.REWARDS).integers(1000, size=4).tolist()
    assert drawn == [61, 558, 591, 886]


def test_a_seed_is_not_negative() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        generator(-1, 0, 0, Purpose.NOISE)
