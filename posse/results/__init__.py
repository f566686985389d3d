"""The results of runs, as typed records and as tables on disk."""
