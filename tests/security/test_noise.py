"""The field's discrete Gaussian noise, which cannot be seeded, against its law."""

import subprocess
import sys

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from posse.security.noise import FieldNoise
from tests.support.laws import discrete_gaussian, p_value


@pytest.fixture
def opendps(monkeypatch: pytest.MonkeyPatch) -> FieldNoise:
    """The field's noise where there is no python-dp."""
    monkeypatch.setitem(sys.modules, "pydp.algorithms.numerical_mechanisms", None)
    return FieldNoise()


@pytest.mark.parametrize("scale", [1e-3, 0.7, 500.0])
def test_without_python_dp_the_noise_has_the_law_of_laplace(opendps, scale):
    """Kolmogorov-Smirnov, 1,500 draws anew in each run: false alarm 1e-9."""
    drawn = opendps.noisy(np.full(1_500, 0.3), 1.0, scale)
    assert stats.kstest((drawn - 0.3) / scale, stats.laplace.cdf).pvalue > 1e-9


@pytest.mark.parametrize(("sensitivity", "scale"), [(1.0, 2.0), (0.1, 0.3), (1 / 3, 1e-3)])
def test_opendp_itself_says_that_it_costs_what_is_claimed(sensitivity, scale):
    """ε = Δ / b, up to the last bit; the mechanism is made as `FieldNoise` makes it."""
    domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
    mechanism = dp.m.make_laplace(domain, dp.l1_distance(T="f64"), scale=scale)
    assert mechanism.map(sensitivity) == pytest.approx(sensitivity / scale, rel=1e-15)


def test_opendps_low_bits_are_those_of_any_float(opendps):
    """What is near a value is not on its own grid: half of all have an odd last bit."""
    said = opendps.noisy(np.full(400, 0.75), 1.0, 1.0)
    odd = np.frexp(said)[0] * 2.0**53 % 2 != 0
    assert 120 < odd.sum() < 280
    assert len({*said.tolist()}) == 400


@pytest.mark.slow
def test_opendps_numbers_have_the_law_of_the_discrete_gaussian():
    """Chi-square over the likely numbers, 20,000 draws anew in each run: false alarm 1e-9."""
    values = np.full(20_000, -3, dtype=np.int64)
    drawn = FieldNoise().discrete_gaussian(values, 2.5)
    x = np.arange(-100, 101)
    assert p_value(drawn + 3, x, discrete_gaussian(x, 2.5)) > 1e-9
    assert drawn.dtype == np.int64


def test_large_deviations_keep_whole_numbers():
    drawn = FieldNoise().discrete_gaussian(np.zeros(50, dtype=np.int64), 1e6)
    assert len(set(drawn.tolist())) > 45  # 50 of millions of numbers hardly meet
    assert np.abs(drawn).max() < 10**7  # ten deviations


@settings(max_examples=10)
@given(st.floats(-1e3, 1e3))
@example(1 / 3)
@example(1e-9)
@example(0.7 + 1e-13)
def test_the_low_bits_of_what_is_said_tell_nothing_of_what_was_noised(value):
    """Attack a19: whatever was noised, what is said is a multiple of one power of two."""
    said = FieldNoise().noisy(np.full(200, value), 1.0, 2.0)
    assert (np.ldexp(said, 39) % 1.0 == 0.0).all()


DRAW_TWICE = """
import os, sys
import numpy as np
from posse.errors import PosseError
from posse.security.noise import FieldNoise

def child(noise):
    if os.fork():
        os.wait()
        return
    try:
        print(noise.noisy(np.zeros(2), 1.0, 1.0).tolist(), flush=True)
    except PosseError as error:
        print(str(error), flush=True)
    os._exit(0)

noise = FieldNoise()
child(noise)
child(noise)
noise.noisy(np.zeros(1), 1.0, 1.0)
child(noise)
"""


def test_a_process_that_was_forked_after_a_draw_draws_nothing():
    """The library's buffer is copied by a fork; before the first draw there is none."""
    ran = subprocess.run(
        [sys.executable, "-c", DRAW_TWICE], capture_output=True, text=True, check=True
    )
    first, second, third = ran.stdout.splitlines()
    assert first != second
    assert third.startswith("this process was forked from one that drew noise")
