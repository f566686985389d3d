"""Dubey and Pentland 2020: private and byzantine-proof cooperation on a graph."""
