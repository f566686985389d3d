"""The clocks of a run."""
