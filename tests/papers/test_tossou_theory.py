"""Tossou and Dimitrakakis 2015: the hybrid sum, by hand."""

from posse.papers import tossou_theory


def test_parts_of_a_hybrid_sum_by_hand():
    # T0 = 4: nodes {1}, {1, 2}, {3}: item 1 is in two of them, and in the next doubling
    assert tossou_theory.nodes("corrected", None, 4)["value"] == 3
