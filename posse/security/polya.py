"""Shares of a discrete Laplace number, drawn exactly from whole random numbers.

The number of an exponential law on 0, 1, 2, …, P(k) ~ q^k, is the sum of n independent Pólya
(negative binomial) numbers of shape 1/n. The difference of two such sums is a discrete Laplace
number, so n differences of two Pólya numbers are shares of one (Goryczka and Xiong 2017; used in
bandits by Chowdhury and Zhou, "Distributed differential privacy in multi-armed bandits", ICLR
2023). No library that posse knows draws them without rounding: numpy's are floating point, OpenDP
has whole discrete Laplace numbers only.

A Pólya number of shape r is the sum of the points of a Poisson process on k = 1, 2, … of
intensity r q^k / k. The process is thinned from a simpler one, with as many points in 1 as in 2 to
3 and in 4 to 7, so that every choice has a rational probability or one of 2^-x, x rational. Nothing
is rounded.
"""

import math
from collections.abc import Callable
from fractions import Fraction

RandomBelow = Callable[[int], int]
"""A whole number that is uniform from 0 up to, and without, the one given."""


def draw_share(below: RandomBelow, scale: float, shares: int) -> int:
    """One of `shares` numbers whose sum has the law P(x) ~ e^(-|x| / scale), x whole.

    By rounding, in the scale alone, it may be larger by a part of 2^-51, and is never smaller.
    """
    halving = Fraction(math.nextafter(scale * math.log(2), math.inf))
    return _polya(below, halving, shares) - _polya(below, halving, shares)


def _polya(below: RandomBelow, halving: Fraction, shares: int) -> int:
    """A Pólya number of shape 1/shares and q = 2^(-1/halving)."""
    period = math.ceil(halving)
    octaves = (period - 1).bit_length()
    total = 0
    for _ in range(_poisson(below, Fraction(octaves + 2, shares))):
        octave, periods = below(octaves + 2), 0
        if octave < octaves:
            limit = 1 << octave
            size = limit + below(limit)
        else:  # beyond the octaves are periods, each with half of the points of the one before it
            limit, periods = period, _tails(below)
            size = (1 << octaves) + below(period) + periods * period
        if below(size) < limit and _survives(below, size / halving - periods):
            total += size
    return total


def _poisson(below: RandomBelow, mean: Fraction) -> int:
    """A Poisson number: the sum of several of mean 1/2 or less, each by von Neumann's method."""
    parts = math.ceil(2 * mean)
    above, under = (mean / parts).as_integer_ratio()
    total = 0
    while parts:
        count = 0
        while below(under) < above:
            count += 1
        if not below(math.factorial(count)):
            total, parts = total + count, parts - 1
    return total


def _tails(below: RandomBelow) -> int:
    """How often a fair coin shows tails before heads."""
    count = 0
    while below(2):
        count += 1
    return count


def _survives(below: RandomBelow, exponent: Fraction) -> bool:
    """True with probability 2^-exponent, for a rational number that is not negative.

    The whole part are tosses of a coin. For the rest a, with a coin of probability p = 1/2, p^a is
    drawn by Mendo, "An asymptotically optimal Bernoulli factory for certain functions that can be
    expressed as power series", 2019: until the coin shows heads, give up in turn i with
    probability a / i.
    """
    whole, rest = divmod(exponent, 1)
    if any(below(2) for _ in range(whole)):
        return False
    turn = 1
    while below(2):
        if below(rest.denominator * turn) < rest.numerator:
            return False
        turn += 1
    return True
