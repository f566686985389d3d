"""How long a test waits for what must happen."""

PATIENCE = 240.0
"""Seconds. Only a broken program needs them: a machine may be busy with others' work."""
