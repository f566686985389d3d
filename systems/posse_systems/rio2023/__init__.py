"""Rio et al. 2023, best-arm identification with private communications.

MASE, DP-MASE and Corrupted Elimination.
"""
