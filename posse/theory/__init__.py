"""Theory about a run: bounds and closed forms, by family."""
