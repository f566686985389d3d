"""Dubey and Pentland 2020, private and byzantine-proof cooperative UCB on a graph with delays."""
