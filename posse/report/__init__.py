"""Reports: a run's directory, several of them, or a paper's experiment, as one page."""
