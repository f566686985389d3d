"""How time passes in a run."""
