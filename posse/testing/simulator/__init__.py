"""Faults for the simulated engine: `faults` is what goes wrong, and `check` what must hold."""
