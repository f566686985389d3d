"""Watching a run: a page that the coordinator serves, and the same as text."""
