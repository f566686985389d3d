"""A run as it goes on: a page that the coordinator serves, and the same as text."""
