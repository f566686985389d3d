"""Esfandiari, Mirrokni and Schneider 2022, anonymous bandits: only sums over groups are seen."""
