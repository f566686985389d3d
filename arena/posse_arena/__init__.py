"""The arena: all systems, and a user's own, on the same problems by the same rules."""

__version__ = "0.2.0.dev0"
